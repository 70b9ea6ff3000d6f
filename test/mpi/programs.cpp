// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>
#include <reshard/bind/rounds.hpp>
#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"
#include "support/counted_calls.hpp"

#include <reshard/adapt/span.hpp>
#include <reshard/aoa.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/plan/rounds.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;
using reshard::test::counted_calls;

namespace {

/// Two matrices of 2 rows a rank and 3 columns on the source side, cut by rows; their elements are
/// numbered, the ones of "b" from 1000 on. On the target side every rank wants all of "ab".
struct programs_fixture {
    boost::mpi::communicator world;
    index_t size = world.size(), rank = world.rank(), rows = 2 * size;
    std::vector<float> a = numbered(0), b = numbered(1000);
    std::vector<float> ab = std::vector<float>(static_cast<std::size_t>(6 * rows), -1.F);

    std::vector<float> numbered(float first) const {
        std::vector<float> elements;
        for (index_t i = 0; i < 6; ++i)
            elements.push_back(first + static_cast<float>(6 * rank + i));
        return elements;
    }

    shard_descriptor rows_of(std::string key) const {
        return {std::move(key), data_type::f32, {rows, 3}, {{2 * rank, 0}, {2, 3}}, {}};
    }

    const_state_dict have() const {
        const_state_dict tensors;
        tensors.add(rows_of("a"), const_tensor_view{a.data(), data_type::f32, {2, 3}, {3, 1}});
        tensors.add(rows_of("b"), const_tensor_view{b.data(), data_type::f32, {2, 3}, {3, 1}});
        return tensors;
    }

    state_dict want() {
        state_dict tensors;
        tensors.add({"ab", data_type::f32, {rows, 6}, whole({rows, 6}), {}},
                    tensor_view{ab.data(), data_type::f32, {rows, 6}, {6, 1}});
        return tensors;
    }

    /// Row i of "ab" is row i of "a", then row i of "b".
    std::size_t wrong() const {
        std::size_t count = 0;
        for (index_t i = 0; i < rows; ++i)
            for (index_t j = 0; j < 6; ++j)
                count += ab[static_cast<std::size_t>(6 * i + j)] !=
                         static_cast<float>(3 * i + j % 3 + (j < 3 ? 0 : 1000));
        return count;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_redistribute_programs, programs_fixture)

BOOST_AUTO_TEST_CASE(aoa_text_runs_in_one_call) {
    redistribute(world, have(), want(), {.program = aoa::parse("a, b -> ab, axis=1\n")});
    BOOST_TEST(wrong() == 0u);
}

BOOST_AUTO_TEST_CASE(aoa_text_runs_where_ranks_look_up) {
    redistribute(world, have(), want(),
                 {.program = aoa::parse("a, b -> ab, axis=1\n"), .lookup = directory(0)});
    BOOST_TEST(wrong() == 0u);
}

BOOST_AUTO_TEST_CASE(aoa_text_runs_with_plans_that_are_kept) {
    plan_cache kept;
    for (bool const is_kept : {false, true}) {
        ab.assign(ab.size(), -1.F);
        job ready = prepare(world, have(), want(),
                            {.program = aoa::parse("a, b -> ab, axis=1\n"), .cache = &kept});
        run(ready);
        BOOST_TEST(ready.was_kept() == is_kept);
        BOOST_TEST(wrong() == 0u);
    }
    job other_job = prepare(world, have(), want(),
                            {.program = aoa::parse("b, a -> ab, axis=1\n"), .cache = &kept});
    BOOST_TEST(!other_job.was_kept());
}

BOOST_AUTO_TEST_CASE(a_function_gets_the_catalogs_of_what_all_ranks_hold) {
    for (holder_t const gather_up_to : {256u, 0u}) {
        ab.assign(ab.size(), -1.F);
        auto const fuse = [&](catalog const& source, catalog const* target) {
            BOOST_TEST_REQUIRE(source.size() == 2u);
            BOOST_TEST((source[0].shape == index_vector{rows, 3}));
            BOOST_TEST((source[0].parts == index_vector{size, 1}));
            BOOST_TEST(source[1].is_even(0));
            BOOST_TEST_REQUIRE(target != nullptr);
            BOOST_TEST((target->find("ab")->parts == index_vector{1, 1}));
            mapping program;
            program.define("ab", concat({program.source("a", {rows, 3}, data_type::f32),
                                         program.source("b", {rows, 3}, data_type::f32)},
                                        1));
            return program;
        };
        redistribute(world, have(), want(), {.program = fuse, .lookup = directory(gather_up_to)});
        BOOST_TEST(wrong() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(the_mistake_of_a_program_is_one_error_on_every_rank) {
    auto const text = aoa::parse("a, c -> ab, axis=1\n", "model.aoa");
    for (holder_t const gather_up_to : {256u, 0u}) {
        std::string const problem = agreed_error(world, [&] {
            redistribute(world, have(), want(),
                         {.program = text, .lookup = directory(gather_up_to)});
        });
        BOOST_TEST(problem.starts_with("unknown_key: model.aoa:1:4: "), problem);
        BOOST_TEST(ab == std::vector<float>(ab.size(), -1.F), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(ranks_whose_programs_give_different_mappings_are_told_so) {
    if (size == 1)
        return;
    char const* const text = rank == size - 1 ? "b, a -> ab, axis=1\n" : "a, b -> ab, axis=1\n";
    std::string const problem = agreed_error(
        world, [&] { redistribute(world, have(), want(), {.program = aoa::parse(text)}); });
    BOOST_TEST(problem.starts_with("ranks_disagree: rank 0 has a program that makes a mapping"),
               problem);
}

BOOST_AUTO_TEST_CASE(one_key_of_two_shapes_is_an_error_before_the_program_runs) {
    if (size == 1)
        return;
    const_state_dict tensors = have();
    if (rank == size - 1) {
        tensors = {};
        tensors.add({"a", data_type::f32, {2, 3}, whole({2, 3}), {}},
                    const_tensor_view{a.data(), data_type::f32, {2, 3}, {3, 1}});
    }
    auto const never = [](catalog const&, catalog const*) -> mapping {
        fail(errc::unsupported, "the program has run");
    };
    std::string const problem =
        agreed_error(world, [&] { redistribute(world, tensors, want(), {.program = never}); });
    BOOST_TEST(problem == "shape_mismatch: 'a' has the global shape [" + std::to_string(rows) +
                              ", 3] on rank 0 and [2, 3] on rank " + std::to_string(size - 1));
}

BOOST_AUTO_TEST_CASE(a_tensor_that_one_rank_describes_wrongly_is_an_error_on_every_rank) {
    const_state_dict tensors = have();
    if (rank == size - 1)
        tensors.add(rows_of("c"), const_tensor_view{a.data(), data_type::f32, {3, 2}, {2, 1}});
    std::string const problem = agreed_error(world, [&] { redistribute(world, tensors, want()); });
    BOOST_TEST(
        problem ==
        "shape_mismatch: 'c': axis 0: a shard of extent 2 does not fit a tensor of extent 3");
    state_dict wanted = want();
    if (rank == 0)
        wanted.add([]() -> shard_descriptor { fail(errc::bad_layout, "there is no such mesh"); },
                   tensor_view{ab.data(), data_type::f32, {rows, 6}, {6, 1}});
    BOOST_TEST(agreed_error(world, [&] { prepare(world, have(), wanted); }) ==
               "bad_layout: there is no such mesh");
}

BOOST_AUTO_TEST_CASE(numbers_that_a_program_joins_are_compared_over_all_ranks) {
    // Rank 0 has a and its step, the last rank b and its step.
    std::vector<float> weights{1, 2}, results(4, -1.F);
    std::vector<float> steps{5, 7};
    std::vector<float> step{-1};
    int const last = static_cast<int>(size) - 1;
    const_state_dict have;
    for (std::size_t i = 0; i < 2; ++i)
        if (rank == (i == 0 ? 0 : last)) {
            std::string const key(1, "ab"[i]);
            have.add({key, data_type::f32, {2}, whole({2}), {}},
                     const_tensor_view{weights.data(), data_type::f32, {2}, {1}});
            have.add({key + ".step", data_type::f32, {}, whole({}), {}},
                     const_tensor_view{&steps[i], data_type::f32, {}, {}});
        }
    state_dict want;
    want.add({"ab", data_type::f32, {4}, whole({4}), {}},
             tensor_view{results.data(), data_type::f32, {4}, {1}});
    want.add({"ab.step", data_type::f32, {}, whole({}), {}},
             tensor_view{step.data(), data_type::f32, {}, {}});
    aoa::expand_options options;
    options.state_suffixes = {{".step", true}};
    auto const program = [&](catalog const& source, catalog const* target) {
        return aoa::lower(
            aoa::expand(aoa::parse("a, b -> ab, axis=0"), source, target, options).code, source,
            target);
    };
    std::string const problem =
        agreed_error(world, [&] { redistribute(world, have, want, {.program = program}); });
    BOOST_TEST(problem.starts_with("overlap: 'a.step' and 'b.step' are 5 and 7, but"), problem);
    BOOST_TEST(step[0] == -1);
    steps[1] = 5;
    redistribute(world, have, want, {.program = program});
    BOOST_TEST(step[0] == 5);
}

BOOST_AUTO_TEST_CASE(keys_that_the_source_lacks_keep_their_content_where_that_is_asked) {
    state_dict wanted;
    std::vector<float> own_values(6, -1.F), left(3, 7.F);
    wanted.add(rows_of("a"), tensor_view{own_values.data(), data_type::f32, {2, 3}, {3, 1}});
    wanted.add({"z", data_type::f32, {3}, whole({3}), {}}, left);
    for (holder_t const gather_up_to : {256u, 0u}) {
        job ready = prepare(world, have(), wanted,
                            {.strict = strictness::return_all, .lookup = directory(gather_up_to)});
        run(ready);
        BOOST_TEST(own_values == a, boost::test_tools::per_element());
        BOOST_TEST(left == std::vector<float>(3, 7.F), boost::test_tools::per_element());
        key_mismatch const& keys = ready.keys_judged().give_back;
        BOOST_TEST(keys.unexpected == std::vector<std::string>{"z"},
                   boost::test_tools::per_element());
        BOOST_TEST(keys.missing == std::vector<std::string>{"b"}, boost::test_tools::per_element());
    }
    std::string const problem = agreed_error(world, [&] {
        redistribute(world, have(), wanted, {.strict = strictness::raise_unexpected});
    });
    BOOST_TEST(problem.starts_with("unknown_key: "), problem);
    BOOST_TEST(problem.find("'z'") != std::string::npos, problem);
}

BOOST_AUTO_TEST_CASE(a_job_that_has_released_its_sources_does_not_run_again) {
    std::vector<float> filled(6);
    auto const allocate = [&](std::vector<std::string> const& keys) {
        state_dict some;
        for (std::string const& key : keys)
            some.add(rows_of(key), tensor_view{filled.data(), data_type::f32, {2, 3}, {3, 1}});
        return some;
    };
    options const how{.memory =
                          rounds(1'000'000, allocate, [](std::vector<std::string> const&) {})};
    std::vector<std::vector<shard_descriptor>> shards;
    for (index_t i = 0; i < size; ++i)
        shards.push_back({{"a", data_type::f32, {rows, 3}, {{2 * i, 0}, {2, 3}}, {}}});
    job ready = prepare(world, have(), {{}, layout_of(shards)}, how);
    run(ready);
    BOOST_TEST(filled == a, boost::test_tools::per_element());
    BOOST_TEST(ready.rounds().rounds.size() == 1u);
    BOOST_TEST(agreed_error(world, [&] {
                   run(ready);
               }).starts_with("usage: this job has released its 2 source tensors"));
    options with_arena = how;
    plan_cache kept;
    with_arena.cache = &kept;
    BOOST_TEST(agreed_error(world, [&] {
                   prepare(world, have(), {{}, layout_of(shards)}, with_arena);
               }).starts_with("usage: plans of rounds cannot be cached"));
    BOOST_TEST(
        agreed_error(world, [&] {
            prepare(world, have(), want(), how);
        }).starts_with("usage: options.memory allocates the targets, but the call gives 1 tensor"));
}

/// A call of `redistribute`, and the steps of it that every rank must enter before one may go on.
struct counted_call {
    char const* name;
    options how;
    int first; ///< of a group that has no separate messages yet
    int again;
};

BOOST_AUTO_TEST_CASE(few_steps_of_a_call_need_every_rank) {
    plan_cache kept;
    counted_call const calls[] = {
        {"a program", {.program = aoa::parse("a, b -> ab, axis=1\n")}, 4, 3},
        {"a program with a cache",
         {.program = aoa::parse("a, b -> ab, axis=1\n"), .cache = &kept},
         5,
         3},
    };
    for (counted_call const& call : calls) {
        mpi_group const group(world);
        for (int const expected : {call.first, call.again}) {
            counted_calls const counted(mpi_group::default_count_limit);
            redistribute(group, have(), want(), call.how);
            BOOST_TEST(counted.collectives() == expected, call.name);
        }
        BOOST_TEST(wrong() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_call_by_name_needs_every_rank_three_times) {
    std::vector<float> values(static_cast<std::size_t>(3 * rows), -1.F);
    state_dict target;
    target.add({"a", data_type::f32, {rows, 3}, whole({rows, 3}), {}},
               tensor_view{values.data(), data_type::f32, {rows, 3}, {3, 1}});
    const_state_dict source;
    source.add(rows_of("a"), const_tensor_view{a.data(), data_type::f32, {2, 3}, {3, 1}});
    layout const rows_of_ranks = gather_layout(mpi_group(world), source.descriptors());
    plan_cache kept;
    auto const count = [&](mpi_group const& group, source_tensors have, options const& options) {
        counted_calls const counted(mpi_group::default_count_limit);
        redistribute(group, std::move(have), target, options);
        return counted.collectives();
    };
    mpi_group const group(world);
    BOOST_TEST(count(group, source, {}) == 3); // both sides, separate messages, the plans
    BOOST_TEST(count(group, source, {}) == 2);
    BOOST_TEST(count(group, {source, rows_of_ranks}, {}) == 2);
    if (size > 1) // one rank sends to the others
        BOOST_TEST(count(group, {source, rank == 0 ? std::optional(rows_of_ranks) : std::nullopt},
                         {}) == 3);
    BOOST_TEST(count(group, source, {.cache = &kept}) == 3); // the shards are sent separately
    BOOST_TEST(count(group, source, {.cache = &kept}) == 2);
    for (std::size_t i = 0; i < values.size(); ++i)
        BOOST_TEST(values[i] == static_cast<float>(i));
}

// A rank that keeps its group has separate messages already; one that makes it again has none.
BOOST_AUTO_TEST_CASE(ranks_may_keep_their_group_or_make_it_anew) {
    mpi_group const kept(world);
    for (int call = 0; call < 4; ++call) {
        ab.assign(ab.size(), -1.F);
        redistribute(rank == 0 || call == 3 ? kept : mpi_group(world), have(), want(),
                     {.program = aoa::parse("a, b -> ab, axis=1\n"), .deadline = 60});
        BOOST_TEST(wrong() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(jobs_of_one_group_keep_their_messages_apart) {
    if (size == 1)
        return;
    mpi_group const group(world);
    std::vector<float> const sources[] = {std::vector<float>(8, 1.F), std::vector<float>(8, 2.F)};
    std::vector<float> targets[] = {std::vector<float>(8, -1.F), std::vector<float>(8, -1.F)};
    shard_descriptor const all{"w", data_type::f32, {8}, whole({8}), {}};
    std::vector<job> jobs;
    for (int i : {0, 1}) { // from rank 0 to rank 1
        const_state_dict source;
        state_dict target;
        if (rank == 0)
            source.add(all, const_tensor_view{sources[i].data(), data_type::f32, {8}, {1}});
        if (rank == 1)
            target.add(all, tensor_view{targets[i].data(), data_type::f32, {8}, {1}});
        jobs.push_back(prepare(group, source, target));
    }
    for (int const i : {0, 1}) // rank 1 has the other order
        run(jobs[static_cast<std::size_t>(rank == 1 ? 1 - i : i)]);
    if (rank == 1)
        BOOST_TEST((targets[0] == sources[0] && targets[1] == sources[1]));
}

BOOST_AUTO_TEST_CASE(ranks_whose_mappings_leave_other_keys_over_are_told_so) {
    if (size == 1)
        return;
    plan_cache kept;
    catalog const rows_of_all = catalog_of(gather_layout(mpi_group(world), have().descriptors()));
    mapping const both = mapping_of(aoa::parse("a, b -> ab, axis=1\n"), rows_of_all, nullptr);
    mapping other = both;
    other.leave_over("unused");
    redistribute(world, have(), want(), {.program = both, .cache = &kept});
    BOOST_TEST(agreed_error(world,
                            [&] {
                                redistribute(world, have(), want(),
                                             {.program = rank == 1 ? other : both, .cache = &kept});
                            }) ==
               "ranks_disagree: rank 0 runs redistribute and rank 1 runs it with a different "
               "options.program; every rank must make the same call");
}

BOOST_AUTO_TEST_SUITE_END()
