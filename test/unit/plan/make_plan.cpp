// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/make_plan.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/verify.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_make_plan)

namespace {

using ranks = std::vector<std::vector<shard_descriptor>>;

/// A matrix of 4 x 6 as two ranks with two rows each, and as three ranks with two columns each.
ranks by_rows(std::string const& key) {
    return {{part(key, {4, 6}, {{0, 0}, {2, 6}})}, {part(key, {4, 6}, {{2, 0}, {2, 6}})}};
}
ranks by_columns(std::string const& key) {
    return {{part(key, {4, 6}, {{0, 0}, {4, 2}})},
            {part(key, {4, 6}, {{0, 2}, {4, 2}})},
            {part(key, {4, 6}, {{0, 4}, {4, 2}})}};
}

/// `0>1 [2:4, 0:2]`: from, to, and which box of the target.
std::vector<std::string> lines(plan const& plan) {
    std::vector<std::string> all;
    for (transfer const& transfer : plan.transfers)
        all.push_back(
            (transfer.source_holder == no_holder ? "-" : std::to_string(transfer.source_holder)) +
            ">" + std::to_string(transfer.target_holder) + " " +
            to_string(cut_of(plan, transfer).target_box()));
    return all;
}

using texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_CASE(rows_become_columns) {
    whole_problem const problem(by_rows("w"), by_columns("w"));
    plan const plan = make_plan(problem());
    BOOST_TEST(lines(plan) == (texts{"0>0 [0:2, 0:2]", "1>0 [2:4, 0:2]", "0>1 [0:2, 2:4]",
                                     "1>1 [2:4, 2:4]", "0>2 [0:2, 4:6]", "1>2 [2:4, 4:6]"}),
               boost::test_tools::per_element());
    BOOST_TEST((cut_of(plan, plan.transfers[3]).source_box() == box{{2, 2}, {2, 2}}));
    BOOST_TEST(plan.transfers[3].source_shard == 1u);
    BOOST_TEST(plan.transfers[3].target_shard == 1u);
}

BOOST_AUTO_TEST_CASE(a_scope_has_what_its_holders_give_and_get) {
    whole_problem const whole_problem(by_rows("w"), by_columns("w"));
    plan_problem const problem = whole_problem();
    holder_set const set({1}), nobody = holder_set::nobody();
    BOOST_TEST(lines(make_plan(problem, {set, set})) ==
                   (texts{"1>0 [2:4, 0:2]", "0>1 [0:2, 2:4]", "1>1 [2:4, 2:4]", "1>2 [2:4, 4:6]"}),
               boost::test_tools::per_element());
    BOOST_TEST(lines(make_plan(problem, {nobody, set})) ==
                   (texts{"0>1 [0:2, 2:4]", "1>1 [2:4, 2:4]"}),
               boost::test_tools::per_element());
    BOOST_TEST(lines(make_plan(problem, {set, nobody})) ==
                   (texts{"1>0 [2:4, 0:2]", "1>1 [2:4, 2:4]", "1>2 [2:4, 4:6]"}),
               boost::test_tools::per_element());
    BOOST_TEST(make_plan(problem, {nobody, nobody}).transfers.empty());
}

BOOST_AUTO_TEST_CASE(who_holds_a_replica_takes_it_and_others_take_turns) {
    box const all_rows{{0}, {8}};
    whole_problem const problem({{part("w", {8}, all_rows)}, {part("w", {8}, all_rows)}, {}, {}},
                                {{part("w", {8}, {{0}, {2}})},
                                 {part("w", {8}, {{2}, {2}})},
                                 {part("w", {8}, {{4}, {2}})},
                                 {part("w", {8}, {{6}, {2}})}});
    BOOST_TEST(lines(make_plan(problem())) ==
                   (texts{"0>0 [0:2]", "1>1 [2:4]", "1>2 [4:6]", "0>3 [6:8]"}),
               boost::test_tools::per_element());
    // As files that everybody reads, the first one serves all.
    BOOST_TEST(lines(make_plan(problem(), {}, {0, true})) ==
                   (texts{"0>0 [0:2]", "0>1 [2:4]", "0>2 [4:6]", "0>3 [6:8]"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(equal_layers_share_one_pattern) {
    ranks source(2), target(3);
    for (std::string const key : {"layer.0", "layer.1", "layer.2"}) {
        for (std::size_t rank = 0; rank < 2; ++rank)
            source[rank].push_back(by_rows(key)[rank][0]);
        for (std::size_t rank = 0; rank < 3; ++rank)
            target[rank].push_back(by_columns(key)[rank][0]);
    }
    source[0].push_back(part("other", {4, 6}, {{0, 0}, {4, 6}}));
    target[0].push_back(part("other", {4, 6}, {{0, 0}, {4, 6}}));
    whole_problem const problem(source, target);
    plan const plan = make_plan(problem());
    BOOST_TEST(plan.patterns.size() == 2u);
    BOOST_TEST(plan.transfers.size() == 19u);
    BOOST_TEST(plan.pattern_of[0] == plan.pattern_of[1]);
    BOOST_TEST(plan.pattern_of[0] == plan.pattern_of[2]);
    BOOST_TEST(plan.pattern_of[3] != plan.pattern_of[0]);
}

BOOST_AUTO_TEST_CASE(equal_layers_on_other_ranks_share_a_pattern_and_keep_their_ranks) {
    whole_problem const problem({{part("a", {4}, {{0}, {4}})}, {part("b", {4}, {{0}, {4}})}},
                                {{part("b", {4}, {{0}, {4}})}, {}, {part("a", {4}, {{0}, {4}})}});
    plan const plan = make_plan(problem());
    BOOST_TEST(plan.patterns.size() == 1u);
    BOOST_TEST(lines(plan) == (texts{"0>2 [0:4]", "1>0 [0:4]"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tensors_made_of_one_source_twice_differ_from_those_made_of_two) {
    // Equal geometry: x is a above a, y is a above b.
    mapping program;
    expression const a = program.source("a", {2}, data_type::f32);
    expression const b = program.source("b", {2}, data_type::f32);
    program.define("x", concat({a, a}, 0));
    program.define("y", concat({a, b}, 0));
    whole_problem const problem({{part("a", {2}, {{0}, {2}})}, {part("b", {2}, {{0}, {2}})}},
                                {{part("x", {4}, {{0}, {4}}), part("y", {4}, {{0}, {4}})}},
                                program);
    plan const plan = make_plan(problem());
    BOOST_TEST(lines(plan) == (texts{"0>0 [0:2]", "0>0 [2:4]", "0>0 [0:2]", "1>0 [2:4]"}),
               boost::test_tools::per_element());
    BOOST_TEST(plan.transfers[3].source_key == 1u);
}

BOOST_AUTO_TEST_CASE(zeros_come_from_nobody) {
    mapping program;
    expression const a = program.source("a", {2}, data_type::f32);
    program.define("x", concat({a, zeros({3}, data_type::f32)}, 0));
    whole_problem const problem({{part("a", {2}, {{0}, {2}})}}, {{}, {part("x", {5}, {{1}, {3}})}},
                                program);
    plan const plan = make_plan(problem());
    BOOST_TEST(lines(plan) == (texts{"0>1 [1:2]", "->1 [2:4]"}), boost::test_tools::per_element());
    BOOST_TEST(plan.transfers[1].source_key == zero_source);
    // Their target writes them; nobody else hears of it.
    BOOST_TEST(lines(make_plan(problem(), {holder_set({0}), holder_set({0})})) ==
                   (texts{"0>1 [1:2]"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(added_tensors_are_left_alone) {
    mapping program;
    program.add("x", {5}, data_type::f32);
    whole_problem const problem({{}}, {{part("x", {5}, {{0}, {5}})}}, program);
    BOOST_TEST(make_plan(problem()).transfers.empty());
}

BOOST_AUTO_TEST_CASE(each_piece_keeps_its_casts) {
    mapping program;
    expression const a = program.source("a", {2}, data_type::f32);
    program.define("x", concat({a, cast(cast(a, data_type::bf16), data_type::f32)}, 0));
    whole_problem const problem({{part("a", {2}, {{0}, {2}})}}, {{part("x", {4}, {{0}, {4}})}},
                                program);
    plan const plan = make_plan(problem());
    BOOST_TEST_REQUIRE(plan.transfers.size() == 2u);
    BOOST_TEST(plan.chains[plan.transfers[0].chain].empty());
    BOOST_TEST(plan.chains[plan.transfers[1].chain].steps().size() == 2u);
    BOOST_TEST((plan.source_dtypes[0] == data_type::f32));
}

BOOST_AUTO_TEST_CASE(flat_shards_meet_on_both_sides) {
    // 3 x 4 elements: 0 to 4 and 5 to 11 become 0 to 8 and 9 to 11.
    box const all_of_it{{0, 0}, {3, 4}};
    whole_problem const problem({{part("w", {3, 4}, all_of_it, flat_range{0, 5})},
                                 {part("w", {3, 4}, all_of_it, flat_range{5, 12})}},
                                {{part("w", {3, 4}, all_of_it, flat_range{0, 9})},
                                 {part("w", {3, 4}, all_of_it, flat_range{9, 12})}});
    plan const plan = make_plan(problem());
    BOOST_TEST(lines(plan) == (texts{"0>0 [0:1, 0:4]", "0>0 [1:2, 0:1]", "1>0 [1:2, 1:4]",
                                     "1>0 [2:3, 0:1]", "1>1 [2:3, 1:4]"}),
               boost::test_tools::per_element());
    // The boxes of source 1 are the rest of row 1 and row 2; the boxes of target 0 are two rows and
    // one element.
    BOOST_TEST(plan.transfers[2].source_part == 0);
    BOOST_TEST(plan.transfers[2].target_part == 0);
    BOOST_TEST(plan.transfers[3].source_part == 1);
    BOOST_TEST(plan.transfers[3].target_part == 1);
}

BOOST_AUTO_TEST_CASE(scalars_and_empty_shards_are_planned_too) {
    whole_problem const problem(
        {{part("s", {}, {})}, {part("w", {2}, {{0}, {2}}), part("w", {2}, {{2}, {0}})}},
        {{part("w", {2}, {{0}, {0}}), part("s", {}, {})}, {part("w", {2}, {{0}, {2}})}});
    BOOST_TEST(lines(make_plan(problem())) == (texts{"0>0 []", "1>1 [0:2]"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_needs_no_source) {
    mapping program;
    program.define("w", program.source("w", {0, 3}, data_type::f32));
    whole_problem const problem({{}}, {{part("w", {0, 3}, {{0, 0}, {0, 3}})}}, program);
    BOOST_TEST(make_plan(problem()).transfers.empty());
}

BOOST_AUTO_TEST_CASE(targets_may_overlap) {
    whole_problem const problem({{part("w", {6}, {{0}, {6}})}},
                                {{part("w", {6}, {{0}, {4}}), part("w", {6}, {{2}, {4}})}});
    BOOST_TEST(lines(make_plan(problem())) == (texts{"0>0 [0:4]", "0>0 [2:6]"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_replica_on_the_same_node_gives_and_both_sides_know_it) {
    // Ranks 0, 2 and 3 of nodes {0, 1}, {2, 3}, {4, 5} have all; every rank wants it. The last
    // node's elements leave both others in equal parts, and rank 0 sends its own neighbour 4, too.
    std::vector<shard_descriptor> const shards{part("w", {8}, {{0}, {8}})};
    whole_problem const problem({shards, {}, shards, shards},
                                {shards, shards, shards, shards, shards, shards});
    plan_options const two{.processes_per_node = 2};
    plan_problem const shared = problem();
    plan const plan = make_plan(shared, {}, two);
    BOOST_TEST(!verify(plan, shared));
    plan_cost const cost = cost_of(plan, 6, two);
    BOOST_TEST(cost.bytes_local == 3 * 32); // each that has it takes its own
    // Two floats of eight are four bytes each: 64 bytes leave two nodes, 32 each.
    BOOST_TEST(cost.by_process[0].bytes_out == 32 + 32);
    BOOST_TEST(cost.by_process[2].bytes_out + cost.by_process[3].bytes_out == 32);
    for (holder_t rank = 0; rank < 6; ++rank) {
        holder_set const set({rank});
        texts own_texts;
        for (std::string const& line : lines(plan))
            if (line[0] == static_cast<char>('0' + rank) ||
                line[2] == static_cast<char>('0' + rank))
                own_texts.push_back(line);
        BOOST_TEST(lines(make_plan(shared, {set, set}, two)) == own_texts,
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(replicas_give_equally_much_whatever_the_numbers_of_the_ranks) {
    // Ranks 0 and 1 have both tensors; 2 and 4 want one each, and by their numbers both would ask
    // rank 0.
    std::vector<shard_descriptor> const both{part("a", {4}, {{0}, {4}}),
                                             part("b", {4}, {{0}, {4}})};
    whole_problem const problem(
        {both, both}, {{}, {}, {part("a", {4}, {{0}, {4}})}, {}, {part("b", {4}, {{0}, {4}})}});
    plan_cost const cost = cost_of(make_plan(problem()), 5);
    BOOST_TEST(cost.by_process[0].bytes_out == 16);
    BOOST_TEST(cost.by_process[1].bytes_out == 16);
    BOOST_TEST(cost.transfers == 2);
}

BOOST_AUTO_TEST_CASE(a_box_that_one_alone_should_not_send_is_cut) {
    // 100 floats on three ranks, wanted by a fourth: 33 or 34 each.
    std::vector<shard_descriptor> const shards{part("w", {100}, {{0}, {100}})};
    whole_problem const problem({shards, shards, shards}, {{}, {}, {}, shards});
    plan_options const balanced{.between_nodes = balanced_senders()};
    plan const plan = make_plan(problem(), {}, balanced);
    BOOST_TEST(!verify(plan, problem()));
    for (holder_t rank = 0; rank < 3; ++rank)
        BOOST_TEST(cost_of(plan, 4).by_process[rank].bytes_out <= 4 * 35);
    // It is one pair of a source's box and a target's shard still.
    plan_problem const shared = problem();
    index_t pairs = 0;
    plan_flows(shared, balanced).for_each(0, [&](flow const& flow) { pairs += !flow.is_rest; });
    BOOST_TEST(pairs == 1);
}

BOOST_AUTO_TEST_CASE(where_a_target_plans_alone_its_number_decides) {
    std::vector<shard_descriptor> const shards{part("w", {4}, {{0}, {4}})};
    whole_problem const problem({shards, shards}, {{}, {}, shards, shards});
    plan_options const alone{.between_nodes = {sender_choice::by_target}};
    BOOST_TEST(lines(make_plan(problem(), {}, alone)) == (texts{"1>2 [0:4]", "0>3 [0:4]"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_gap_is_refused_even_between_equal_layers) {
    ranks source{{part("a", {4}, {{0}, {4}}), part("b", {4}, {{0}, {3}})}};
    ranks const target{{part("a", {4}, {{0}, {4}}), part("b", {4}, {{0}, {4}})}};
    whole_problem const problem(source, target);
    BOOST_CHECK_EXCEPTION(make_plan(problem()), error,
                          says(errc::not_covered,
                               "'b' elements [3:4], which rank 0 wants, are missing from the "
                               "source; source 'b' lacks [3:4]"));
}

BOOST_AUTO_TEST_CASE(a_gap_that_a_scope_does_not_want_is_no_matter) {
    whole_problem const problem({{part("w", {4}, {{0}, {2}})}},
                                {{part("w", {4}, {{0}, {2}})}, {part("w", {4}, {{2}, {2}})}});
    BOOST_TEST(make_plan(problem(), {holder_set({0}), holder_set({0})}).transfers.size() == 1u);
    BOOST_CHECK_THROW(make_plan(problem()), error);
}

namespace {

layout spread_over(mesh const& grid, std::vector<placement> placements) {
    return layout_of(
        {sharding_of("w", data_type::f32, distribution(grid, std::move(placements), {9}))});
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks_become_rows_and_rows_become_blocks) {
    mesh const two{{"p", 2}};
    layout const blocks = spread_over(two, {block_cyclic{0, 2}}); // 0 1 4 5 8 and 2 3 6 7
    layout const rows = spread_over(two, {shard{0}});
    mapping const program = by_name(catalog_of(blocks), rows);
    texts const to_rows{"0>0 [0:2]", "1>0 [2:4]", "0>0 [4:5]",
                        "0>1 [5:6]", "1>1 [6:8]", "0>1 [8:9]"};
    BOOST_TEST(lines(make_plan(problem_of(program, blocks, rows))) == to_rows,
               boost::test_tools::per_element());
    texts const to_blocks{"0>0 [0:2]", "0>0 [4:5]", "1>0 [5:6]",
                          "1>0 [8:9]", "0>1 [2:4]", "1>1 [6:8]"};
    plan_problem const back = problem_of(program, rows, blocks);
    plan const plan = make_plan(back);
    BOOST_TEST(lines(plan) == to_blocks, boost::test_tools::per_element());
    BOOST_TEST(!verify(plan, back));
    for (holder_t const rank : {0u, 1u}) {
        holder_set const me({rank});
        texts own_texts;
        for (std::string const& line : to_blocks)
            if (line[0] == static_cast<char>('0' + rank) ||
                line[2] == static_cast<char>('0' + rank))
                own_texts.push_back(line);
        BOOST_TEST(lines(make_plan(back, {me, me})) == own_texts, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(blocks_of_other_sizes_are_cut_where_either_side_is) {
    layout const twos = spread_over({{"p", 2}}, {block_cyclic{0, 2}});
    layout const threes = spread_over({{"p", 3}}, {block_cyclic{0, 3}});
    mapping const program = by_name(catalog_of(twos), threes);
    plan_problem const problem = problem_of(program, twos, threes);
    plan const whole_plan = make_plan(problem);
    BOOST_TEST(lines(whole_plan) == (texts{"0>0 [0:2]", "1>0 [2:3]", "1>1 [3:4]", "0>1 [4:6]",
                                           "1>2 [6:8]", "0>2 [8:9]"}),
               boost::test_tools::per_element());
    // Missing transfers of a plan of blocks are found.
    plan less = whole_plan;
    less.transfers.pop_back();
    auto const fault = verify(less, problem);
    BOOST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->where == box{{8}, {1}}));
}

BOOST_AUTO_TEST_SUITE_END()
