// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PROGRAM_HPP
#define RESHARD_AOA_PROGRAM_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/place.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A program: its statements, the text that they come from, and limits on its size.

namespace reshard::aoa::detail {

/// A `text_list` without duplicates.
class name_table {
public:
    /// The number of `text`. If the table does not have it yet, it gets a new number.
    std::uint32_t intern(std::string_view text);

    /// The number of `text`, or std::nullopt.
    std::optional<std::uint32_t> find(std::string_view text) const {
        return places_.find(text, [this](std::uint32_t id) { return texts_[id]; });
    }

    std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
    std::size_t size() const { return texts_.size(); }

private:
    text_list texts_;
    key_index places_;
};

} // namespace reshard::aoa::detail

namespace reshard::aoa {

/// The amount of a resource that a stage may use.
struct budget {
    std::size_t most;
    std::string_view noun;   ///< name of the resource in messages
    std::string_view option; ///< option that raises the limit
    std::size_t spent = 0;

    constexpr std::size_t left() const { return most - spent; }

    /// Takes `amount`; returns whether it was available.
    constexpr bool take(std::size_t amount) {
        bool const is_left = amount <= left();
        spent += is_left ? amount : 0;
        return is_left;
    }

    /// The message if the budget is exceeded.
    std::string refusal() const {
        return "the program has more than " + std::to_string(most) + ' ' + std::string(noun) +
               " (option " + std::string(option) + ')';
    }
};

/// A list of statements, the names and attributes that they share, and the text that they come
/// from.
///
/// A regular value. Two programs are equal if their statements are equal, even at other positions
/// in their texts.
class program {
public:
    /// A program without statements.
    explicit program(std::string_view text = {}, std::string_view file = {});
    program(program const& copied);
    program(program&& moved) noexcept;
    program& operator=(program const& copied);
    program& operator=(program&& moved) noexcept;
    ~program();

    /// \name Its content \{
    vector<statement> const& statements() const { return statements_; }
    bool empty() const { return statements_.empty(); }

    std::span<name const> names(statement const& of) const;
    std::span<name const> left(statement const& of) const;
    std::span<name const> right(statement const& of) const;
    vector<attribute> const& attributes(statement const& of) const;

    /// The key that a name means, without `^T`. For a temporary, it is the preferred name; for
    /// nothing, it is `_`.
    ///
    /// \pre the name is not a pattern
    std::string_view text(name const& of) const;

    /// The segments of a pattern.
    vector<segment> const& pattern(name const& of) const;

    /// The number of the names with this text; std::nullopt if no name has it.
    std::optional<std::uint32_t> find(std::string_view text) const;

    /// The rules that say which keys are states of a parameter, from the expansion and from the
    /// lowering.
    vector<state_suffix> const& state_suffixes() const { return state_suffixes_; }

    /// How many different texts there are, and how many temporaries; both are numbered from 0.
    std::size_t text_count() const;
    std::size_t fresh_count() const { return fresh_.size(); }
    /// \}

    /// \name Its origin \{
    std::string const& source_text() const { return text_; }
    std::string const& file() const { return file_; }

    /// The line and column of a byte of the text, in time logarithmic in the number of lines.
    place place_at(std::size_t offset) const;

    /// The line of a byte of the text, and the offset of the byte in that line.
    detail::line_place line_at(std::size_t offset) const;

    aoa::origin const& origin(std::uint32_t id) const { return origins_[id]; }
    bool is_broken(statement const& of) const;

    /// The statements that the expansion dropped because their placeholders match no key.
    vector<statement> const& unmatched() const { return unmatched_; }
    /// \}

    /// \name Making parts of a program
    /// \{
    name make_text(std::string_view text, text_span where = {});

    /// A temporary that differs from every other name. If possible, `print` calls it `preferred`,
    /// followed by `ending`.
    ///
    /// \pre `preferred` is not the text of a temporary
    name make_fresh(std::string_view preferred, text_span where = {}, std::string_view ending = {});

    name make_pattern(vector<segment> segments, text_span where = {});

    /// Stores a list of attributes that statements can share. Number 0 is the empty list.
    std::uint32_t make_attributes(vector<attribute> list);

    /// \post if called twice in a row with the same origin, returns the same number
    std::uint32_t make_origin(aoa::origin const& origin);

    /// A statement of this program that is not added yet. Its attributes, origin and position are
    /// those in `like`.
    ///
    /// \pre the names are not in this program's own memory
    statement make_statement(std::span<name const> left, std::span<name const> right,
                             statement const& like);

    /// Reserves memory for `more` additional names in statements.
    void reserve_names(std::size_t more) { names_.reserve(names_.size() + more); }

    /// Reserves memory for `more` additional temporaries, and for the characters of their names.
    void reserve_fresh(std::size_t more, std::size_t characters) {
        fresh_.reserve_more(more, characters);
    }

    void add(statement const& statement) { statements_.push_back(statement); }
    void replace_statements(vector<statement> statements) { statements_ = std::move(statements); }
    void set_state_suffixes(vector<state_suffix> suffixes) {
        state_suffixes_ = std::move(suffixes);
    }
    void add_unmatched(statement const& statement) { unmatched_.push_back(statement); }
    /// \}

private:
    static std::uint32_t number(std::size_t size) { return static_cast<std::uint32_t>(size); }

    std::string text_;
    std::string file_;
    detail::line_index lines_;
    vector<statement> statements_;
    vector<statement> unmatched_;
    vector<name> names_;
    detail::name_table texts_;
    detail::text_list fresh_;
    vector<vector<segment>> patterns_;
    vector<vector<attribute>> attributes_;
    vector<aoa::origin> origins_;
    vector<state_suffix> state_suffixes_ = default_state_suffixes();
};

/// Whether a name of one program equals a name of another. Temporaries are equal if they have the
/// same number and the same preferred name.
RESHARD_DECL bool same_name(program const& a, name const& of_a, program const& b, name const& of_b);

/// True if the statements are equal; their positions in the text do not count.
RESHARD_DECL bool operator==(program const& a, program const& b);

/// Whether a statement is `key -> _`.
RESHARD_DECL bool is_removal(program const& code, statement const& statement);

/// Whether a statement is `_ -> key`.
RESHARD_DECL bool is_addition(program const& code, statement const& statement);

namespace detail {

/// For example `model.aoa:3:1`: the position of a part of the program's text.
RESHARD_DECL std::string place_text(program const& whole_program, text_span where);

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/program.ipp>
#endif

#endif
