// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_PARTS_IPP
#define RESHARD_AOA_MACRO_IMPL_PARTS_IPP

#include <reshard/aoa/macro/parts.hpp>

#include <reshard/aoa/impl/make_finding.ipp>
#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/make_finding.hpp>

#include <span>

namespace reshard::aoa::detail {

/// The known keys that name number `i` of a statement is made from, or becomes.
inline vector<reached_key> keys_of(macro_context& context, statement const& statement,
                                   std::uint32_t i, index_t axis) {
    bool const is_left = i < statement.left;
    catalog const* const keys = is_left ? context.left : context.right;
    if (!keys)
        return {};
    part_counter const counter(context.code, *context.chain, *keys,
                               std::string(side_name(context, is_left)),
                               context.options.state_suffixes, context.steps);
    try {
        is_left ? counter.before(statement, i, axis) : counter.after(statement, i, axis);
    } catch (statement_error const&) { // reported later if the number of parts matters
    } catch (no_value const&) {
    }
    return counter.reached();
}

/// The value of the macro's `axis` for axis number `other` of `cut`; its present value is `axis`.
inline index_t as_macro_axis(reached_key const& cut, index_t axis, std::size_t other) {
    auto const ndim = static_cast<index_t>(cut.entry->shape.size());
    index_t const here = axis < 0 ? axis + ndim : axis;
    return ndim == 2 ? 1 - here : static_cast<index_t>(other);
}

/// For example `'a', 'b'`.
inline std::string quoted(program const& code, std::span<name const> names) {
    std::string list;
    for (name const& each_name : names)
        list += (list.empty() ? "'" : ", '") + plain_text(code, each_name) +
                (stands_for_transpose(code, each_name) ? "^T'" : "'");
    return list;
}

inline std::string uncut_text(program const& code, statement const& statement,
                              std::string_view word, std::optional<index_t> named,
                              reached_key const& cut) {
    std::size_t const other = *cut.other_cut();
    index_t const axis = named.value_or(1), meant = as_macro_axis(cut, axis, other);
    std::string const text =
        words(word, " runs along axis ", axis, " of ", quoted(code, code.left(statement)), " -> ",
              quoted(code, code.right(statement)), ", which neither side cuts, but '",
              cut.entry->key, "' is cut into ", cut.entry->parts[other], " parts along axis ",
              other, "; write axis=", meant, " if these are tensor-parallel parts");
    return named ? text
                 : text + words(", as for [out, in] weights, or axis=", axis, " if they are not");
}

RESHARD_DECL void report_uncut_axis(macro_context& context, statement const& statement,
                                    std::string_view word, std::optional<index_t> named) {
    std::optional<reached_key> other_key;
    for (std::uint32_t i = 0; i < statement.left + statement.right; ++i)
        for (reached_key const& at : keys_of(context, statement, i, named.value_or(1))) {
            if (at.parts() > 1)
                return;
            if (!other_key && at.other_cut())
                other_key = at;
        }
    if (other_key)
        context.findings.push_back({named ? severity::note : severity::warning, "fused_axis",
                                    other_key->entry->key,
                                    uncut_text(context.code, statement, word, named, *other_key),
                                    statement.where, statement.origin});
}

/// The first position at which one of the ranks' equal parts begins inside a group; std::nullopt if
/// each part begins with a group.
inline std::optional<index_t> cut_inside(reached_key const& at, index_t groups) {
    catalog_entry const& entry = *at.entry;
    index_t const extent = entry.shape[at.axis];
    if (at.parts() < 2 || !entry.is_even(at.axis) || entry.is_scattered(at.axis) ||
        extent % groups != 0)
        return std::nullopt;
    index_t const step = extent / at.parts();
    for (index_t begin = step; step > 0 && begin < extent; begin += step)
        if (begin % (extent / groups) != 0)
            return begin;
    return std::nullopt;
}

inline std::string cut_text(reached_key const& at, std::string_view word, index_t groups,
                            index_t cut) {
    index_t const extent = at.entry->shape[at.axis], rows = extent / groups;
    return words(word, " makes '", at.entry->key, "' of ", counted(groups, "group"), " of ", rows,
                 " along axis ", at.axis, ", but the target cuts it there into ", at.parts(),
                 " parts of ", extent / at.parts(), ": the cut at ", cut, " is inside group ",
                 cut / rows, ", from ", cut / rows * rows, " to ", (cut / rows + 1) * rows,
                 ", so that a rank has queries without their key and value, or the reverse");
}

RESHARD_DECL void report_cut_groups(macro_context& context, statement const& statement,
                                    std::string_view word, index_t axis, index_t groups) {
    for (reached_key const& at : keys_of(context, statement, statement.left, axis))
        if (auto const cut = cut_inside(at, groups))
            return context.findings.push_back({severity::warning, "cut_group", at.entry->key,
                                               cut_text(at, word, groups, *cut), statement.where,
                                               statement.origin});
}

/// For example `a, b^T`.
inline std::string written(program const& code, std::span<name const> names) {
    std::string list;
    for (name const& each_name : names)
        list += (list.empty() ? "" : ", ") + quoted_name(plain_text(code, each_name)) +
                (stands_for_transpose(code, each_name) ? "^T" : "");
    return list;
}

/// For example `gate, up -> fc1, axis=0`: the statement without the macro.
inline std::string plain_form(program const& code, statement const& statement,
                              std::string_view word, index_t axis) {
    bool const is_one_to_one = statement.left == 1 && statement.right == 1;
    std::string const operands = word == "fused_ffn" ? "gate, up"
                                 : word == "fused"   ? "part_0, part_1, ..."
                                                     : "q, k, v";
    return (is_one_to_one ? operands : written(code, code.left(statement))) + " -> " +
           written(code, code.right(statement)) + words(", axis=", axis);
}

RESHARD_DECL void report_scattered(macro_context& context, statement const& statement,
                                   std::string_view word, index_t axis, part_counter const& counter,
                                   std::string_view side) {
    for (reached_key const& at : counter.reached()) {
        if (!at.entry->is_scattered(at.axis))
            continue;
        auto const& [axes, rank, shards] = at.entry->scattered;
        context.findings.push_back(
            {severity::warning, "fused_scattered", at.entry->key,
             words(word, " interleaves '", at.entry->key, "' in ", at.parts(), " parts along axis ",
                   at.axis, ", but these are not the parts that ranks hold: rank ", rank,
                   " of the ", side, " holds ", shards,
                   " boxes there; with such a layout write the plain ",
                   statement.right == 1 ? "concatenation  " : "split  ",
                   plain_form(context.code, statement, word, axis)),
             statement.where, statement.origin});
    }
}

} // namespace reshard::aoa::detail

#endif
