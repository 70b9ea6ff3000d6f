// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SOURCE_INDICES_HPP
#define RESHARD_PLAN_SOURCE_INDICES_HPP

#include <reshard/plan/shard_index.hpp>
#include <reshard/plan/shard_kinds.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The search trees of all source tensors, one for all tensors that are cut alike.

namespace reshard::detail {

/// A `shard_index` for each source tensor; tensors that are cut alike by the same holders share
/// one.
class source_indices {
public:
    /// \throws error with errc::overlap where shards share elements without being replicas
    constexpr explicit source_indices(plan_problem const& problem)
        : problem_(problem), kinds_(problem.sources) {
        for (std::uint32_t const spread : kinds_.representatives())
            indices_.push_back(index_spread(spread));
    }

    constexpr shard_index const& of(key_id source) const { return indices_[kind(source)]; }
    constexpr shard_index const& of_spread(std::uint32_t spread) const {
        return indices_[kinds_.kind(spread)];
    }

    /// Equal for tensors that are cut alike, and only for those.
    constexpr std::uint32_t kind(key_id source) const { return kinds_.kind(kinds_.spread(source)); }

    constexpr shard_kinds const& kinds() const { return kinds_; }

    /// Which shard of `source` gives its box `source_box` to the holder `target`.
    ///
    /// \pre `source` is a source of the problem, and `source_box` a box of its index
    constexpr shard_part giver(key_id source, std::uint32_t source_box, holder_t target,
                               plan_options const& options) const {
        shard_index const& index = of(source);
        return index.replica(
            source_box, index.choose(source_box, problem_.sources[source].shards, target, options));
    }

private:
    constexpr shard_index index_spread(std::uint32_t spread) const {
        shard_index index(kinds_.spreads()[spread]);
        if (auto const fault = find_overlap(index.listed_boxes()))
            fail_overlap(problem_.sources[kinds_.first_tensor(spread)], index, *fault);
        return index;
    }

    [[noreturn]] void fail_overlap(source_side const& source, shard_index const& index,
                                   cover_fault const& fault) const;

    plan_problem const& problem_;
    shard_kinds kinds_;
    std::vector<shard_index> indices_; ///< by kind
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/source_indices.ipp>
#endif

#endif
