// expect: static assertion failed.*: a reshape must keep the number of elements
// facts: "w".*4, 6.*5, 5|5, 5.*"w".*4, 6
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>

using namespace reshard;

using w = typed::source<"w", float, index_vector{4, 6}>;

constexpr index_vector bad = typed::reshape<w, index_vector{5, 5}>::shape;
