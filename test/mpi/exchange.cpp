// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/exchange.hpp>

#include <reshard/expr/algebra.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <malloc.h>
#include <optional>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

namespace {

using ranks = std::vector<std::vector<shard_descriptor>>;

/// Rows `first` to `last` of a matrix of numbers.
shard_descriptor rows(std::string const& key, index_vector const& global, index_t first,
                      index_t last) {
    return {key, data_type::i32, global, {{first, 0}, {last - first, global[1]}}, {}};
}
shard_descriptor columns(std::string const& key, index_vector const& global, index_t first,
                         index_t last) {
    return {key, data_type::i32, global, {{0, first}, {global[0], last - first}}, {}};
}

/// The matrices of one rank, with `gap` elements after each row.
class matrices {
public:
    matrices(std::vector<shard_descriptor> const& descriptors, index_t gap)
        : memory_(descriptors.size()) {
        for (std::size_t i = 0; i < descriptors.size(); ++i) {
            index_vector const& shape = descriptors[i].region.shape;
            index_t const pitch = shape[1] + gap;
            memory_[i].assign(static_cast<std::size_t>(shape[0] * pitch), -1);
            shards.add(descriptors[i],
                       tensor_view{memory_[i].data(), data_type::i32, shape, {pitch, 1}});
        }
    }

    /// Gives each element its number in the whole matrix, plus `more`.
    void number(std::int32_t more = 0) {
        for_each([&](std::int32_t& element, std::int32_t index) { element = index + more; });
    }

    /// How many elements are not what `number` makes them.
    std::size_t wrong(std::int32_t more = 0) {
        std::size_t count = 0;
        for_each(
            [&](std::int32_t& element, std::int32_t index) { count += element != index + more; });
        return count;
    }

    /// Elements in gaps that were written.
    std::size_t spoilt() const {
        std::size_t kept = 0, elements = 0, total = 0;
        for (auto const& [descriptor, tensor] : shards)
            elements += static_cast<std::size_t>(element_count(tensor.shape));
        for (auto const& element : memory_) {
            total += element.size();
            kept += static_cast<std::size_t>(std::count(element.begin(), element.end(), -1));
        }
        return total - elements - kept;
    }

    state_dict shards;

private:
    template <class Visit>
    void for_each(Visit const& visit) {
        for (auto const& [descriptor, tensor] : shards)
            for (index_t row = 0; row < tensor.shape[0]; ++row)
                for (index_t column = 0; column < tensor.shape[1]; ++column) {
                    auto const& [offset, shape] = descriptor.region;
                    index_t const index =
                        (offset[0] + row) * descriptor.global_shape[1] + offset[1] + column;
                    visit(static_cast<std::int32_t*>(
                              tensor.data)[row * tensor.strides[0] + column * tensor.strides[1]],
                          static_cast<std::int32_t>(index));
                }
    }

    std::vector<std::vector<std::int32_t>> memory_;
};

/// Memory in use of the process, as its allocator counts it.
index_t bytes_in_use() {
    struct mallinfo2 const full_mallinfo2 = mallinfo2();
    return static_cast<index_t>(full_mallinfo2.uordblks + full_mallinfo2.hblkhd);
}

struct form {
    index_t gap = 0;             ///< after each row of both sides: chunks of two rows are packed
    index_t limit = chunk_bytes; ///< of a chunk
};

/// The two layouts of all ranks, the tensors of this one, and the exchange between them.
class movement {
public:
    movement(mpi_group const& group, ranks const& from, ranks const& to, form how = {},
             std::optional<mapping> program = {})
        : group_(mpi_group::duplicate_of(group.base())),
          from_layout_(layout_of(from)),
          to_layout_(layout_of(to)),
          source(from[me()], how.gap),
          target(to[me()], how.gap) {
        program_ = program ? *program : by_name(catalog_of(from_layout_), to_layout_);
        problem_ = problem_of(program_, from_layout_, to_layout_);
        holder_set const set({static_cast<holder_t>(me())});
        whole_ = make_plan(problem_, {set, set});
        sources_.add(source.shards, from_layout_, static_cast<holder_t>(me()));
        targets_.add(target.shards, to_layout_, static_cast<holder_t>(me()));
        source.number();
        process_transfers const process_transfers = transfers(how.limit);
        index_t const before = bytes_in_use();
        exchange_.emplace(group_.base(), bound_plan{whole_, problem_, sources_, targets_},
                          process_transfers);
        bytes_ = bytes_in_use() - before;
    }

    movement(movement const&) = delete;
    movement& operator=(movement const&) = delete;

    void run() { exchange_->run(); }

    /// The memory that the exchange allocated.
    index_t bytes() const { return bytes_; }

private:
    mpi_group group_;
    layout from_layout_, to_layout_;

public:
    matrices source, target;

private:
    std::size_t me() const { return static_cast<std::size_t>(group_.rank()); }

    /// A lane for each other rank, whether there is anything for it or not.
    process_transfers transfers(index_t limit) const {
        int const rank = group_.rank(), size = group_.size();
        process_transfers transfers;
        transfers.local = between(rank, rank);
        for (int step = 1; step < size; ++step) {
            int const next = (rank + step) % size, before = (rank - step + size) % size;
            transfers.sends.push_back({next, chunks_of(whole_, between(rank, next), limit)});
            transfers.receives.push_back({before, chunks_of(whole_, between(before, rank), limit)});
        }
        return transfers;
    }

    /// Zeros are local.
    std::vector<std::uint32_t> between(int from, int to) const {
        std::vector<std::uint32_t> numbers;
        for (std::uint32_t i = 0; i < whole_.transfers.size(); ++i) {
            transfer const& transfer = whole_.transfers[i];
            holder_t const sender = transfer.source_holder == no_holder ? transfer.target_holder
                                                                        : transfer.source_holder;
            if (sender == static_cast<holder_t>(from) &&
                transfer.target_holder == static_cast<holder_t>(to))
                numbers.push_back(i);
        }
        return numbers;
    }

    mapping program_;
    plan_problem problem_;
    plan whole_;
    shard_views<const_tensor_view> sources_;
    shard_views<tensor_view> targets_;
    std::optional<exchange> exchange_;
    index_t bytes_ = 0;
};

struct world_fixture {
    mpi_group world{boost::mpi::communicator()};
    index_t size = world.size();
    std::size_t last = static_cast<std::size_t>(size - 1);
    ranks nothing{static_cast<std::size_t>(size)};

    /// Runs it with two sets of values; counts the wrong elements of this rank.
    static std::size_t wrong_after_two_runs(movement& full_movement) {
        full_movement.run();
        std::size_t wrong = full_movement.target.wrong();
        full_movement.source.number(7);
        full_movement.run();
        wrong += full_movement.target.wrong(7);
        return wrong + full_movement.target.spoilt();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_exchange, world_fixture)

BOOST_AUTO_TEST_CASE(where_nobody_has_anything_nothing_happens) {
    movement full_movement(world, nothing, nothing);
    full_movement.run();
    full_movement.run();
    BOOST_TEST(full_movement.bytes() < chunk_bytes);
}

BOOST_AUTO_TEST_CASE(each_rank_sends_to_the_next_one_only) {
    // All other lanes are empty. With one rank, it is a copy.
    ranks from = nothing, to = nothing;
    for (index_t rank = 0; rank < size; ++rank) {
        index_t const next = (rank + 1) % size;
        from[static_cast<std::size_t>(rank)] = {rows("w", {3 * size, 5}, 3 * rank, 3 * rank + 3)};
        to[static_cast<std::size_t>(next)] = {rows("w", {3 * size, 5}, 3 * rank, 3 * rank + 3)};
    }
    for (index_t const gap : {0, 2}) {
        movement full_movement(world, from, to, {.gap = gap});
        BOOST_TEST(wrong_after_two_runs(full_movement) == 0u);
    }
}

BOOST_AUTO_TEST_CASE(one_rank_gives_and_another_gets) {
    // The rest of them have neither.
    ranks from = nothing, to = nothing;
    from[0] = {rows("w", {6, 5}, 0, 6)};
    to[last] = {columns("w", {6, 5}, 0, 2), columns("w", {6, 5}, 2, 5)};
    movement full_movement(world, from, to, {.gap = 1, .limit = 16});
    BOOST_TEST(wrong_after_two_runs(full_movement) == 0u);
}

BOOST_AUTO_TEST_CASE(one_rank_gets_from_all_and_gives_to_all) {
    ranks parts = nothing, current_ranks = nothing;
    for (index_t rank = 0; rank < size; ++rank)
        parts[static_cast<std::size_t>(rank)] = {
            columns("w", {9, 2 * size}, 2 * rank, 2 * rank + 2)};
    current_ranks[last] = {rows("w", {9, 2 * size}, 0, 9)};
    movement gathered(world, parts, current_ranks, {.limit = 24});
    BOOST_TEST(wrong_after_two_runs(gathered) == 0u);
    movement scattered(world, current_ranks, parts, {.limit = 24});
    BOOST_TEST(wrong_after_two_runs(scattered) == 0u);
}

BOOST_AUTO_TEST_CASE(there_may_be_more_chunks_than_are_ever_under_way) {
    // Rows in pairs, 300 of them between two ranks: packed ones wait for memory, too, and the direct
    // ones do not.
    index_t const each = 600;
    ranks from = nothing, to = nothing;
    for (index_t rank = 0; rank < size; ++rank) {
        index_t const next = (rank + 1) % size;
        from[static_cast<std::size_t>(rank)] = {
            rows("w", {each * size, 3}, each * rank, each * rank + each)};
        to[static_cast<std::size_t>(next)] = {
            rows("w", {each * size, 3}, each * rank, each * rank + each)};
    }
    for (index_t const gap : {0, 1}) {
        movement full_movement(world, from, to, {.gap = gap, .limit = 24});
        BOOST_TEST(wrong_after_two_runs(full_movement) == 0u);
    }
    movement reversed(world, to, from, {.gap = 1, .limit = 24});
    BOOST_TEST(wrong_after_two_runs(reversed) == 0u);
}

BOOST_AUTO_TEST_CASE(few_chunks_of_trees_are_under_way_to_one_rank) {
    // By peer, and whether they are of a tree; all but the last one may start at once.
    std::byte memory{};
    bound_chunks sends;
    for (auto const& [peer, is_of_tree] : std::vector<std::pair<int, bool>>{{1, true},
                                                                            {2, true},
                                                                            {1, true},
                                                                            {1, false},
                                                                            {1, false},
                                                                            {1, false},
                                                                            {2, true},
                                                                            {1, true}})
        sends.chunks.push_back({peer, 1, &memory, 0, 0, lane::not_relayed, is_of_tree});
    chunk_window window;
    window.open(std::move(sends), nullptr);
    std::vector<std::size_t> slots;
    while (window.next < 7) {
        BOOST_TEST(!window.is_peer_busy());
        slots.push_back(window.start());
    }
    BOOST_TEST(window.is_peer_busy());
    window.finish(slots[1]); // to another rank
    window.finish(slots[3]); // of no tree
    BOOST_TEST(window.is_peer_busy());
    window.finish(slots[2]);
    BOOST_TEST(!window.is_peer_busy());
}

BOOST_AUTO_TEST_CASE(what_stays_and_what_travels_move_together) {
    // Rows become columns, and below them are zeros: each rank keeps some, sends some, gets some.
    index_vector const shape{4 * size, 3 * size}, taller{5 * size, 3 * size};
    mapping program;
    program.define("t", concat({program.source("w", shape, data_type::i32),
                                zeros({size, 3 * size}, data_type::i32)},
                               0));
    ranks from = nothing, to = nothing;
    for (index_t rank = 0; rank < size; ++rank) {
        from[static_cast<std::size_t>(rank)] = {rows("w", shape, 4 * rank, 4 * rank + 4)};
        to[static_cast<std::size_t>(rank)] = {columns("t", taller, 3 * rank, 3 * rank + 3)};
    }
    movement full_movement(world, from, to, {.gap = 1, .limit = 32}, program);
    full_movement.run();
    // Numbers in the taller matrix are those in `w`; of the zeros, those that have a number differ.
    BOOST_TEST(full_movement.target.wrong() == static_cast<std::size_t>(3 * size));
    BOOST_TEST(full_movement.target.spoilt() == 0u);
}

BOOST_AUTO_TEST_CASE(staging_takes_at_most_8_mebibytes_whatever_travels) {
    // 10 MiB and more to the next rank and as much from the one before, all of it to be packed, in
    // chunks of 1 MiB.
    index_t const each = 3000, width = 900;
    ranks from = nothing, to = nothing;
    for (index_t rank = 0; rank < size; ++rank) {
        index_t const next = (rank + 1) % size;
        std::string const key = std::to_string(rank);
        from[static_cast<std::size_t>(rank)] = {rows(key, {each, width}, 0, each)};
        to[static_cast<std::size_t>(next)] = {rows(key, {each, width}, 0, each)};
    }
    movement full_movement(world, from, to, {.gap = 1});
    BOOST_TEST(full_movement.bytes() < 9 << 20); // and the positions of the chunks
    BOOST_TEST(wrong_after_two_runs(full_movement) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
