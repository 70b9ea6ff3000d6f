// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Any program over any tensors, the other way round: a program that can be read again and has no
/// error, or a message.

#include "input.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace reshard;

void require(bool holds) {
    if (!holds)
        std::abort();
}

/// The reversed program is one: an error here ends the process.
void check_reversed(aoa::program const& back, catalog const& source, catalog const& target,
                    aoa::lower_options const& options) noexcept {
    aoa::program const again = aoa::parse(print(back));
    require(print(again) == print(back));
    lower(again, source, &target, options);
}

void reverse_it(test::fuzz_input const& given) {
    aoa::expand_options options;
    options.reverse = given.is_reverse();
    options.max_names = 4096;
    options.max_characters = 1 << 20;
    if (options.reverse && !given.target())
        return;
    auto const expanded =
        aoa::expand(aoa::parse(given.text()), given.source(), given.target(), options);
    aoa::reverse_options reversing;
    reversing.lowering.max_pieces = 1 << 16;
    reversing.allow_rounding = reversing.allow_removed = given.text().size() % 2 == 0;
    auto const back = reverse_all(expanded.code, given.source(), given.target(), reversing);
    for (aoa::finding const& one : back.findings)
        describe(back.code, one);
    if (!back.first_error && given.target())
        check_reversed(back.code, *given.target(), given.source(), reversing.lowering);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    try {
        reverse_it(test::fuzz_input({reinterpret_cast<char const*>(data), size}));
    } catch (error const& problem) {
        require(*problem.what() != '\0');
    }
    return 0;
}
