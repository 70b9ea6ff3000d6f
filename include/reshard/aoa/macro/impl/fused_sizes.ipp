// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_FUSED_SIZES_IPP
#define RESHARD_AOA_MACRO_IMPL_FUSED_SIZES_IPP

#include <reshard/core/vector.hpp>

#include <reshard/aoa/macro/impl/fused.ipp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Macros for fused tensors in which each part has an equal share of each member: `fused_ffn` for
/// two equal members, `fused` for members of any number and extents.

namespace reshard::aoa::detail {

/// The pieces in the order of a tensor with `parts` parts. Each part has its gate pieces, then its
/// up pieces.
inline vector<name> ffn_order(std::span<name const> gate, std::span<name const> up, index_t parts) {
    vector<name> order;
    std::size_t const step = gate.size() / static_cast<std::size_t>(parts);
    for (std::size_t first = 0; first < gate.size(); first += step) {
        for (std::span<name const> const& kind :
             {gate.subspan(first, step), up.subspan(first, step)})
            order.insert(order.end(), kind.begin(), kind.end());
    }
    return order;
}

/// The least common multiple; refuses an excessive number.
inline index_t common_pieces(fused_statement const& fused, index_t source, index_t target) {
    index_t const step = source / std::gcd(source, target);
    if (step > 1'000'000'000 / target)
        fused.refuse(words("would need more than 1000000000 pieces: ", source,
                           " parts in the source, ", target, " in the target"),
                     {});
    return step * target;
}

/// Appends the statements of one macro with `left` and `right` names on its sides.
inline void expand_ffn(fused_statement& fused, std::size_t left, std::size_t right,
                       vector<statement>& expanded) {
    index_t const source = left == 1 ? fused.left_parts() : 1;
    index_t const target = right == 1 ? fused.right_parts() : 1;
    index_t const count = common_pieces(fused, source, target);
    name from = fused.left(0);
    if (left == 2) {
        name const both[] = {fused.left(0), fused.left(1)};
        from = fused.fresh(fused.text(both[0]) + '.' + fused.text(both[1]) + ".tmp");
        fused.append(expanded, both, {&from, 1});
    }
    auto const gate = fused.pieces("fused_ffn_tmp.GATE_", count);
    auto const up = fused.pieces("fused_ffn_tmp.UP_", count);
    fused.append_split(expanded, from, ffn_order(gate, up, source), source);
    name const first = fused.right(0);
    if (right == 1)
        return fused.append_fused(expanded, ffn_order(gate, up, target), {&first, 1}, target);
    name const second = fused.right(1);
    fused.append(expanded, gate, {&first, 1});
    fused.append(expanded, up, {&second, 1});
}

RESHARD_DECL void expand_fused_ffn(macro_context& context, statement const& current_statement,
                                   vector<statement>& expanded) {
    if (!is_fused(context, current_statement, "fused_ffn"))
        return expanded.push_back(current_statement);
    fused_statement fused(context, current_statement, "fused_ffn",
                          "s -> d, fused_ffn  or  s -> gate, up, fused_ffn  or  gate, up "
                          "-> d, fused_ffn, optionally with "
                          "axis=n");
    fused.allow({"axis"});
    fused.check_form((current_statement.left == 1 && current_statement.right <= 2) ||
                     (current_statement.left == 2 && current_statement.right == 1));
    fused.report_uncut_axis();
    expand_ffn(fused, current_statement.left, current_statement.right, expanded);
}

/// The extents of the members in a `fused` statement.
///
/// \throws failed_statement with errc::bad_macro if not every member has an extent
inline vector<index_t> read_sizes(fused_statement const& fused, statement const& statement) {
    fused.allow({"axis", "sizes"});
    fused.check_form(statement.left == 1 || statement.right == 1);
    vector<index_t> sizes = fused.sizes();
    if (sizes.size() < 2)
        fused.refuse(words("has ", counted(sizes.size(), "size"),
                           "; it needs the extents of two or more tensors"),
                     {});
    std::size_t const tensors = std::max(statement.left, statement.right);
    if (tensors > 1 && tensors != sizes.size())
        fused.refuse(
            words("has ", counted(sizes.size(), "size"), " for ", counted(tensors, "tensor")), {});
    for (index_t const size : sizes)
        if (size < 1)
            fused.refuse(words("has the size ", size, ", which is less than 1"), {});
    return sizes;
}

/// Refuses extents that do not divide into the parts of a side.
inline void check_shares(fused_statement const& fused, vector<index_t> const& sizes, index_t parts,
                         std::string_view side) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] % parts != 0)
            fused.refuse(words("cannot divide ", sizes[i], " elements (size ", i + 1, " of ",
                               sizes.size(), ") equally among the ", counted(parts, "part"),
                               " that the ", side, " has"),
                         {});
}

/// The members of a `fused` statement, each in the same number of pieces.
struct fused_members {
    vector<vector<name>> pieces; ///< by member
    vector<index_t> sizes;       ///< extent of a piece, by member

    /// All pieces in the order of a tensor with `parts` parts, with their extents.
    std::pair<vector<name>, vector<index_t>> order(index_t parts) const {
        std::pair<vector<name>, vector<index_t>> pair;
        std::size_t const step = pieces[0].size() / static_cast<std::size_t>(parts);
        for (std::size_t first = 0; first < pieces[0].size(); first += step)
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                auto const begin = pieces[i].begin() + static_cast<std::ptrdiff_t>(first);
                pair.first.insert(pair.first.end(), begin,
                                  begin + static_cast<std::ptrdiff_t>(step));
                pair.second.resize(pair.second.size() + step, sizes[i]);
            }
        return pair;
    }
};

/// Appends the statements of one macro whose members have these extents.
inline void expand_members(fused_statement& fused, statement const& current_statement,
                           vector<index_t> const& sizes, vector<statement>& expanded) {
    index_t const source = current_statement.left == 1 ? fused.left_parts() : 1;
    index_t const target = current_statement.right == 1 ? fused.right_parts() : 1;
    check_shares(fused, sizes, source, "source");
    check_shares(fused, sizes, target, "target");
    index_t const count = common_pieces(fused, source, target);
    name from = fused.left(0);
    if (current_statement.left > 1) {
        vector<name> all_names;
        for (std::size_t i = 0; i < current_statement.left; ++i)
            all_names.push_back(fused.left(i));
        from = fused.fresh(fused.text(all_names[0]) + ".tmp");
        fused.set_sizes(sizes);
        fused.append(expanded, all_names, {&from, 1});
    }
    fused_members members;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        members.pieces.push_back(fused.pieces("fused_tmp." + std::to_string(i) + "_", count));
        members.sizes.push_back(sizes[i] / count);
    }
    auto [names, extents] = members.order(source);
    fused.set_sizes(std::move(extents));
    fused.append_split(expanded, from, names, source);
    if (current_statement.right == 1) {
        auto [result, made_extents] = members.order(target);
        fused.set_sizes(std::move(made_extents));
        name const name = fused.right(0);
        return fused.append_fused(expanded, result, {&name, 1}, target);
    }
    fused.set_sizes({});
    for (std::size_t i = 0; i < current_statement.right; ++i) {
        name const member = fused.right(i);
        fused.append(expanded, members.pieces[i], {&member, 1});
    }
}

RESHARD_DECL void expand_fused(macro_context& context, statement const& current_statement,
                               vector<statement>& expanded) {
    if (!is_fused(context, current_statement, "fused"))
        return expanded.push_back(current_statement);
    fused_statement fused(
        context, current_statement, "fused",
        "q, k, v -> d, fused, sizes=\"[n, m, ...]\"  or  s -> q, k, v, fused, ... "
        " or  s -> d, fused, ..., optionally with axis=n");
    auto const sizes = read_sizes(fused, current_statement);
    fused.report_uncut_axis();
    expand_members(fused, current_statement, sizes, expanded);
}

} // namespace reshard::aoa::detail

#endif
