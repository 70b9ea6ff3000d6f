// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"
#include "growth/steps.hpp"

#include <reshard/aoa/lower.hpp>
#include <reshard/expr/mapping_index.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(growth_lower)

namespace {

/// A program of that size.
using program_text = std::function<std::string(std::size_t)>;

std::vector<catalog_entry> small_tensors(std::string const& prefix, std::size_t count) {
    std::vector<catalog_entry> entries;
    for (std::size_t i = 0; i < count; ++i)
        entries.push_back(test::tensor(prefix + std::to_string(i), {2, 4}));
    return entries;
}

/// Lowers the program with many small tensors and one large one, for a target or without, asks for
/// each tensor of the result, and describes what there is to say.
void check_lower(char const* noun, program_text const& text, bool is_export = true) {
    test::check_linear(noun, [=](std::size_t size) {
        aoa::program const code = test::parsed(text(size));
        auto const rows = static_cast<index_t>(size);
        std::vector<catalog_entry> entries = small_tensors("s", size);
        entries.push_back(test::tensor("large", {rows, 4}));
        catalog const source(entries), target(small_tensors("s", size));
        return [=] {
            auto const lowered = aoa::lower_all(code, source, is_export ? nullptr : &target);
            mapping_index const index(lowered.map);
            for (mapping_output const& output : lowered.map.outputs())
                index.for_each_piece(output, whole(output.value.shape), [](piece const&) {});
            for (aoa::finding const& finding : lowered.findings)
                describe(code, finding);
        };
    });
}

/// `line(i)` for each number below a size.
program_text lines(std::function<std::string(std::string const&)> const& line) {
    return [=](std::size_t size) {
        std::string text;
        for (std::size_t i = 0; i < size; ++i)
            text += line(std::to_string(i));
        return text;
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(lists_are_lowered_in_linear_time) {
    check_lower("a concat of many", [](std::size_t size) {
        return "s0" + lines([](auto const& i) { return ", s" + i; })(size) + " -> all, axis=0";
    });
    check_lower("a split into many", [](std::size_t size) {
        return "large -> x" + lines([](auto const& i) { return ", x" + i; })(size - 1) + ", axis=0";
    });
    check_lower("a split into many sizes", [](std::size_t size) {
        return "large -> x" + lines([](auto const& i) { return ", x" + i; })(size - 1) +
               ", axis=0, sizes=\"[1" + lines([](auto const&) { return ", 1"; })(size - 1) + "]\"";
    });
    check_lower("a split of many pieces into as many", [](std::size_t size) {
        return "s0" + lines([](auto const& i) { return ", s" + i; })(size - 1) +
               " -> all, axis=0\nall -> x" +
               lines([](auto const& i) { return ", x" + i; })(size - 1) + ", axis=0";
    });
}

BOOST_AUTO_TEST_CASE(many_statements_are_lowered_in_linear_time) {
    check_lower("renames", lines([](auto const& i) { return "s" + i + " -> t" + i + "\n"; }));
    check_lower("a chain of renames", lines([](auto const& i) {
                    return (i == "0" ? "large" : "t" + std::to_string(std::stoul(i) - 1)) +
                           " -> t" + i + "\n";
                }));
    check_lower("a chain of transposes", lines([](auto const& i) {
                    return (i == "0" ? "large" : "t" + std::to_string(std::stoul(i) - 1)) +
                           " -> t" + i + ", permute=\"[]\"\n";
                }));
    check_lower("one name that is made again and again",
                lines([](auto const& i) { return "s" + i + " -> t\n"; }));
    check_lower("removals", lines([](auto const& i) { return "s" + i + " -> _\n"; }));
    check_lower("additions", lines([](auto const& i) { return "_ -> n" + i + "\n"; }));
    check_lower("many attributes", [](std::size_t size) {
        return "large -> t" + lines([](auto const&) { return ", permute=\"[]\""; })(size);
    });
}

BOOST_AUTO_TEST_CASE(definitions_are_made_in_linear_time) {
    check_lower(
        "untouched keys", [](std::size_t) { return "large -> t"; }, false);
    check_lower("renamed keys", lines([](auto const& i) { return "large -> s" + i + "\n"; }),
                false);
}

BOOST_AUTO_TEST_CASE(what_there_is_to_say_is_said_in_linear_time) {
    check_lower("unknown names", lines([](auto const& i) { return "oops" + i + " -> t\n"; }));
    check_lower("values that are lost, all of one line", [](std::size_t size) {
        std::string const statement =
            "large -> x" + lines([](auto const& i) { return ", x" + i; })(size - 1) + ", axis=0\n";
        return statement + statement;
    });
    check_lower("wrong attributes",
                lines([](auto const& i) { return "s" + i + " -> t, axis=7, oops=1\n"; }));
}

BOOST_AUTO_TEST_SUITE_END()
