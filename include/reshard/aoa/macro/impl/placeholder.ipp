// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_PLACEHOLDER_IPP
#define RESHARD_AOA_MACRO_IMPL_PLACEHOLDER_IPP

#include <reshard/aoa/macro/placeholder.hpp>

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/macro/running_order.hpp>
#include <reshard/aoa/statement_text.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace reshard::aoa::detail {

RESHARD_DECL std::vector<std::string_view> placeholders(std::vector<segment> const& segments) {
    std::vector<std::string_view> names;
    for (segment const& one : segments)
        if (one.kind == segment::kind_type::placeholder)
            names.push_back(one.text);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// Refuses a placeholder that stands in one name of a statement and not in another.
inline void check_has_all(program const& code, name const& has, name const& lacks) {
    std::vector<std::string_view> there, here;
    if (has.kind == name::kind_type::pattern)
        there = placeholders(code.pattern(has));
    if (lacks.kind == name::kind_type::pattern)
        here = placeholders(code.pattern(lacks));
    for (std::string_view const each_name : there)
        if (!std::ranges::binary_search(here, each_name))
            throw statement_error{errc::bad_macro,
                                  '$' + std::string(each_name) + " occurs in '" +
                                      bare_name_text(code, has) + "' but not in '" +
                                      bare_name_text(code, lacks) +
                                      "'; all names of a statement must have the same placeholders",
                                  lacks.where};
}

/// The place of the first name with a placeholder on the side that is read, or else on the other.
inline std::size_t deciding_place(macro_context const& context, statement const& one) {
    auto const names = context.code.names(one);
    std::size_t const first = context.options.reverse ? one.left : 0;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (std::size_t const place = (first + i) % names.size();
            has_segment(context.code, names[place], segment::kind_type::placeholder))
            return place;
    return 0;
}

RESHARD_DECL placeholder_use inspect(macro_context const& context, statement const& one,
                                     placeholder_sides& sides) {
    program const& code = context.code;
    placeholder_use use;
    use.deciding = deciding_place(context, one);
    use.is_right = use.deciding >= one.left;
    name const deciding = code.names(one)[use.deciding];
    for (name const& each_name : code.names(one))
        if (each_name.kind != name::kind_type::nothing) {
            check_has_all(code, deciding, each_name);
            check_has_all(code, each_name, deciding);
        }
    if (!(use.is_right ? context.right : context.left))
        throw statement_error{errc::bad_macro,
                              "'" + bare_name_text(code, deciding) +
                                  "' refers to keys of the target, but the target is not known",
                              deciding.where};
    std::vector<segment> const& segments = code.pattern(deciding);
    use.names = placeholders(segments);
    use.shifts.resize(use.names.size());
    std::size_t seen = 0;
    for (segment const& each_segment : segments)
        if (each_segment.kind == segment::kind_type::placeholder) {
            use.shifts[position(use.names, each_segment.text)] =
                shift_of(each_segment, use.is_right);
            ++seen;
        }
    if (seen > use.names.size())
        throw statement_error{
            errc::bad_macro,
            "'" + bare_name_text(code, deciding) +
                "' has the same placeholder twice, but this name determines which numbers exist",
            deciding.where};
    auto const capture = [&](segment const& each_segment) -> std::optional<std::size_t> {
        if (each_segment.kind != segment::kind_type::placeholder)
            return std::nullopt;
        return position(use.names, each_segment.text);
    };
    use.pattern = sides[use.is_right].add(make_key_pattern(segments, capture));
    return use;
}

/// A statement that matches no key is reported as the options say, and has no successors.
inline void report_no_match(macro_context& context, statement const& one,
                            placeholder_use const& use) {
    name const deciding = context.code.names(one)[use.deciding];
    std::string const key = bare_name_text(context.code, deciding);
    bool const is_read = use.is_right == context.options.reverse;
    if (is_read && context.is_lost(context.code.pattern(deciding)))
        throw no_value{};
    std::string const message =
        "no key of the " + std::string(side_name(context, !use.is_right)) +
        (is_read ? " and no result of " + maker_text(context) : "") + " matches '" + key +
        "'; the statement does nothing" +
        context.near(use.is_right ? context.right : context.left, context.code.pattern(deciding));
    context.code.add_unmatched(one);
    if (context.options.no_match == on_no_match::error)
        fail_in(one, {errc::unknown_key, message, deciding.where, key});
    if (context.options.no_match == on_no_match::warn)
        context.warn(one, "no_match", key, message);
}

/// Looks at all statements with placeholders; the others have none.
inline std::vector<std::optional<placeholder_use>>
inspect_all(macro_context& context, std::vector<statement>& statements, placeholder_sides& sides) {
    std::vector<std::optional<placeholder_use>> uses(statements.size());
    for (std::size_t i = 0; i < statements.size(); ++i)
        if (has_segment(context.code, statements[i], segment::kind_type::placeholder))
            attempt(context, statements[i],
                    [&] { uses[i] = inspect(context, statements[i], sides); });
    return uses;
}

/// Makes room for the names of the statements that there will be for the keys of both sides.
inline void reserve_instances(macro_context& context, std::vector<statement> const& statements,
                              std::vector<std::optional<placeholder_use>> const& uses,
                              placeholder_sides& sides) {
    std::size_t names = 0;
    for (std::size_t i = 0; i < uses.size(); ++i)
        if (uses[i])
            names += sides[uses[i]->is_right].matches(uses[i]->pattern).size() *
                     (statements[i].left + statements[i].right);
    context.code.reserve_names(std::min(names, context.names.left()));
}

RESHARD_DECL void expand_placeholders(macro_context& context, std::vector<statement>& statements) {
    auto const is_open = [&](statement const& one) {
        return has_segment(context.code, one, segment::kind_type::placeholder);
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
    auto const expand = [&](std::size_t i, std::vector<statement>& expanded) {
        std::size_t const first = expanded.size();
        if (!uses[i])
            expanded.push_back(statements[i]);
        else
            attempt(context, statements[i], expanded, [&](statement const& one) {
                auto const& matches = sides[uses[i]->is_right].matches(uses[i]->pattern);
                if (matches.empty())
                    report_no_match(context, one, *uses[i]);
                else
                    append_instances(context, one, *uses[i], matches, expanded);
            });
        for (std::size_t made = first; made < expanded.size(); ++made)
            add_made(context, expanded[made], read);
    };
    statements = expand_in_order(context, statements.size(), expand);
}

} // namespace reshard::aoa::detail

#endif
