// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_COST_HPP
#define RESHARD_PLAN_TYPED_COST_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/typed_plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// \file
/// The traffic of a typed plan by rank, and its cost: for a `static_assert`.

namespace reshard {

namespace detail {

/// The number of ranks of a plan's layouts.
template <class Plan>
inline constexpr std::size_t rank_count_of =
    std::max<std::size_t>(Plan::source_layout::rank_end, Plan::target_layout::rank_end);

/// The traffic between `Ranks` ranks. A sum takes only a few steps for each rank, because compilers
/// limit the steps of a constant.
template <std::size_t Ranks>
struct traffic {
    index_t transfers = 0;
    std::array<index_t, Ranks> bytes_local{}, bytes_in{}, bytes_out{};
    std::array<std::uint64_t, (Ranks * Ranks + 63) / 64> messages{}; ///< a bit for each pair

    constexpr void add(holder_t source, holder_t target, index_t bytes) {
        ++transfers;
        if (source == target) {
            bytes_local[target] += bytes;
        } else if (bytes > 0) {
            bytes_out[source] += bytes;
            bytes_in[target] += bytes;
            std::size_t const pair = source * Ranks + target;
            messages[pair / 64] |= std::uint64_t{1} << pair % 64;
        }
    }

    constexpr void add(traffic const& other_traffic) {
        transfers += other_traffic.transfers;
        for (std::size_t rank = 0; rank < Ranks; ++rank) {
            bytes_local[rank] += other_traffic.bytes_local[rank];
            bytes_in[rank] += other_traffic.bytes_in[rank];
            bytes_out[rank] += other_traffic.bytes_out[rank];
        }
        for (std::size_t i = 0; i < messages.size(); ++i)
            messages[i] |= other_traffic.messages[i];
    }

    constexpr bool is_message(std::size_t source, std::size_t target) const {
        std::size_t const pair = source * Ranks + target;
        return (messages[pair / 64] >> pair % 64 & 1) != 0;
    }
};

template <std::size_t Ranks>
struct traffic_with {
    /// The traffic of a pattern, counted once for all tensors with that pattern.
    template <class Pattern>
    struct of {
        static constexpr traffic<Ranks> value = [] {
            traffic<Ranks> sum;
            for (typed_transfer const& t : Pattern::value.transfers)
                sum.add(t.source_holder == no_holder ? t.target_holder : t.source_holder,
                        t.target_holder, Pattern::wire_bytes(t));
            return sum;
        }();
    };
};

template <class Plan>
inline constexpr auto traffic_by_target =
    Plan::template by_target<traffic_with<rank_count_of<Plan>>::template of,
                             traffic<rank_count_of<Plan>>>();

/// The traffic of a plan's target tensors in `[First, Last)`. Each half is a separate constant, so
/// that no constant takes many steps, for any number of tensors.
template <class Plan, std::size_t First = 0, std::size_t Last = Plan::size>
inline constexpr traffic<rank_count_of<Plan>> traffic_of = [] {
    using result = traffic<rank_count_of<Plan>>;
    result sum;
    if constexpr (Last - First > 16) {
        constexpr std::size_t middle = First + (Last - First) / 2;
        sum.add(traffic_of<Plan, First, middle>);
        sum.add(traffic_of<Plan, middle, Last>);
    } else {
        for (std::size_t i = First; i < Last; ++i)
            sum.add(*traffic_by_target<Plan>[i]);
    }
    return sum;
}();

/// Counts the traffic between each pair of ranks in the same way as `cost_of` of a plan.
template <std::size_t Ranks>
constexpr plan_cost cost_of(traffic<Ranks> const& traffic) {
    constexpr std::string_view all_bytes = "the bytes of all transfers";
    plan_cost cost;
    cost.transfers = traffic.transfers;
    cost.by_process = vector<process_cost>(Ranks, process_cost{});
    for (std::size_t rank = 0; rank < Ranks; ++rank) {
        process_cost& process = cost.by_process[rank];
        process.bytes_local = traffic.bytes_local[rank];
        process.bytes_in = traffic.bytes_in[rank];
        process.bytes_out = traffic.bytes_out[rank];
        cost.bytes_local = checked_add(cost.bytes_local, process.bytes_local, all_bytes);
        cost.bytes = checked_add(cost.bytes, process.bytes_local + process.bytes_in, all_bytes);
        cost.peak_extra_bytes = std::max(cost.peak_extra_bytes, staging_of(process));
        for (std::size_t target = 0; target < Ranks; ++target)
            if (traffic.is_message(rank, target)) {
                ++process.messages_out;
                ++cost.by_process[target].messages_in;
                ++cost.messages;
            }
    }
    return cost;
}

} // namespace detail

/// The cost of a typed plan, if every rank is a process.
///
/// ```
/// static_assert(cost_of<job>().by_process[0].bytes_in == 4096);
/// ```
template <class Plan>
constexpr plan_cost cost_of() {
    constexpr std::size_t targets = Plan::size; // an error of the plan names the caller here
    return detail::cost_of(detail::traffic_of<Plan, 0, targets>);
}

namespace typed {

/// The bytes of one source tensor that one rank sends to another for one target tensor. Tensors are
/// indices in the layouts.
struct transfer {
    std::size_t source = 0; ///< ignored for zeros
    std::size_t target = 0;
    holder_t source_holder = detail::no_holder; ///< `no_holder`: zeros
    holder_t target_holder = 0;
    detail::cut geometry;

    constexpr bool operator==(transfer const&) const = default;
};

/// The transfers that one rank sends or receives, by target tensor: its plan.
///
/// \pre `rank` is a rank of either layout
template <class Plan>
constexpr vector<transfer> transfers_of(holder_t rank) {
    auto const contents = Plan::contents();
    auto const operands = Plan::operands();
    vector<transfer> result;
    for (std::size_t target = 0; target < Plan::size; ++target)
        for (detail::typed_transfer const& t : contents[target]->transfers) {
            if (t.source_holder != rank && t.target_holder != rank)
                continue;
            bool const is_zeros = t.source_holder == detail::no_holder;
            std::size_t const source =
                is_zeros ? 0 : operands.source[operands.first[target] + t.operand];
            index_vector const shape =
                is_zeros ? index_vector() : Plan::source_layout::kinds[source]->shape;
            result.push_back(
                {source, target, t.source_holder, t.target_holder,
                 contents[target]->cut_of(t, shape, Plan::target_layout::kinds[target]->shape)});
        }
    return result;
}

} // namespace typed

} // namespace reshard

#endif
