// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_CHECK_RULES_HPP
#define RESHARD_GROUP_CHECK_RULES_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/layout/shard_rules.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Rules that match nothing, and tensors that no rule matches.

namespace reshard {

namespace detail {

/// Not of all members: prefixes may differ among ranks.
RESHARD_DECL std::uint64_t digest_of_rules(shard_rules const& layer);

/// The key of the first tensor that no rule matches, and how many others there are.
RESHARD_DECL void refuse_unruled(std::vector<std::string> const& keys);

/// The first rule that no rank used, or the number of rules.
RESHARD_DECL std::size_t unused_rule(std::size_t rules,
                                     std::vector<std::string> const& used_by_rank);

/// Reports rule `i`, which applies to no tensor of this rank or of any other.
[[noreturn]] RESHARD_DECL void fail_unused(shard_rules const& layer, std::size_t i, int rank,
                                           std::vector<named_tensor> const& tensors);

} // namespace detail

/// Refuses rules that no tensor of any rank took, and keys without a rule where `layer.others` says
/// so.
///
/// A rule may have no tensor on some ranks: those of other pipeline stages. `result` is what
/// `apply` made of `tensors`.
///
/// \par Collective every rank of the group, with equal rules; prefixes may differ
/// \throws error with errc::unknown_key, which names rule or key, or errc::ranks_disagree where the
///         rules differ; on every rank alike
template <group Group>
void check_rules(Group const& world, shard_rules const& layer,
                 std::vector<detail::named_tensor> const& tensors,
                 detail::ruled_shards const& result) {
    detail::agree_to_run(world, "check_rules", detail::digest_of_rules(layer), detail::attempt([&] {
                             if (layer.others == detail::unruled::refuse)
                                 detail::refuse_unruled(result.unruled);
                         }));
    std::string used;
    for (bool const one : result.used)
        used += one ? '1' : '0';
    std::size_t const unused = detail::unused_rule(used.size(), world.all_gather(used));
    agree_on(world, [&] {
        if (unused < used.size())
            detail::fail_unused(layer, unused, world.rank(), tensors);
    });
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/check_rules.ipp>
#endif

#endif
