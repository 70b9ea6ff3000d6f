// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_AGREE_HPP
#define RESHARD_GROUP_AGREE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/group/solo.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// No rank is left waiting: what fails on one rank fails on all, with one message.

namespace reshard {

namespace detail {

/// What a rank has to report before the next collective: nothing, or its error.
using local_error = std::optional<error>;

/// What is being handled, in a `catch`.
[[gnu::cold]] RESHARD_DECL error current_error();

/// The error that `work` throws, or nothing. Anything but an `error` is passed on as errc::io: what
/// the system refused, memory among it.
template <class Work>
local_error attempt(Work&& work) {
    try {
        std::forward<Work>(work)();
        return std::nullopt;
    } catch (...) {
        return current_error();
    }
}

/// Keeps what went wrong first.
inline void keep_first(local_error& problem, local_error other) {
    if (!problem)
        problem = std::move(other);
}

RESHARD_DECL std::string encode(local_error const& problem);

RESHARD_DECL local_error decode(std::string const& bytes);

/// The call that a rank without an error reports: `agree_to_run` has a name for it, other
/// collectives have none.
RESHARD_DECL std::string named_call(std::string const& bytes);

} // namespace detail

/// Throws on every rank the error of the lowest rank that has one, or returns on all.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's, on every rank alike; errc::ranks_disagree where a rank
///         begins another call
void agree(group auto const& world, detail::local_error const& mine) {
    std::vector<std::string> const all = world.all_gather(detail::encode(mine));
    for (std::string const& bytes : all)
        if (auto const problem = detail::decode(bytes))
            throw error(*problem);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        if (all[rank].size() > 1)
            fail(errc::ranks_disagree, "rank ", rank, " runs ", detail::named_call(all[rank]),
                 " while other ranks are in another call; every rank must make the same call");
}

/// Runs local work that may fail on some ranks, and fails on all of them where it does.
///
/// \par Collective every rank of the group, in the same order; `work` itself must not communicate
template <group Group, class Work>
void agree_on(Group const& world, Work&& work) {
    agree(world, detail::attempt(std::forward<Work>(work)));
}

namespace detail {

/// Refuses ranks that do different things: the first collective of every entry point.
///
/// `digest` stands for everything that must be equal: operation, program, options. A local error
/// that is known by then travels along, so that no rank waits for one that already failed.
///
/// \param alike says what of the call must be alike, where that is known
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's; else errc::ranks_disagree, naming both ranks
void agree_to_run(group auto const& world, std::string_view operation, std::uint64_t digest,
                  local_error const& mine = std::nullopt, std::string_view alike = {}) {
    std::string const call = std::string(operation) + '#' + std::to_string(digest);
    std::vector<std::string> const all = world.all_gather(mine ? encode(mine) : '\0' + call);
    for (std::string const& bytes : all)
        if (auto const problem = decode(bytes))
            throw error(*problem);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all[0]) {
            std::string const first = named_call(all[0]);
            std::string const other = named_call(all[rank]);
            bool const is_same_call = other == first;
            fail(errc::ranks_disagree, "rank 0 runs ", first, " and rank ", rank, " runs ",
                 is_same_call ? "it with a different program or different options" : other,
                 "; every rank must make the same call", is_same_call && !alike.empty() ? ": " : "",
                 is_same_call ? alike : "");
        }
}

/// Refuses ranks whose `digest` of `what` differs, or which have an error already.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's, on every rank alike; else errc::ranks_disagree, which
///         names the first two ranks that differ, and both digests
void agree_on_digest(group auto const& world, std::string_view what, std::uint64_t digest,
                     local_error const& mine = std::nullopt) {
    std::vector<std::string> const all =
        world.all_gather(mine ? encode(mine) : '\0' + std::to_string(digest));
    for (std::string const& bytes : all)
        if (auto const problem = decode(bytes))
            throw error(*problem);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all[0])
            fail(errc::ranks_disagree, "rank 0 has ", what, " with digest ", all[0].substr(1),
                 ", and rank ", rank, " one with digest ", all[rank].substr(1),
                 "; every rank must have the same");
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/agree.ipp>
#endif

#endif
