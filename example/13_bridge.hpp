// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef EXAMPLE_13_BRIDGE_HPP
#define EXAMPLE_13_BRIDGE_HPP

#include <reshard/core/index_vector.hpp>

#include <cstdint>

// The settings that a trainer and a server share, in addition to the path of the port file: the
// names of the weights, and the number of steps. Each side chooses its own layout.

namespace bridge_example {

inline constexpr int steps = 10;

/// A head has eight rows; weights are [out, in].
inline constexpr reshard::index_t hidden = 32, head = 8;

/// The weight o_proj is frozen: it keeps its value from before the first step.
inline bool is_trained(char weight) { return weight != 'o'; }

/// An element of a trainer's weight after `step` steps: a number that bfloat16 represents exactly.
inline float element(char weight, reshard::index_t row, reshard::index_t column,
                     std::uint64_t step) {
    auto const first = (weight + 31 * row + 7 * column) % 200;
    return static_cast<float>(first + (is_trained(weight) ? static_cast<int>(step) : 0));
}

} // namespace bridge_example

#endif
