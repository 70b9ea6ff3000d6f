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
/// Checks that a layout is for the group's number of ranks.

namespace reshard {

/// The rules for the tensors of a layer, and the prefix of the layer's keys. The first rule that
/// matches a tensor applies.
struct shard_rules {
    /// The axis along which tensors with matching names are cut.
    struct rule {
        key_pattern match;
        std::optional<std::size_t> axis = {}; ///< std::nullopt: every rank has a copy
    };

    /// The treatment of tensors that no rule matches.
    enum class unmatched {
        replicate, ///< every rank has a copy
        refuse,    ///< they are an error
    };

    /// One rank's part of a tensor.
    struct tensor {
        std::string name; ///< the name within the layer
        data_type dtype{};
        index_vector shape; ///< the shape of this rank's part
    };

    std::string prefix; ///< precedes each name: `model.layers.3.`
    vector<rule> rules;
    unmatched others = unmatched::replicate;
};

namespace detail {

/// The result of applying rules to the tensors of a layer.
struct ruled_shards {
    vector<shard_descriptor> shards; ///< one shard for each tensor, in order
    vector<bool> used;               ///< for each rule, whether a tensor used it
    vector<std::string> unmatched;   ///< the keys that no rule matches
};

} // namespace detail

/// The descriptors of a layer's tensors. The rule of a tensor determines the axis along which it is
/// cut; `share` is this rank's share along it. A tensor that no rule matches is a replica.
///
/// `share.axis` is ignored. The result also lists unmatched tensors, for `check`.
///
/// \throws     error as `equal_shares`
/// \par Source `build_sharded_state_dict` of PaddlePaddle Flex Checkpoint. Its rules are only
///             names, and it does not report a rule that matches no tensor.
RESHARD_DECL detail::ruled_shards apply(shard_rules const& layer,
                                        vector<shard_rules::tensor> const& tensors,
                                        detail::equal_share share);

namespace detail {

/// The digest of all members except the prefix, which may differ among ranks.
RESHARD_DECL std::uint64_t digest_of_rules(shard_rules const& layer);

/// Throws if any keys are unmatched. The message has the first key and the number of the others.
RESHARD_DECL void refuse_unmatched(vector<std::string> const& keys);

/// The first rule that is not optional and that no rank used, or the number of rules if there is
/// none.
RESHARD_DECL std::size_t unused_rule(shard_rules const& layer,
                                     vector<std::string> const& used_by_rank);

/// Throws for rule `i`, which matches no tensor of any rank.
[[noreturn]] RESHARD_DECL void fail_unused(shard_rules const& layer, std::size_t i, int rank,
                                           vector<shard_rules::tensor> const& tensors);

} // namespace detail

/// Throws if a rule matches no tensor of any rank. If `layer.others` is `refuse`, also throws for
/// keys that no rule matches.
///
/// A rule may match no tensor on some ranks, if the tensors belong to other pipeline stages.
/// `result` is the result of `apply` for `tensors`.
///
/// \par Collective every rank of the group, with equal rules; prefixes may differ
/// \throws error with errc::unknown_key, which names rule or key, or errc::ranks_disagree if the
///         rules differ; on every rank
void check(group auto const& world, shard_rules const& layer,
           vector<shard_rules::tensor> const& tensors, detail::ruled_shards const& result) {
    detail::agree_to_run(world, "check of shard rules", detail::digest_of_rules(layer),
                         detail::attempt([&] {
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

/// Throws if `noun` needs `wanted` ranks but the group has another number of ranks.
RESHARD_DECL void check_ranks(std::string_view noun, std::size_t wanted, int there);

/// Throws if the mesh does not have the group's number of ranks, or if meshes differ among ranks.
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

/// Throws if the layout does not have the group's number of ranks.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::bad_layout that names both numbers, or errc::ranks_disagree if ranks
///         make different calls; on every rank
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
