// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_TURNED_BOX_HPP
#define RESHARD_TEST_SUPPORT_TURNED_BOX_HPP

#include <reshard/expr/piece.hpp>

/// \file
/// A piece at another position than its source, and in another order.

namespace reshard::test {

/// Rows 2 and 3 and columns 1 to 3 of source 7, transposed, at (10, 20) of a target.
inline piece turned_box() {
    piece part;
    part.source = 7;
    part.stored = data_type::f32;
    part.order = permutation::reversed(2);
    part.source_offset = {2, 1};
    part.target_offset = {10, 20};
    part.extent = {3, 2};
    return part;
}

} // namespace reshard::test

#endif
