// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_PARTS_IPP
#define RESHARD_AOA_MACRO_IMPL_PARTS_IPP

#include <reshard/aoa/macro/parts.hpp>

#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/make_finding.hpp>

#include <span>

namespace reshard::aoa::detail {

/// The keys of its side that name `i` of a statement is made of, or becomes; those that can be
/// told.
inline std::vector<reached_key> keys_of(macro_context& context, statement const& one,
                                        std::uint32_t i, index_t axis) {
    bool const is_left = i < one.left;
    catalog const* const keys = is_left ? context.left : context.right;
    if (!keys)
        return {};
    part_counter const counter(context.code, *context.chain, *keys,
                               std::string(side_name(context, is_left)),
                               context.options.state_suffixes, context.steps);
    try {
        is_left ? counter.before(one, i, axis) : counter.after(one, i, axis);
    } catch (statement_error const&) { // said where the number of parts matters
    } catch (no_value const&) {
    }
    return counter.reached();
}

/// The axis of the macro, which has `axis`, that `cut` has as its axis number `other`.
inline index_t as_macro_axis(reached_key const& cut, index_t axis, std::size_t other) {
    auto const ndim = static_cast<index_t>(cut.entry->shape.size());
    index_t const here = axis < 0 ? axis + ndim : axis;
    return ndim == 2 ? 1 - here : static_cast<index_t>(other);
}

/// `'a', 'b'`.
inline std::string quoted(program const& code, std::span<name const> names) {
    std::string list;
    for (name const& each_name : names)
        list += (list.empty() ? "'" : ", '") + plain_text(code, each_name) +
                (stands_for_transpose(code, each_name) ? "^T'" : "'");
    return list;
}

inline std::string uncut_text(program const& code, statement const& one, std::string_view word,
                              std::optional<index_t> named, reached_key const& cut) {
    std::size_t const other = *cut.other_cut();
    index_t const axis = named.value_or(1), meant = as_macro_axis(cut, axis, other);
    std::string const text =
        words(word, " runs along axis ", axis, " of ", quoted(code, code.left(one)), " -> ",
              quoted(code, code.right(one)), ", which neither side cuts, and '", cut.entry->key,
              "' is cut into ", cut.entry->parts[other], " parts along axis ", other,
              "; write axis=", meant, " if these are tensor-parallel parts");
    return named ? text
                 : text + words(", as of [out, in] weights, or axis=", axis, " if they are not");
}

RESHARD_DECL void report_uncut_axis(macro_context& context, statement const& one,
                                    std::string_view word, std::optional<index_t> named) {
    std::optional<reached_key> other;
    for (std::uint32_t i = 0; i < one.left + one.right; ++i)
        for (reached_key const& at : keys_of(context, one, i, named.value_or(1))) {
            if (at.parts() > 1)
                return;
            if (!other && at.other_cut())
                other = at;
        }
    if (other)
        context.findings.push_back(
            {named ? severity::note : severity::warning, "fused_axis", other->entry->key,
             uncut_text(context.code, one, word, named, *other), one.where, one.origin});
}

} // namespace reshard::aoa::detail

#endif
