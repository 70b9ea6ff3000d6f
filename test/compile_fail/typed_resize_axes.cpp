// expect: static assertion failed.*: a resize needs an extent for each axis of its tensor
// facts: "w".*4, 6.*{4}|{4, 0.*"w".*4, 6
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>

using namespace reshard;

using w = typed::source<"w", float, index_vector{4, 6}>;

constexpr index_vector bad = typed::resize<w, index_vector{4}>::shape;
