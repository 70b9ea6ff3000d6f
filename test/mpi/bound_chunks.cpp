// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/bound_chunks.hpp>

#include <reshard/copy/conversions.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <numeric>
#include <optional>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_bound_chunks)

namespace {

shard_descriptor shard(std::string const& key, data_type dtype, index_vector const& global,
                       box const& region) {
    return {key, dtype, global, region, {}};
}

/// Rank 0 has the tensor `w`; each other rank wants some of it. All of them are played here.
class bound {
public:
    bound(shard_descriptor const& source, const_tensor_view const& from,
          std::vector<shard_descriptor> const& wanted, std::vector<tensor_view> const& to,
          std::optional<data_type> stored = {}) {
        std::vector<std::vector<shard_descriptor>> targets{{}};
        for (shard_descriptor const& shard : wanted)
            targets.push_back({shard});
        source_layout_ = layout_of({std::vector{source}});
        target_layout_ = layout_of(targets);
        expression const w = program_.source("w", source.global_shape, source.dtype);
        program_.define("w", stored ? cast(w, *stored) : w);
        problem_ = problem_of(program_, source_layout_, target_layout_);
        whole_ = make_plan(problem_);
        sources_.add(0, 0, from);
        for (std::uint32_t i = 0; i < to.size(); ++i)
            targets_.add(0, i, to[i]);
    }

    bound(bound const&) = delete;
    bound& operator=(bound const&) = delete;

    /// The transfers to rank `target` as chunks.
    lane to(int target, index_t limit = chunk_bytes) const {
        std::vector<std::uint32_t> numbers;
        for (std::uint32_t i = 0; i < whole_.transfers.size(); ++i)
            if (whole_.transfers[i].target_holder == static_cast<holder_t>(target))
                numbers.push_back(i);
        return {target, chunks_of(whole_, numbers, limit)};
    }

    bound_chunks sends(std::vector<lane> const& lanes) {
        return detail::chunk_binder(all_, stores::cached, copies).sends(lanes);
    }
    bound_chunks receives(std::vector<lane> const& lanes) {
        return detail::chunk_binder(all_, stores::cached, copies).receives(lanes);
    }
    std::vector<bound_copy> local() {
        std::vector<std::uint32_t> numbers(whole_.transfers.size());
        std::iota(numbers.begin(), numbers.end(), 0u);
        return detail::chunk_binder(all_, stores::cached, copies).copies(numbers);
    }

    copy_table copies;

private:
    mapping program_;
    layout source_layout_, target_layout_;
    plan_problem problem_;
    plan whole_;
    shard_views<const_tensor_view> sources_;
    shard_views<tensor_view> targets_;
    bound_plan all_{whole_, problem_, sources_, targets_, &all_conversions()};
};

template <class Byte>
std::byte const* as_bytes(Byte const* address) {
    return reinterpret_cast<std::byte const*>(address);
}

/// `2:16 1:32`: peer and bytes of each chunk.
std::string peers(bound_chunks const& chunks) {
    std::string text;
    for (bound_chunk const& chunk : chunks.chunks)
        text += (text.empty() ? "" : " ") + std::to_string(chunk.peer) + ":" +
                std::to_string(chunk.bytes);
    return text;
}

/// The bytes of the chunk, if it is packed.
template <class T>
std::vector<T> packed(bound_chunks const& chunks, bound_chunk const& chunk,
                      copy_table const& copies) {
    std::vector<T> wire(static_cast<std::size_t>(chunk.bytes) / sizeof(T));
    row_batch blocks;
    for (std::size_t i = chunk.first; i < chunk.last; ++i) {
        auto const& part = chunks.packets[i];
        blocks.add(copies[part.copy], part.memory,
                   reinterpret_cast<std::byte*>(wire.data()) + part.wire, part.joins_next);
    }
    return wire;
}

/// Six rows of four floats on rank 0; rank 1 wants three of them, rank 2 the other three.
struct rows_fixture {
    std::vector<float> from = std::vector<float>(24);
    std::vector<float> first = std::vector<float>(12), second = std::vector<float>(18);
    bound all{shard("w", data_type::f32, {6, 4}, {{0, 0}, {6, 4}}),
              {from.data(), data_type::f32, {6, 4}, {4, 1}},
              {shard("w", data_type::f32, {6, 4}, {{0, 0}, {3, 4}}),
               shard("w", data_type::f32, {6, 4}, {{3, 0}, {3, 4}})},
              {{first.data(), data_type::f32, {3, 4}, {4, 1}},
               {second.data(), data_type::f32, {3, 4}, {6, 1}}}}; // two floats after each row

    rows_fixture() { std::iota(from.begin(), from.end(), 0.0f); }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(chunks_go_by_their_number_and_then_by_lane, rows_fixture) {
    // One row in 16 bytes, two in 32; the lanes are in no order of ranks.
    auto const sends = all.sends({all.to(2, 16), all.to(1, 32)});
    BOOST_TEST(peers(sends) == "2:16 1:32 2:16 1:16 2:16");
    BOOST_TEST(peers(all.receives({all.to(1, 32), all.to(2, 16)})) == "1:32 2:16 1:16 2:16 2:16");
    BOOST_TEST(peers(all.sends({all.to(1, 16), {5, {}}, all.to(2)})) == "1:16 2:48 1:16 1:16");
}

BOOST_FIXTURE_TEST_CASE(a_lane_that_is_passed_on_begins_later, rows_fixture) {
    lane late = all.to(2, 16);
    late.first_turn = 1;
    BOOST_TEST(peers(all.sends({late, all.to(1, 32)})) == "1:32 2:16 1:16 2:16 2:16");
    late.first_turn = 3; // turn 2 has no chunk
    BOOST_TEST(peers(all.sends({late, all.to(1, 32)})) == "1:32 1:16 2:16 2:16 2:16");
}

BOOST_FIXTURE_TEST_CASE(lanes_without_chunks_are_nothing, rows_fixture) {
    BOOST_TEST(all.sends({}).chunks.empty());
    BOOST_TEST(all.receives({{1, {}}, {2, {}}}).chunks.empty());
    BOOST_TEST(all.local().size() == 2u);
    BOOST_TEST(all.copies.size() > 0u);
}

BOOST_FIXTURE_TEST_CASE(memory_that_is_what_the_wire_carries_is_not_copied, rows_fixture) {
    auto const sends = all.sends({all.to(2, 16), all.to(1, 32)});
    index_t const expected[] = {12, 0, 16, 8, 20}; // the first float of each chunk
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(sends.chunks[i].direct == as_bytes(from.data() + expected[i]));
        BOOST_TEST(sends.chunks[i].first == sends.chunks[i].last);
    }
    BOOST_TEST(sends.packets.empty());
    BOOST_TEST(all.copies.size() == 0u);
    BOOST_TEST(all.receives({all.to(1)}).chunks[0].direct == as_bytes(first.data()));
}

BOOST_FIXTURE_TEST_CASE(rows_with_gaps_are_unpacked, rows_fixture) {
    auto const receives = all.receives({all.to(2, 32)});
    BOOST_TEST(peers(receives) == "2:32 2:16");
    BOOST_TEST(receives.chunks[0].direct == nullptr);
    BOOST_TEST(receives.chunks[0].last == 1u);
    BOOST_TEST(receives.packets[0].memory == as_bytes(second.data()));
    BOOST_TEST(receives.packets[0].wire == 0);
    // One row has no gap in it.
    BOOST_TEST(receives.chunks[1].direct == as_bytes(second.data() + 12));
}

BOOST_AUTO_TEST_CASE(a_chunk_of_several_packets_is_packed_one_behind_the_other) {
    // Two blocks of columns of 2 x 6, in one chunk as though one rank wanted both.
    std::vector<float> from(12), left(4), right(4);
    std::iota(from.begin(), from.end(), 0.0f);
    bound bound(shard("w", data_type::f32, {2, 6}, {{0, 0}, {2, 6}}),
                {from.data(), data_type::f32, {2, 6}, {6, 1}},
                {shard("w", data_type::f32, {2, 6}, {{0, 1}, {2, 2}}),
                 shard("w", data_type::f32, {2, 6}, {{0, 4}, {2, 2}})},
                {{left.data(), data_type::f32, {2, 2}, {2, 1}},
                 {right.data(), data_type::f32, {2, 2}, {2, 1}}});
    lane both{1, bound.to(1).chunks};
    auto const chunk = bound.to(2).chunks[0];
    both.chunks[0].packets.push_back(chunk.packets[0]);
    both.chunks[0].bytes += chunk.bytes;
    auto const sends = bound.sends({both});
    BOOST_TEST(peers(sends) == "1:32");
    BOOST_TEST(sends.chunks[0].direct == nullptr);
    BOOST_TEST(sends.chunks[0].last - sends.chunks[0].first == 2u);
    BOOST_TEST(packed<float>(sends, sends.chunks[0], bound.copies) ==
                   (std::vector<float>{1, 2, 7, 8, 4, 5, 10, 11}),
               boost::test_tools::per_element());
    // Two tensors, each of them dense, and neither of them the whole chunk.
    auto const receives = bound.receives({both});
    BOOST_TEST(receives.chunks[0].direct == nullptr);
    index_t wires[2] = {-1, -1};
    for (bound_packet const& packet : receives.packets)
        wires[packet.memory == as_bytes(right.data())] = packet.wire;
    BOOST_TEST(wires[0] == 0);
    BOOST_TEST(wires[1] == 16);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_wider_type_casts) {
    std::vector<float> from{1, 2, 3, 4};
    std::vector<double> to(4);
    bound full_bound(shard("w", data_type::f32, {4}, {{0}, {4}}),
                     {from.data(), data_type::f32, {4}, {1}},
                     {shard("w", data_type::f64, {4}, {{0}, {4}})},
                     {{to.data(), data_type::f64, {4}, {1}}}, data_type::f64);
    auto const widened = full_bound.sends({full_bound.to(1)});
    BOOST_TEST(peers(widened) == "1:16");
    BOOST_TEST(widened.chunks[0].direct == as_bytes(from.data()));
    BOOST_TEST(full_bound.receives({full_bound.to(1)}).chunks[0].direct == nullptr);

    bound back(shard("w", data_type::f64, {4}, {{0}, {4}}), {to.data(), data_type::f64, {4}, {1}},
               {shard("w", data_type::f32, {4}, {{0}, {4}})},
               {{from.data(), data_type::f32, {4}, {1}}}, data_type::f32);
    to = {5, 6, 7, 8};
    auto const narrowed = back.sends({back.to(1)});
    BOOST_TEST(peers(narrowed) == "1:16");
    BOOST_TEST(narrowed.chunks[0].direct == nullptr);
    BOOST_TEST(packed<float>(narrowed, narrowed.chunks[0], back.copies) ==
                   (std::vector<float>{5, 6, 7, 8}),
               boost::test_tools::per_element());
    BOOST_TEST(back.receives({back.to(1)}).chunks[0].direct == as_bytes(from.data()));
}

BOOST_AUTO_TEST_CASE(elements_of_half_a_byte_are_packed) {
    std::uint8_t const from[] = {0x10, 0x32, 0x54}; // elements 0 to 5
    std::uint8_t to[2] = {};
    bound bound(shard("w", data_type::f4, {6}, {{0}, {6}}), {from, data_type::f4, {6}, {1}},
                {shard("w", data_type::f4, {6}, {{1}, {3}})}, {{to, data_type::f4, {3}, {1}}});
    auto const sends = bound.sends({bound.to(1)});
    BOOST_TEST(peers(sends) == "1:2");
    BOOST_TEST(sends.chunks[0].direct == nullptr);
    auto const wire = packed<std::uint8_t>(sends, sends.chunks[0], bound.copies);
    BOOST_TEST(wire[0] == 0x21);
    BOOST_TEST((wire[1] & 0x0f) == 3);
}

BOOST_AUTO_TEST_CASE(no_chunk_is_larger_than_a_mebibyte_and_addresses_have_64_bits) {
    // 8 GiB of bytes to rank 1, and 3 rows of 1 MiB + 1 byte, 2^40 apart, to rank 2: memory that is
    // spoken of and never touched.
    auto* const memory = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 30);
    index_t const large = index_t{1} << 33, row = chunk_bytes + 1, pitch = index_t{1} << 40;
    bound dense(shard("w", data_type::u8, {large}, {{0}, {large}}),
                {memory, data_type::u8, {large}, {1}},
                {shard("w", data_type::u8, {large}, {{0}, {large}})},
                {{memory, data_type::u8, {large}, {1}}});
    auto const sends = dense.sends({dense.to(1)});
    BOOST_TEST(sends.chunks.size() == 8192u);
    for (std::size_t i = 0; i < sends.chunks.size(); ++i) {
        BOOST_TEST_REQUIRE(sends.chunks[i].bytes == 1 << 20);
        BOOST_TEST_REQUIRE(sends.chunks[i].direct == memory + (static_cast<index_t>(i) << 20));
    }
    bound sparse(shard("w", data_type::u8, {3, row}, {{0, 0}, {3, row}}),
                 {memory, data_type::u8, {3, row}, {row, 1}},
                 {shard("w", data_type::u8, {3, row}, {{0, 0}, {3, row}})},
                 {{memory, data_type::u8, {3, row}, {pitch, 1}}});
    auto const receives = sparse.receives({sparse.to(1)});
    index_t bytes = 0;
    for (bound_chunk const& chunk : receives.chunks) {
        BOOST_TEST(chunk.bytes <= 1 << 20);
        bytes += chunk.bytes;
    }
    BOOST_TEST(bytes == 3 * row);
    BOOST_TEST(receives.chunks.front().direct == memory);
    BOOST_TEST(receives.chunks.back().direct == memory + 2 * pitch + (row - 1));
}

BOOST_AUTO_TEST_CASE(local_copies_are_cut_where_the_network_is_looked_at) {
    // 12 MiB within a process; between two pieces of 4 MiB others are served.
    auto* const memory = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 30);
    index_t const bytes = index_t{12} << 20, apart = index_t{1} << 35;
    bound bound(shard("w", data_type::u8, {bytes}, {{0}, {bytes}}),
                {memory, data_type::u8, {bytes}, {1}},
                {shard("w", data_type::u8, {bytes}, {{0}, {bytes}})},
                {{memory + apart, data_type::u8, {bytes}, {1}}});
    auto const copies = bound.local();
    BOOST_TEST_REQUIRE(copies.size() == 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(copies[i].bytes == 4 << 20);
        BOOST_TEST(copies[i].source == memory + (static_cast<index_t>(i) << 22));
        BOOST_TEST(copies[i].target == memory + apart + (static_cast<index_t>(i) << 22));
    }
    BOOST_TEST(bound.copies.size() == 1u); // one shape, for any addresses
}

BOOST_AUTO_TEST_SUITE_END()
