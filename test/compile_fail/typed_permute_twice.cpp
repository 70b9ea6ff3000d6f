// expect: static assertion failed.*: a permutation must name each axis of its tensor once
// facts: "w".*4, 6.*1, 1|1, 1.*"w".*4, 6
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>

using namespace reshard;

using w = typed::source<"w", float, index_vector{4, 6}>;

constexpr index_vector bad = typed::permute<w, index_vector{1, 1}>::shape;
