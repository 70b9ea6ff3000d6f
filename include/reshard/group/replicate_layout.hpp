// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_REPLICATE_LAYOUT_HPP
#define RESHARD_GROUP_REPLICATE_LAYOUT_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/layout/compact_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A layout that some ranks know becomes one that all know.

namespace reshard::detail {

/// The lowest rank that gave a text, or nothing.
///
/// \throws error with errc::ranks_disagree where two ranks gave different ones
RESHARD_DECL std::optional<std::size_t> first_teller(std::vector<std::string> const& told,
                                                     std::string_view what);

RESHARD_DECL std::string digest_text(std::string const& bytes);

/// What `replicate_layout` returns, for ranks that are agreed on what they do.
///
/// \par Collective every rank of the group, in the same order
template <group Group>
std::optional<compact_layout>
replicate_known(Group const& world, std::optional<compact_layout> mine, std::string_view what) {
    std::string bytes, digest;
    agree_on(world, [&] {
        if (mine)
            digest = digest_text(bytes = to_bytes(*mine));
    });
    auto const told = world.all_gather(digest);
    auto const first = first_teller(told, what);
    if (!first || std::count(told.begin(), told.end(), std::string()) == 0)
        return mine;
    bool const tells = *first == static_cast<std::size_t>(world.rank());
    auto const layouts = world.all_gather(tells ? bytes : std::string());
    agree_on(world, [&] {
        if (!mine)
            mine = from_bytes<compact_layout>(layouts[*first]);
    });
    return mine;
}

/// The layout that the ranks know, on every rank; nothing where no rank knows one.
///
/// Ranks compare digests. Where all know it no more is sent; otherwise the lowest rank that does
/// tells it. `what` is for messages: `source` or `target`.
///
/// \par Collective every rank of the group, in the same order
/// \par Units      a digest of some 20 bytes a rank, and perhaps one layout
/// \throws error with errc::ranks_disagree, naming two ranks that know different layouts or do
///         different things; on every rank alike
template <group Group>
std::optional<compact_layout>
replicate_layout(Group const& world, std::optional<compact_layout> mine, std::string_view what) {
    detail::agree_to_run(world, "replicate_layout of the " + std::string(what), 0);
    return detail::replicate_known(world, std::move(mine), what);
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/replicate_layout.ipp>
#endif

#endif
