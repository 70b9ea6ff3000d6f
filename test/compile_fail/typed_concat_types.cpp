// expect: static assertion failed.*: the tensors of a concat must have one data type
// facts: "w".*float.*"x".*double
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>

using namespace reshard;

using w = typed::source<"w", float, index_vector{4, 6}>;

constexpr index_vector bad =
    typed::concat<0, w, typed::source<"x", double, index_vector{4, 6}>>::shape;
