// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/bind/rounds.hpp>
#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/compare.hpp>

#include "support/agreed_error.hpp"
#include "support/counted_calls.hpp"
#include "support/ranks_per_node.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/mpi/sparse_exchange.hpp>
#include <reshard/plan/rounds.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <list>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::counted_calls;
using reshard::test::ranks_per_node_variable;

namespace {

/// Element `number` of a tensor: below 256, which every type here has, and without a period.
float value_at(index_t number) {
    return static_cast<float>(static_cast<std::uint32_t>(number) * 2'654'435'761U >> 24U);
}

void set(float& element, float value) { element = value; }
void set(double& element, float value) { element = double{value}; }
void set(std::complex<float>& element, float value) { element = {value, -value}; }
void set(bfloat16& element, float value) {
    element.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
}

/// A rank's part of a matrix, with an element after each row that nobody may touch.
template <class T>
class matrix_of {
public:
    matrix_of(std::string key, index_vector const& global, box region,
              std::pmr::memory_resource* where = std::pmr::get_default_resource())
        : descriptor_{std::move(key), data_type_of<T>, global, std::move(region), {}},
          pitch_(descriptor_.region.shape[1] + 1),
          elements_(static_cast<std::size_t>(descriptor_.region.shape[0] * pitch_), T{}, where) {
        for (T& element : elements_)
            set(element, -5);
    }

    /// Gives elements the numbers that they have in the matrix, or in the one of which it is the transpose.
    void number(bool is_turned = false) { fill(elements_, is_turned); }

    /// True where every byte is as `number` makes it.
    bool is_right(bool is_turned = false) const {
        std::pmr::vector<T> expected(elements_.size());
        for (T& element : expected)
            set(element, -5);
        fill(expected, is_turned);
        return expected == elements_;
    }

    template <class Shards>
    void add_to(Shards& value) {
        value.add(descriptor_,
                  tensor_view{
                      elements_.data(), descriptor_.dtype, descriptor_.region.shape, {pitch_, 1}});
    }

private:
    void fill(std::pmr::vector<T>& elements, bool is_turned) const {
        auto const& [offset, shape] = descriptor_.region;
        index_vector const& global = descriptor_.global_shape;
        for (index_t i = 0; i < shape[0]; ++i)
            for (index_t k = 0; k < shape[1]; ++k) {
                index_t const row = offset[0] + i, column = offset[1] + k;
                set(elements[static_cast<std::size_t>(i * pitch_ + k)],
                    value_at(is_turned ? column * global[0] + row : row * global[1] + column));
            }
    }

    shard_descriptor descriptor_;
    index_t pitch_;
    std::pmr::vector<T> elements_;
};

/// Three matrices with long names on each side, and MPI that may count to `limit` only.
struct count_limit_fixture {
    /// A limit below the 128 requests that are under way cannot be kept.
    static constexpr std::size_t limit = 1000;

    boost::mpi::communicator world;
    mpi_group ranks{world, limit};
    index_t rank = world.rank(), size = world.size();
    index_vector shape{97 * size + 5, 41};
    std::string name = std::string(1300, 'n');

    /// This rank's part if an axis is dealt out as evenly as possible.
    static box part_of(index_vector const& shape, std::size_t axis, index_t rank, index_t size) {
        box box = whole(shape);
        box.offset[axis] = shape[axis] * rank / size;
        box.shape[axis] = shape[axis] * (rank + 1) / size - box.offset[axis];
        return box;
    }

    /// Tensors of one side: cut along an axis, of several types, and one row that is longer than a call.
    struct side {
        matrix_of<double> wide;
        matrix_of<std::complex<float>> pairs;
        matrix_of<float> row;

        side(count_limit_fixture const& fixture, std::size_t axis,
             std::pmr::memory_resource* where = std::pmr::get_default_resource())
            : wide(fixture.name + "1", fixture.shape,
                   part_of(fixture.shape, axis, fixture.rank, fixture.size), where),
              pairs(fixture.name + "2", fixture.shape,
                    part_of(fixture.shape, axis, fixture.rank, fixture.size), where),
              row(fixture.name + "3", {1, 2999},
                  part_of({1, 2999}, 1, axis == 0 ? fixture.rank : fixture.size - 1 - fixture.rank,
                          fixture.size),
                  where) {}

        void number() {
            wide.number();
            pairs.number();
            row.number();
        }
        bool is_right() const { return wide.is_right() && pairs.is_right() && row.is_right(); }

        state_dict views() {
            state_dict state;
            wide.add_to(state);
            pairs.add_to(state);
            row.add_to(state);
            return state;
        }
    };

    /// Every call is within the limit, and these were made, unless this rank is alone.
    void check(counted_calls const& calls, std::vector<std::string_view> const& results) const {
        BOOST_TEST(calls.above() == "");
        for (std::string_view const result : results)
            BOOST_TEST((size == 1 || calls.of(result) > 0), result << " was not called");
    }

    /// Moves rows to columns.
    void move(options const& options, std::vector<std::string_view> const& results) {
        side source(*this, 0), target(*this, 1);
        source.number();
        {
            counted_calls const calls(limit);
            redistribute(ranks, source.views(), target.views(), options);
            check(calls, results);
        }
        BOOST_TEST(target.is_right());
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_count_limit, count_limit_fixture)

BOOST_AUTO_TEST_CASE(calls_that_count_more_are_seen) {
    side source(*this, 0), target(*this, 1);
    counted_calls const calls(limit);
    redistribute(world, source.views(), target.views(), {.on_node = node_exchange::messages});
    for (char const* const element : {"MPI_Iallgatherv of ", "MPI_Isend of ", "MPI_Irecv of "})
        BOOST_TEST((size == 1 || calls.above().find(element) != std::string::npos));
}

BOOST_AUTO_TEST_CASE(messages_keep_to_the_limit) {
    move({.on_node = node_exchange::messages},
         {"MPI_Iallgather", "MPI_Iallgatherv", "MPI_Isend", "MPI_Irecv", "MPI_Testany"});
}

BOOST_AUTO_TEST_CASE(limits_that_elements_do_not_divide_are_kept) {
    for (std::size_t const other : {131u, 999u}) { // of elements of 8 bytes: 16 and 124
        side source(*this, 0), target(*this, 1);
        source.number();
        {
            counted_calls const calls(static_cast<long long>(other));
            redistribute(mpi_group(world, other), source.views(), target.views(),
                         {.lookup = directory(0), .on_node = node_exchange::messages});
            check(calls, {"MPI_Iallgatherv", "MPI_Isend", "MPI_Issend"});
        }
        BOOST_TEST(target.is_right());
    }
}

BOOST_AUTO_TEST_CASE(messages_beside_rings_keep_to_the_limit) {
    ranks_per_node_variable const pairs("2");
    move({.on_node = node_exchange::rings}, {"MPI_Iallgatherv"});
    if (size > 2)
        move({.on_node = node_exchange::rings}, {"MPI_Isend", "MPI_Irecv"});
}

BOOST_AUTO_TEST_CASE(messages_beside_arenas_keep_to_the_limit) {
    ranks_per_node_variable const pairs("2");
    counted_calls const calls(limit);
    shared_arena const arena(ranks, 1 << 20);
    side source(*this, 0, arena.resource()), target(*this, 1, arena.resource());
    source.number();
    job moving =
        prepare(ranks, source_tensors{source.views(), {}, &arena},
                target_tensors{target.views(), {}, &arena}, {.on_node = node_exchange::messages});
    run(moving);
    run(moving);
    check(calls, {"MPI_Iallgatherv"});
    if (arena.is_shared())
        check(calls, {"MPI_Issend", "MPI_Mrecv", "MPI_Testall"});
    if (size > 2)
        check(calls, {"MPI_Isend", "MPI_Irecv"});
    BOOST_TEST(target.is_right());
}

BOOST_AUTO_TEST_CASE(directories_keep_to_the_limit) {
    move({.lookup = directory(0), .on_node = node_exchange::messages},
         {"MPI_Iallgatherv", "MPI_Issend", "MPI_Mrecv", "MPI_Testall", "MPI_Isend"});
}

BOOST_AUTO_TEST_CASE(layouts_that_one_rank_tells_keep_to_the_limit) {
    side source(*this, 0), target(*this, 1);
    source.number();
    {
        counted_calls const calls(limit);
        auto const known = [&](state_dict const& tensors) {
            layout layout = gather_layout(ranks, tensors.descriptors());
            return rank == size - 1 ? std::optional(std::move(layout)) : std::nullopt;
        };
        redistribute(ranks, source_tensors{source.views(), known(source.views())},
                     target_tensors{target.views(), known(target.views())});
        check(calls, {"MPI_Iallgatherv", "MPI_Isend"});
    }
    BOOST_TEST(target.is_right());
}

BOOST_AUTO_TEST_CASE(programs_that_cast_and_turn_keep_to_the_limit) {
    index_vector const turned{shape[1], shape[0]};
    matrix_of<float> rows("a", shape, part_of(shape, 0, rank, size));
    matrix_of<bfloat16> columns("b", turned, part_of(turned, 0, size - 1 - rank, size));
    matrix_of<double> wider("c", shape, part_of(shape, 1, rank, size));
    rows.number();
    const_state_dict source;
    state_dict target;
    rows.add_to(source);
    columns.add_to(target);
    wider.add_to(target);
    mapping program;
    expression const a = program.source("a", shape, data_type::f32);
    program.define("b", cast(transpose(a), data_type::bf16));
    program.define("c", cast(a, data_type::f64));
    {
        counted_calls const calls(limit);
        redistribute(ranks, source, target,
                     {.program = program, .on_node = node_exchange::messages});
        check(calls, {"MPI_Isend", "MPI_Irecv"});
    }
    BOOST_TEST(columns.is_right(true));
    BOOST_TEST(wider.is_right());
}

BOOST_AUTO_TEST_CASE(plans_that_are_kept_keep_to_the_limit) {
    plan_cache kept;
    side source(*this, 0);
    source.number();
    for (int i = 0; i < 2; ++i) {
        side target(*this, 1);
        counted_calls const calls(limit);
        job moving = prepare(ranks, source.views(), target.views(), {.cache = &kept});
        BOOST_TEST(moving.was_kept() == (i == 1));
        run(moving);
        // Once all ranks have the plan, their texts are short.
        check(calls, {i == 0 ? "MPI_Iallgatherv" : "MPI_Iallgather", "MPI_Isend"});
        BOOST_TEST(target.is_right());
    }
}

BOOST_AUTO_TEST_CASE(rounds_keep_to_the_limit) {
    side source(*this, 0);
    source.number();
    std::list<side> targets; // all three tensors; a round adds one of them
    auto const allocate = [&](std::vector<std::string> const& keys) {
        state_dict some;
        for (auto const& [descriptor, tensor] : targets.emplace_back(*this, 1).views())
            if (std::ranges::find(keys, descriptor.key) != keys.end())
                some.add(descriptor, tensor);
        return some;
    };
    counted_calls const calls(limit);
    side columns(*this, 1);
    layout const wanted = gather_layout(ranks, columns.views().descriptors());
    // Nothing is given up: both sides and the staging of one tensor, not of two at once.
    job all_at_once =
        prepare(ranks, source.views(), {{}, wanted}, {.memory = rounds(any_budget, allocate)});
    run(all_at_once);
    BOOST_TEST(targets.back().is_right());
    targets.clear();
    index_t const least = all_at_once.rounds().least_budget;
    job in_rounds =
        prepare(ranks, source.views(), {{}, wanted}, {.memory = rounds(least, allocate)});
    run(in_rounds);
    BOOST_TEST(in_rounds.rounds().rounds.size() == targets.size());
    auto const is_filled = [&](auto side::*which) {
        return std::ranges::count_if(
            targets, [&](side& current_side) { return (current_side.*which).is_right(); });
    };
    index_t const full = is_filled(&side::wide) + is_filled(&side::pairs) + is_filled(&side::row);
    BOOST_TEST(full == 3);
    BOOST_TEST(targets.size() > 1u);
    check(calls, {"MPI_Iallgatherv", "MPI_Isend"});
}

BOOST_AUTO_TEST_CASE(whole_tensors_keep_to_the_limit) {
    side source(*this, 0);
    source.number();
    counted_calls const calls(limit);
    index_t right = 0;
    for_each_whole(
        ranks, source.views(),
        [&](std::string_view key, const_tensor_view const& view) {
            if (!key.ends_with('1'))
                return;
            for (index_t i = 0; i < element_count(shape); ++i)
                right += static_cast<double const*>(view.data)[i] == double{value_at(i)};
        },
        world.size() - 1);
    BOOST_TEST(right == (rank == size - 1 ? element_count(shape) : 0));
    check(calls, {"MPI_Iallgatherv", rank == size - 1 ? "MPI_Irecv" : "MPI_Isend"});
}

BOOST_AUTO_TEST_CASE(long_errors_keep_to_the_limit) {
    side target(*this, 1);
    std::string text;
    {
        counted_calls const calls(limit);
        try {
            redistribute(ranks, const_state_dict(), target.views());
        } catch (error const& problem) {
            text = problem.what();
        }
        check(calls, {"MPI_Iallgatherv"});
    }
    BOOST_TEST(text.find(name + "1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_pieces_than_a_call_counts_are_waited_for_in_parts) {
    mpi_group const few = mpi_group::duplicate_of(mpi_group(world, 7));
    auto const text_of = [](index_t from) {
        std::string text;
        for (index_t i = 0; i < 1000 + from; ++i)
            text += static_cast<char>('a' + (from + i) % 26);
        return text;
    };
    int const next = static_cast<int>((rank + 1) % size);
    index_t const before = (rank + size - 1) % size;
    counted_calls const calls(7);
    sparse_exchange exchange(few);
    for (int round = 0; round < 3; ++round) {
        auto const arrived = exchange.run({{next, text_of(rank)}});
        BOOST_TEST_REQUIRE(arrived.size() == 1u);
        BOOST_TEST(arrived[0].rank == before);
        BOOST_TEST(arrived[0].bytes == text_of(before));
    }
    check(calls, {"MPI_Issend", "MPI_Mrecv", "MPI_Testall"});
    BOOST_TEST(calls.of("MPI_Issend") >= 3 * 1000 / 7);
}

BOOST_AUTO_TEST_SUITE_END()
