// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_ROUNDS_HPP
#define RESHARD_PLAN_ROUNDS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// Divides a plan into rounds, so that no process exceeds its memory budget.

namespace reshard {

namespace detail {

/// The bytes of all tensors on one process, by side.
///
/// \par Units bytes
struct process_memory {
    index_t source_bytes = 0;
    index_t target_bytes = 0;

    constexpr bool operator==(process_memory const&) const = default;
};

/// A number of bytes on one process.
struct process_share {
    holder_t process = 0;
    index_t bytes = 0;

    constexpr bool operator==(process_share const&) const = default;
};

/// \throws error with errc::overflow if the sum exceeds 64 bits
constexpr void add_bytes(index_t& sum, index_t bytes) {
    sum = checked_add(sum, bytes, "the bytes of a rank");
}

/// Sums the bytes of each process. Each process occurs once; processes without bytes are omitted.
constexpr vector<process_share> add_up(vector<process_share> shares) {
    sort_by(shares, [](auto const& a, auto const& b) { return a.process < b.process; });
    vector<process_share> sums;
    for (process_share const& share : shares) {
        if (share.bytes == 0)
            continue;
        if (sums.empty() || sums.back().process != share.process)
            sums.push_back({share.process, 0});
        add_bytes(sums.back().bytes, share.bytes);
    }
    return sums;
}

constexpr vector<process_share> shares_of(tensor_shards const& shards, data_type dtype,
                                          plan_options const& options) {
    vector<process_share> shares;
    for (std::size_t i = 0; shards && i < shards.size(); ++i) {
        shares.push_back(
            {options.process_of(shards.holder(i)), byte_count(shards.elements(i), dtype)});
    }
    return add_up(std::move(shares));
}

/// The bytes of each tensor of one side on each process. Tensors with the same shards share a list.
class side_shares {
public:
    /// \tparam Side `source_side` or `target_side`
    template <class Side>
    constexpr side_shares(vector<Side> const& sides, plan_options const& options)
        : number_(sides.size(), 0) {
        auto const kind = [&](std::uint32_t i) {
            return std::pair{sides[i].spread, bits(sides[i].dtype)};
        };
        vector<std::uint32_t> order;
        for (std::uint32_t i = 0; i < sides.size(); ++i)
            order.push_back(i);
        sort_numbers(order, [&](std::uint32_t a, std::uint32_t b) { return kind(a) < kind(b); });
        for (std::size_t i = 0; i < order.size(); ++i) {
            bool const is_known =
                i > 0 && kind(order[i]).first != no_spread && kind(order[i]) == kind(order[i - 1]);
            if (!is_known)
                lists_.push_back(shares_of(sides[order[i]].shards, sides[order[i]].dtype, options));
            number_[order[i]] = static_cast<std::uint32_t>(lists_.size() - 1);
        }
    }

    /// \pre there is a tensor of that number
    constexpr vector<process_share> const& operator[](std::size_t tensor) const {
        return lists_[number_[tensor]];
    }

private:
    vector<vector<process_share>> lists_;
    vector<std::uint32_t> number_; ///< by tensor
};

} // namespace detail

/// The bytes of both sides' tensors that each of `processes` processes holds. Sources that every
/// process reads from files do not count.
///
/// \par Units bytes
/// \pre `options.process_of(h) < processes` for every holder `h`
/// \throws error with errc::overflow if the bytes of one process exceed 64 bits
constexpr vector<detail::process_memory> memory_of(detail::plan_problem const& problem,
                                                   holder_t processes,
                                                   plan_options const& options = {}) {
    vector<detail::process_memory> memories(processes, detail::process_memory{});
    auto const add = [&](auto const& sides, index_t detail::process_memory::*bytes) {
        detail::side_shares const shares(sides, options);
        for (std::size_t i = 0; i < sides.size(); ++i)
            for (detail::process_share const& share : shares[i]) {
                BOOST_ASSERT(share.process < processes);
                detail::add_bytes(memories[share.process].*bytes, share.bytes);
            }
    };
    if (!options.shared_sources)
        add(problem.sources, &detail::process_memory::source_bytes);
    add(problem.targets, &detail::process_memory::target_bytes);
    return memories;
}

class plan_flows;

namespace detail {

/// Target tensors that are allocated and filled together, and the source tensors that can be
/// released afterwards.
///
/// \par Units bytes
struct plan_round {
    std::uint32_t first = 0;         ///< the first of the problem's target tensors
    std::uint32_t last = 0;          ///< one after the last target tensor
    vector<detail::key_id> released; ///< source tensors that no later round needs, in order
    index_t transfers = 0;
    index_t bytes = 0;         ///< all bytes written
    index_t bytes_local = 0;   ///< bytes moved within a process
    index_t peak_bytes = 0;    ///< the most memory that a process needs in the round
    holder_t peak_process = 0; ///< the first process that needs `peak_bytes`

    constexpr bool operator==(plan_round const&) const = default;
};

/// All rounds, in order.
struct plan_rounds {
    vector<plan_round> rounds;
    index_t least_budget = 0; ///< the smallest budget for which there are rounds

    constexpr bool operator==(plan_rounds const&) const = default;
};

} // namespace detail

/// Rounds that run a plan with at most `budget` bytes on each process. The number of rounds is the
/// smallest possible for target tensors in the order of their keys.
///
/// A process needs memory for the source tensors that are not yet released, the target tensors of
/// this and earlier rounds, and its staging (`staging_of`). A target tensor is filled in one round.
///
/// \par Units bytes
/// \post every target tensor is in one round, and every transfer, too
/// \throws error with errc::limit_exceeded if a round of one target tensor needs more than the
///         budget: it names the tensor, the rank, both numbers, and a sufficient budget
RESHARD_DECL detail::plan_rounds rounds_of(plan_flows const& flows, holder_t processes,
                                           index_t budget = detail::any_budget);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/rounds.ipp>
#endif

#endif
