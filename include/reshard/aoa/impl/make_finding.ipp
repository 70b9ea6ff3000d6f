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

RESHARD_DECL statement_group::statement_group(program const& whole_program,
                                              statement const& statement)
    : whole_(whole_program), first_(&statement), last_(&statement + 1) {
    auto const& statements = whole_program.statements();
    std::less<> const before;
    if (before(&statement, statements.data()) ||
        !before(&statement, statements.data() + statements.size()))
        return;
    look_at(statement);
    while (!unread_.empty() && last_ != statements.data() + statements.size() &&
           last_->where == statement.where)
        look_at(*last_++);
    while (!unmade_.empty() && first_ != statements.data() &&
           (first_ - 1)->where == statement.where)
        look_before(*--first_);
}

RESHARD_DECL statement const* statement_group::maker(name const& temporary) const {
    for (statement const& statement : statements())
        for (name const& name : whole_.right(statement))
            if (name.kind == temporary.kind && name.id == temporary.id)
                return &statement;
    return nullptr;
}

RESHARD_DECL void statement_group::look_at(statement const& statement) {
    for (name const& read : whole_.left(statement))
        if (read.kind == name::kind_type::fresh && unread_.erase(read.id) == 0 &&
            !made_.contains(read.id))
            unmade_.insert(read.id);
    for (name const& name : whole_.right(statement))
        if (name.kind == name::kind_type::fresh && made_.insert(name.id).second)
            unread_.insert(name.id);
}

RESHARD_DECL void statement_group::look_before(statement const& statement) {
    for (name const& name : whole_.right(statement))
        if (name.kind == name::kind_type::fresh)
            unmade_.erase(name.id);
    for (name const& read : whole_.left(statement))
        if (read.kind == name::kind_type::fresh)
            unmade_.insert(read.id);
}

/// Whether a name is the temporary for `x^T`.
inline bool stands_for_transpose(program const& whole_program, name const& name) {
    return name.kind == name::kind_type::fresh &&
           whole_program.text(name).ends_with(transposed_ending);
}

RESHARD_DECL std::string written_name(program const& whole_program, name const& name) {
    if (!stands_for_transpose(whole_program, name))
        return bare_name_text(whole_program, name);
    std::string_view const text = whole_program.text(name);
    return quoted_name(text.substr(0, text.size() - transposed_ending.size()));
}

/// The text that replaces a name in the program's text, and the end of that name.
struct replacement {
    std::uint32_t last;
    std::string text;
};

/// The names in a statement as the user wrote it, by position, each with the names that it now
/// means: several names for `[0:3]` and `*`.
inline std::map<std::uint32_t, replacement> replacements(program const& whole_program,
                                                         statement const& current_statement) {
    std::map<std::uint32_t, replacement> replacements;
    std::set<std::pair<std::uint32_t, std::string>> pairs;
    for (statement const& each : statement_group(whole_program, current_statement).statements())
        for (name const& each_name : whole_program.names(each)) {
            text_span const where = each_name.where;
            bool const is_inside =
                where.first >= current_statement.where.first && where.first < where.last &&
                where.last <= current_statement.where.last && where != current_statement.where;
            if (!is_inside || each_name.kind == name::kind_type::nothing)
                continue;
            std::string text = written_name(whole_program, each_name);
            if (!pairs.emplace(where.first, text).second)
                continue;
            std::string_view const written = std::string_view(whole_program.source_text())
                                                 .substr(where.first, where.last - where.first);
            replacement& replacement =
                replacements.try_emplace(where.first, where.last, "").first->second;
            replacement.text += (replacement.text.empty() ? "" : ", ") + std::move(text) +
                                (written.ends_with("^T") ? "^T" : "");
        }
    return replacements;
}

/// A range of a program's text on one line, without comments, with some names replaced.
inline std::string in_one_line(std::string_view text, text_span where,
                               std::map<std::uint32_t, replacement> const& names) {
    std::string line;
    text = text.substr(0, where.last);
    for (std::size_t i = where.first, next = 0; i < text.size(); i = next) {
        auto const position = names.find(static_cast<std::uint32_t>(i));
        next = i + 1;
        if (position != names.end()) {
            line += position->second.text;
            next = position->second.last;
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

RESHARD_DECL std::string shown_statement(program const& whole_program, statement const& statement) {
    auto const has_temporary =
        std::ranges::any_of(whole_program.names(statement),
                            [](name const& each) { return each.kind == name::kind_type::fresh; });
    if (!has_temporary || statement.where.last > whole_program.source_text().size())
        return print(whole_program, statement);
    auto const names = replacements(whole_program, statement);
    if (names.empty())
        return print(whole_program, statement);
    std::string line = in_one_line(whole_program.source_text(), statement.where, names);
    return line == in_one_line(whole_program.source_text(), statement.where, {}) ? "" : line;
}

/// Finds the user's names of the tensors that `which` was made from. They are `which` itself if it
/// is not a temporary of a fused macro.
inline void find_written(program const& whole_program, statement_group const& group,
                         name const& which, int depth, vector<name>& found_names) {
    bool const is_made =
        which.kind == name::kind_type::fresh && !stands_for_transpose(whole_program, which);
    statement const* const maker = is_made && depth > 0 ? group.maker(which) : nullptr;
    bool const is_known = !found_names.empty() && found_names.back().id == which.id &&
                          found_names.back().kind == which.kind &&
                          found_names.back().where == which.where;
    if (!maker && !is_known)
        found_names.push_back(which);
    for (name const& from : maker ? whole_program.left(*maker) : std::span<name const>())
        find_written(whole_program, group, from, depth - 1, found_names);
}

RESHARD_DECL vector<name> written_behind(program const& whole_program, statement const& statement,
                                         name const& which) {
    if (which.kind != name::kind_type::fresh || stands_for_transpose(whole_program, which))
        return {which};
    vector<name> found_names;
    constexpr int longest = 3; // of a chain: a part of a result of several tensors
    find_written(whole_program, statement_group(whole_program, statement), which, longest,
                 found_names);
    return found_names;
}

RESHARD_DECL std::string plain_text(program const& whole_program, name const& name) {
    std::string text(whole_program.text(name));
    if (stands_for_transpose(whole_program, name))
        text.resize(text.size() - transposed_ending.size());
    return text;
}

RESHARD_DECL std::string shown_name(program const& whole_program, statement const& statement,
                                    name const& which) {
    std::string text;
    for (name const& each : written_behind(whole_program, statement, which))
        text += (text.empty() ? "" : ", ") + plain_text(whole_program, each) +
                (stands_for_transpose(whole_program, each) ? "^T" : "");
    return text;
}

} // namespace detail

RESHARD_DECL std::string first_key(program const& whole_program, statement const& statement) {
    for (name const& each_name : whole_program.names(statement))
        if (each_name.kind == name::kind_type::pattern)
            return detail::bare_name_text(whole_program, each_name);
        else if (each_name.kind != name::kind_type::nothing)
            return detail::shown_key(whole_program, statement, each_name);
    return {};
}

RESHARD_DECL std::string key_of(program const& whole_program, statement const& statement,
                                std::string const& called) {
    if (called.empty())
        return first_key(whole_program, statement);
    if (!whole_program.find(called))
        for (name const& each_name : whole_program.names(statement))
            if (each_name.kind == name::kind_type::fresh &&
                detail::shown_name(whole_program, statement, each_name) == called)
                return detail::shown_key(whole_program, statement, each_name);
    return called;
}

namespace detail {

RESHARD_DECL finding make_finding(program const& whole_program, statement const& statement,
                                  statement_error const& error) {
    bool const placed = error.where.last > error.where.first;
    std::string message = error.message;
    if (origin const& made_by = whole_program.origin(statement.origin); !made_by.macro.empty()) {
        constexpr std::size_t longest = 160;
        std::string line = shown_statement(whole_program, statement);
        if (line.size() > longest)
            line = std::string(beginning(line, longest)) + "...";
        message += line.empty() ? "" : ", in the statement  " + line;
        if (made_by.is_axis_assumed && error.code == errc::shape_mismatch)
            message += "; " + made_by.macro +
                       " without an axis takes axis 1; write axis=0 for biases and for weights of "
                       "[out, in]";
    }
    return {severity::error,
            std::string(reshard::name(error.code)),
            key_of(whole_program, statement, error.key),
            message,
            placed ? error.where : statement.where,
            statement.origin};
}

} // namespace detail

} // namespace reshard::aoa

#endif
