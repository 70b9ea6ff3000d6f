// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"
#include "growth/steps.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/print.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(growth_expand)

namespace {

/// A line or a key for each number.
using numbered = std::function<std::string(std::string const&)>;

/// A program and the tensors of both sides, for each size.
struct growing {
    std::string before = {};
    numbered line = {};
    std::string after = {};
    numbered source = {};
    numbered target = {};
};

catalog grown_catalog(numbered const& key, std::size_t size) {
    std::vector<catalog_entry> entries{test::tensor("only", {4, 4})};
    for (std::size_t i = 0; key && i < size; ++i)
        entries.push_back(test::tensor(key(std::to_string(i)), {4, 4}));
    return catalog(entries);
}

/// Expands the program, describes what there is to say of it, and prints it.
void check_expand(char const* noun, growing const& input) {
    test::check_linear(noun, [&](std::size_t size) {
        std::string text = input.before;
        for (std::size_t i = 0; input.line && i < size; ++i)
            text += input.line(std::to_string(i));
        aoa::program const code = test::parsed(text + input.after);
        catalog const source = grown_catalog(input.source, size);
        catalog const target = grown_catalog(input.target, size);
        return [=] {
            auto const expanded = aoa::expand(code, source, &target);
            for (aoa::finding const& finding : expanded.findings)
                describe(expanded.code, finding);
            print(expanded.code);
        };
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(placeholders_are_expanded_in_linear_time) {
    auto const layers = [](auto const& i) { return "l." + i + ".w"; };
    check_expand("layers", {.before = "l.$LAYER_ID.w -> m.$LAYER_ID.w", .source = layers});
    check_expand("many statements, none of which matches",
                 {.line = [](auto const& i) { return "x" + i + ".$A.w -> y" + i + ".$A.w\n"; },
                  .source = layers});
    check_expand("many statements, each of which matches",
                 {.line = [](auto const& i) { return "x" + i + ".$A.w -> y" + i + ".$A.w\n"; },
                  .source = [](auto const& i) { return "x" + i + ".0.w"; }});
    check_expand("many statements, like keys but for their numbers",
                 {.line = [](auto const& i) { return "x1" + i + ".$A.w -> y" + i + ".$A.w\n"; },
                  .source = [](auto const& i) { return "x2" + i + ".0.w"; }});
    test::check_linear("many placeholders in a name", [](std::size_t size) {
        std::string name = "w", key = "w";
        for (std::size_t i = 0; i < size; ++i) {
            name += ".$A" + std::to_string(i);
            key += ".0";
        }
        aoa::program const code = test::parsed(name + " -> " + name + ", axis=0");
        catalog const source({test::tensor(key, {4})});
        return [=] { print(aoa::expand(code, source).code); };
    });
}

BOOST_AUTO_TEST_CASE(stars_and_arrays_are_expanded_in_linear_time) {
    check_expand("a star of many keys", {.before = "e.*.w -> x, axis=0",
                                         .source = [](auto const& i) { return "e." + i + ".w"; }});
    check_expand("many stars", {.line = [](auto const& i) { return "e" + i + ".*.w -> x\n"; },
                                .source = [](auto const& i) { return "e" + i + ".0.w"; }});
    check_expand("many arrays", {.before = "x",
                                 .line = [](auto const& i) { return ", e" + i + "[0:3]"; },
                                 .after = " -> y, axis=0"});
    test::check_linear("a long array", [](std::size_t size) {
        aoa::program const code = test::parsed("w[0:" + std::to_string(size) + "] -> x, axis=0");
        return [code] { print(aoa::expand(code, {}).code); };
    });
}

BOOST_AUTO_TEST_CASE(transposes_are_expanded_in_linear_time) {
    check_expand("many statements", {.line = [](auto const& i) { return "a^T -> b" + i + "\n"; }});
    check_expand("one name many times", {.before = "only^T",
                                         .line = [](auto const&) { return ", only^T"; },
                                         .after = " -> all, axis=0"});
    check_expand("many names", {.before = "x",
                                .line = [](auto const& i) { return ", a" + i + "^T"; },
                                .after = " -> y, axis=0"});
    check_expand("names that temporaries would like to have",
                 {.before = "a -> a_transpose_tmp\n", .line = [](auto const& i) {
                      return "a -> a_transpose_tmp_" + i + "\na^T -> b\n";
                  }});
}

BOOST_AUTO_TEST_CASE(fused_macros_are_expanded_in_linear_time) {
    auto const part = [](auto const& i) { return "g" + i; };
    check_expand(
        "many statements",
        {.line = [](auto const& i) { return "g" + i + ", u -> d, fused_ffn\n"; }, .source = part});
    test::check_linear("many heads", [](std::size_t size) {
        aoa::program const code =
            test::parsed("q, k, v -> d, fused_qkv, num_heads=" + std::to_string(size) +
                         ", num_key_value_groups=" + std::to_string(size));
        return [code] { print(aoa::expand(code, {}).code); };
    });
    check_expand("a chain of renames in front of one",
                 {.before = "g0 -> t\n",
                  .line = [](auto const&) { return "t -> t\n"; },
                  .after = "t -> d, fused_ffn",
                  .source = part});
}

BOOST_AUTO_TEST_SUITE_END()
