// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/verify.hpp>

#include "support/layouts.hpp"

#include <reshard/plan/make_plan.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

namespace {

using kind = plan_fault::kind;

/// Two ranks with two rows each; one rank wants all, another the elements 1 to 6 of a flat tensor.
struct verify_fixture {
    whole_problem all{
        {{part("w", {4, 3}, {{0, 0}, {2, 3}})}, {part("w", {4, 3}, {{2, 0}, {2, 3}})}},
        {{part("w", {4, 3}, {{0, 0}, {4, 3}})},
         {part("w", {4, 3}, {{0, 0}, {4, 3}}, flat_range{1, 7})}}};
    plan_problem problem = all();
    plan whole = make_plan(problem);

    std::optional<plan_fault> fault() const { return verify(whole, problem); }

    /// Changes the geometry of one transfer.
    template <class Change>
    void change(std::size_t number, Change&& change_cut) {
        auto& geometry = whole.patterns[whole.pattern_of[0]];
        pattern changed(2);
        for (std::size_t i = 0; i < geometry.size(); ++i) {
            cut cut = geometry[i];
            if (i == whole.transfers[number].cut)
                change_cut(cut);
            changed.push_back(cut);
        }
        geometry = changed;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(plan_verify, verify_fixture)

BOOST_AUTO_TEST_CASE(a_plan_as_it_was_made_is_right) {
    // Rows 0-1 and 2-3 for rank 0; for rank 1 row 0 from column 1, row 1, and row 2 up to column 1.
    BOOST_TEST(whole.transfers.size() == 5u);
    BOOST_TEST(!fault());
}

BOOST_AUTO_TEST_CASE(a_lost_transfer_is_noticed) {
    whole.transfers.erase(whole.transfers.begin() + 1);
    BOOST_TEST((fault() == plan_fault{kind::missing, 0, 0, {{2, 0}, {2, 3}}}));
}

BOOST_AUTO_TEST_CASE(a_transfer_that_is_too_small_is_noticed) {
    change(3, [](cut& cut) { cut.extent = {1, 2}; });
    BOOST_TEST((fault() == plan_fault{kind::missing, 0, 1, {{1, 2}, {1, 1}}}));
}

BOOST_AUTO_TEST_CASE(a_transfer_that_happens_twice_is_noticed) {
    whole.transfers.insert(whole.transfers.begin(), whole.transfers.front());
    BOOST_TEST((fault() == plan_fault{kind::twice, 0, 0, {{0, 0}, {2, 3}}}));
}

BOOST_AUTO_TEST_CASE(a_transfer_that_leaves_its_shard_is_noticed) {
    change(0, [](cut& cut) { cut.extent = {2, 4}; });
    BOOST_TEST((fault() == plan_fault{kind::outside, 0, 0, {{0, 0}, {2, 4}}}));
}

BOOST_AUTO_TEST_CASE(a_transfer_into_a_part_that_the_flat_shard_lacks_is_noticed) {
    change(2, [](cut& cut) {
        cut.target_offset = {0, 0};
        cut.extent = {1, 3};
    });
    BOOST_TEST((fault() == plan_fault{kind::outside, 0, 1, {{0, 0}, {1, 3}}}));
}

BOOST_AUTO_TEST_CASE(a_transfer_out_of_turn_is_noticed) {
    std::swap(whole.transfers[0], whole.transfers[4]);
    BOOST_TEST(fault().has_value());
    whole.transfers[4].target_shard = 9;
    BOOST_TEST(fault().has_value());
}

BOOST_AUTO_TEST_CASE(only_the_wanted_holders_are_looked_at) {
    whole.transfers.erase(whole.transfers.begin() + 1);
    BOOST_TEST(!verify(whole, problem, holder_set({1})));
    BOOST_TEST(verify(whole, problem, holder_set({0})).has_value());
}

BOOST_AUTO_TEST_CASE(what_a_rank_gives_to_others_does_not_disturb) {
    plan const plan = make_plan(problem, {holder_set({1}), holder_set({1})});
    BOOST_TEST(plan.transfers.size() == 4u);
    BOOST_TEST(!verify(plan, problem, holder_set({1})));
}

BOOST_AUTO_TEST_CASE(nothing_is_written_into_added_tensors) {
    problem.targets[0].added = true;
    BOOST_TEST((fault() == plan_fault{kind::outside, 0, 0, {{0, 0}, {2, 3}}}));
    whole.transfers.clear();
    BOOST_TEST(!fault());
}

namespace {

/// One rank has and wants 2^42 elements, and a plan that moves some of them in many boxes.
std::optional<plan_fault> fault_of_boxes(axis_repeats const& repeats) {
    std::vector<shard_descriptor> const all{
        part("w", {index_t{1} << 42}, {{0}, {index_t{1} << 42}})};
    whole_problem const problem({all}, {all});
    plan boxes = make_plan(problem());
    boxes.patterns[0] = pattern(1);
    boxes.patterns[0].push_back({permutation::identity(1), {0}, {0}, {1}, {}, repeats});
    return verify(boxes, problem());
}

} // namespace

BOOST_AUTO_TEST_CASE(boxes_beyond_number_are_not_listed) {
    index_t const many = index_t{1} << 40;
    plan_fault const missing{kind::missing, 0, 0, {{0}, {index_t{1} << 42}}};
    BOOST_TEST((fault_of_boxes({{many}, {2}}) == missing));
    BOOST_TEST(
        (fault_of_boxes({{1024, 1024}, {2, 4096}}) == plan_fault{kind::missing, 0, 0, {{1}, {1}}}));
    BOOST_CHECK_EXCEPTION(fault_of_boxes({{index_t{1} << 30, 512}, {2, index_t{1} << 32}}), error,
                          [](error const& e) {
                              std::string const text = e.what();
                              return e.code() == errc::limit_exceeded &&
                                     text.find("more than 4194304 boxes into one shard") !=
                                         std::string::npos;
                          });
}

BOOST_AUTO_TEST_CASE(blocks_beyond_number_are_not_listed_for_a_shard_that_is_none) {
    index_t const rows = index_t{1} << 40;
    whole_problem const flat({{part("w", {rows}, {{0}, {rows}})}},
                             {{part("w", {rows}, {{0}, {rows}}, flat_range{0, rows - 1})}});
    plan every_other = make_plan(flat());
    every_other.patterns[0] = pattern(1);
    every_other.patterns[0].push_back(
        {permutation::identity(1), {0}, {0}, {1}, {}, {{rows / 2}, {2}}});
    BOOST_CHECK_EXCEPTION(verify(every_other, flat()), error,
                          [](error const& e) { return e.code() == errc::limit_exceeded; });
}

namespace {

/// Rank 0 has what ranks 1, 2 and 3 want, which pass it on.
struct relayed_fixture {
    std::vector<shard_descriptor> one{part("a", {8}, {{0}, {8}})};
    whole_problem all{{one}, {{}, one, one, one}};
    plan_problem problem = all();
    plan whole = make_plan(problem, {}, {.between_nodes = detail::all_relays()});

    std::optional<plan_fault> fault() const { return verify(whole, problem); }
};

plan_fault const third_not_relayed{kind::not_relayed, 0, 1, {{0}, {8}}};

} // namespace

BOOST_FIXTURE_TEST_CASE(what_is_passed_on_must_have_come, relayed_fixture) {
    BOOST_TEST_REQUIRE(whole.relays.size() == 3u);
    BOOST_TEST(!fault());
    whole.relays[1].input = relay::no_input;
    BOOST_TEST((fault() == third_not_relayed));
    whole.relays[1].input = 2; // what comes to another rank
    BOOST_TEST((fault() == third_not_relayed));
}

BOOST_FIXTURE_TEST_CASE(a_holder_passes_on_what_it_got_and_nothing_else, relayed_fixture) {
    pattern halves(1);
    halves.push_back({permutation::identity(1), {0}, {0}, {4}});
    halves.push_back({permutation::identity(1), {4}, {4}, {4}});
    halves.push_back({permutation::identity(1), {0}, {0}, {8}});
    whole.patterns[0] = halves;
    whole.transfers = {whole.transfers[0], whole.transfers[0], whole.transfers[1]};
    for (std::uint32_t i = 0; i < 3; ++i)
        whole.transfers[i].cut = i;
    whole.relays = {{0, 0, 0, 0, relay::no_input}, {2, 0, 1, 0, 0}}; // it brings a half only
    holder_set const first_two({1, 2});
    BOOST_TEST((verify(whole, problem, first_two) == third_not_relayed));
}

BOOST_AUTO_TEST_SUITE_END()
