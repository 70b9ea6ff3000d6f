// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_FUSED_QKV_OLD_IPP
#define RESHARD_AOA_MACRO_IMPL_FUSED_QKV_OLD_IPP

#include <reshard/aoa/macro/fused_qkv_old.hpp>

#include <reshard/aoa/macro/fused.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace reshard::aoa::detail {

/// Refuses parts of which some would have a key head more than others.
inline void check_parts(fused_statement const& fused, head_counts count, index_t parts,
                        std::string_view side) {
    if (count.key % parts != 0)
        fused.refuse("cannot give equal shares of " + std::to_string(count.key) +
                         " key/value heads to the " + std::to_string(parts) + " parts that the " +
                         std::string(side) + " has",
                     {});
}

/// The statements of one macro; it has three names on the left where it `fuses`, three on the right
/// where it `parts_it`.
inline void expand_qkv_old(fused_statement& fused, head_counts count, bool fuses, bool parts_it,
                           std::vector<statement>& expanded) {
    index_t const source = fuses ? 1 : fused.left_parts();
    index_t const target = parts_it ? 1 : fused.right_parts();
    check_parts(fused, count, source, "source");
    check_parts(fused, count, target, "target");
    std::vector<name> const heads[3] = {fused.pieces("fused_qkv_old_tmp.Q_", count.query),
                                        fused.pieces("fused_qkv_old_tmp.K_", count.key),
                                        fused.pieces("fused_qkv_old_tmp.V_", count.key)};
    name from = fused.left(0);
    if (fuses) {
        name const all[] = {fused.left(0), fused.left(1), fused.left(2)};
        from = fused.fresh(fused.text(all[0]) + '.' + fused.text(all[1]) + '.' +
                           fused.text(all[2]) + ".tmp");
        fused.append(expanded, all, {&from, 1});
    }
    fused.append(expanded, {&from, 1}, qkv_order(heads, static_cast<std::size_t>(source)));
    for (std::size_t i = 0; parts_it && i < 3; ++i) {
        name const projection = fused.right(i);
        fused.append(expanded, heads[i], {&projection, 1});
    }
    name const to = fused.right(0);
    if (!parts_it)
        fused.append(expanded, qkv_order(heads, static_cast<std::size_t>(target)), {&to, 1});
}

RESHARD_DECL void expand_fused_qkv_old(macro_context& context, statement const& one,
                                       std::vector<statement>& expanded) {
    if (!is_fused(context, one, "fused_qkv_old"))
        return expanded.push_back(one);
    fused_statement fused(
        context, one, "fused_qkv_old",
        "s -> d, fused_qkv_old, num_heads=n, num_key_value_groups=m  or  s -> q, k, v, ...  or  "
        "q, k, v -> d, ..., optionally with axis=n");
    auto const count = read_heads(fused);
    bool const fuses = one.left == 3 && one.right == 1;
    bool const parts_it = one.left == 1 && one.right == 3;
    fused.check_form(fuses || parts_it || (one.left == 1 && one.right == 1));
    expand_qkv_old(fused, count, fuses, parts_it, expanded);
}

} // namespace reshard::aoa::detail

#endif
