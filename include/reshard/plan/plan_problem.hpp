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

/// The number for no spread. Tensors with the same spread have the same number.
inline constexpr std::uint32_t no_spread = 0xffffffff;

/// The number for a target tensor that was not compared with others.
inline constexpr std::uint32_t not_compared = 0xffffffff;

/// A source tensor and its holders. The name is for messages only.
struct source_side {
    std::string_view key;
    data_type dtype{};
    tensor_shards shards = {};        ///< empty: nobody holds any of it
    std::uint32_t spread = no_spread; ///< tensors of one number have the same shards
    std::uint32_t tensor = 0;         ///< its index in the layout; meaningless without shards
};

/// A target tensor, its holders, and its sources: `targets[i]` is tensor `i` of the layout. The
/// name is for messages only.
struct target_side {
    std::string_view key;
    data_type dtype{};
    tensor_shards shards = {};
    piece_list const* pieces = nullptr;
    bool added = false;               ///< has no source: nothing is moved
    std::uint32_t spread = no_spread; ///< tensors of one number have the same shards
    /// The first target that differs from it at most in its key and in the keys of its sources.
    std::uint32_t example = not_compared;
    key_id first_source = zero_source; ///< of its first piece, if it was compared
};

/// Both layouts and the mapping between them, by number: `sources[id]` is source `key_id` number
/// `id`.
///
/// Refers to the layouts and the mapping that it was made from, which must live as long.
struct plan_problem {
    holder_t source_holders = 0;
    holder_t target_holders = 0;
    vector<source_side> sources;
    vector<target_side> targets;
    vector<std::string> const* source_names = nullptr; ///< of holders that are files

    /// A target that stands for `targets[t]` and others: they have the same shards, and are made in
    /// the same way of sources with the same shards. Not after `t`.
    constexpr std::uint32_t example_of(std::uint32_t t) const {
        std::uint32_t const first = targets[t].example;
        return first == not_compared ? t : first;
    }

    /// The source of a piece of a target. The first one is found without its list of pieces, which
    /// is far away in memory.
    constexpr key_id source_of(std::uint32_t t, std::size_t piece) const {
        target_side const& target = targets[t];
        return piece == 0 && target.example != not_compared ? target.first_source
                                                            : target.pieces->source(piece);
    }
};

/// The text for the rank that wants a shard, between two commas, as messages use it; empty if
/// holders are files.
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
