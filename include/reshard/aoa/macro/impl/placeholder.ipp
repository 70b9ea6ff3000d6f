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

/// The only placeholder with a built-in shift: on the right of the arrow it is one less.
inline constexpr std::string_view offset_placeholder = "LAYER_ID_OFFSET";

/// The number that is added to a placeholder's value: the written shift, and -1 for the offset
/// placeholder on the right.
inline index_t shift_of(segment const& placeholder, bool on_right) {
    return placeholder.first - (on_right && placeholder.text == offset_placeholder ? 1 : 0);
}

/// Appends the digits of a number to a text.
inline void append_number(std::string& text, index_t number) {
    char digits[20];
    auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text.append(digits, end);
}

/// The placeholders of a statement, and the deciding name, whose matches determine their numbers.
struct placeholder_use {
    vector<std::string_view> names; ///< placeholders, in the order of the captures
    vector<index_t> shifts;         ///< shift of each placeholder in the deciding name
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

    /// Name number `which` for a match. The deciding name becomes the matching key, whose numbers
    /// may have leading zeros.
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

    index_t number_for(std::size_t which, segment const& placeholder,
                       std::span<index_t const> numbers) const {
        std::size_t const capture = position(use_.names, placeholder.text);
        index_t const number =
            numbers[capture] - use_.shifts[capture] + shift_of(placeholder, which >= one_.left);
        name const open = context_.code.names(one_)[which];
        if (number < 0)
            fail_in(one_,
                    {errc::bad_macro,
                     words('$', placeholder.text, " is ", number, " in '",
                           bare_name_text(context_.code, open), "', but must not be negative"),
                     open.where});
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
        if (instances.has_others() && last && same_numbers(*last, match))
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

/// The index of the first name with a placeholder, on the side that the statement reads or else on
/// the other.
inline std::size_t deciding_place(macro_context const& context, statement const& statement) {
    auto const names = context.code.names(statement);
    std::size_t const first = context.options.reverse ? statement.left : 0;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (std::size_t const index = (first + i) % names.size();
            has_segment(context.code, names[index], segment::kind_type::placeholder))
            return index;
    return 0;
}

/// Examines a statement with placeholders, and adds its deciding name to its side.
inline placeholder_use inspect(macro_context const& context, statement const& statement,
                               placeholder_sides& sides) {
    program const& code = context.code;
    placeholder_use use;
    use.deciding = deciding_place(context, statement);
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
    use.shifts.resize(use.names.size());
    std::size_t count = 0;
    for (segment const& each_segment : segments)
        if (each_segment.kind == segment::kind_type::placeholder) {
            use.shifts[position(use.names, each_segment.text)] =
                shift_of(each_segment, use.is_right);
            ++count;
        }
    if (count > use.names.size())
        throw statement_error{
            errc::bad_macro,
            words("'", bare_name_text(code, deciding),
                  "' has the same placeholder twice, but the name that determines the numbers may "
                  "have each placeholder only once"),
            deciding.where};
    auto const capture = [&](segment const& each_segment) -> std::optional<std::size_t> {
        if (each_segment.kind != segment::kind_type::placeholder)
            return std::nullopt;
        return position(use.names, each_segment.text);
    };
    use.pattern = sides[use.is_right].add(make_key_pattern(segments, capture));
    return use;
}

/// Reports a statement that matches no key, according to the options. The statement is dropped.
inline void report_no_match(macro_context& context, statement const& statement,
                            placeholder_use const& use) {
    name const deciding = context.code.names(statement)[use.deciding];
    std::string const key = bare_name_text(context.code, deciding);
    bool const is_read = use.is_right == context.options.reverse;
    if (is_read && context.is_lost(context.code.pattern(deciding)))
        throw no_value{};
    std::string const message =
        "no key of the " + std::string(side_name(context, !use.is_right)) +
        (is_read ? " and no result of " + maker_text(context) : "") + " matches '" + key +
        "'; the statement does nothing" +
        context.near(use.is_right ? context.right : context.left, context.code.pattern(deciding));
    context.code.add_unmatched(statement);
    if (context.options.no_match == on_no_match::error)
        fail_in(statement, {errc::unknown_key, message, deciding.where, key});
    if (context.options.no_match == on_no_match::warn)
        context.warn(statement, "no_match", key, message);
}

/// Examines all statements with placeholders. Other statements get std::nullopt.
inline vector<std::optional<placeholder_use>>
inspect_all(macro_context& context, vector<statement>& statements, placeholder_sides& sides) {
    vector<std::optional<placeholder_use>> uses(statements.size());
    for (std::size_t i = 0; i < statements.size(); ++i)
        if (has_segment(context.code, statements[i], segment::kind_type::placeholder))
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
        return has_segment(context.code, statement, segment::kind_type::placeholder);
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
                auto const& matches = sides[uses[i]->is_right].matches(uses[i]->pattern);
                if (matches.empty())
                    report_no_match(context, statement, *uses[i]);
                else
                    append_instances(context, statement, *uses[i], matches, expanded);
            });
        for (std::size_t result = first; result < expanded.size(); ++result)
            add_made(context, expanded[result], read);
    };
    statements = expand_in_order(context, statements.size(), expand);
}

} // namespace reshard::aoa::detail

#endif
