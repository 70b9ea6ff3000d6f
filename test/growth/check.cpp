// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"
#include "growth/steps.hpp"

#include <reshard/aoa/check.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(growth_check)

namespace {

/// A text for each number.
using text_of_number = std::function<std::string(std::string const&)>;

std::string repeated(text_of_number const& text, std::size_t size) {
    std::string lines;
    for (std::size_t i = 0; i < size; ++i)
        lines += text(std::to_string(i));
    return lines;
}

catalog many(text_of_number const& key, std::size_t size) {
    std::vector<catalog_entry> entries{test::tensor("large", {static_cast<index_t>(size), 4})};
    for (std::size_t i = 0; i < size; ++i)
        entries.push_back(test::tensor(key(std::to_string(i)), {1, 4}));
    return catalog(entries);
}

/// Makes a text of each size over many tensors `s0`, `s1`, ... and for others; formats and checks
/// it, reverses it if possible, and makes every sentence.
void check_program(char const* noun, std::function<std::string(std::size_t)> const& text,
                   text_of_number const& wanted) {
    test::check_linear(noun, [=](std::size_t size) {
        catalog const source = many([](auto const& i) { return "s" + i; }, size);
        catalog const target = many(wanted, size);
        return [=, program_text = text(size)] {
            aoa::program const code = test::parsed(program_text);
            aoa::format(code);
            auto const check = aoa::check(code, source, &target);
            for (aoa::finding const& finding : check.findings)
                describe(check.code, finding);
            if (!check.ok())
                return;
            auto const back = aoa::reverse_all(check.code, source, &target);
            for (aoa::finding const& finding : back.findings)
                describe(back.code, finding);
        };
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(programs_are_checked_and_reversed_in_linear_time) {
    check_program(
        "renames",
        [](std::size_t size) {
            return repeated([](auto const& i) { return "s" + i + " -> t" + i + "\n"; }, size);
        },
        [](auto const& i) { return "t" + i; });
    check_program(
        "copies of one tensor",
        [](std::size_t size) {
            return repeated([](auto const& i) { return "s0 -> t" + i + "\n"; }, size);
        },
        [](auto const& i) { return "t" + i; });
    check_program(
        "a split into many, and a concat of many",
        [](std::size_t size) {
            auto const part = [](auto const& i) { return i == "0" ? "t0" : ", t" + i; };
            auto const source = [](auto const& i) { return i == "0" ? "s0" : ", s" + i; };
            return "large -> " + repeated(part, size) + ", axis=0\n" + repeated(source, size) +
                   " -> large, axis=0\n";
        },
        [](auto const& i) { return "t" + i; });
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_found_in_linear_time) {
    check_program(
        "targets that nothing makes, and statements that match nothing",
        [](std::size_t size) {
            return repeated([](auto const& i) { return "x" + i + ".$A -> l.$A.w\n"; }, size);
        },
        [](auto const& i) { return "l." + i + ".w"; });
    check_program(
        "targets that nothing makes, and statements of one outline",
        [](std::size_t size) {
            return repeated([](auto const& i) { return "x.$A -> l." + i + ".$A\n"; }, size);
        },
        [](auto const& i) { return "l.7." + i; });
    check_program(
        "targets that nothing makes, and other tensors", [](std::size_t) { return std::string(); },
        [](auto const& i) { return "t" + i; });
}

BOOST_AUTO_TEST_SUITE_END()
