// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_PLACEHOLDER_HPP
#define RESHARD_AOA_MACRO_PLACEHOLDER_HPP

#include <reshard/aoa/macro/array.hpp>
#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/running_order.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// `l.$LAYER_ID.w -> m.$LAYER_ID.w` becomes a statement for each layer that the source has.

namespace reshard::aoa {

namespace detail {

/// The one placeholder that counts down by itself: right of the arrow it is one less.
inline constexpr std::string_view offset_placeholder = "LAYER_ID_OFFSET";

/// The different placeholders of a name, in the order of the alphabet.
inline std::vector<std::string_view> placeholders(std::vector<segment> const& segments) {
    std::vector<std::string_view> names;
    for (segment const& one : segments)
        if (one.kind == segment::kind_type::placeholder)
            names.push_back(one.text);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// A statement with placeholders: the name that decides which numbers there are.
struct placeholder_use {
    std::vector<std::string_view> names; ///< captures, in this order
    std::vector<index_t> shifts;         ///< what the deciding name adds to each
    std::size_t deciding = 0;            ///< which name of the statement that is
    std::size_t pattern = 0;             ///< that it is
};

/// The place of a name in a sorted list that has it.
inline std::size_t position(std::vector<std::string_view> const& names, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::lower_bound(names, name) - names.begin());
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
                                  '$' + std::string(each_name) + " stands in '" +
                                      bare_name_text(code, has) + "' and not in '" +
                                      bare_name_text(code, lacks) +
                                      "'; all names of a statement have the same placeholders",
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

/// What a placeholder adds to the number: what is written, and one less on the right for the
/// offset.
inline index_t shift_of(segment const& placeholder, bool on_right) {
    return placeholder.first - (on_right && placeholder.text == offset_placeholder ? 1 : 0);
}

/// Looks at a statement with placeholders and adds its deciding name to the index.
inline placeholder_use inspect(macro_context const& context, statement const& one,
                               pattern_index& index) {
    program const& code = context.code;
    placeholder_use use;
    use.deciding = deciding_place(context, one);
    name const deciding = code.names(one)[use.deciding];
    for (name const& each_name : code.names(one)) {
        check_has_all(code, deciding, each_name);
        check_has_all(code, each_name, deciding);
    }
    std::vector<segment> const& segments = code.pattern(deciding);
    use.names = placeholders(segments);
    use.shifts.resize(use.names.size());
    std::size_t seen = 0;
    for (segment const& each_segment : segments)
        if (each_segment.kind == segment::kind_type::placeholder) {
            use.shifts[position(use.names, each_segment.text)] =
                shift_of(each_segment, use.deciding >= one.left);
            ++seen;
        }
    if (seen > use.names.size())
        throw statement_error{
            errc::bad_macro,
            "'" + bare_name_text(code, deciding) +
                "' has a placeholder twice, and it decides which numbers there are",
            deciding.where};
    auto const capture = [&](segment const& each_segment) -> std::optional<std::size_t> {
        if (each_segment.kind != segment::kind_type::placeholder)
            return std::nullopt;
        return position(use.names, each_segment.text);
    };
    use.pattern = index.add(make_key_pattern(segments, capture));
    return use;
}

/// Puts the digits of a number behind a text.
inline void append_number(std::string& text, index_t number) {
    char digits[20];
    auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text.append(digits, end);
}

/// Makes the names of the statements that one with placeholders stands for.
class instance_names {
public:
    instance_names(macro_context& context, statement const& one, placeholder_use const& use)
        : context_(context),
          one_(one),
          use_(use),
          has_others_(std::ranges::any_of(
              context.code.pattern(context.code.names(one)[use.deciding]), [](segment const& part) {
                  return part.kind == segment::kind_type::array ||
                         part.kind == segment::kind_type::star;
              })) {}

    /// Whether the name that decides has `*` or `[0:2]` too: then there is a match for each number
    /// that these leave open.
    bool has_others() const { return has_others_; }

    /// Name number `which` for a match; the name that decides is what has been found, which may
    /// have zeros before its numbers.
    name make(std::size_t which, key_match const& found) {
        name const open = context_.code.names(one_)[which];
        name made = which == use_.deciding && !has_others_
                        ? context_.code.make_text(found.key, open.where)
                        : fill(which, open, found.numbers);
        made.transposed = open.transposed;
        return made;
    }

private:
    /// A name with numbers for its placeholders.
    name fill(std::size_t which, name const& open, std::span<index_t const> numbers) {
        std::vector<segment> filled;
        text_.clear();
        for (segment const& part : context_.code.pattern(open))
            if (part.kind == segment::kind_type::text)
                text_ += part.text;
            else if (part.kind == segment::kind_type::placeholder)
                append_number(text_, number_for(which, part, numbers));
            else
                end_text(filled), filled.push_back(part);
        if (filled.empty())
            return context_.code.make_text(text_, open.where);
        end_text(filled);
        return context_.code.make_pattern(std::move(filled), open.where);
    }

    void end_text(std::vector<segment>& filled) {
        if (!text_.empty())
            filled.push_back({segment::kind_type::text, std::exchange(text_, {})});
    }

    index_t number_for(std::size_t which, segment const& part,
                       std::span<index_t const> numbers) const {
        std::size_t const capture = position(use_.names, part.text);
        index_t const number =
            numbers[capture] - use_.shifts[capture] + shift_of(part, which >= one_.left);
        name const open = context_.code.names(one_)[which];
        if (number < 0)
            fail_in(one_, {errc::bad_macro,
                           '$' + part.text + " is " + std::to_string(number) + " in '" +
                               bare_name_text(context_.code, open) + "', which is less than 0",
                           open.where});
        return number;
    }

    macro_context& context_;
    statement const& one_;
    placeholder_use const& use_;
    bool has_others_;
    std::string text_; ///< of the name that is being made
};

/// A statement that matches no key is reported as the options say, and has no successors.
inline void report_no_match(macro_context& context, statement const& one) {
    name const deciding = context.code.names(one)[deciding_place(context, one)];
    std::string const key = bare_name_text(context.code, deciding);
    if (context.is_lost(context.code.pattern(deciding)))
        throw no_value{};
    catalog const* const source = context.options.reverse ? context.right : context.left;
    std::string const message = "no key of the source and nothing that " + maker_text(context) +
                                " makes is '" + key +
                                "' with numbers for its placeholders; the statement does nothing" +
                                context.near(source, context.code.pattern(deciding));
    context.code.add_unmatched(one);
    if (context.options.no_match == on_no_match::error)
        fail_in(one, {errc::unknown_key, message, deciding.where, key});
    if (context.options.no_match == on_no_match::warn)
        context.warn(one, "no_match", key, message);
}

/// A statement for each match of the deciding name.
inline void append_instances(macro_context& context, statement const& one,
                             placeholder_use const& use, std::vector<key_match> const& matches,
                             std::vector<statement>& expanded) {
    statement const like = context.derive(one, '$' + std::string(use.names[0]));
    instance_names instances(context, one, use);
    std::vector<name> names;
    key_match const* last = nullptr;
    for (key_match const& found : matches) {
        if (instances.has_others() && last && same_numbers(*last, found))
            continue;
        last = &found;
        names.clear();
        for (std::size_t i = 0; i < one.left + one.right; ++i)
            names.push_back(instances.make(i, found));
        std::span<name const> const all(names);
        expanded.push_back(context.make(all.first(one.left), all.subspan(one.left), like));
    }
}

/// Looks at all statements with placeholders; the others have none.
inline std::vector<std::optional<placeholder_use>>
inspect_all(macro_context& context, std::vector<statement>& statements, pattern_index& index) {
    std::vector<std::optional<placeholder_use>> uses(statements.size());
    for (std::size_t i = 0; i < statements.size(); ++i)
        if (has_segment(context.code, statements[i], segment::kind_type::placeholder))
            attempt(context, statements[i],
                    [&] { uses[i] = inspect(context, statements[i], index); });
    return uses;
}

} // namespace detail

/// Replaces each statement with placeholders by one for each combination of numbers that there is.
///
/// The first name with a placeholder decides: it is matched against the parameter keys of the
/// source and, if it is none of them, against the names that earlier statements make. The order is
/// by ascending numbers, those of the placeholder that is first in the alphabet first.
///
/// Findings: errc::bad_macro when names do not have the same placeholders, when the deciding name
/// has one twice, or when a number becomes negative; no match, as the options say.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the id macro of AOA (PaddlePaddle flex_checkpoint); there `$LAYER_ID` and
///             `$EXPERT_ID` only, all combinations whether they exist or not, keys of the source
///             alone, and no word where nothing matches
inline void expand_placeholders(macro_context& context, std::vector<statement>& statements) {
    auto const is_open = [&](statement const& one) {
        return detail::has_segment(context.code, one, segment::kind_type::placeholder);
    };
    if (std::ranges::none_of(statements, is_open))
        return;
    pattern_index index;
    auto const uses = detail::inspect_all(context, statements, index);
    catalog const* const source = context.options.reverse ? context.right : context.left;
    index.search(*source, context.options.state_suffixes, context.steps);
    auto const expand = [&](std::size_t i, std::vector<statement>& expanded) {
        std::size_t const first = expanded.size();
        if (!uses[i])
            expanded.push_back(statements[i]);
        else
            attempt(context, statements[i], expanded, [&](statement const& one) {
                auto const& matches = index.matches(uses[i]->pattern);
                if (matches.empty())
                    detail::report_no_match(context, one);
                else
                    detail::append_instances(context, one, *uses[i], matches, expanded);
            });
        for (std::size_t made = first; made < expanded.size(); ++made)
            detail::add_made(context, expanded[made], index);
    };
    statements = detail::expand_in_order(context, statements.size(), expand);
}

} // namespace reshard::aoa

#endif
