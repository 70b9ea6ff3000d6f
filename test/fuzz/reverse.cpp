// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Any program over any tensors, the other way round: a program that can be read again and has no
/// error, or a message.

#include "run.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace reshard;
using namespace reshard::detail;
using test::require;

/// The reversed program is one: an error here ends the process. It is expanded as any other, for
/// that finds which state follows which parameter.
void check_reversed(aoa::program const& back, catalog const& source, catalog const& target,
                    aoa::expand_options const& expanding,
                    aoa::lower_options const& options) noexcept {
    aoa::program const again = aoa::parse(print(back));
    require(print(again) == print(back));
    lower(aoa::expand(again, source, &target, expanding).code, source, &target, options);
}

void reverse_it(test::fuzz_input const& input) {
    if (input.is_reverse() && !input.target())
        return;
    auto const expanded = aoa::expand(aoa::parse(input.text()), input.source(), input.target(),
                                      test::options_of(input));
    aoa::reverse_options reversing;
    reversing.lowering = test::lowering_options();
    reversing.allow_rounding = reversing.allow_removed = input.text().size() % 2 == 0;
    auto const back = reverse_all(expanded.code, input.source(), input.target(), reversing);
    for (aoa::finding const& finding : back.findings)
        describe(back.code, finding);
    if (!back.first_error && input.target())
        check_reversed(back.code, *input.target(), input.source(), test::options_of(input),
                       reversing.lowering);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    test::run_on(data, size, reverse_it);
    return 0;
}
