// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_CHECK_RULES_HPP
#define RESHARD_GROUP_CHECK_RULES_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/core/nearest.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/layout/shard_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Rules that match nothing, and tensors that no rule matches.

namespace reshard {

namespace detail {

/// Not of all members: prefixes may differ among ranks.
inline std::uint64_t digest_of_rules(shard_rules const& layer) {
    hasher digest;
    digest.add(static_cast<std::uint64_t>(layer.others));
    for (shard_rule const& rule : layer.rules) {
        digest.add(rule.match.text());
        digest.add(rule.axis ? std::uint64_t{*rule.axis} + 1 : std::uint64_t{0});
    }
    return digest.value();
}

/// The key of the first tensor that no rule matches, and how many others there are.
inline void refuse_unruled(std::vector<std::string> const& keys) {
    if (!keys.empty())
        fail(errc::unknown_key,
             "'" + keys.front() + "'" +
                 (keys.size() > 1 ? " and " + std::to_string(keys.size() - 1) + " more keys match"
                                  : std::string(" matches")) +
                 " no rule; write one for each tensor, without an axis where ranks have copies");
}

/// The first rule that no rank used, or the number of rules.
inline std::size_t unused_rule(std::size_t rules, std::vector<std::string> const& used_by_rank) {
    for (std::size_t i = 0; i < rules; ++i)
        if (std::none_of(used_by_rank.begin(), used_by_rank.end(),
                         [i](std::string const& used) { return used[i] == '1'; }))
            return i;
    return rules;
}

/// What is said of rule `i`, which none of the tensors of that rank took, nor of any other.
[[noreturn]] inline void fail_unused(shard_rules const& layer, std::size_t i, int rank,
                                     std::vector<named_tensor> const& tensors) {
    key_pattern const& match = layer.rules[i].match;
    std::string const rule = "rule " + std::to_string(i + 1) + " of " +
                             std::to_string(layer.rules.size()) + ", '" + match.text() +
                             "', gets no tensor on any rank";
    for (named_tensor const& tensor : tensors)
        if (match.matches(tensor.name))
            fail(errc::unknown_key, rule + ": an earlier rule takes '" + tensor.name + "'");
    fail(errc::unknown_key, rule + did_you_mean_key(match.text(), tensors, &named_tensor::name) +
                                "; rank " + std::to_string(rank) + " has " +
                                std::to_string(tensors.size()) +
                                (tensors.size() == 1 ? " tensor" : " tensors") +
                                (layer.prefix.empty() ? "" : " below '" + layer.prefix + "'"));
}

} // namespace detail

/// Refuses rules that no tensor of any rank took, and keys without a rule where `layer.others` says
/// so.
///
/// A rule may have no tensor on some ranks: those of other pipeline stages. `result` is what `apply`
/// made of `tensors`.
///
/// \par Collective every rank of the group, with equal rules; prefixes may differ
/// \throws error with errc::unknown_key, which names rule or key, or errc::ranks_disagree where the
///         rules differ; on every rank alike
template <group Group>
void check_rules(Group const& world, shard_rules const& layer,
                 std::vector<named_tensor> const& tensors, ruled_shards const& result) {
    agree_to_run(world, "check_rules", detail::digest_of_rules(layer), attempt([&] {
                     if (layer.others == unruled::refuse)
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

#endif
