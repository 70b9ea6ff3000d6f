// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_CHECK_FUSED_CUT_IPP
#define RESHARD_AOA_IMPL_CHECK_FUSED_CUT_IPP

#include <reshard/aoa/check_fused_cut.hpp>

#include <reshard/aoa/make_finding.hpp>

#include <cstddef>
#include <string>
#include <variant>

namespace reshard::aoa::detail {

RESHARD_DECL void check_fused_cut(program const& code, statement const& one,
                                  expression const& tensor) {
    std::string const& macro = code.origin(one.origin).macro;
    if (one.right < 2 || !macro.starts_with("fused") ||
        find_attribute(code.attributes(one), "sizes"))
        return;
    attribute const* const found = find_attribute(code.attributes(one), "axis");
    auto const* const number = found ? std::get_if<index_t>(&found->value) : nullptr;
    auto const ndim = static_cast<index_t>(tensor.ndim());
    if (!number || *number < -ndim || *number >= ndim)
        return;
    index_t const axis = *number < 0 ? *number + ndim : *number;
    index_t const extent = tensor.shape[static_cast<std::size_t>(axis)];
    if (extent % static_cast<index_t>(one.right) == 0)
        return;
    name const& cut = code.left(one)[0];
    throw statement_error{errc::shape_mismatch,
                          macro + " cuts '" + shown_name(code, one, cut) + "' along axis " +
                              std::to_string(axis) + " into " + std::to_string(one.right) +
                              " equal parts, and the extent there is " + std::to_string(extent),
                          cut.where, shown_key(code, one, cut)};
}

} // namespace reshard::aoa::detail

#endif
