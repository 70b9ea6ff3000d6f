// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PROGRAM_HPP
#define RESHARD_AOA_PROGRAM_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/name_table.hpp>
#include <reshard/aoa/place.hpp>
#include <reshard/aoa/state_suffix.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A program: statements, with the text that they were written in.

namespace reshard::aoa {

/// A list of statements, the names and attributes that they share, and the text that they came
/// from.
///
/// A regular value. Two programs are equal when they say the same, wherever it stands in their
/// texts.
class program {
public:
    /// A program without statements.
    explicit program(std::string_view text = {}, std::string_view file = {})
        : text_(text), file_(file), lines_(text), attributes_(1), origins_(1) {}

    /// \name What it says
    /// \{
    std::vector<statement> const& statements() const { return statements_; }
    bool empty() const { return statements_.empty(); }

    std::span<name const> names(statement const& of) const {
        return std::span(names_).subspan(of.names, of.left + of.right);
    }
    std::span<name const> left(statement const& of) const { return names(of).first(of.left); }
    std::span<name const> right(statement const& of) const { return names(of).last(of.right); }
    std::vector<attribute> const& attributes(statement const& of) const {
        return attributes_[of.attributes];
    }

    /// The key that a name names, without `^T`. For a temporary, what it would be called if it were
    /// not one; `_` for nothing.
    ///
    /// \pre it is no pattern
    std::string_view text(name const& of) const {
        BOOST_ASSERT(of.kind != name::kind_type::pattern);
        if (of.kind == name::kind_type::nothing)
            return "_";
        return of.kind == name::kind_type::text ? texts_[of.id] : fresh_[of.id];
    }

    /// The segments of a pattern.
    std::vector<segment> const& pattern(name const& of) const {
        BOOST_ASSERT(of.kind == name::kind_type::pattern);
        return patterns_[of.id];
    }

    /// The number of the names of that text, or nothing where no name has it.
    std::optional<std::uint32_t> find(std::string_view text) const { return texts_.find(text); }

    /// Which keys are the state of a parameter: what the program has been expanded for, and is to be
    /// lowered for.
    std::vector<state_suffix> const& state_suffixes() const { return state_suffixes_; }

    /// How many different texts and temporaries there are: their numbers are less.
    std::size_t text_count() const { return texts_.size(); }
    std::size_t fresh_count() const { return fresh_.size(); }
    /// \}

    /// \name Where it came from
    /// \{
    std::string const& source_text() const { return text_; }
    std::string const& file() const { return file_; }

    /// The place of a byte of the text, in the logarithm of the number of lines.
    place place_at(std::size_t offset) const { return lines_.place_at(text_, offset); }

    /// The line of a byte of the text, and which byte of the line that is.
    detail::line_place line_at(std::size_t offset) const { return lines_.line_at(text_, offset); }

    aoa::origin const& origin(std::uint32_t id) const { return origins_[id]; }
    bool is_broken(statement const& of) const { return origins_[of.origin].is_broken; }

    /// The statements that expansion has left out because their placeholders matched nothing.
    std::vector<statement> const& unmatched() const { return unmatched_; }
    /// \}

    /// \name Making one
    /// \{
    name make_text(std::string_view text, text_span where = {}) {
        return {name::kind_type::text, false, texts_.intern(text), where};
    }

    /// A temporary, different from everything else; `preferred` is what `print` calls it if it can,
    /// with `ending` behind it.
    ///
    /// \pre `preferred` is no temporary's
    name make_fresh(std::string_view preferred, text_span where = {},
                    std::string_view ending = {}) {
        return {name::kind_type::fresh, false, fresh_.push_back(preferred, ending), where};
    }

    name make_pattern(std::vector<segment> segments, text_span where = {}) {
        patterns_.push_back(std::move(segments));
        return {name::kind_type::pattern, false, number(patterns_.size() - 1), where};
    }

    /// A list of attributes for any number of statements; 0 is the empty list.
    std::uint32_t make_attributes(std::vector<attribute> list) {
        if (list.empty())
            return 0;
        attributes_.push_back(std::move(list));
        return number(attributes_.size() - 1);
    }

    /// \post asked twice in a row for the same, the answer is the same
    std::uint32_t make_origin(aoa::origin const& made) {
        aoa::origin const& last = origins_.back();
        if (last.macro != made.macro || last.parent != made.parent || last.where != made.where ||
            last.is_broken != made.is_broken)
            origins_.push_back(made);
        return number(origins_.size() - 1);
    }

    /// A statement of this program, which has yet to be added; `like` gives attributes, origin,
    /// place.
    ///
    /// \pre the names are not in this program's own storage
    statement make_statement(std::span<name const> left, std::span<name const> right,
                             statement const& like) {
        statement made = like;
        made.names = number(names_.size());
        made.left = number(left.size());
        made.right = number(right.size());
        names_.insert(names_.end(), left.begin(), left.end());
        names_.insert(names_.end(), right.begin(), right.end());
        return made;
    }

    /// Makes room for so many more names in statements.
    void reserve_names(std::size_t more) { names_.reserve(names_.size() + more); }

    /// Makes room for so many more temporaries that are called by so many characters.
    void reserve_fresh(std::size_t more, std::size_t characters) {
        fresh_.reserve_more(more, characters);
    }

    void add(statement const& made) { statements_.push_back(made); }
    void replace_statements(std::vector<statement> made) { statements_ = std::move(made); }
    void set_state_suffixes(std::vector<state_suffix> suffixes) {
        state_suffixes_ = std::move(suffixes);
    }
    void add_unmatched(statement const& one) { unmatched_.push_back(one); }
    /// \}

private:
    static std::uint32_t number(std::size_t size) { return static_cast<std::uint32_t>(size); }

    std::string text_;
    std::string file_;
    line_index lines_;
    std::vector<statement> statements_;
    std::vector<statement> unmatched_;
    std::vector<name> names_;
    name_table texts_;
    text_list fresh_;
    std::vector<std::vector<segment>> patterns_;
    std::vector<std::vector<attribute>> attributes_;
    std::vector<aoa::origin> origins_;
    std::vector<state_suffix> state_suffixes_ = default_state_suffixes();
};

/// Whether a name of one program says what a name of another says. Temporaries are equal when they
/// have the same number and would be called the same.
inline bool same_name(program const& a, name const& of_a, program const& b, name const& of_b) {
    if (of_a.kind != of_b.kind || of_a.transposed != of_b.transposed)
        return false;
    if (of_a.kind == name::kind_type::pattern)
        return a.pattern(of_a) == b.pattern(of_b);
    bool const same_number = of_a.kind != name::kind_type::fresh || of_a.id == of_b.id;
    return same_number && a.text(of_a) == b.text(of_b);
}

/// True where the programs say the same; places in the text do not count.
inline bool operator==(program const& a, program const& b) {
    auto const same_names = [&](name const& x, name const& y) { return same_name(a, x, b, y); };
    auto const same = [&](statement const& x, statement const& y) {
        return x.left == y.left && std::ranges::equal(a.names(x), b.names(y), same_names) &&
               a.attributes(x) == b.attributes(y);
    };
    return std::ranges::equal(a.statements(), b.statements(), same);
}

/// Whether a statement is `key -> _`.
inline bool is_removal(program const& code, statement const& one) {
    return one.left == 1 && one.right == 1 && code.right(one)[0].kind == name::kind_type::nothing &&
           code.left(one)[0].kind != name::kind_type::nothing;
}

/// Whether a statement is `_ -> key`.
inline bool is_addition(program const& code, statement const& one) {
    return one.left == 1 && one.right == 1 && code.left(one)[0].kind == name::kind_type::nothing &&
           code.right(one)[0].kind != name::kind_type::nothing;
}

/// `model.aoa:3:1`: the place of a piece of the program's text.
inline std::string place_text(program const& whole, text_span where) {
    return place_text(whole.file(), whole.place_at(where.first));
}

} // namespace reshard::aoa

#endif
