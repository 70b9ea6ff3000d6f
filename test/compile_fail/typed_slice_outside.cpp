// expect: static assertion failed.*: the ranges of a slice must lie within the extents of its tensor
// facts: "w".*4, 6.*0, 2.*4, 7
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>

using namespace reshard;

using w = typed::source<"w", float, index_vector{4, 6}>;

constexpr index_vector bad = typed::slice<w, index_vector{0, 2}, index_vector{4, 7}>::shape;
