// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SHARD_KINDS_HPP
#define RESHARD_PLAN_SHARD_KINDS_HPP

#include <reshard/plan/equal_classes.hpp>
#include <reshard/plan/plan_problem.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Which tensors of one side are cut alike.

namespace reshard::detail {

/// The shards of one side, each once, and which of them have equal geometry.
///
/// A tensor refers to its `spread`: those of a compact layout share them. Of
/// spreads, those with the same boxes, whoever holds them, are one kind.
class shard_kinds {
public:
    /// \tparam Side `source_side` or `target_side`
    template <class Side>
    constexpr explicit shard_kinds(std::vector<Side> const& sides) {
        find_spreads(sides);
        std::vector<std::uint64_t> digests;
        for (tensor_shards const& one : spreads_) {
            hasher digest;
            one.add_geometry(digest);
            digests.push_back(digest.value());
        }
        kinds_ = classify(digests, [&](std::uint32_t a, std::uint32_t b) {
            return spreads_[a].same_geometry(spreads_[b]);
        });
    }

    /// By spread.
    constexpr std::vector<tensor_shards> const& spreads() const { return spreads_; }
    /// By kind: one spread of it.
    constexpr std::vector<std::uint32_t> const& representatives() const {
        return kinds_.representative;
    }
    /// Of a tensor, by number.
    constexpr std::uint32_t spread(std::size_t tensor) const { return spread_of_[tensor]; }
    /// Of a spread.
    constexpr std::uint32_t kind(std::uint32_t spread) const { return kinds_.class_of[spread]; }
    /// The first tensor with that spread.
    constexpr std::uint32_t first_tensor(std::uint32_t spread) const { return first_[spread]; }

private:
    template <class Side>
    constexpr void find_spreads(std::vector<Side> const& sides) {
        std::vector<std::uint32_t> of_given;
        spread_of_.reserve(sides.size());
        for (std::uint32_t i = 0; i < sides.size(); ++i) {
            std::uint32_t const next = static_cast<std::uint32_t>(spreads_.size());
            std::uint32_t const given = sides[i].spread;
            if (given != no_spread && given >= of_given.size())
                of_given.resize(given + 1, no_spread);
            if (given != no_spread && of_given[given] != no_spread) {
                spread_of_.push_back(of_given[given]);
                continue;
            }
            if (given != no_spread)
                of_given[given] = next;
            spread_of_.push_back(next);
            spreads_.push_back(sides[i].shards);
            first_.push_back(i);
        }
    }

    std::vector<tensor_shards> spreads_;
    std::vector<std::uint32_t> first_;     ///< by spread
    std::vector<std::uint32_t> spread_of_; ///< by tensor
    equal_classes kinds_;                  ///< of spreads
};

} // namespace reshard::detail

#endif
