// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_MAKE_FINDING_IPP
#define RESHARD_AOA_IMPL_MAKE_FINDING_IPP

#include <reshard/aoa/make_finding.hpp>

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace reshard::aoa {

namespace detail {

RESHARD_DECL statement_group::statement_group(program const& whole, statement const& one)
    : whole_(whole), first_(&one), last_(&one + 1) {
    auto const& all = whole.statements();
    std::less<> const before;
    if (before(&one, all.data()) || !before(&one, all.data() + all.size()))
        return;
    look_at(one);
    while (!unread_.empty() && last_ != all.data() + all.size() && last_->where == one.where)
        look_at(*last_++);
    while (!unmade_.empty() && first_ != all.data() && (first_ - 1)->where == one.where)
        look_before(*--first_);
}

RESHARD_DECL statement const* statement_group::maker(name const& temporary) const {
    for (statement const& one : statements())
        for (name const& made : whole_.right(one))
            if (made.kind == temporary.kind && made.id == temporary.id)
                return &one;
    return nullptr;
}

RESHARD_DECL void statement_group::look_at(statement const& one) {
    for (name const& read : whole_.left(one))
        if (read.kind == name::kind_type::fresh && unread_.erase(read.id) == 0 &&
            !made_.contains(read.id))
            unmade_.insert(read.id);
    for (name const& made : whole_.right(one))
        if (made.kind == name::kind_type::fresh && made_.insert(made.id).second)
            unread_.insert(made.id);
}

RESHARD_DECL void statement_group::look_before(statement const& one) {
    for (name const& made : whole_.right(one))
        if (made.kind == name::kind_type::fresh)
            unmade_.erase(made.id);
    for (name const& read : whole_.left(one))
        if (read.kind == name::kind_type::fresh)
            unmade_.insert(read.id);
}

/// Whether a name is the temporary for `x^T`.
inline bool stands_for_transpose(program const& whole, name const& one) {
    return one.kind == name::kind_type::fresh && whole.text(one).ends_with(transposed_ending);
}

RESHARD_DECL std::string written_name(program const& whole, name const& one) {
    if (!stands_for_transpose(whole, one))
        return bare_name_text(whole, one);
    std::string_view const text = whole.text(one);
    return quoted_name(text.substr(0, text.size() - transposed_ending.size()));
}

/// The replacement of a name of the text, and the end of that name.
struct replacement {
    std::uint32_t last;
    std::string text;
};

/// The names of a statement as the user wrote it, by their positions, each with its present
/// meaning: several names for `[0:3]` and `*`.
inline std::map<std::uint32_t, replacement> replacements(program const& whole,
                                                         statement const& one) {
    std::map<std::uint32_t, replacement> found;
    std::set<std::pair<std::uint32_t, std::string>> seen;
    for (statement const& each : statement_group(whole, one).statements())
        for (name const& each_name : whole.names(each)) {
            text_span const where = each_name.where;
            bool const is_inside = where.first >= one.where.first && where.first < where.last &&
                                   where.last <= one.where.last && where != one.where;
            if (!is_inside || each_name.kind == name::kind_type::nothing)
                continue;
            std::string text = written_name(whole, each_name);
            if (!seen.emplace(where.first, text).second)
                continue;
            std::string_view const written =
                std::string_view(whole.source_text()).substr(where.first, where.last - where.first);
            replacement& place = found.try_emplace(where.first, where.last, "").first->second;
            place.text += (place.text.empty() ? "" : ", ") + std::move(text) +
                          (written.ends_with("^T") ? "^T" : "");
        }
    return found;
}

/// A piece of a program's text in one line, without comments, with other names.
inline std::string in_one_line(std::string_view text, text_span where,
                               std::map<std::uint32_t, replacement> const& names) {
    std::string line;
    text = text.substr(0, where.last);
    for (std::size_t i = where.first, next = 0; i < text.size(); i = next) {
        auto const place = names.find(static_cast<std::uint32_t>(i));
        next = i + 1;
        if (place != names.end()) {
            line += place->second.text;
            next = place->second.last;
        } else if (text[i] == '#') {
            next = std::min(text.size(), text.find_first_of("\r\n", i));
        } else if (text[i] == '"' || text[i] == '\'') {
            next = std::min(text.size() - 1, text.find(text[i], i + 1)) + 1;
            line += text.substr(i, next - i);
        } else if (std::string_view(" \t\r\n").find(text[i]) == std::string_view::npos) {
            line += text[i];
        } else if (!line.empty() && line.back() != ' ') {
            line += ' ';
        }
    }
    return line.substr(0, line.find_last_not_of(' ') + 1);
}

RESHARD_DECL std::string shown_statement(program const& whole, statement const& one) {
    auto const has_temporary = std::ranges::any_of(
        whole.names(one), [](name const& each) { return each.kind == name::kind_type::fresh; });
    if (!has_temporary || one.where.last > whole.source_text().size())
        return print(whole, one);
    auto const names = replacements(whole, one);
    if (names.empty())
        return print(whole, one);
    std::string line = in_one_line(whole.source_text(), one.where, names);
    return line == in_one_line(whole.source_text(), one.where, {}) ? "" : line;
}

/// The user's names for the tensors whose parts a name has; the name itself if it is not a
/// temporary of a fused macro.
inline void find_written(program const& whole, statement_group const& group, name const& which,
                         int depth, std::vector<name>& found) {
    bool const is_made =
        which.kind == name::kind_type::fresh && !stands_for_transpose(whole, which);
    statement const* const maker = is_made && depth > 0 ? group.maker(which) : nullptr;
    bool const is_known = !found.empty() && found.back().id == which.id &&
                          found.back().kind == which.kind && found.back().where == which.where;
    if (!maker && !is_known)
        found.push_back(which);
    for (name const& from : maker ? whole.left(*maker) : std::span<name const>())
        find_written(whole, group, from, depth - 1, found);
}

RESHARD_DECL std::vector<name> written_behind(program const& whole, statement const& one,
                                              name const& which) {
    if (which.kind != name::kind_type::fresh || stands_for_transpose(whole, which))
        return {which};
    std::vector<name> found;
    constexpr int longest = 3; // a part of the result of several tensors
    find_written(whole, statement_group(whole, one), which, longest, found);
    return found;
}

RESHARD_DECL std::string plain_text(program const& whole, name const& one) {
    std::string text(whole.text(one));
    if (stands_for_transpose(whole, one))
        text.resize(text.size() - transposed_ending.size());
    return text;
}

RESHARD_DECL std::string shown_name(program const& whole, statement const& one, name const& which) {
    std::string text;
    for (name const& each : written_behind(whole, one, which))
        text += (text.empty() ? "" : ", ") + plain_text(whole, each) +
                (stands_for_transpose(whole, each) ? "^T" : "");
    return text;
}

} // namespace detail

RESHARD_DECL std::string first_key(program const& whole, statement const& one) {
    for (name const& each_name : whole.names(one))
        if (each_name.kind == name::kind_type::pattern)
            return detail::bare_name_text(whole, each_name);
        else if (each_name.kind != name::kind_type::nothing)
            return detail::shown_key(whole, one, each_name);
    return {};
}

RESHARD_DECL std::string key_of(program const& whole, statement const& one,
                                std::string const& called) {
    if (called.empty())
        return first_key(whole, one);
    if (!whole.find(called))
        for (name const& each_name : whole.names(one))
            if (each_name.kind == name::kind_type::fresh &&
                detail::shown_name(whole, one, each_name) == called)
                return detail::shown_key(whole, one, each_name);
    return called;
}

namespace detail {

RESHARD_DECL finding make_finding(program const& whole, statement const& one,
                                  statement_error const& error) {
    bool const placed = error.where.last > error.where.first;
    std::string message = error.message;
    if (!whole.origin(one.origin).macro.empty()) {
        constexpr std::size_t longest = 160;
        std::string line = shown_statement(whole, one);
        if (line.size() > longest)
            line = std::string(beginning(line, longest)) + "...";
        message += line.empty() ? "" : ", in the statement  " + line;
    }
    return {severity::error, std::string(reshard::name(error.code)), key_of(whole, one, error.key),
            message,         placed ? error.where : one.where,       one.origin};
}

} // namespace detail

} // namespace reshard::aoa

#endif
