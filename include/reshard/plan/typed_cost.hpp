// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_COST_HPP
#define RESHARD_PLAN_TYPED_COST_HPP

#include <reshard/plan/cost.hpp>
#include <reshard/plan/typed_plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

/// \file
/// What a typed plan does, rank by rank, and what it costs: for a `static_assert`.

namespace reshard {

namespace typed {

/// One move of a typed plan and the tensors that it is between, by their places in the layouts.
struct transfer {
    std::size_t source = 0; ///< of no meaning where `move` writes zeros
    std::size_t target = 0;
    detail::typed_move move;
    detail::constant_copy copy;

    constexpr bool operator==(transfer const&) const = default;
};

} // namespace typed

namespace detail {

/// The bytes that a transfer puts on the wire: elements in the narrower of the two types.
///
/// \par Units bytes, the last one filled up
constexpr index_t wire_bytes(constant_copy const& copy) {
    return byte_count(element_count(copy.loop),
                      wire_dtype(copy.conversion.source, copy.conversion.target()));
}

/// Moves and copies of a pattern as values.
struct pattern_content {
    std::span<typed_move const> moves;
    std::span<constant_copy const> copies;
};

template <class Pattern>
struct content_of {
    static constexpr pattern_content value{Pattern::moves(), Pattern::copies()};
};

/// The numbers of the ranks that a plan is between.
template <class Plan>
inline constexpr std::size_t rank_count_of = std::max<std::size_t>(
    Plan::source_layout::ranks.rank_count(), Plan::target_layout::ranks.rank_count());

/// What moves from each rank to each: elements `source * ranks + target`.
template <std::size_t Ranks>
struct traffic {
    index_t transfers = 0;
    std::array<index_t, Ranks * Ranks> bytes{};

    constexpr void add(traffic const& other) {
        transfers += other.transfers;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = checked_add(bytes[i], other.bytes[i], "the bytes of all transfers");
    }
};

template <std::size_t Ranks>
struct traffic_with {
    /// The traffic of a pattern, counted once for all tensors that have it.
    template <class Pattern>
    struct of {
        static constexpr traffic<Ranks> value = [] {
            traffic<Ranks> sum;
            for (typed_move const& move : Pattern::moves()) {
                holder_t const source =
                    move.source_holder == no_holder ? move.target_holder : move.source_holder;
                sum.bytes[source * Ranks + move.target_holder] +=
                    wire_bytes(Pattern::copies()[move.copy]);
                ++sum.transfers;
            }
            return sum;
        }();
    };
};

/// Counts what passes between each pair of ranks as `cost_of` of a plan does.
template <std::size_t Ranks>
constexpr plan_cost cost_of(traffic<Ranks> const& all) {
    plan_cost cost;
    cost.transfers = all.transfers;
    cost.by_process = std::vector<process_cost>(Ranks, process_cost{});
    for (std::size_t source = 0; source < Ranks; ++source)
        for (std::size_t target = 0; target < Ranks; ++target) {
            index_t const bytes = all.bytes[source * Ranks + target];
            cost.bytes = checked_add(cost.bytes, bytes, "the bytes of all transfers");
            if (source == target) {
                cost.by_process[target].bytes_local += bytes;
                cost.bytes_local += bytes;
            } else if (bytes > 0) {
                cost.by_process[source].bytes_out += bytes;
                cost.by_process[target].bytes_in += bytes;
                ++cost.by_process[source].messages_out;
                ++cost.by_process[target].messages_in;
                ++cost.messages;
            }
        }
    for (process_cost const& process : cost.by_process)
        cost.peak_extra_bytes = std::max(cost.peak_extra_bytes, staging_of(process));
    return cost;
}

} // namespace detail

/// What a typed plan costs, where every rank is a process.
///
/// ```
/// static_assert(cost_of<job>().by_process[0].bytes_in == 4096);
/// ```
template <class Plan>
constexpr plan_cost cost_of() {
    constexpr std::size_t ranks = detail::rank_count_of<Plan>;
    detail::traffic<ranks> sum;
    for (detail::traffic<ranks> const& of_target :
         Plan::template by_target<detail::traffic_with<ranks>::template of,
                                  detail::traffic<ranks>>())
        sum.add(of_target);
    return detail::cost_of(sum);
}

namespace typed {

/// What one rank gives and gets, by target tensor: its plan.
///
/// \pre `rank` is one of either layout
template <class Plan>
constexpr std::vector<transfer> transfers_of(holder_t rank) {
    auto const contents = Plan::template by_target<detail::content_of, detail::pattern_content>();
    auto const operands = Plan::operands();
    std::vector<transfer> result;
    for (std::size_t target = 0; target < Plan::size; ++target)
        for (detail::typed_move const& move : contents[target].moves)
            if (move.source_holder == rank || move.target_holder == rank)
                result.push_back({move.source_holder == detail::no_holder
                                      ? 0
                                      : operands.source[operands.first[target] + move.operand],
                                  target, move, contents[target].copies[move.copy]});
    return result;
}

} // namespace typed

} // namespace reshard

#endif
