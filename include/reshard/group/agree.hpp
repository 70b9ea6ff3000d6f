// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_AGREE_HPP
#define RESHARD_GROUP_AGREE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Agreement on errors: if one rank has an error, all ranks throw the same error, and no rank
/// waits.

namespace reshard {

namespace detail {

/// The result of a rank before the next collective: no error, or its error.
using local_error = std::optional<error>;

/// Converts the exception that a `catch` handles to an `error`.
[[gnu::cold]] RESHARD_DECL error current_error();

/// The error that `work` throws, if any. Any other exception becomes errc::io, because the system
/// refused a request, for example for memory.
template <class Work>
local_error attempt(Work&& work) {
    try {
        std::forward<Work>(work)();
        return std::nullopt;
    } catch (...) {
        return current_error();
    }
}

/// Stores `error` unless there is already an error.
inline void keep_first(local_error& problem, local_error error) {
    if (!problem)
        problem = std::move(error);
}

RESHARD_DECL std::string encode(local_error const& problem);

RESHARD_DECL local_error decode(std::string const& bytes);

/// Throws the error of the lowest rank that has one.
///
/// \param text_of extracts the text that `encode` wrote from a notice
template <class Notice, class TextOf = std::identity>
void throw_first(vector<Notice> const& notices, TextOf const& text_of = {}) {
    for (Notice const& notice : notices)
        if (auto const problem = decode(std::invoke(text_of, notice)))
            throw error(*problem);
}

/// The name of the call in the bytes of a rank without an error. Only `agree_to_run` gives a call a
/// name.
RESHARD_DECL std::string named_call(std::string const& bytes);

} // namespace detail

/// If any rank has an error, throws the error of the lowest such rank on every rank.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the error of the lowest failing rank, on every rank; errc::ranks_disagree if a
///         rank begins another call
void agree(group auto const& world, detail::local_error const& own_error) {
    vector<std::string> const all = world.all_gather(detail::encode(own_error));
    detail::throw_first(all);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        if (all[rank].size() > 1)
            fail(errc::ranks_disagree, "rank ", rank, " runs ", detail::named_call(all[rank]),
                 " while other ranks are in another call; every rank must make the same call");
}

/// Runs local work. If the work fails on one rank, throws on all ranks.
///
/// \par Collective every rank of the group, in the same order; `work` itself must not communicate
template <group Group, class Work>
void agree_on(Group const& world, Work&& work) {
    agree(world, detail::attempt(std::forward<Work>(work)));
}

namespace detail {

/// A type whose members have names for messages. The names are in the order of the members.
template <class T>
concept naming_members = listing_members<T> && requires { std::size(T::member_names); };

/// The values of a call that must be equal on every rank.
class compared_values {
public:
    /// The name and digest of a value, and its text if that is short.
    struct entry {
        std::string name;
        std::uint64_t digest = 0;
        std::string text = {};
    };

    compared_values() = default;

    /// A single digest of all values, for callers that know no details.
    compared_values(std::uint64_t digest) { mixed_.add(digest); }

    template <class T>
    compared_values(std::string name, T const& value) {
        add(std::move(name), value);
    }

    void add_digest(std::string name, std::uint64_t digest) {
        mixed_.add(digest);
        entries_.push_back({std::move(name), digest});
    }

    /// Adds whether this rank has a value.
    void add_presence(std::string name, bool exists) {
        add_digest(std::move(name), exists);
        entries_.back().text = exists ? "set" : "none";
    }

    /// Adds a value. If its members have names, adds each member.
    template <class T>
    void add(std::string name, T const& value) {
        if constexpr (naming_members<T>) {
            T::members(value, [&](auto const&... members) {
                static_assert(sizeof...(members) == std::size(T::member_names));
                auto word = std::begin(T::member_names);
                (this->add(words(name, '.', *word++), members), ...);
            });
        } else {
            add_digest(std::move(name), digest_of_all(value));
            if constexpr (std::same_as<T, bool>)
                entries_.back().text = value ? "true" : "false";
            else if constexpr (std::integral<T>)
                entries_.back().text = std::to_string(value);
            else if constexpr (requires { std::string(name_of_choice(value)); })
                entries_.back().text = name_of_choice(value);
        }
    }

    vector<entry> const& entries() const { return entries_; }

    /// One line for each value: its digest, a space and its text.
    RESHARD_DECL std::string lines() const;

    std::uint64_t digest() const { return mixed_.value(); }

private:
    hasher mixed_;
    vector<entry> entries_;
};

/// The first rank whose bytes differ from the bytes of rank 0, or 0.
RESHARD_DECL std::size_t first_other(vector<std::string> const& all);

struct call_opening;

RESHARD_DECL std::string encode(call_opening const& opening);

/// Removes the attachments from the texts of all ranks and returns them. The texts keep the calls.
RESHARD_DECL vector<std::string> take_attachments(vector<std::string>& all);

/// \throws error with errc::ranks_disagree if not all ranks make the same call. `rank` is a rank
///         whose text differs from rank 0's.
RESHARD_DECL void check_same_call(vector<std::string> const& all, std::size_t rank);

[[noreturn]] RESHARD_DECL void fail_with_different_values(std::string const& call,
                                                          std::size_t rank);

/// Reports the first value that differs between rank 0 and another rank, with both values.
///
/// \param fingerprint the values of this rank; their names are equal on all ranks
/// \param lines for each rank, the lines of its values
RESHARD_DECL void fail_with_other(std::string const& call, compared_values const& fingerprint,
                                  vector<std::string> const& lines);

/// The notice that a rank sends to all others when it enters a call.
struct call_opening {
    std::string operation;
    compared_values fingerprint; ///< the values that must be equal on every rank: program, options
    local_error problem = {};    ///< an error that this rank already has
    std::string attachment = {}; ///< data for the other ranks
};

/// Throws if ranks make different calls. It is the first collective of every entry point. Returns
/// the attachment of each rank.
///
/// A rank also sends the error that it already has, so that no rank waits for a failed rank. If the
/// values of ranks differ, ranks exchange all values with names.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the error of the lowest failing rank; otherwise errc::ranks_disagree, which names
///         both ranks and the first value that differs, with both values
vector<std::string> open_call(group auto const& world, call_opening const& opening) {
    vector<std::string> all = world.all_gather(encode(opening));
    throw_first(all);
    vector<std::string> attachments = take_attachments(all);
    std::size_t const rank = first_other(all);
    if (rank == 0)
        return attachments;
    check_same_call(all, rank);
    fail_with_other(opening.operation, opening.fingerprint,
                    world.all_gather(opening.fingerprint.lines()));
    fail_with_different_values(opening.operation, rank);
}

/// Like `open_call`, for calls whose ranks need no other data.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `open_call`
void agree_to_run(group auto const& world, std::string_view operation,
                  compared_values const& fingerprint, local_error const& error = std::nullopt) {
    open_call(world, {std::string(operation), fingerprint, error});
}

/// Throws if the `digest` of `noun` differs among ranks, or if a rank already has an error.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the error of the lowest failing rank, on every rank; otherwise
///         errc::ranks_disagree, which names the first two ranks that differ, and both digests
void agree_on_digest(group auto const& world, std::string_view noun, std::uint64_t digest,
                     local_error const& own_error = std::nullopt) {
    vector<std::string> const all =
        world.all_gather(own_error ? encode(own_error) : '\0' + std::to_string(digest));
    throw_first(all);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all[0])
            fail(errc::ranks_disagree, "rank 0 has ", noun, " with digest ", all[0].substr(1),
                 ", but rank ", rank, " has digest ", all[rank].substr(1),
                 "; it must be equal on every rank");
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/agree.ipp>
#endif

#endif
