// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_AGREE_IPP
#define RESHARD_GROUP_IMPL_AGREE_IPP

#include <reshard/group/agree.hpp>

#include <algorithm>
#include <exception>
#include <new>

namespace reshard::detail {

RESHARD_DECL error current_error() {
    try {
        throw;
    } catch (error const& problem) {
        return problem;
    } catch (std::bad_alloc const&) {
        return error(errc::io, "out of memory");
    } catch (std::exception const& problem) {
        return error(errc::io, problem.what());
    } catch (...) {
        return error(errc::io, "a non-standard exception was thrown");
    }
}

RESHARD_DECL std::string encode(local_error const& problem) {
    return problem ? static_cast<char>(1 + static_cast<int>(problem->code())) +
                         std::string(problem->what())
                   : std::string(1, '\0');
}

RESHARD_DECL local_error decode(std::string const& bytes) {
    if (bytes.empty() || bytes.front() == '\0')
        return std::nullopt;
    return error(static_cast<errc>(bytes.front() - 1), bytes.substr(1));
}

/// The text of a call is `\0`, the name of the call, `#` and a digest. `\0` and the attachment
/// follow if there is one. The name of a call has no `\0`, but may contain a path.
RESHARD_DECL std::string encode(call_opening const& opening) {
    if (opening.problem)
        return encode(opening.problem);
    std::string text =
        '\0' + opening.operation + '#' + std::to_string(opening.fingerprint.digest());
    return opening.attachment.empty() ? text : text + '\0' + opening.attachment;
}

RESHARD_DECL vector<std::string> take_attachments(vector<std::string>& all) {
    vector<std::string> attachments(all.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        std::size_t const end = all[rank].find('\0', 1);
        if (end == std::string::npos)
            continue;
        attachments[rank] = all[rank].substr(end + 1);
        all[rank].resize(end);
    }
    return attachments;
}

RESHARD_DECL void check_same_call(vector<std::string> const& all, std::size_t rank) {
    std::string const first = named_call(all[0]);
    std::string const other = named_call(all[rank]);
    if (first != other)
        fail(errc::ranks_disagree, "rank 0 runs ", first, " and rank ", rank, " runs ", other,
             "; every rank must make the same call");
    if (!std::all_of(all.begin(), all.end(),
                     [&](auto const& bytes) { return named_call(bytes) == first; }))
        fail_with_different_values(first, rank); // not all ranks would exchange values
}

RESHARD_DECL void fail_with_different_values(std::string const& call, std::size_t rank) {
    fail(errc::ranks_disagree, "rank 0 runs ", call, " and rank ", rank,
         " runs it with a different program or different options; every rank must make the same "
         "call");
}

RESHARD_DECL std::string named_call(std::string const& bytes) {
    auto const end = bytes.rfind('#', bytes.find('\0', 1));
    return end == std::string::npos ? "something else" : bytes.substr(1, end - 1);
}

RESHARD_DECL std::size_t first_other(vector<std::string> const& all) {
    auto const match = std::find_if(all.begin(), all.end(),
                                    [&](std::string const& bytes) { return bytes != all[0]; });
    return match == all.end() ? 0 : static_cast<std::size_t>(match - all.begin());
}

RESHARD_DECL std::string compared_values::lines() const {
    std::string text;
    for (entry const& element : entries_)
        text += std::to_string(element.digest) + ' ' + element.text + '\n';
    return text;
}

/// Removes the first line from a text and returns it.
inline std::string take_line(std::string_view& text) {
    std::string_view const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return std::string(line);
}

RESHARD_DECL void fail_with_other(std::string const& call, compared_values const& fingerprint,
                                  vector<std::string> const& lines) {
    vector<std::string_view> left(lines.begin(), lines.end());
    for (compared_values::entry const& entry : fingerprint.entries()) {
        vector<std::string> values(left.size());
        for (std::size_t rank = 0; rank < left.size(); ++rank)
            values[rank] = take_line(left[rank]);
        std::size_t const rank = first_other(values);
        if (rank == 0)
            continue;
        auto const text = [&](std::size_t of) {
            return values[of].substr(values[of].find(' ') + 1);
        };
        std::string const end = "; every rank must make the same call";
        if (text(0).empty() || text(rank).empty() || text(0) == text(rank))
            fail(errc::ranks_disagree, "rank 0 runs ", call, " and rank ", rank,
                 " runs it with a different ", entry.name, end);
        fail(errc::ranks_disagree, "rank 0 runs ", call, " with ", entry.name, " ", text(0),
             " and rank ", rank, " with ", text(rank), end);
    }
}

} // namespace reshard::detail

#endif
