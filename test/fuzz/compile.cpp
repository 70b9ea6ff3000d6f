// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Any program over any tensors: it becomes a mapping that keeps its promises, or there is a message.

#include "run.hpp"

#include <reshard/aoa/check.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/expr/mapping_index.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace reshard;
using namespace reshard::detail;
using test::require;

/// Each piece lies in its source, and is found at its position; together they have the tensor's
/// number of elements.
void check_output(mapping const& map, mapping_index const& index, mapping_output const& output) {
    index_t elements = 0;
    index.for_each_piece(output, whole(output.value.shape), [&](piece const& part) {
        elements += element_count(part.extent);
        require(result(part.stored, part.steps) == output.value.dtype);
        if (part.source == zero_source)
            return;
        require(part.source < map.sources().size());
        mapping_source const source = map.sources()[part.source];
        require(source.dtype == part.stored);
        require(contains(whole(source.shape), part.source_box()));
    });
    require(elements == element_count(output.value.shape));
}

void check_mapping(mapping const& map, catalog const* target) {
    mapping_index const index(map);
    for (mapping_output const& output : map.outputs())
        check_output(map, index, output);
    if (target)
        for (catalog_entry const& wanted : *target) {
            mapping_output const* const output = map.find(wanted.key);
            require(output && output->value.shape == wanted.shape &&
                    output->value.dtype == wanted.dtype);
        }
}

void check_report(aoa::program_report const& report) {
    require(report.invertible() == why_not_invertible(report).empty());
    for (aoa::finding const& finding : report.findings)
        describe(report.code, finding);
}

/// Every stage in turn; every sentence that there is to say is made.
void compile(test::fuzz_input const& input) {
    aoa::program const written = aoa::parse(input.text());
    if (input.is_reverse() && !input.target())
        return;
    auto const expanded =
        expand_all(written, input.source(), input.target(), test::options_of(input));
    for (aoa::finding const& finding : expanded.findings)
        describe(expanded.code, finding);
    if (!expanded.is_complete)
        return;
    aoa::parse(print(expanded.code));
    if (input.is_reverse())
        return;
    auto const lowered =
        lower_all(expanded.code, input.source(), input.target(), test::lowering_options());
    for (aoa::finding const& finding : lowered.findings)
        describe(expanded.code, finding);
    if (!lowered.first_error && !first_error_of(expanded.findings))
        check_mapping(lowered.map, input.target());
    check_report(check(expanded, lowered, input.source(), input.target()));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    test::run_on(data, size, compile);
    return 0;
}
