// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_MACROS_IPP
#define RESHARD_AOA_MACRO_IMPL_MACROS_IPP

#include <reshard/aoa/macro/macros.hpp>

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/make_finding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace reshard::aoa::detail {

/// Makes a name from the remaining segments. It is a text if there is only one, and that is text.
inline name make_name(program& code, vector<segment> segments, name const& like) {
    bool const text = segments.size() == 1 && segments[0].kind == segment::kind_type::text;
    name name = text ? code.make_text(segments[0].text, like.where)
                     : code.make_pattern(std::move(segments), like.where);
    name.transposed = like.transposed;
    return name;
}

/// Appends a text to the last segment of a name.
inline void append_text(vector<segment>& segments, std::string_view text) {
    if (segments.empty() || segments.back().kind != segment::kind_type::text)
        segments.push_back({});
    segments.back().text += text;
}

/// Replaces each name that has a segment of a kind by the names that `append(i, names)` appends for
/// name number `i`.
inline statement with_names(macro_context& context, statement const& statement,
                            segment::kind_type kind, std::string_view macro, auto&& append) {
    vector<name> names;
    std::size_t left = 0;
    for (std::uint32_t i = 0; i < statement.left + statement.right; ++i) {
        if (has_segment(context.code, context.code.names(statement)[i], kind))
            append(i, names);
        else
            names.push_back(context.code.names(statement)[i]);
        if (i + 1 == statement.left)
            left = names.size();
    }
    std::span<name const> const all_names(names);
    return context.make(all_names.first(left), all_names.subspan(left),
                        context.derive(statement, macro));
}

/// Appends the names that replace name number `i` of a statement, which has a range.
///
/// \throws failed_statement with errc::bad_macro for a range without numbers
inline void append_array(macro_context& context, statement const& statement, std::uint32_t i,
                         vector<name>& names) {
    name const array = context.code.names(statement)[i];
    vector<segment> segments = context.code.pattern(array);
    segment const range = segments.back();
    segments.pop_back();
    if (range.last <= range.first)
        fail_in(statement, {errc::bad_macro,
                            words("the range [", range.first, ':', range.last,
                                  "] is empty; its upper bound is exclusive"),
                            array.where});
    auto const count = static_cast<std::size_t>(range.last - range.first);
    context.spend(statement, context.names, count);
    context.spend(statement, context.characters, count * name_length(context.code, array));
    for (index_t number = range.first; number < range.last; ++number) {
        vector<segment> element = segments;
        append_text(element, '_' + std::to_string(number));
        names.push_back(make_name(context.code, std::move(element), array));
    }
}

RESHARD_DECL void expand_array(macro_context& context, statement const& current_statement,
                               vector<statement>& expanded) {
    if (!has_segment(context.code, current_statement, segment::kind_type::array))
        return expanded.push_back(current_statement);
    auto const append = [&](std::uint32_t i, vector<name>& names) {
        append_array(context, current_statement, i, names);
    };
    expanded.push_back(
        with_names(context, current_statement, segment::kind_type::array, "[a:b]", append));
}

/// Refuses an invalid name with a star, before any keys are compared.
inline void check_star(macro_context const& context, statement const& statement,
                       std::size_t which) {
    name const& starred = context.code.names(statement)[which];
    auto const& segments = context.code.pattern(starred);
    auto const stars = std::ranges::count(segments, segment::kind_type::star, &segment::kind);
    auto const refuse = [&](std::string message) {
        fail_in(statement, {errc::bad_macro, std::move(message), starred.where});
    };
    if (has_segment(context.code, statement, segment::kind_type::anything))
        refuse("'*', or the members of a stack, and '**' cannot be combined; write a statement for "
               "each tensor");
    if (stars > 1)
        refuse(words("a name may have at most one '*'; this one has ", stars));
    if (starred.transposed)
        refuse("'*' and '^T' cannot be combined; concatenate first, and transpose in a separate "
               "statement");
    bool const on_left = which < statement.left;
    if (!(on_left ? context.left : context.right))
        refuse(words("'*' ", on_left ? "left" : "right", " of '->' refers to keys ",
                     unknown_keys_text(context)));
}

/// The names with a star on one side of all statements, and their matching keys.
struct star_side {
    pattern_index index;
    std::unordered_map<std::uint32_t, std::size_t> patterns; ///< by index in the program
};

/// Adds a statement's names with a star to their sides.
inline void collect_stars(macro_context const& context, statement const& statement,
                          star_side (&sides)[2]) {
    auto const is_starred = [&](std::uint32_t i) {
        return has_segment(context.code, context.code.names(statement)[i],
                           segment::kind_type::star);
    };
    for (std::uint32_t i = 0; i < statement.left + statement.right; ++i)
        if (is_starred(i))
            check_star(context, statement, i);
    for (std::uint32_t i = 0; i < statement.left + statement.right; ++i) {
        if (!is_starred(i))
            continue;
        name const& each_name = context.code.names(statement)[i];
        auto const first_number = [](segment const&) { return std::optional<std::size_t>(0); };
        star_side& side = sides[i >= statement.left];
        std::size_t const pattern =
            side.index.add(make_key_pattern(context.code.pattern(each_name), first_number));
        side.patterns.insert_or_assign(statement.names + i, pattern);
    }
}

/// Throws because no key matches name number `i` of a statement, which has a star.
[[noreturn]] inline void fail_on_no_match(macro_context& context, statement const& statement,
                                          std::uint32_t i) {
    name const starred = context.code.names(statement)[i];
    vector<segment> const& segments = context.code.pattern(starred);
    bool const is_read = (i < statement.left) != context.options.reverse;
    if (is_read && context.is_lost(segments))
        throw no_value{};
    fail_in(statement,
            {errc::unknown_key,
             words("no key of the ", side_name(context, i < statement.left),
                   is_read ? " and no result of " + maker_text(context) : "", " matches '",
                   pattern_text(segments), "'",
                   context.near(i < statement.left ? context.left : context.right, segments)),
             starred.where});
}

/// Appends the names that replace name number `i` of a statement, which has a star.
inline void append_matches(macro_context& context, statement const& statement, std::uint32_t i,
                           star_side& side, vector<name>& names) {
    name const starred = context.code.names(statement)[i];
    auto const& matches = side.index.matches(side.patterns.at(statement.names + i));
    if (matches.empty())
        fail_on_no_match(context, statement, i);
    context.spend(statement, context.names, matches.size());
    for (key_match const& match : matches)
        names.push_back(context.code.make_text(match.key, starred.where));
}

/// Replaces the stars of a statement by the matching keys.
inline statement expand_stars(macro_context& context, statement const& statement,
                              star_side (&sides)[2]) {
    auto const append = [&](std::uint32_t i, vector<name>& names) {
        append_matches(context, statement, i, sides[i >= statement.left], names);
    };
    return with_names(context, statement, segment::kind_type::star, "*", append);
}

/// Appends a removal or an addition for each key that matches the star of a removal or addition.
inline void append_bare(macro_context& context, statement const& current_statement,
                        star_side (&sides)[2], vector<statement>& expanded) {
    statement const statement = expand_stars(context, current_statement, sides);
    bool const removes = is_removal(context.code, current_statement);
    auto const keys = removes ? context.code.left(statement) : context.code.right(statement);
    vector<name> const starred(keys.begin(), keys.end()); // a copy, since new names move the span
    name const nothing =
        removes ? context.code.right(statement)[0] : context.code.left(statement)[0];
    for (name const& key : starred)
        expanded.push_back(context.make({removes ? &key : &nothing, 1},
                                        {removes ? &nothing : &key, 1}, statement));
}

RESHARD_DECL void expand_star(macro_context& context, vector<statement>& statements) {
    star_side sides[2];
    for (statement& statement : statements)
        attempt(context, statement, [&] { collect_stars(context, statement, sides); });
    if (sides[0].index.empty() && sides[1].index.empty())
        return;
    if (!sides[0].index.empty())
        sides[0].index.search(*context.left, context.options.state_suffixes, context.steps);
    if (!sides[1].index.empty())
        sides[1].index.search(*context.right, context.options.state_suffixes, context.steps);
    pattern_index& read = sides[context.options.reverse].index;
    auto const expand = [&](std::size_t i, vector<statement>& expanded) {
        std::size_t const first = expanded.size();
        if (!has_segment(context.code, statements[i], segment::kind_type::star))
            expanded.push_back(statements[i]);
        else
            attempt(context, statements[i], expanded, [&](statement const& statement) {
                if (is_removal(context.code, statement) || is_addition(context.code, statement))
                    append_bare(context, statement, sides, expanded);
                else
                    expanded.push_back(expand_stars(context, statement, sides));
            });
        for (std::size_t result = first; result < expanded.size(); ++result)
            add_made(context, expanded[result], read);
    };
    statements = expand_in_order(context, statements.size(), expand);
}

/// Refuses `_^T`, `x^T -> _`, and `x^T` on the right of the arrow.
inline void check_transposed(macro_context const& context, statement const& statement) {
    bool const is_removed = is_removal(context.code, statement);
    for (name const& each_name : context.code.names(statement)) {
        if (each_name.transposed && each_name.kind == name::kind_type::nothing)
            fail_in(statement, {errc::bad_macro, "'_' cannot be transposed", each_name.where});
        if (each_name.transposed && is_removed)
            fail_in(statement, {errc::bad_macro,
                                words("a transpose cannot be removed; write  ",
                                      context.code.text(each_name), " -> _"),
                                each_name.where, std::string(context.code.text(each_name))});
    }
    for (name const& target : context.code.right(statement))
        if (target.transposed)
            fail_in(
                statement,
                {errc::bad_macro,
                 words("'", context.code.text(target),
                       "^T' is on the right of '->'; only tensors on its left can be transposed"),
                 target.where});
}

/// Replaces each transposed name by a temporary, one statement after the other.
class transposer {
public:
    explicit transposer(macro_context& context)
        : context_(context),
          reversed_(context.code.make_attributes({{"permute", std::string("[]"), '"', {}}})),
          temporaries_(context.code.text_count()) {}

    /// Reserves memory for the new statements.
    void reserve(vector<statement> const& statements) {
        std::size_t names = 0, temporaries = 0, characters = 0;
        for (statement const& statement : statements) {
            std::size_t const before = temporaries;
            for (name const& each_name : context_.code.left(statement))
                if (each_name.transposed && each_name.kind == name::kind_type::text) {
                    ++temporaries;
                    characters += context_.code.text(each_name).size() + transposed_ending.size();
                }
            names += temporaries > before ? statement.left + statement.right : 0;
        }
        context_.code.reserve_names(std::min(names + 2 * temporaries, context_.names.left()));
        context_.code.reserve_fresh(std::min(temporaries, context_.names.left()),
                                    std::min(characters, context_.characters.left()));
    }

    /// Appends a statement, after new statements that transpose its operands.
    void expand(statement const& current_statement, vector<statement>& expanded) {
        check_transposed(context_, current_statement);
        auto const written = context_.code.names(current_statement);
        if (std::ranges::none_of(written, &name::transposed))
            return expanded.push_back(current_statement);
        ++statement_;
        statement const like = context_.derive(current_statement, "^T");
        names_.assign(written.begin(), written.end());
        for (name& each_name : names_)
            if (each_name.transposed)
                each_name = temporary_for(each_name, like, expanded);
        std::span<name const> const all_names(names_);
        expanded.push_back(context_.make(all_names.first(current_statement.left),
                                         all_names.subspan(current_statement.left), like));
    }

private:
    struct temporary {
        name called;
        std::uint32_t statement = 0; ///< the statement that uses it; numbers start at 1
    };

    /// The temporary that replaces `x^T`. When a statement uses `x^T` for the first time, this
    /// appends `x -> temporary, permute="[]"`.
    name temporary_for(name const& transposed, statement const& like, vector<statement>& expanded) {
        temporary& new_temporary = temporaries_[transposed.id];
        if (new_temporary.statement == statement_)
            return new_temporary.called;
        name plain = transposed;
        plain.transposed = false;
        new_temporary = {
            context_.code.make_fresh(context_.code.text(plain), plain.where, transposed_ending),
            statement_};
        statement helper = like;
        helper.attributes = reversed_;
        expanded.push_back(context_.make({&plain, 1}, {&new_temporary.called, 1}, helper));
        return new_temporary.called;
    }

    macro_context& context_;
    std::uint32_t reversed_; ///< number of the attributes `permute="[]"`
    std::uint32_t statement_ = 0;
    vector<temporary> temporaries_; ///< by text number of the operand
    vector<name> names_;            ///< names of the current statement
};

RESHARD_DECL void expand_transpose(macro_context& context, vector<statement>& statements) {
    transposer macro(context);
    macro.reserve(statements);
    vector<statement> expanded;
    expanded.reserve(statements.size());
    for (statement const& written : statements)
        attempt(context, written, expanded,
                [&](statement const& statement) { macro.expand(statement, expanded); });
    statements = std::move(expanded);
}

} // namespace reshard::aoa::detail

#endif
