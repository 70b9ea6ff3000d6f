// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_PLACEHOLDER_IPP
#define RESHARD_AOA_MACRO_IMPL_PLACEHOLDER_IPP

#include <reshard/aoa/macro/macros.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/make_key_pattern.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::aoa::detail {

/// Appends the digits of a number to a text.
inline void append_number(std::string& text, index_t number) {
    char digits[20];
    auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text.append(digits, end);
}

/// The placeholders of a statement, and the deciding name, whose matches determine their numbers.
struct placeholder_use {
    vector<std::string_view> names; ///< placeholders, in the order of the captures
    vector<segment> formulas;       ///< each placeholder in the deciding name
    std::size_t deciding = 0;       ///< index of the deciding name in the statement
    bool is_right = false;          ///< the deciding name is on the right of the arrow
    std::size_t pattern = 0;        ///< index of the deciding name's pattern
};

/// The index of a name in a sorted list that contains it.
inline std::size_t position(vector<std::string_view> const& names, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::lower_bound(names, name) - names.begin());
}

/// The deciding names, by their side of the arrow. They are on the side of the source, except for
/// additions such as `_ -> l.$LAYER_ID.b`, which use the target's layers.
using placeholder_sides = std::array<pattern_index, 2>;

/// Refuses a number below 0.
[[noreturn]] inline void refuse_negative(macro_context const& context, statement const& about,
                                         segment const& placeholder, name const& open,
                                         index_t number) {
    fail_in(about, {errc::bad_macro,
                    words('$', placeholder.text, " is ", number, " in '",
                          bare_name_text(context.code, open), "', but must not be negative"),
                    open.where});
}

/// Whether `test(i, placeholder)` is true for each placeholder of a statement, in name number `i`.
bool for_all_placeholders(program const& code, statement const& statement, auto const& test) {
    for (std::size_t i = 0; i < statement.left + statement.right; ++i)
        if (name const open = code.names(statement)[i]; open.kind == name::kind_type::pattern)
            for (segment const& each_segment : code.pattern(open))
                if (each_segment.kind == segment::kind_type::placeholder && !test(i, each_segment))
                    return false;
    return true;
}

/// Makes the names for the statements that a statement with placeholders expands to.
class instance_names {
public:
    instance_names(macro_context& context, statement const& statement, placeholder_use const& use)
        : context_(context),
          one_(statement),
          use_(use),
          has_others_(
              std::ranges::any_of(context.code.pattern(context.code.names(statement)[use.deciding]),
                                  [](segment const& each_segment) {
                                      return each_segment.kind == segment::kind_type::array ||
                                             each_segment.kind == segment::kind_type::star;
                                  })) {}

    /// Whether the deciding name also has `*` or `[0:2]`. Then there is a match for each of their
    /// numbers, too.
    bool has_others() const { return has_others_; }

    /// Whether all numbers of the statement are whole for a match.
    bool fits(key_match const& match) const {
        return for_all_placeholders(
            context_.code, one_, [&](std::size_t which, segment const& placeholder) {
                return whole_number(which, placeholder, match.numbers).has_value();
            });
    }

    /// Name number `which` for a match. The deciding name becomes the matching key, whose numbers
    /// may have leading zeros.
    ///
    /// \pre `fits(match)`
    name make(std::size_t which, key_match const& match) {
        name const open = context_.code.names(one_)[which];
        if (open.kind == name::kind_type::nothing)
            return open;
        name name = which == use_.deciding && !has_others_
                        ? context_.code.make_text(match.key, open.where)
                        : fill(which, open, match.numbers);
        name.transposed = open.transposed;
        return name;
    }

private:
    /// Replaces the placeholders of a name by numbers.
    name fill(std::size_t which, name const& open, std::span<index_t const> numbers) {
        vector<segment> filled;
        text_.clear();
        for (segment const& each_segment : context_.code.pattern(open))
            if (each_segment.kind == segment::kind_type::text)
                text_ += each_segment.text;
            else if (each_segment.kind == segment::kind_type::placeholder)
                append_number(text_, number_for(which, each_segment, numbers));
            else
                end_text(filled), filled.push_back(each_segment);
        if (filled.empty())
            return context_.code.make_text(text_, open.where);
        end_text(filled);
        return context_.code.make_pattern(std::move(filled), open.where);
    }

    void end_text(vector<segment>& filled) {
        if (!text_.empty())
            filled.push_back({segment::kind_type::text, std::exchange(text_, {})});
    }

    std::optional<index_t> whole_number(std::size_t which, segment const& placeholder,
                                        std::span<index_t const> numbers) const {
        std::size_t const capture = position(use_.names, placeholder.text);
        auto const value = value_for(use_.formulas[capture], numbers[capture], use_.is_right);
        return value ? number_of(placeholder, *value, which >= one_.left) : std::nullopt;
    }

    index_t number_for(std::size_t which, segment const& placeholder,
                       std::span<index_t const> numbers) const {
        index_t const number = *whole_number(which, placeholder, numbers);
        name const open = context_.code.names(one_)[which];
        if (number < 0)
            refuse_negative(context_, one_, placeholder, open, number);
        return number;
    }

    macro_context& context_;
    statement const& one_;
    placeholder_use const& use_;
    bool has_others_;
    std::string text_; ///< part of the name that is being made
};

/// Appends a statement for each match of the deciding name.
inline void append_instances(macro_context& context, statement const& current_statement,
                             placeholder_use const& use, vector<key_match> const& matches,
                             vector<statement>& expanded) {
    statement const like = context.derive(current_statement, '$' + std::string(use.names[0]));
    instance_names instances(context, current_statement, use);
    vector<name> names;
    key_match const* last = nullptr;
    for (key_match const& match : matches) {
        if ((instances.has_others() && last && same_numbers(*last, match)) ||
            !instances.fits(match))
            continue;
        last = &match;
        names.clear();
        for (std::size_t i = 0; i < current_statement.left + current_statement.right; ++i)
            names.push_back(instances.make(i, match));
        std::span<name const> const all_names(names);
        expanded.push_back(context.make(all_names.first(current_statement.left),
                                        all_names.subspan(current_statement.left), like));
    }
}

/// The different placeholders in a name, in alphabetical order.
inline vector<std::string_view> placeholders(vector<segment> const& segments) {
    vector<std::string_view> names;
    for (segment const& segment : segments)
        if (segment.kind == segment::kind_type::placeholder)
            names.push_back(segment.text);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// Refuses a placeholder that occurs in one name of a statement but not in another.
inline void check_has_all(program const& code, name const& has, name const& lacks) {
    vector<std::string_view> there, here;
    if (has.kind == name::kind_type::pattern)
        there = placeholders(code.pattern(has));
    if (lacks.kind == name::kind_type::pattern)
        here = placeholders(code.pattern(lacks));
    for (std::string_view const each_name : there)
        if (!std::ranges::binary_search(here, each_name))
            throw statement_error{
                errc::bad_macro,
                words('$', each_name, " occurs in '", bare_name_text(code, has), "' but not in '",
                      bare_name_text(code, lacks),
                      "'; all names of a statement must have the same placeholders"),
                lacks.where};
}

/// The index of the first name with a segment of that kind, on the side that the statement reads or
/// else on the other.
inline std::size_t deciding_place(macro_context const& context, statement const& statement,
                                  segment::kind_type kind) {
    auto const names = context.code.names(statement);
    std::size_t const first = context.options.reverse ? statement.left : 0;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (std::size_t const index = (first + i) % names.size();
            has_segment(context.code, names[index], kind))
            return index;
    return 0;
}

/// Refuses a deciding name that has a placeholder twice.
[[noreturn]] inline void refuse_repeats(program const& code, name const& deciding) {
    throw statement_error{
        errc::bad_macro,
        words("'", bare_name_text(code, deciding),
              "' has the same placeholder twice, but the name that determines the numbers may "
              "have each placeholder only once"),
        deciding.where};
}

/// Examines a statement with placeholders, and adds its deciding name to its side.
inline placeholder_use inspect(macro_context const& context, statement const& statement,
                               placeholder_sides& sides) {
    program const& code = context.code;
    placeholder_use use;
    use.deciding = deciding_place(context, statement, segment::kind_type::placeholder);
    use.is_right = use.deciding >= statement.left;
    name const deciding = code.names(statement)[use.deciding];
    for (name const& each_name : code.names(statement))
        if (each_name.kind != name::kind_type::nothing) {
            check_has_all(code, deciding, each_name);
            check_has_all(code, each_name, deciding);
        }
    if (!(use.is_right ? context.right : context.left))
        throw statement_error{errc::bad_macro,
                              words("'", bare_name_text(code, deciding), "' refers to keys ",
                                    unknown_keys_text(context)),
                              deciding.where};
    vector<segment> const& segments = code.pattern(deciding);
    use.names = placeholders(segments);
    use.formulas.resize(use.names.size());
    std::size_t count = 0;
    for (segment const& each_segment : segments)
        if (each_segment.kind == segment::kind_type::placeholder) {
            use.formulas[position(use.names, each_segment.text)] = each_segment;
            ++count;
        }
    if (count > use.names.size())
        refuse_repeats(code, deciding);
    auto const capture = [&](segment const& each_segment) -> std::optional<std::size_t> {
        if (each_segment.kind != segment::kind_type::placeholder)
            return std::nullopt;
        return position(use.names, each_segment.text);
    };
    use.pattern = sides[use.is_right].add(make_key_pattern(segments, capture));
    return use;
}

/// Reports a statement that matches no key, according to the options. The statement is dropped.
inline void report_no_match(macro_context& context, statement const& statement, std::size_t which) {
    name const deciding = context.code.names(statement)[which];
    bool const is_right = which >= statement.left;
    std::string const key = bare_name_text(context.code, deciding);
    bool const is_read = is_right == context.options.reverse;
    bool const is_open = has_segment(context.code, deciding, segment::kind_type::anything);
    if (is_read && !is_open && context.is_lost(context.code.pattern(deciding)))
        throw no_value{};
    std::string const message =
        is_open ? words("no key of the ", side_name(context, !is_right),
                        " that no other statement takes matches '", key,
                        "' (states follow their parameters); the statement does nothing")
                : "no key of the " + std::string(side_name(context, !is_right)) +
                      (is_read ? " and no result of " + maker_text(context) : "") + " matches '" +
                      key + "'; the statement does nothing" +
                      context.near(is_right ? context.right : context.left,
                                   context.code.pattern(deciding));
    context.code.add_unmatched(statement);
    if (context.options.no_match == on_no_match::error)
        fail_in(statement, {errc::unknown_key, message, deciding.where, key});
    if (context.options.no_match == on_no_match::warn)
        context.warn(statement, "no_match", key, message);
}

/// Whether a statement has placeholders, and no `**`, whose macro takes both.
inline bool has_placeholders(program const& code, statement const& statement) {
    return has_segment(code, statement, segment::kind_type::placeholder) &&
           !has_segment(code, statement, segment::kind_type::anything);
}

/// Examines all statements with placeholders. Other statements get std::nullopt.
inline vector<std::optional<placeholder_use>>
inspect_all(macro_context& context, vector<statement>& statements, placeholder_sides& sides) {
    vector<std::optional<placeholder_use>> uses(statements.size());
    for (std::size_t i = 0; i < statements.size(); ++i)
        if (has_placeholders(context.code, statements[i]))
            attempt(context, statements[i],
                    [&] { uses[i] = inspect(context, statements[i], sides); });
    return uses;
}

/// Reserves memory for the names in the expanded statements.
inline void reserve_instances(macro_context& context, vector<statement> const& statements,
                              vector<std::optional<placeholder_use>> const& uses,
                              placeholder_sides& sides) {
    std::size_t names = 0;
    for (std::size_t i = 0; i < uses.size(); ++i)
        if (uses[i])
            names += sides[uses[i]->is_right].matches(uses[i]->pattern).size() *
                     (statements[i].left + statements[i].right);
    context.code.reserve_names(std::min(names, context.names.left()));
}

RESHARD_DECL void expand_placeholders(macro_context& context, vector<statement>& statements) {
    auto const is_open = [&](statement const& statement) {
        return has_placeholders(context.code, statement);
    };
    if (std::ranges::none_of(statements, is_open))
        return;
    placeholder_sides sides;
    auto const uses = inspect_all(context, statements, sides);
    for (bool const is_right : {false, true})
        if (!sides[is_right].empty())
            sides[is_right].search(is_right ? *context.right : *context.left,
                                   context.options.state_suffixes, context.steps);
    reserve_instances(context, statements, uses, sides);
    pattern_index& read = sides[context.options.reverse];
    auto const expand = [&](std::size_t i, vector<statement>& expanded) {
        std::size_t const first = expanded.size();
        if (!uses[i])
            expanded.push_back(statements[i]);
        else
            attempt(context, statements[i], expanded, [&](statement const& statement) {
                append_instances(context, statement, *uses[i],
                                 sides[uses[i]->is_right].matches(uses[i]->pattern), expanded);
                if (expanded.size() == first)
                    report_no_match(context, statement, uses[i]->deciding);
            });
        for (std::size_t result = first; result < expanded.size(); ++result)
            add_made(context, expanded[result], read);
    };
    statements = expand_in_order(context, statements.size(), expand);
}

} // namespace reshard::aoa::detail

#endif
