// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>
#include <reshard/mpi/node_transfers.hpp>

#include "support/agreed_error.hpp"
#include "support/matrix_part.hpp"

#include <reshard/bind/job_state.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shared_arena.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using namespace reshard;
using reshard::test::agreed_error;
using reshard::test::matrix_part;

namespace {

/// A matrix of rows over all ranks that becomes columns; 5 columns, so that some of 7 ranks have none.
struct node_fixture {
    boost::mpi::communicator world;
    int rank = world.rank();
    int size = world.size();
    index_vector shape{60, 5};
    box rows = part(0, 60);
    box columns = part(1, 5);

    box part(std::size_t axis, index_t extent) const {
        box box = whole(shape);
        box.offset[axis] = extent * rank / size;
        box.shape[axis] = extent * (rank + 1) / size - box.offset[axis];
        return box;
    }

    matrix_part source_in(std::pmr::memory_resource* where) const {
        matrix_part matrix_part(shape, rows, 0, where);
        matrix_part.number();
        return matrix_part;
    }

    /// The bytes of this rank's target that ranks of its node have in their rows.
    index_t bytes_from_node(shared_arena const& arena) const {
        index_t sum = 0;
        for (int const node_rank : arena.node_ranks())
            if (arena.is_shared() && node_rank != rank)
                sum += 4 * columns.shape[1] * (60 * (node_rank + 1) / size - 60 * node_rank / size);
        return sum;
    }
};

/// True if this process's page table has all pages within the bytes, and if that is unknown.
bool is_in_page_table(std::byte const* data, index_t bytes) {
    auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto const begin = reinterpret_cast<std::uintptr_t>(data);
    int const table = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool are_there = true;
    for (auto number = begin / page + 1;
         number < (begin + static_cast<std::uintptr_t>(bytes)) / page; ++number) {
        std::uint64_t entry = 0;
        if (::pread(table, &entry, sizeof entry, static_cast<off_t>(8 * number)) == 8)
            are_there &= entry >> 63 != 0;
    }
    ::close(table);
    return are_there;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_node_transfers, node_fixture)

BOOST_AUTO_TEST_CASE(targets_of_a_node_get_no_messages_from_it) {
    for (int const per_node : {0, 1, 2, 3}) {
        shared_arena const arena(world, 10'000, {.ranks_per_node = per_node});
        matrix_part source = source_in(std::pmr::get_default_resource());
        matrix_part target(shape, columns, 3, arena.resource());
        job moving = prepare(world, source_tensors{source.views()},
                             target_tensors{target.views(), {}, &arena});
        for (int i = 0; i < 3; ++i)
            run(moving);
        BOOST_TEST(target.wrong() == 0u);
        index_t const on_node = bytes_from_node(arena);
        index_t const own = 4 * columns.shape[1] * rows.shape[0];
        BOOST_TEST(moving.cost().bytes_node_in == on_node);
        BOOST_TEST(moving.cost().bytes_in == target.bytes() - on_node - own);
        if (per_node == 0) {
            BOOST_TEST(moving.cost().messages_in == 0);
            BOOST_TEST(moving.cost().messages_out == 0);
            BOOST_TEST(moving.cost().bytes_node_out == source.bytes() - own);
        }
    }
}

BOOST_AUTO_TEST_CASE(writes_of_a_segment_are_dense_where_a_quarter_of_their_hull_is_written) {
    detail::segment_writes writes{{1000, 9000}};
    BOOST_TEST(!writes.is_dense());
    writes.add({3000, 3100}, 100);
    BOOST_TEST((writes.hull == detail::address_range{3000, 3100}));
    BOOST_TEST(writes.is_dense());
    writes.add({2000, 2800}, 175);
    BOOST_TEST((writes.hull == detail::address_range{2000, 3100}));
    BOOST_TEST(writes.is_dense()); // 275 of 1100
    writes.add({3096, 3104}, 0);
    BOOST_TEST(!writes.is_dense()); // of 1104
}

BOOST_AUTO_TEST_CASE(the_first_job_of_an_arena_has_what_it_writes_in_the_page_table) {
    // Every rank gives each rank 128 rows of 4 KiB, which lie together there.
    constexpr index_t row = 1024, row_bytes = 4 * row, rows_each = 128;
    index_t const column_bytes = rows_each * size * row_bytes;
    shared_arena const arena(world, column_bytes + 128);
    index_vector const extents{rows_each * size, row * size};
    std::vector<float> own_values(static_cast<std::size_t>(rows_each * row * size), 1.5F);
    auto* const data =
        static_cast<std::byte*>(arena.resource()->allocate(static_cast<std::size_t>(column_bytes)));
    state_dict have, want;
    have.add(
        {"w", data_type::f32, extents, {{rows_each * rank, 0}, {rows_each, row * size}}, {}},
        tensor_view{own_values.data(), data_type::f32, {rows_each, row * size}, {row * size, 1}});
    want.add({"w", data_type::f32, extents, {{0, row * rank}, {rows_each * size, row}}, {}},
             tensor_view{data, data_type::f32, {rows_each * size, row}, {row, 1}});
    job const first = prepare(world, source_tensors{have}, target_tensors{want, {}, &arena});
    if (!arena.is_shared())
        return;
    auto const& state = *arena.state();
    auto const offset = data - state.segments->data(state.node.rank());
    for (int peer = 0; peer < size; ++peer)
        BOOST_TEST(
            is_in_page_table(state.segments->data(peer) + offset + rows_each * rank * row_bytes,
                             rows_each * row_bytes));
    world.barrier();
    BOOST_TEST(!state.segments->is_first_use());
    BOOST_TEST(std::count(data, data + column_bytes, std::byte{0}) == column_bytes);
    world.barrier();
    job second = prepare(world, source_tensors{have}, target_tensors{want, {}, &arena});
    run(second);
    auto const* const elements = reinterpret_cast<float const*>(data);
    BOOST_TEST(std::count(elements, elements + column_bytes / 4, 1.5F) == column_bytes / 4);
}

BOOST_AUTO_TEST_CASE(ranks_that_give_different_arenas_get_an_error_on_every_rank) {
    shared_arena const first(world, 10'000), second(world, 10'000);
    shared_arena const* const arena = rank == 0 ? &first : &second;
    matrix_part source = source_in(first.resource());
    matrix_part target(shape, columns, 0, first.resource());
    if (size > 1)
        BOOST_TEST(agreed_error(world, [&] {
                       prepare(world, source_tensors{source.views(), {}, &first},
                               target_tensors{target.views(), {}, arena});
                   }).starts_with("ranks_disagree: "));
}

BOOST_AUTO_TEST_CASE(sources_of_a_node_are_read_where_they_are) {
    for (int const per_node : {0, 2}) {
        shared_arena const arena(world, 10'000, {.ranks_per_node = per_node});
        matrix_part source = source_in(arena.resource());
        matrix_part target(shape, columns);
        job moving = prepare(world, source_tensors{source.views(), {}, &arena},
                             target_tensors{target.views()});
        run(moving);
        run(moving);
        BOOST_TEST(target.wrong() == 0u);
        BOOST_TEST(moving.cost().bytes_node_in == bytes_from_node(arena));
        BOOST_TEST((per_node != 0 || moving.cost().messages_in == 0));
    }
}

BOOST_AUTO_TEST_CASE(each_side_may_have_an_arena_and_nodes_of_its_own) {
    shared_arena const pairs(world, 10'000, {.ranks_per_node = 2});
    shared_arena const threes(world, 10'000, {.ranks_per_node = 3});
    matrix_part source = source_in(threes.resource());
    matrix_part target(shape, columns, 1, pairs.resource());
    job moving = prepare(world, source_tensors{source.views(), {}, &threes},
                         target_tensors{target.views(), {}, &pairs});
    run(moving);
    run(moving);
    BOOST_TEST(target.wrong() == 0u);
    index_t sum = 0;
    for (int other = 0; other < size; ++other)
        if (other != rank && (other / 2 == rank / 2 || other / 3 == rank / 3))
            sum += 4 * columns.shape[1] * (60 * (other + 1) / size - 60 * other / size);
    BOOST_TEST(moving.cost().bytes_node_in == sum);
}

BOOST_AUTO_TEST_CASE(tensors_outside_the_arena_travel_as_without_it) {
    shared_arena const arena(world, 10'000);
    matrix_part source = source_in(std::pmr::get_default_resource());
    bool const is_inside = rank % 2 == 0; // every other rank's
    matrix_part target(shape, columns, 0,
                       is_inside ? arena.resource() : std::pmr::get_default_resource());
    job moving =
        prepare(world, source_tensors{source.views()}, target_tensors{target.views(), {}, &arena});
    run(moving);
    BOOST_TEST(target.wrong() == 0u);
    BOOST_TEST(moving.cost().bytes_node_in == (is_inside ? bytes_from_node(arena) : 0));
}

BOOST_AUTO_TEST_CASE(where_memory_is_refused_all_travels_in_messages) {
    arena_options options;
    if (rank == size - 1)
        options.calls.reserve = [](int, off_t) { return ENOSPC; };
    shared_arena const arena(world, 10'000, options);
    matrix_part source = source_in(arena.resource());
    matrix_part target(shape, columns, 0, arena.resource());
    job moving = prepare(world, source_tensors{source.views(), {}, &arena},
                         target_tensors{target.views(), {}, &arena});
    run(moving);
    BOOST_TEST(target.wrong() == 0u);
    BOOST_TEST(moving.cost().bytes_node_in == 0);
}

BOOST_AUTO_TEST_CASE(kept_plans_meet_arenas_too) {
    shared_arena const arena(world, 20'000);
    plan_cache kept(2);
    for (int round = 0; round < 2; ++round) {
        matrix_part source = source_in(std::pmr::get_default_resource());
        matrix_part target(shape, columns, 0, arena.resource());
        job moving = prepare(world, source.views(), {target.views(), {}, &arena}, {.cache = &kept});
        BOOST_TEST(moving.was_kept() == (round == 1));
        run(moving);
        BOOST_TEST(target.wrong() == 0u);
        BOOST_TEST(moving.cost().bytes_node_in == bytes_from_node(arena));
    }
}

BOOST_AUTO_TEST_CASE(nobody_writes_half_a_byte_of_another_rank) {
    // Each rank has three numbers of four bits; all of them become one row on the first rank.
    index_vector const row{3 * size};
    shared_arena const arena(world, 1000);
    std::uint16_t own = 0;
    for (unsigned i = 0; i < 3; ++i)
        own = static_cast<std::uint16_t>(own | (3 * static_cast<unsigned>(rank) + i) % 16 << 4 * i);
    const_state_dict source;
    source.add({"w", data_type::f4, row, {{3 * rank}, {3}}, {}},
               const_tensor_view{&own, data_type::f4, {3}, {1}});
    std::pmr::vector<std::uint8_t> bytes(static_cast<std::size_t>(3 * size + 1) / 2,
                                         std::uint8_t{0}, arena.resource());
    state_dict target;
    if (rank == 0)
        target.add({"w", data_type::f4, row, {{0}, row}, {}},
                   tensor_view{bytes.data(), data_type::f4, row, {1}});
    job moving = prepare(world, source_tensors{source}, target_tensors{target, {}, &arena});
    run(moving);
    BOOST_TEST(moving.cost().bytes_node_in == 0);
    for (int i = 0; rank == 0 && i < 3 * size; ++i)
        BOOST_TEST((bytes[static_cast<std::size_t>(i) / 2] >> i % 2 * 4 & 15) == i % 16);
}

BOOST_AUTO_TEST_CASE(all_ranks_give_an_arena_or_none) {
    shared_arena const arena(world, 10'000);
    matrix_part source = source_in(std::pmr::get_default_resource());
    matrix_part target(shape, columns);
    bool const has_none = rank == size - 1 && size > 1;
    std::string const text = agreed_error(world, [&] {
        prepare(world, source_tensors{source.views()},
                target_tensors{target.views(), {}, has_none ? nullptr : &arena});
    });
    BOOST_TEST(text ==
               (size == 1
                    ? "nothing was thrown"
                    : "ranks_disagree: rank 0 runs redistribute with target arena set and rank " +
                          std::to_string(size - 1) +
                          " with none; every rank must make the same call"));
}

BOOST_AUTO_TEST_CASE(an_arena_of_other_ranks_is_refused) {
    boost::mpi::communicator const backwards = world.split(0, -rank);
    shared_arena const arena(backwards, 10'000);
    matrix_part source = source_in(std::pmr::get_default_resource());
    matrix_part target(shape, columns);
    std::string const text = agreed_error(world, [&] {
        prepare(world, source_tensors{source.views()}, target_tensors{target.views(), {}, &arena});
    });
    BOOST_TEST(text == (size == 1 ? "nothing was thrown"
                                  : "usage: the arena's communicator does not consist of the " +
                                        std::to_string(size) +
                                        " ranks of this redistribution in the same order; make an "
                                        "arena over the same communicator"));
}

BOOST_AUTO_TEST_SUITE_END()
