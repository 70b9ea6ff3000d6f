// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_HEAD_WIDTHS_IPP
#define RESHARD_AOA_IMPL_HEAD_WIDTHS_IPP

#include <reshard/aoa/head_widths.hpp>

#include <reshard/aoa/make_finding.hpp>
#include <reshard/core/config.hpp>

#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL std::optional<std::string>
head_widths::look_at(program const& code, statement const& one, std::span<expression const> made) {
    if (one.left != 1 || code.origin(one.origin).macro != "fused_qkv")
        return std::nullopt;
    heads const found{one.origin, made.size(), made[0].shape,
                      shown_name(code, one, code.left(one)[0])};
    if (queries_.origin != one.origin) {
        queries_ = found;
        is_compared_ = false;
        return std::nullopt;
    }
    bool const is_values = std::exchange(is_compared_, true); // these may have another size
    if (is_values || found.shape == queries_.shape)
        return std::nullopt;
    return "fused_qkv cuts " + text(queries_) + " and " + text(found) +
           "; queries and keys must have heads of the same size: are num_heads and "
           "num_key_value_groups right?";
}

RESHARD_DECL std::string head_widths::text(heads const& of) {
    return "'" + of.key + "' into " + std::to_string(of.count) + " heads of " + to_string(of.shape);
}

} // namespace reshard::aoa::detail

#endif
