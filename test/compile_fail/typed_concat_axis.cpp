// expect: static assertion failed.*: a concat must join along an axis of its tensors
// facts: concat<2|2UL < .*"w".*4, 6
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>

using namespace reshard;

using w = typed::source<"w", float, index_vector{4, 6}>;

constexpr index_vector bad = typed::concat<2, w, w>::shape;
