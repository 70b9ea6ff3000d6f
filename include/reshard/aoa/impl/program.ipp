// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_PROGRAM_IPP
#define RESHARD_AOA_IMPL_PROGRAM_IPP

#include <reshard/aoa/program.hpp>

#include <reshard/core/config.hpp>

#include <boost/assert.hpp>

#include <algorithm>

namespace reshard::aoa::detail {

RESHARD_DECL std::uint32_t name_table::intern(std::string_view text) {
    auto const text_at = [this](std::uint32_t id) { return texts_[id]; };
    return places_.find_or_append(text, text_at, [&] { return texts_.push_back(text); });
}

} // namespace reshard::aoa::detail

namespace reshard::aoa {

RESHARD_DECL program::program(std::string_view text, std::string_view file)
    : text_(text), file_(file), lines_(text), attributes_(1), origins_(1) {}

RESHARD_DECL program::program(program const& copied) = default;
RESHARD_DECL program::program(program&& moved) noexcept = default;
RESHARD_DECL program& program::operator=(program const& copied) = default;
RESHARD_DECL program& program::operator=(program&& moved) noexcept = default;
RESHARD_DECL program::~program() = default;

RESHARD_DECL std::span<name const> program::names(statement const& of) const {
    return std::span(names_).subspan(of.names, of.left + of.right);
}

RESHARD_DECL std::span<name const> program::left(statement const& of) const {
    return names(of).first(of.left);
}

RESHARD_DECL std::span<name const> program::right(statement const& of) const {
    return names(of).last(of.right);
}

RESHARD_DECL vector<attribute> const& program::attributes(statement const& of) const {
    return attributes_[of.attributes];
}

RESHARD_DECL std::string_view program::text(name const& of) const {
    BOOST_ASSERT(of.kind != name::kind_type::pattern);
    if (of.kind == name::kind_type::nothing)
        return "_";
    return of.kind == name::kind_type::text ? texts_[of.id] : fresh_[of.id];
}

RESHARD_DECL vector<segment> const& program::pattern(name const& of) const {
    BOOST_ASSERT(of.kind == name::kind_type::pattern);
    return patterns_[of.id];
}

RESHARD_DECL std::optional<std::uint32_t> program::find(std::string_view text) const {
    return texts_.find(text);
}

RESHARD_DECL std::size_t program::text_count() const { return texts_.size(); }

RESHARD_DECL place program::place_at(std::size_t offset) const {
    return lines_.place_at(text_, offset);
}

RESHARD_DECL detail::line_place program::line_at(std::size_t offset) const {
    return lines_.line_at(text_, offset);
}

RESHARD_DECL bool program::is_broken(statement const& of) const {
    return origins_[of.origin].is_broken;
}

RESHARD_DECL name program::make_text(std::string_view text, text_span where) {
    return {name::kind_type::text, false, texts_.intern(text), where};
}

RESHARD_DECL name program::make_fresh(std::string_view preferred, text_span where,
                                      std::string_view ending) {
    return {name::kind_type::fresh, false, fresh_.push_back(preferred, ending), where};
}

RESHARD_DECL name program::make_pattern(vector<segment> segments, text_span where) {
    patterns_.push_back(std::move(segments));
    return {name::kind_type::pattern, false, number(patterns_.size() - 1), where};
}

RESHARD_DECL std::uint32_t program::make_attributes(vector<attribute> list) {
    if (list.empty())
        return 0;
    attributes_.push_back(std::move(list));
    return number(attributes_.size() - 1);
}

RESHARD_DECL std::uint32_t program::make_origin(aoa::origin const& origin) {
    if (origins_.back() != origin)
        origins_.push_back(origin);
    return number(origins_.size() - 1);
}

RESHARD_DECL statement program::make_statement(std::span<name const> left,
                                               std::span<name const> right, statement const& like) {
    statement statement = like;
    statement.names = number(names_.size());
    statement.left = number(left.size());
    statement.right = number(right.size());
    names_.insert(names_.end(), left.begin(), left.end());
    names_.insert(names_.end(), right.begin(), right.end());
    return statement;
}

RESHARD_DECL bool same_name(program const& a, name const& of_a, program const& b,
                            name const& of_b) {
    if (of_a.kind != of_b.kind || of_a.transposed != of_b.transposed)
        return false;
    if (of_a.kind == name::kind_type::pattern)
        return a.pattern(of_a) == b.pattern(of_b);
    bool const same_number = of_a.kind != name::kind_type::fresh || of_a.id == of_b.id;
    return same_number && a.text(of_a) == b.text(of_b);
}

RESHARD_DECL bool operator==(program const& a, program const& b) {
    auto const same_names = [&](name const& x, name const& y) { return same_name(a, x, b, y); };
    auto const same = [&](statement const& x, statement const& y) {
        return x.left == y.left && std::ranges::equal(a.names(x), b.names(y), same_names) &&
               a.attributes(x) == b.attributes(y);
    };
    return std::ranges::equal(a.statements(), b.statements(), same);
}

RESHARD_DECL bool is_removal(program const& code, statement const& statement) {
    return statement.left == 1 && statement.right == 1 &&
           code.right(statement)[0].kind == name::kind_type::nothing &&
           code.left(statement)[0].kind != name::kind_type::nothing;
}

RESHARD_DECL bool is_addition(program const& code, statement const& statement) {
    return statement.left == 1 && statement.right == 1 &&
           code.left(statement)[0].kind == name::kind_type::nothing &&
           code.right(statement)[0].kind != name::kind_type::nothing;
}

namespace detail {

RESHARD_DECL std::string place_text(program const& whole_program, text_span where) {
    return place_text(whole_program.file(), whole_program.place_at(where.first));
}

} // namespace detail

} // namespace reshard::aoa

#endif
