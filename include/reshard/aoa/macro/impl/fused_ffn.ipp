// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_FUSED_FFN_IPP
#define RESHARD_AOA_MACRO_IMPL_FUSED_FFN_IPP

#include <reshard/aoa/macro/fused_ffn.hpp>

#include <reshard/aoa/macro/fused.hpp>

#include <cstddef>
#include <numeric>
#include <string>

namespace reshard::aoa::detail {

RESHARD_DECL std::vector<name> ffn_order(std::span<name const> gate, std::span<name const> up,
                                         index_t parts) {
    std::vector<name> order;
    std::size_t const step = gate.size() / static_cast<std::size_t>(parts);
    for (std::size_t first = 0; first < gate.size(); first += step) {
        for (std::span<name const> const& kind :
             {gate.subspan(first, step), up.subspan(first, step)})
            order.insert(order.end(), kind.begin(), kind.end());
    }
    return order;
}

/// `lcm`, or a refusal where there would be absurdly many pieces.
inline index_t common_pieces(fused_statement const& fused, index_t source, index_t target) {
    index_t const step = source / std::gcd(source, target);
    if (step > 1'000'000'000 / target)
        fused.refuse("would need more than 1000000000 pieces: " + std::to_string(source) +
                         " parts in the source, " + std::to_string(target) + " in the target",
                     {});
    return step * target;
}

/// The statements of one macro that has `left` and `right` names.
inline void expand_ffn(fused_statement& fused, std::size_t left, std::size_t right,
                       std::vector<statement>& expanded) {
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
    fused.append(expanded, {&from, 1}, ffn_order(gate, up, source));
    name const first = fused.right(0);
    if (right == 1)
        return fused.append(expanded, ffn_order(gate, up, target), {&first, 1});
    name const second = fused.right(1);
    fused.append(expanded, gate, {&first, 1});
    fused.append(expanded, up, {&second, 1});
}

RESHARD_DECL void expand_fused_ffn(macro_context& context, statement const& one,
                                   std::vector<statement>& expanded) {
    if (!is_fused(context, one, "fused_ffn"))
        return expanded.push_back(one);
    fused_statement fused(context, one, "fused_ffn",
                          "s -> d, fused_ffn  or  s -> gate, up, fused_ffn  or  gate, up "
                          "-> d, fused_ffn, optionally with "
                          "axis=n");
    fused.allow({"axis"});
    fused.check_form((one.left == 1 && one.right <= 2) || (one.left == 2 && one.right == 1));
    expand_ffn(fused, one.left, one.right, expanded);
}

} // namespace reshard::aoa::detail

#endif
