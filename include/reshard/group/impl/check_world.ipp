// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_CHECK_WORLD_IPP
#define RESHARD_GROUP_IMPL_CHECK_WORLD_IPP

#include <reshard/group/check_world.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>

namespace reshard {

RESHARD_DECL detail::ruled_shards apply(shard_rules const& layer,
                                        vector<shard_rules::tensor> const& tensors,
                                        detail::equal_share share) {
    detail::ruled_shards result{{}, vector<bool>(layer.rules.size()), {}};
    for (shard_rules::tensor const& tensor : tensors) {
        std::string const key = layer.prefix + tensor.name;
        std::size_t i = 0;
        while (i < layer.rules.size() && !layer.rules[i].match.matches(tensor.name))
            ++i;
        if (i == layer.rules.size())
            result.unmatched.push_back(key);
        else
            result.used[i] = true;
        auto const axis = i < layer.rules.size() ? layer.rules[i].axis : std::nullopt;
        result.shards.push_back(axis ? equal_shares(key, tensor.dtype, tensor.shape,
                                                    {{*axis, share.index, share.count}})
                                     : replicated(key, tensor.dtype, tensor.shape));
    }
    return result;
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL std::uint64_t digest_of_rules(shard_rules const& layer) {
    hasher digest;
    digest.add(static_cast<std::uint64_t>(layer.others));
    for (shard_rules::rule const& rule : layer.rules) {
        digest.add(rule.match.text());
        digest.add(rule.axis ? std::uint64_t{*rule.axis} + 1 : std::uint64_t{0});
    }
    return digest.value();
}

RESHARD_DECL void refuse_unmatched(vector<std::string> const& keys) {
    if (!keys.empty())
        fail(errc::unknown_key, "'", keys.front(), "'",
             keys.size() > 1 ? " and " + counted(keys.size() - 1, "more key") + " match"
                             : std::string(" matches"),
             " no rule; add a rule for each tensor (a rule without an axis replicates it)");
}

RESHARD_DECL std::size_t unused_rule(shard_rules const& layer,
                                     vector<std::string> const& used_by_rank) {
    std::size_t i = 0;
    auto const is_used = [&i](std::string const& used) { return used[i] == '1'; };
    for (; i < layer.rules.size(); ++i)
        if (!layer.rules[i].match.is_optional() && std::ranges::none_of(used_by_rank, is_used))
            break;
    return i;
}

RESHARD_DECL void fail_unused(shard_rules const& layer, std::size_t i, int rank,
                              vector<shard_rules::tensor> const& tensors) {
    key_pattern const& match = layer.rules[i].match;
    std::string const rule = "rule " + std::to_string(i + 1) + " of " +
                             std::to_string(layer.rules.size()) + ", '" + match.text() +
                             "', applies to no tensor on any rank";
    for (shard_rules::tensor const& tensor : tensors)
        if (match.matches(tensor.name))
            fail(errc::unknown_key, rule, ": an earlier rule matches '", tensor.name, "'");
    fail(errc::unknown_key, rule,
         did_you_mean_key(match.text(), tensors, &shard_rules::tensor::name), "; rank ", rank,
         " has ", counted(tensors.size(), "tensor"),
         layer.prefix.empty() ? "" : " below '" + layer.prefix + "'");
}

RESHARD_DECL void check_ranks(std::string_view noun, std::size_t wanted, int there) {
    if (wanted != static_cast<std::size_t>(there))
        fail(errc::bad_layout, noun, " is for ", counted(wanted, "rank"), ", and the group has ",
             there);
}

} // namespace reshard::detail

#endif
