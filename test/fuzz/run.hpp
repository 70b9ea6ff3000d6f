// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_FUZZ_RUN_HPP
#define RESHARD_TEST_FUZZ_RUN_HPP

#include "input.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

/// \file
/// The common parts of fuzzers of programs with their tensors.

namespace reshard::test {

inline void require(bool holds) {
    if (!holds)
        std::abort();
}

/// Options of an expansion, with limits that a fuzzer reaches.
inline aoa::expand_options options_of(fuzz_input const& input) {
    aoa::expand_options options;
    options.reverse = input.is_reverse();
    options.max_names = 4096;
    options.max_characters = 1 << 20;
    return options;
}

/// Options of a lowering, likewise.
inline aoa::lower_options lowering_options() {
    aoa::lower_options options;
    options.max_pieces = 1 << 16;
    return options;
}

/// Runs `stages` on a text; they may end with an error that has something to say.
template <class Stages>
void run_on(std::uint8_t const* data, std::size_t size, Stages const& stages) {
    try {
        stages(fuzz_input({reinterpret_cast<char const*>(data), size}));
    } catch (error const& problem) {
        require(*problem.what() != '\0');
    }
}

} // namespace reshard::test

#endif
