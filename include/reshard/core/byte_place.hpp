// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_BYTE_PLACE_HPP
#define RESHARD_CORE_BYTE_PLACE_HPP

#include <reshard/core/data_type.hpp>

#include <numeric>

/// \file
/// Where an element begins in memory, which counts bytes.

namespace reshard::detail {

/// An offset in elements as whole bytes and the elements behind them.
///
/// \invariant `rest` is 0 where elements are whole bytes
struct byte_place {
    index_t bytes = 0;
    index_t rest = 0;

    constexpr bool operator==(byte_place const&) const = default;
};

/// Where the element at offset `elements` lies, whatever its sign.
constexpr byte_place byte_place_of(index_t elements, data_type dtype) {
    index_t const together = 8 / std::gcd(8, bits(dtype)); // elements that fill whole bytes
    index_t const rest = (elements % together + together) % together;
    return {(elements - rest) / together * (together * bits(dtype) / 8), rest};
}

} // namespace reshard::detail

#endif
