// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TARGET_BOXES_HPP
#define RESHARD_PLAN_TARGET_BOXES_HPP

#include <reshard/plan/shard_index.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Finds target shards that want the same elements.

namespace reshard::detail {

/// Numbers the boxes of target shards: the boxes of a `shard_index`, by shard and part.
class target_boxes {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    constexpr explicit target_boxes(tensor_shards const& shards) : index_(shards) {
        if (!index_.is_computed())
            number_listed(shards);
    }

    /// `none` if blocks are dealt out and listed, because a shard is many boxes then.
    constexpr std::uint32_t number(std::uint32_t shard, std::uint8_t part) const {
        if (index_.is_computed())
            return index_.first_box(shard) + part;
        std::size_t const index = first_[shard] + part;
        return index < first_[shard + 1] ? numbers_[index] : none;
    }

    /// The number of shards that have elements of the box with that number, including shards that
    /// are many boxes.
    constexpr std::size_t holders(std::uint32_t box) const { return index_.replicas(box); }

    /// Calls `visit(shard_part)` for all shards that have the box with that number, except shards
    /// that are many boxes.
    constexpr void for_each_holder(std::uint32_t box, auto&& visit) const {
        for (std::size_t i = 0; i < index_.replicas(box); ++i)
            if (shard_part const at = index_.replica(box, i); number(at.shard, at.part) == box)
                visit(at);
    }

private:
    constexpr void number_listed(tensor_shards const& shards) {
        first_ = std::vector<std::uint32_t>(shards.size() + 1, 0);
        for_each_part([&](std::uint32_t, shard_part at) { ++first_[at.shard + 1]; });
        for (std::size_t i = 1; i < first_.size(); ++i)
            first_[i] += first_[i - 1];
        numbers_ = std::vector<std::uint32_t>(first_.back(), none);
        for_each_part([&](std::uint32_t box, shard_part at) {
            bool const is_one_of_many = !shards.flat(at.shard) && //
                                        first_[at.shard + 1] - first_[at.shard] > 1;
            if (!is_one_of_many)
                numbers_[first_[at.shard] + at.part] = box;
        });
    }

    constexpr void for_each_part(auto&& visit) const {
        for (std::uint32_t box = 0; box < index_.size(); ++box)
            for (std::size_t which = 0; which < index_.replicas(box); ++which)
                visit(box, index_.replica(box, which));
    }

    shard_index index_;
    std::vector<std::uint32_t> first_;   ///< by shard; of listed shards
    std::vector<std::uint32_t> numbers_; ///< by part
};

} // namespace reshard::detail

#endif
