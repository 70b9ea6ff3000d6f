// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/names/variable_names.hpp>

#include <reshard/expr/cast.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::model;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(model_master_weights)

namespace {

using tensors = std::vector<std::pair<std::string, data_type>>;
using made = std::vector<renamed_key>;

constexpr data_type small = data_type::bf16, large = data_type::f32;

catalog catalog_with(tensors const& all) {
    std::vector<catalog_entry> entries;
    for (auto const& [key, dtype] : all)
        entries.push_back({key, dtype, {4}, {1}});
    return catalog(entries);
}

catalog const both = catalog_with({{"w", small}, {"w.w_0", large}, {"w.moment1_0", large}});
catalog const weights = catalog_with({{"w", small}, {"w.moment1_0", large}});
catalog const masters = catalog_with({{"w.w_0", large}, {"w.moment1_0", large}});
/// As a Unified Checkpoint of master weights alone is opened.
catalog const shared = catalog_with({{"w", large}, {"w.w_0", large}, {"w.moment1_0", large}});

made casts_of_masters(catalog const& wanted, catalog const& stored, master_rule rule) {
    mapping program;
    return define_masters(program, wanted, stored, rule);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_rule_nothing_stands_in) {
    for (catalog const* stored : {&both, &weights, &masters, &shared})
        BOOST_TEST(casts_of_masters(both, *stored, {}).empty());
}

BOOST_AUTO_TEST_CASE(a_weight_that_is_not_there_is_a_cast_of_its_master) {
    master_rule const rule{.weights_of_masters = true};
    made const expected{{"w", "w.w_0"}};
    BOOST_TEST((casts_of_masters(both, masters, rule) == expected));
    BOOST_TEST((casts_of_masters(both, shared, rule) == expected));
    BOOST_TEST(casts_of_masters(both, both, rule).empty());
    BOOST_TEST(casts_of_masters(both, weights, rule).empty());
    BOOST_TEST(casts_of_masters(shared, shared, rule).empty());
}

BOOST_AUTO_TEST_CASE(a_master_that_is_not_there_is_a_cast_of_its_weight) {
    master_rule const rule{.masters_of_weights = true};
    BOOST_TEST((casts_of_masters(both, weights, rule) == made{{"w.w_0", "w"}}));
    BOOST_TEST(casts_of_masters(both, both, rule).empty());
    BOOST_TEST(casts_of_masters(both, masters, rule).empty());
    BOOST_TEST(casts_of_masters(both, shared, rule).empty());
}

BOOST_AUTO_TEST_CASE(both_rules_hold_side_by_side) {
    auto const wanted =
        catalog_with({{"v", small}, {"v.w_0", large}, {"w", small}, {"w.w_0", large}});
    auto const stored = catalog_with({{"v", small}, {"w.w_0", large}});
    BOOST_TEST(
        (casts_of_masters(wanted, stored, {true, true}) == made{{"v.w_0", "v"}, {"w", "w.w_0"}}));
}

BOOST_AUTO_TEST_CASE(casts_have_the_wanted_data_type) {
    mapping program;
    define_masters(program, both, masters, {.weights_of_masters = true});
    BOOST_TEST_REQUIRE(program.sources().size() == 1u);
    BOOST_TEST(program.sources().key(0) == "w.w_0");
    BOOST_TEST((program.find("w")->value == cast(program.source(0), small)));
}

BOOST_AUTO_TEST_SUITE_END()
