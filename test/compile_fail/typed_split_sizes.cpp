// expect: static assertion failed.*: the sizes of a split must sum to the extent of its axis
// facts: "w".*4, 6.*3, 2|3, 2.*"w".*4, 6
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>

using namespace reshard;

using w = typed::source<"w", float, index_vector{4, 6}>;

constexpr index_vector bad = typed::split<w, 0, index_vector{3, 2}, 0>::shape;
