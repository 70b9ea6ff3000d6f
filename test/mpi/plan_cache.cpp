// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"

#include <reshard/bind/job_state.hpp>
#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;

namespace {

/// A part of a vector of numbers, each of which is its own place.
struct part_of_vector {
    std::vector<std::int32_t> elements;
    shard_descriptor descriptor;

    part_of_vector(index_t global, index_t first, index_t last, std::string key = "w")
        : elements(static_cast<std::size_t>(last - first), -1),
          descriptor{std::move(key), data_type::i32, {global}, {{first}, {last - first}}, {}} {}

    void number() {
        for (std::size_t i = 0; i < elements.size(); ++i)
            elements[i] = place(i);
    }

    std::size_t wrong() const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < elements.size(); ++i)
            count += elements[i] != place(i);
        return count;
    }

    state_dict dict() {
        state_dict tensors;
        tensors.add(descriptor, tensor_view{elements.data(),
                                            data_type::i32,
                                            {static_cast<index_t>(elements.size())},
                                            {1}});
        return tensors;
    }

private:
    std::int32_t place(std::size_t i) const {
        return static_cast<std::int32_t>(descriptor.region.offset[0] + static_cast<index_t>(i));
    }
};

struct cache_fixture {
    mpi_group world{boost::mpi::communicator()};
    index_t size = world.size(), rank = world.rank();
    index_t all = 12 * size;
    part_of_vector source{all, 12 * rank, 12 * rank + 12};
    plan_cache kept;

    cache_fixture() { source.number(); }

    /// The part of the next rank.
    part_of_vector next() const {
        index_t const of = (rank + 1) % size;
        return {all, 12 * of, 12 * of + 12};
    }

    struct outcome {
        bool was_kept;
        std::size_t wrong;
    };

    /// Prepares and runs it with separate memory.
    outcome fill(part_of_vector target, plan_cache& cache, options options = {}) {
        options.cache = &cache;
        job ready = prepare(world, source.dict(), target.dict(), options);
        run(ready);
        return {ready.was_kept(), target.wrong()};
    }
    outcome fill(part_of_vector target) { return fill(std::move(target), kept); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_plan_cache, cache_fixture)

BOOST_AUTO_TEST_CASE(the_second_time_nothing_is_planned) {
    outcome const first = fill(next());
    BOOST_TEST(!first.was_kept);
    BOOST_TEST(first.wrong == 0u);
    for (int i = 0; i < 2; ++i) {
        outcome const again = fill(next());
        BOOST_TEST(again.was_kept);
        BOOST_TEST(again.wrong == 0u);
    }
    BOOST_TEST(kept.misses() == 1u);
    BOOST_TEST(kept.hits() == 2u);
    BOOST_TEST(kept.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_structure_that_changes_on_one_rank_is_seen_by_all) {
    fill(next());
    // The last rank wants half of its earlier target.
    part_of_vector half = next();
    if (rank == size - 1)
        half = {all, half.descriptor.region.offset[0] + 6, half.descriptor.region.offset[0] + 12};
    outcome const changed = fill(half);
    BOOST_TEST(!changed.was_kept);
    BOOST_TEST(changed.wrong == 0u);
    BOOST_TEST(kept.size() == 2u);
    outcome const back = fill(next());
    BOOST_TEST(back.was_kept);
    BOOST_TEST(back.wrong == 0u);
}

BOOST_AUTO_TEST_CASE(another_key_of_the_same_shape_is_another_structure) {
    fill(next());
    mapping program;
    program.define("v", program.source("w", {all}, data_type::i32));
    part_of_vector const renamed{all, next().descriptor.region.offset[0],
                                 next().descriptor.region.offset[0] + 12, "v"};
    outcome const other_outcome = fill(renamed, kept, {.program = program});
    BOOST_TEST(!other_outcome.was_kept);
    BOOST_TEST(other_outcome.wrong == 0u);
    BOOST_TEST(fill(renamed, kept, {.program = program}).was_kept);
}

BOOST_AUTO_TEST_CASE(where_a_rank_has_forgotten_all_plan) {
    fill(next());
    if (rank == 0)
        kept = plan_cache();
    outcome const again = fill(next());
    BOOST_TEST(!again.was_kept);
    BOOST_TEST(again.wrong == 0u);
    BOOST_TEST(kept.size() == 1u);
    BOOST_TEST(fill(next()).was_kept);
}

BOOST_AUTO_TEST_CASE(known_layouts_are_part_of_the_structure) {
    auto const layout_from = [&](index_t first) {
        std::vector<std::vector<shard_descriptor>> shards;
        for (index_t i = 0; i < size; ++i)
            shards.push_back(
                {part_of_vector(all, 12 * ((i + first) % size), 12 * ((i + first) % size) + 12)
                     .descriptor});
        return layout_of(shards);
    };
    for (bool const is_kept : {false, true}) {
        part_of_vector target = next();
        job ready = prepare(world, {source.dict(), layout_from(0)}, {target.dict(), layout_from(1)},
                            {.cache = &kept});
        run(ready);
        BOOST_TEST(ready.was_kept() == is_kept);
        BOOST_TEST(target.wrong() == 0u);
    }
    BOOST_TEST(!fill(next()).was_kept); // nobody knows them any more
}

BOOST_AUTO_TEST_CASE(plans_that_were_looked_up_are_kept_too) {
    options const options{.lookup = directory(0)};
    for (bool const is_kept : {false, true}) {
        outcome const current_outcome = fill(next(), kept, options);
        BOOST_TEST(current_outcome.was_kept == is_kept);
        BOOST_TEST(current_outcome.wrong == 0u);
    }
    BOOST_TEST(!fill(next()).was_kept); // other options
}

BOOST_AUTO_TEST_CASE(ranks_that_do_different_things_get_an_error_on_every_rank) {
    if (size == 1)
        return;
    fill(next());
    options options;
    if (rank == 1)
        options.processes_per_node = 2;
    auto const problem = agreed_error(world.base(), [&] { fill(next(), kept, options); });
    BOOST_TEST(problem ==
               "ranks_disagree: rank 0 runs redistribute with options.processes_per_node 0 and "
               "rank 1 with 2; every rank must make the same call");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_planned_is_not_kept) {
    part_of_vector const more{all + 1, 0, all + 1};
    BOOST_TEST(agreed_error(world.base(), [&] { fill(more); }) != "nothing was thrown");
    BOOST_TEST(kept.size() == 0u);
    BOOST_TEST(fill(next()).wrong == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
