// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PLAN_PROBLEM_HPP
#define RESHARD_PLAN_PLAN_PROBLEM_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece_list.hpp>
#include <reshard/layout/tensor_shards.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// The input of a plan: tensors by number, and their shards with holders.

namespace reshard::detail {

/// No spread. Tensors with the same shards have the same spread number.
inline constexpr std::uint32_t no_spread = 0xffffffff;

/// A target tensor that was not compared with others.
inline constexpr std::uint32_t not_compared = 0xffffffff;

/// A source tensor and its holders. The name is for messages only.
struct source_side {
    std::string_view key;
    data_type dtype{};
    tensor_shards shards = {};        ///< empty: nobody holds the tensor
    std::uint32_t spread = no_spread; ///< equal for tensors with the same shards
    std::uint32_t tensor = 0;         ///< index in the layout, if there are shards
};

/// A target tensor, its holders and its sources: `targets[i]` is tensor `i` of the layout. The name
/// is for messages only.
struct target_side {
    std::string_view key;
    data_type dtype{};
    tensor_shards shards = {};
    piece_list const* pieces = nullptr;
    bool added = false;               ///< has no source: no bytes move
    std::uint32_t spread = no_spread; ///< equal for tensors with the same shards
    /// The first target that differs from this target at most in its key and its sources' keys.
    std::uint32_t example = not_compared;
    key_id first_source = zero_source; ///< of the first piece, if the target was compared
};

/// Both layouts and the mapping between them, by number: `sources[id]` is the source with `key_id`
/// `id`.
///
/// Refers to the layouts and the mapping that it was made from, which must outlive it.
struct plan_problem {
    holder_t source_holders = 0;
    holder_t target_holders = 0;
    vector<source_side> sources;
    vector<target_side> targets;
    vector<std::string> const* source_names = nullptr; ///< of holders that are files

    /// The example of `targets[t]`: a target with the same shards that is made in the same way of
    /// sources with the same shards. The example never comes after `t`.
    constexpr std::uint32_t example_of(std::uint32_t t) const {
        std::uint32_t const first = targets[t].example;
        return first == not_compared ? t : first;
    }

    /// The source of a piece of a target. The first source is found without the list of pieces,
    /// which is far away in memory.
    constexpr key_id source_of(std::uint32_t t, std::size_t piece) const {
        target_side const& target = targets[t];
        return piece == 0 && target.example != not_compared ? target.first_source
                                                            : target.pieces->source(piece);
    }
};

/// Text for messages that names the rank that wants a shard, between two commas; empty if holders
/// are files.
RESHARD_DECL std::string wanted_by(plan_problem const& problem, holder_t holder);

/// The name of a source holder in messages: its file, or its rank.
///
/// \pre `holder < source_holders`
RESHARD_DECL std::string source_name(plan_problem const& problem, holder_t holder);

[[noreturn]] inline void fail_tensor(errc code, std::string_view key, std::string const& text) {
    fail(code, "'", key, "' ", text);
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/plan_problem.ipp>
#endif

#endif
