// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/job.hpp>

#include "support/counted_row.hpp"
#include "support/says.hpp"

#include <reshard/adapt/span.hpp>

#include <reshard/bind/plan_cache.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/bind/rounds.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/plan/rounds.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using reshard::test::says;

namespace {

/// Two vectors of six elements, and memory for one.
struct job_fixture {
    std::vector<float> a{0, 1, 2, 3, 4, 5}, b{10, 11, 12, 13, 14, 15};
    std::vector<float> filled = std::vector<float>(6, -1);

    static shard_descriptor vector_of(std::string key) {
        return {std::move(key), data_type::f32, {6}, whole({6}), {}};
    }

    const_state_dict have() const {
        const_state_dict tensors;
        tensors.add(vector_of("a"), a);
        tensors.add(vector_of("b"), b);
        return tensors;
    }

    state_dict want(std::string key) {
        state_dict tensors;
        tensors.add(vector_of(std::move(key)), filled);
        return tensors;
    }

    void run_kept(plan_cache& kept, bool is_kept) {
        std::vector<float> other(6, -1);
        state_dict wanted;
        wanted.add(vector_of("b"), other);
        job ready = prepare(solo(), have(), wanted, {.cache = &kept});
        BOOST_TEST(ready.was_kept() == is_kept);
        run(ready);
        BOOST_TEST(other == b, boost::test_tools::per_element());
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(bind_job, job_fixture)

BOOST_AUTO_TEST_CASE(a_job_runs_again_and_again) {
    job ready = prepare(solo(), have(), want("b"));
    run(ready);
    BOOST_TEST(filled == b, boost::test_tools::per_element());
    b[2] = 77;
    run(ready);
    BOOST_TEST(filled == b, boost::test_tools::per_element());
    BOOST_TEST(ready.cost().bytes_local == 24);
    BOOST_TEST(ready.target_layout().tensors.size() == 1u);
    BOOST_TEST(ready.rounds().rounds.empty());
    BOOST_TEST(!ready.was_kept());
}

BOOST_AUTO_TEST_CASE(a_job_that_was_moved_from_says_so) {
    job first = prepare(solo(), have(), want("a"));
    job second = std::move(first);
    BOOST_CHECK_EXCEPTION(
        run(first), error,
        says(errc::usage, "this job has been moved from; use the one that it was moved to"));
    run(second);
    BOOST_TEST(filled == a, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_plan_that_was_kept_meets_other_memory) {
    plan_cache kept;
    run_kept(kept, false);
    run_kept(kept, true);
    job other_job = prepare(solo(), have(), want("a"), {.cache = &kept});
    BOOST_TEST(!other_job.was_kept());
}

BOOST_AUTO_TEST_CASE(a_function_is_a_program) {
    auto const swap = [](catalog const& source, catalog const* target) {
        BOOST_TEST(source.size() == 2u);
        BOOST_TEST(target->size() == 1u);
        mapping program;
        program.define("a", program.source("b", {6}, data_type::f32));
        return program;
    };
    redistribute(solo(), have(), want("a"), {.program = swap});
    BOOST_TEST(filled == b, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rounds_allocate_and_release) {
    std::vector<std::string> released;
    layout const target = layout_of({{vector_of("a"), vector_of("b")}});
    std::vector<std::vector<float>> memory;
    memory.reserve(2);
    auto const allocate = [&](std::vector<std::string> const& keys) {
        BOOST_TEST(keys.size() == 1u);
        memory.emplace_back(6, -1.F);
        state_dict tensors;
        tensors.add(vector_of(keys[0]), memory.back());
        return tensors;
    };
    auto const release = [&](std::vector<std::string> const& keys) {
        released.insert(released.end(), keys.begin(), keys.end());
    };
    index_t const budget = 72; // both sources and one target
    job ready =
        prepare(solo(), have(), {{}, target}, {.memory = rounds(budget, allocate, release)});
    BOOST_TEST(ready.rounds().rounds.size() == 2u);
    run(ready);
    BOOST_TEST(memory[0] == a, boost::test_tools::per_element());
    BOOST_TEST(memory[1] == b, boost::test_tools::per_element());
    BOOST_TEST(released == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
    BOOST_TEST(ready.cost().bytes_local == 48);
}

BOOST_AUTO_TEST_CASE(targets_of_earlier_rounds_are_kept_until_the_last_one) {
    std::weak_ptr<std::vector<float>> first;
    int count = 0;
    auto const allocate = [&](std::vector<std::string> const& keys) {
        test::counted_row row(std::vector<float>(6, -1.F));
        if (++count == 1)
            first = row.storage;
        else {
            BOOST_TEST_REQUIRE(!first.expired());
            BOOST_TEST(first.lock()->at(5) == 5);
        }
        state_dict tensors;
        tensors.add(vector_of(keys[0]), std::move(row));
        return tensors;
    };
    redistribute(solo(), have(), {{}, layout_of({{vector_of("a"), vector_of("b")}})},
                 {.memory = rounds(72, allocate)});
    BOOST_TEST(count == 2);
    BOOST_TEST(first.expired());
}

BOOST_AUTO_TEST_CASE(a_layout_of_more_ranks_than_one_is_refused) {
    layout const two = layout_of({{vector_of("a"), vector_of("b")}, {}});
    BOOST_CHECK_EXCEPTION(
        prepare(solo(), {have(), two}, want("a")), error,
        says(errc::bad_layout, "the layout of the source is for 2 ranks, and the group has 1"));
}

BOOST_AUTO_TEST_CASE(what_adding_a_tensor_met_is_thrown) {
    const_state_dict bad = have();
    std::vector<float> const five(5);
    bad.add(vector_of("c"), five);
    BOOST_CHECK_EXCEPTION(
        prepare(solo(), bad, want("a")), error,
        says(errc::shape_mismatch,
             "'c': axis 0: a shard of extent 6 does not fit a tensor of extent 5"));
}

BOOST_AUTO_TEST_CASE(rounds_without_a_function_that_allocates_are_refused) {
    BOOST_CHECK_EXCEPTION(rounds(100, {}), error,
                          says(errc::usage, "rounds within 100 bytes need a function that "
                                            "allocates the targets of a round; pass one"));
}

BOOST_AUTO_TEST_SUITE_END()
