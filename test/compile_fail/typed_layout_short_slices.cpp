// expect: static assertion failed.*: the slices of a typed::flat_share end before the typed::tensor does
// facts: "w".*wanted<10.*actual<3L?, 4
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

using namespace reshard;

// The three slices of four elements have 12, of which the first 3 are another tensor's.
layout const bad =
    typed::layout<mesh{{"dp", 3}},
                  typed::tensor<"w", float, index_vector{10}, typed::flat_share{3, 4}>>();
