// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/core/vector.hpp>

#ifndef RESHARD_AOA_MACRO_MACROS_HPP
#define RESHARD_AOA_MACRO_MACROS_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/parts.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// \file
/// All macros, and their common functions.

namespace reshard::aoa::detail {

/// The first name that occurs earlier in the list, too, or null.
///
/// \pre each name is a text or a temporary
RESHARD_DECL name const* repeated_name(std::span<name const> names);

/// Whether a statement has the macro's word.
RESHARD_DECL bool is_fused(macro_context const& context, statement const& statement,
                           std::string_view word);

/// Calls `expand(i, expanded)` for each statement `i`, in the order in which they run: from the
/// last to the first if the program runs backwards. Returns the appended statements.
vector<statement> expand_in_order(macro_context const& context, std::size_t statements,
                                  auto const& expand) {
    vector<statement> expanded;
    expanded.reserve(statements);
    for (std::size_t i = 0; i < statements && !context.options.reverse; ++i)
        expand(i, expanded);
    for (std::size_t i = statements; i-- > 0 && context.options.reverse;) {
        auto const first = static_cast<std::ptrdiff_t>(expanded.size());
        expand(i, expanded);
        std::reverse(expanded.begin() + first, expanded.end());
    }
    if (context.options.reverse)
        std::ranges::reverse(expanded);
    return expanded;
}

/// Records that a statement makes the names of an array. The array macro refuses too many names.
inline void add_made_array(macro_context const& context, vector<segment> const& segments,
                           pattern_index& index) {
    segment const& range = segments.back();
    bool const few = range.last - range.first <= static_cast<index_t>(context.options.max_names);
    if (segments.size() != 2 || segments[0].kind != segment::kind_type::text || !few)
        return;
    for (index_t i = range.first; i < range.last; ++i)
        index.add_made(segments[0].text + '_' + std::to_string(i));
}

/// Adds the names that a statement makes to an index: the names on the right or, if the program
/// runs backwards, on the left.
inline void add_made(macro_context const& context, statement const& statement,
                     pattern_index& index) {
    if (!index.has_open())
        return;
    program const& code = context.code;
    for (name const& name : context.options.reverse ? code.left(statement) : code.right(statement))
        if (name.kind == name::kind_type::text)
            index.add_made(code.text(name));
        else if (has_segment(code, name, segment::kind_type::array))
            add_made_array(context, code.pattern(name), index);
}

/// For example `an earlier statement`: the source of results that a statement may read.
inline std::string maker_text(macro_context const& context) {
    return context.options.reverse ? "a later statement" : "an earlier statement";
}

/// Replaces each statement with placeholders by a statement for each existing combination of
/// numbers.
///
/// The first name with a placeholder decides which combinations exist. It is compared with the
/// source's parameter keys and, if none matches, with the names that earlier statements make. In an
/// addition it is compared with keys of the target. The statements are in ascending order of the
/// numbers; the alphabetically first placeholder has precedence.
///
/// Findings: errc::bad_macro if names do not have the same placeholders, if the deciding name has a
/// placeholder twice, or if a number becomes negative; no match, as the options specify.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the id macro of AOA (PaddlePaddle flex_checkpoint); there only `$LAYER_ID` and
///             `$EXPERT_ID`, all combinations whether they exist or not, only keys of the source,
///             and no message if no key matches
RESHARD_DECL void expand_placeholders(macro_context& context, vector<statement>& statements);

/// Replaces each `x^T` by a temporary. A new statement makes the temporary from `x`, with all axes
/// reversed.
///
/// Finding: errc::bad_macro for `x^T` on the right of the arrow.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the transpose macro of AOA (PaddlePaddle flex_checkpoint), which also reverses all
///             axes
RESHARD_DECL void expand_transpose(macro_context& context, vector<statement>& statements);

/// Replaces each name with `[a:b]` by the names that end in `_a`, ..., `_(b-1)`.
///
/// \throws     failed_statement with errc::bad_macro for a range without numbers
/// \par Source the array macro of AOA (PaddlePaddle flex_checkpoint); there such a range deletes
///             the name
RESHARD_DECL void expand_array(macro_context& context, statement const& current_statement,
                               vector<statement>& expanded);

/// Replaces each name with `*` by the keys that have a number in place of `*`, in numeric order. On
/// the left of the arrow they are keys of the source or, if none matches, names that earlier
/// statements make; on the right they are keys of the target. `e.*.w -> _` removes each of the
/// keys, and `_ -> e.*.w` adds each of them.
///
/// Findings: errc::bad_macro for two stars, a star with `^T`, or a star on the right without a
/// target; errc::unknown_key if no key matches.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the star macro of AOA (PaddlePaddle flex_checkpoint); there only keys of the source
RESHARD_DECL void expand_star(macro_context& context, vector<statement>& statements);

/// Replaces each statement with `**` by a statement for each key of the source that its first name
/// on the left matches, and that no statement without `**` reads. If several statements match a
/// key, the first one takes it. An earlier `**` of a name matches as little as possible, perhaps
/// nothing; the same statement may have placeholders. In an addition the keys are the target's.
///
/// States that follow their parameters are not taken. Findings: errc::bad_macro if names do not
/// have equally many `**` or the same placeholders, or have `*` as well; a note that lists keys
/// which an earlier statement took; no match, as the options specify.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source none: in the original, `*` matches numbers only
RESHARD_DECL void expand_anything(macro_context& context, vector<statement>& statements);

/// Makes `*` of the placeholder that only the members of a stack have, as in
/// `e.$EXPERT.w -> e.w, stack=0` and `l.$L.e.w -> l.$L.e.$EXPERT.w, unstack=0`.
///
/// Finding: errc::bad_macro if that placeholder has a formula.
RESHARD_DECL void expand_members(macro_context& context, vector<statement>& statements);

/// Replaces the `*` in the result of an `unstack` by the numbers from 0 up to the extent of the
/// source's tensor. A tensor that the source does not have is left to `expand_star`.
///
/// \throws failed_statement with errc::limit_exceeded
RESHARD_DECL void expand_unstack(macro_context& context, statement const& current_statement,
                                 vector<statement>& expanded);

/// Replaces `stack=k` by `unsqueeze=k, axis=k`, and `unstack=k` by `axis=k, squeeze=k`: a new axis,
/// and a concat along it; a split, and no axis.
///
/// \throws     failed_statement with errc::bad_macro for several stacks, or an axis beside them
/// \par Source none; the words are those of torch and NumPy
RESHARD_DECL void expand_stack(macro_context& context, statement const& current_statement,
                               vector<statement>& expanded);

/// Replaces `s -> d`, `s -> q, k, v` and `q, k, v -> d`, each with `fused_qkv_old`, by splits and
/// concats. Each part of the fused tensor has its queries, then its keys, then its values.
///
/// \throws     failed_statement with errc::bad_macro for another form, a missing or invalid number,
///             heads that do not divide into the parts, or an attribute that the macro does not
///             have
/// \par Source the fused_qkv_old macro of AOA (PaddlePaddle flex_checkpoint); there heads that do
///             not divide are lost
RESHARD_DECL void expand_fused_qkv_old(macro_context& context, statement const& current_statement,
                                       vector<statement>& expanded);

/// Replaces `q, k, v -> d, fused_qkv, ...` and `s -> q, k, v, fused_qkv, ...` by splits and
/// concats. Each group of heads in the fused tensor has its queries, its key, and its value. The
/// cuts of the layouts do not matter.
///
/// \throws     failed_statement with errc::bad_macro for another form, a missing or invalid number,
///             or an attribute that the macro does not have
/// \par Source the fused_qkv macro of AOA (PaddlePaddle flex_checkpoint), whose
///             `num_key_value_groups` is the number of key heads
RESHARD_DECL void expand_fused_qkv(macro_context& context, statement const& current_statement,
                                   vector<statement>& expanded);

/// Replaces `s -> d, fused_ffn`, `s -> gate, up, fused_ffn` and `gate, up -> d, fused_ffn` by
/// splits and concats that match the cuts of the fused tensor on both sides.
///
/// \throws     failed_statement with errc::bad_macro for another form, an attribute that the macro
///             does not have, or unknown parts
/// \par Source the fused_ffn macro of AOA (PaddlePaddle flex_checkpoint); there the number of parts
///             is the number of different offsets along any axis, and 1 for a transposed tensor
RESHARD_DECL void expand_fused_ffn(macro_context& context, statement const& current_statement,
                                   vector<statement>& expanded);

/// Replaces `s -> d`, `s -> a, b, ...` and `a, b, ... -> d`, each with `fused, sizes="[...]"`, by
/// splits and concats. `sizes` lists the extents of the members along the axis. Each part of the
/// fused tensor has an equal share of each member.
///
/// \throws     failed_statement with errc::bad_macro for another form, for missing sizes, for a
///             number of sizes that differs from the number of members, or for sizes that do not
///             divide into the parts
/// \par Source none: this macro generalises `fused_ffn` to any number of tensors
RESHARD_DECL void expand_fused(macro_context& context, statement const& current_statement,
                               vector<statement>& expanded);

/// Adds the names of the scales to the results of `w -> w, quantize="SCHEME"`, unless all names are
/// given. Other attributes, and a concat, become a statement before it.
///
/// \throws     failed_statement with errc::bad_macro for an unknown scheme, another number of
///             results, or attributes after `quantize`
/// \par Source none
RESHARD_DECL void expand_quantize(macro_context& context, statement const& current_statement,
                                  vector<statement>& expanded);

} // namespace reshard::aoa::detail

namespace reshard::aoa {

/// A macro: its name, and its effect on all statements of a program.
struct macro {
    std::string_view name;
    void (*expand)(macro_context&, vector<statement>&);
    bool needs_chain = false; ///< needs to know how a tensor is cut
};

/// All macros. Each is applied to the results of the macro before it.
///
/// \par Source the order of AOA (PaddlePaddle flex_checkpoint), section 3.1 of its description; the
///             layer offset and the ids are one macro here
inline constexpr macro macros[] = {
    {"members", detail::expand_members},
    {"$NAME", detail::expand_placeholders},
    {"[a:b]", each<detail::expand_array>},
    {"unstack", each<detail::expand_unstack>},
    {"*", detail::expand_star},
    {"**", detail::expand_anything},
    {"stack", each<detail::expand_stack>},
    {"^T", detail::expand_transpose},
    {"fused_qkv_old", each<detail::expand_fused_qkv_old>, true},
    {"fused_ffn", each<detail::expand_fused_ffn>, true},
    {"fused_qkv", each<detail::expand_fused_qkv>, true},
    {"fused", each<detail::expand_fused>, true},
    {"quantize", each<detail::expand_quantize>},
};

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/anything.ipp>
#include <reshard/aoa/macro/impl/fused.ipp>
#include <reshard/aoa/macro/impl/fused_sizes.ipp>
#include <reshard/aoa/macro/impl/macros.ipp>
#include <reshard/aoa/macro/impl/placeholder.ipp>
#include <reshard/aoa/macro/impl/quantize.ipp>
#include <reshard/aoa/macro/impl/stack.ipp>
#endif

#endif
