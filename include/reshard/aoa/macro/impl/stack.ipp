// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_STACK_IPP
#define RESHARD_AOA_MACRO_IMPL_STACK_IPP

#include <reshard/aoa/macro/macros.hpp>

#include <reshard/aoa/macro/impl/macros.ipp>
#include <reshard/aoa/macro/impl/placeholder.ipp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::aoa::detail {

/// The attribute `stack` or `unstack` of a statement, or null.
inline attribute const* find_stack(program const& code, statement const& statement) {
    attribute const* const stack = find_attribute(code, statement, "stack");
    return stack ? stack : find_attribute(code, statement, "unstack");
}

/// The index of the name that matches all members of a stack: the only name on its side, and not
/// the only name on the other.
inline std::optional<std::size_t> member_index(program const& code, statement const& statement) {
    attribute const* const attribute = find_stack(code, statement);
    if (!attribute || statement.left != 1 || statement.right != 1)
        return std::nullopt;
    return attribute->word == "stack" ? 0 : 1;
}

/// Makes `*` of the placeholder that only the members' name of a stack has.
inline void open_members(macro_context& context, statement& current_statement) {
    auto const which = member_index(context.code, current_statement);
    if (!which)
        return;
    name const members = context.code.names(current_statement)[*which];
    name const stack = context.code.names(current_statement)[1 - *which];
    if (members.kind != name::kind_type::pattern)
        return;
    vector<std::string_view> const others = stack.kind == name::kind_type::pattern
                                                ? placeholders(context.code.pattern(stack))
                                                : vector<std::string_view>();
    vector<segment> segments = context.code.pattern(members);
    std::size_t open = 0;
    for (segment& each_segment : segments)
        if (each_segment.kind == segment::kind_type::placeholder &&
            !std::ranges::binary_search(others, each_segment.text)) {
            if (each_segment.first != 0 || each_segment.factor != 1 || each_segment.divisor != 1)
                throw statement_error{errc::bad_macro,
                                      words("'$", each_segment.text, "' in '",
                                            bare_name_text(context.code, members),
                                            "' counts the members of a stack, and cannot have a "
                                            "formula"),
                                      members.where};
            each_segment = {segment::kind_type::star, {}};
            ++open;
        }
    if (open == 0)
        return;
    if (open > 1)
        throw statement_error{errc::bad_macro,
                              words("'", bare_name_text(context.code, members), "' has ", open,
                                    " placeholders that '", bare_name_text(context.code, stack),
                                    "' does not have; one counts the members of a stack"),
                              members.where};
    name starred = context.code.make_pattern(std::move(segments), members.where);
    starred.transposed = members.transposed;
    name const names[] = {*which == 0 ? starred : stack, *which == 0 ? stack : starred};
    statement const like =
        context.derive(current_statement, find_stack(context.code, current_statement)->word);
    current_statement = context.make(std::span(names).first(1), std::span(names).subspan(1), like);
}

RESHARD_DECL void expand_members(macro_context& context, vector<statement>& statements) {
    for (statement& each_statement : statements)
        attempt(context, each_statement, [&] { open_members(context, each_statement); });
}

/// Whether an attribute leaves all extents as they are.
inline bool keeps_shape(attribute const& attribute) {
    return changes_values(attribute.word) || attribute.word.ends_with("dtype");
}

/// The number of members of a stack that the source has; std::nullopt if its extent is unknown.
///
/// \throws statement_error with errc::shape_mismatch for an axis that the tensor does not have
inline std::optional<index_t> count_members(macro_context const& context,
                                            statement const& statement) {
    auto const& list = context.code.attributes(statement);
    auto const unstack = std::ranges::find_if_not(list, keeps_shape);
    if (context.options.reverse || unstack == list.end() || unstack->word != "unstack")
        return std::nullopt;
    name const stack = context.code.left(statement)[0];
    catalog_entry const* const entry = stack.kind == name::kind_type::text && context.left
                                           ? context.left->find(context.code.text(stack))
                                           : nullptr;
    auto const* const number = std::get_if<index_t>(&unstack->value);
    if (!entry || !number)
        return std::nullopt;
    auto const ndim = static_cast<index_t>(entry->shape.size());
    index_t const axis = *number < 0 ? *number + ndim : *number;
    if (axis < 0 || axis >= ndim)
        throw statement_error{errc::shape_mismatch,
                              words("unstack of '", entry->key, "': axis ", *number,
                                    " is out of range for a tensor of ", counted(ndim, "axis"),
                                    ", shape ", entry->shape),
                              unstack->where, entry->key};
    return entry->shape[static_cast<std::size_t>(stack.transposed ? ndim - 1 - axis : axis)];
}

RESHARD_DECL void expand_unstack(macro_context& context, statement const& current_statement,
                                 vector<statement>& expanded) {
    auto const which = member_index(context.code, current_statement);
    bool const is_open = which == std::size_t{1} &&
                         has_segment(context.code, context.code.right(current_statement)[0],
                                     segment::kind_type::star);
    if (!is_open)
        return expanded.push_back(current_statement);
    name const open = context.code.right(current_statement)[0];
    auto const& segments = context.code.pattern(open);
    if (std::ranges::count(segments, segment::kind_type::star, &segment::kind) > 1)
        return expanded.push_back(current_statement); // `expand_star` refuses it
    auto const count = count_members(context, current_statement);
    if (!count && !context.right && !context.options.reverse)
        fail_in(current_statement,
                {errc::bad_macro,
                 "the number of members is unknown, as the source does not have the tensor, or "
                 "because of the attributes before 'unstack'; name the members, or give a target "
                 "that has them",
                 open.where});
    if (!count)
        return expanded.push_back(current_statement);
    if (*count == 0)
        fail_in(current_statement,
                {errc::shape_mismatch, "the stack has no members: its extent is 0", open.where});
    context.spend(current_statement, context.names, static_cast<std::size_t>(*count));
    expanded.push_back(
        with_names(context, current_statement, segment::kind_type::star, "unstack",
                   [&](std::uint32_t, vector<name>& names) {
                       for (index_t number = 0; number < *count; ++number) {
                           vector<segment> member;
                           for (segment const& each_segment : context.code.pattern(open))
                               if (each_segment.kind == segment::kind_type::star)
                                   append_text(member, std::to_string(number));
                               else if (each_segment.kind == segment::kind_type::text)
                                   append_text(member, each_segment.text);
                               else
                                   member.push_back(each_segment);
                           names.push_back(make_name(context.code, std::move(member), open));
                       }
                   }));
}

RESHARD_DECL void expand_stack(macro_context& context, statement const& current_statement,
                               vector<statement>& expanded) {
    attribute const* const stack = find_stack(context.code, current_statement);
    if (!stack)
        return expanded.push_back(current_statement);
    bool const joins = stack->word == "stack";
    auto const refuse = [&](std::string message) {
        fail_in(current_statement, {errc::bad_macro, std::move(message), stack->where});
    };
    if ((joins ? current_statement.right : current_statement.left) != 1)
        refuse(words("'", stack->word, "' has one tensor on the ", joins ? "right" : "left",
                     ", not ", joins ? current_statement.right : current_statement.left));
    if (auto const* const axis = find_attribute(context.code, current_statement, "axis"))
        refuse(words("'", stack->word, "' says the axis itself, so '", axis->word,
                     "' cannot be given as well"));
    bool const has_many = (joins ? current_statement.left : current_statement.right) > 1;
    vector<attribute> list;
    for (attribute const& each_attribute : context.code.attributes(current_statement)) {
        attribute changed = each_attribute;
        if (each_attribute.word != "stack" && each_attribute.word != "unstack") {
            list.push_back(each_attribute);
            continue;
        }
        if (each_attribute.word != stack->word || &each_attribute != stack)
            refuse("'stack' and 'unstack' can be given only once");
        changed.word = joins ? "unsqueeze" : "axis";
        if (joins || has_many)
            list.push_back(changed);
        changed.word = joins ? "axis" : "squeeze";
        if (!joins || has_many)
            list.push_back(changed);
    }
    statement result = context.derive(current_statement, stack->word);
    result.attributes = context.code.make_attributes(std::move(list));
    expanded.push_back(result);
}

} // namespace reshard::aoa::detail

#endif
