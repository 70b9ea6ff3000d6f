// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_HASHER_HPP
#define RESHARD_CORE_HASHER_HPP

#include <reshard/core/index_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// \file
/// A constexpr hash of what plans are made from: to find equal things, and to see that ranks agree.

namespace reshard::detail {

/// Mixes numbers and texts, in order, into 64 bits. The same on every machine; not for adversaries.
///
/// \par Source the finaliser of MurmurHash3 (public domain) applied to each word
class hasher {
public:
    constexpr void add(std::uint64_t word) {
        state_ = mix(state_ ^ word) + 0x9e3779b97f4a7c15u;
        ++words_;
    }

    /// The length counts too: `"ab"` and `"c"` are not `"a"` and `"bc"`.
    constexpr void add(std::string_view text) {
        add(static_cast<std::uint64_t>(text.size()));
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            word = word << 8 | static_cast<unsigned char>(text[i]);
            if (i % 8 == 7)
                add(word);
        }
        add(word);
    }

    constexpr void add(std::span<index_t const> numbers) {
        add(static_cast<std::uint64_t>(numbers.size()));
        for (index_t const number : numbers)
            add(static_cast<std::uint64_t>(number));
    }

    /// The hash of all that has been added so far.
    constexpr std::uint64_t value() const { return mix(state_ ^ words_); }

private:
    static constexpr std::uint64_t mix(std::uint64_t x) {
        x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
        x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
        return x ^ x >> 33;
    }

    std::uint64_t state_ = 0;
    std::uint64_t words_ = 0;
};

} // namespace reshard::detail

#endif
