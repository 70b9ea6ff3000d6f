// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_FUSED_QKV_IPP
#define RESHARD_AOA_MACRO_IMPL_FUSED_QKV_IPP

#include <reshard/aoa/macro/fused_qkv.hpp>

#include <reshard/aoa/macro/fused.hpp>

#include <cstddef>

namespace reshard::aoa::detail {

RESHARD_DECL void expand_fused_qkv(macro_context& context, statement const& one,
                                   std::vector<statement>& expanded) {
    if (!is_fused(context, one, "fused_qkv"))
        return expanded.push_back(one);
    fused_statement fused(context, one, "fused_qkv",
                          "q, k, v -> d, fused_qkv, num_heads=n, num_key_value_groups=m  or  "
                          "s -> q, k, v, fused_qkv, ..., optionally with axis=n");
    auto const count = read_heads(fused);
    bool const fuses = one.left == 3 && one.right == 1;
    fused.check_form(fuses || (one.left == 1 && one.right == 3));
    std::vector<name> heads[3];
    for (std::size_t i = 0; i < 3; ++i)
        heads[i] = fused.pieces(fused.text(fuses ? fused.left(i) : fused.right(i)),
                                i == 0 ? count.query : count.key);
    auto const order = qkv_order(heads, static_cast<std::size_t>(count.key));
    name const whole = fuses ? fused.right(0) : fused.left(0);
    if (!fuses)
        fused.append(expanded, {&whole, 1}, order);
    for (std::size_t i = 0; i < 3; ++i) {
        name const projection = fuses ? fused.left(i) : fused.right(i);
        if (fuses)
            fused.append(expanded, {&projection, 1}, heads[i]);
        else
            fused.append(expanded, heads[i], {&projection, 1});
    }
    if (fuses)
        fused.append(expanded, order, {&whole, 1});
}

} // namespace reshard::aoa::detail

#endif
