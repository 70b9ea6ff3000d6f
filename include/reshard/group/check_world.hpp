// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_CHECK_WORLD_HPP
#define RESHARD_GROUP_CHECK_WORLD_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/key_pattern.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/mesh.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Checks that a layout is made for the number of ranks in the group.

namespace reshard {

/// The rules of a layer, and the position of the layer. The first rule that matches a tensor
/// counts.
struct shard_rules {
    /// The axis that tensors with matching names are cut along.
    struct rule {
        key_pattern match;
        std::optional<std::size_t> axis = {}; ///< nothing: every rank has a copy
    };

    /// The treatment of tensors that no rule matches.
    enum class unmatched {
        replicate, ///< every rank has a copy of them
        refuse,    ///< they are an error
    };

    /// A tensor as its rank has it.
    struct tensor {
        std::string name; ///< within its layer
        data_type dtype{};
        index_vector shape; ///< of this rank's part
    };

    std::string prefix; ///< put before each name: `model.layers.3.`
    vector<rule> rules;
    unmatched others = unmatched::replicate;
};

namespace detail {

/// What rules make of a layer's tensors.
struct ruled_shards {
    vector<shard_descriptor> shards; ///< one for each tensor, in their order
    vector<bool> used;               ///< for each rule, whether a tensor took it
    vector<std::string> unmatched;   ///< the keys that no rule matches
};

} // namespace detail

/// The descriptors of a layer's tensors. By its rule, a tensor has share `share` of several equal
/// ones. If no rule matches, it is a copy.
///
/// `share.axis` does not matter. Unmatched tensors are part of the result; `check_rules` judges
/// them.
///
/// \throws     error as `equal_shares`
/// \par Source `build_sharded_state_dict` of PaddlePaddle Flex Checkpoint, in which rules are only
///             names, and a rule that matches nothing is not reported
RESHARD_DECL detail::ruled_shards apply(shard_rules const& layer,
                                        vector<shard_rules::tensor> const& tensors,
                                        detail::equal_share share);

namespace detail {

/// The digest of all members except the prefix: prefixes may differ among ranks.
RESHARD_DECL std::uint64_t digest_of_rules(shard_rules const& layer);

/// Fails with the first of some keys that no rule matches, and the number of the others.
RESHARD_DECL void refuse_unmatched(vector<std::string> const& keys);

/// The first rule that is not optional and that no rank used, or the number of rules.
RESHARD_DECL std::size_t unused_rule(shard_rules const& layer,
                                     vector<std::string> const& used_by_rank);

/// Reports rule `i`, which applies to no tensor of this rank or of any other.
[[noreturn]] RESHARD_DECL void fail_unused(shard_rules const& layer, std::size_t i, int rank,
                                           vector<shard_rules::tensor> const& tensors);

} // namespace detail

/// Refuses rules that match no tensor of any rank. Also refuses keys without a rule if
/// `layer.others` says so.
///
/// A rule may match no tensor on some ranks, if its tensors belong to other pipeline stages.
/// `result` is the result of `apply` for `tensors`.
///
/// \par Collective every rank of the group, with equal rules; prefixes may differ
/// \throws error with errc::unknown_key, which names rule or key, or errc::ranks_disagree if the
///         rules differ; on every rank
void check_rules(group auto const& world, shard_rules const& layer,
                 vector<shard_rules::tensor> const& tensors, detail::ruled_shards const& result) {
    detail::agree_to_run(world, "check_rules", detail::digest_of_rules(layer), detail::attempt([&] {
                             if (layer.others == shard_rules::unmatched::refuse)
                                 detail::refuse_unmatched(result.unmatched);
                         }));
    std::string used;
    for (bool const element : result.used)
        used += element ? '1' : '0';
    std::size_t const unused = detail::unused_rule(layer, world.all_gather(used));
    agree_on(world, [&] {
        if (unused < used.size())
            detail::fail_unused(layer, unused, world.rank(), tensors);
    });
}

} // namespace reshard

namespace reshard::detail {

/// Reports that `noun` is for `wanted` ranks and that the group has another number of ranks.
RESHARD_DECL void check_ranks(std::string_view noun, std::size_t wanted, int there);

/// Refuses a mesh of more or fewer ranks than the group has, and meshes that differ among ranks.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::bad_layout that names the mesh and both numbers, or
///         errc::ranks_disagree; on every rank
void check_world(group auto const& world, mesh const& ranks) {
    hasher digest;
    for (mesh_axis const& axis : ranks.axes()) {
        digest.add(axis.name());
        digest.add(static_cast<std::uint64_t>(axis.extent));
    }
    agree_to_run(world, "check_world", digest.value(), attempt([&] {
                     check_ranks("the mesh " + to_string(ranks), ranks.rank_count(), world.size());
                 }));
}

/// Refuses a layout of more or fewer ranks than the group has.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::bad_layout that names both numbers, or errc::ranks_disagree if ranks
///         do something else; on every rank
void check_world(group auto const& world, layout const& layout) {
    agree_to_run(world, "check_world of a layout", 0, attempt([&] {
                     check_ranks("a layout of " + counted(layout.tensors.size(), "tensor"),
                                 layout.holders, world.size());
                 }));
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/check_world.ipp>
#endif

#endif
