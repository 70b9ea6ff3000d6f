// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LOST_ELEMENTS_IPP
#define RESHARD_AOA_IMPL_LOST_ELEMENTS_IPP

#include <reshard/aoa/lost_elements.hpp>

#include <reshard/core/config.hpp>

namespace reshard::aoa::detail {

RESHARD_DECL lost_elements::lost_elements(std::vector<reshard::detail::loss> const& losses) {
    for (reshard::detail::loss const& one : losses)
        by_key_.emplace(one.key, &one);
}

RESHARD_DECL std::string lost_elements::describe(catalog_entry const& of) const {
    auto const found = by_key_.find(of.key);
    if (found == by_key_.end()) // as where a type cannot be cast back
        return "; nothing of it is lost, but no statement that can be undone has all of it";
    reshard::detail::loss const& one = *found->second;
    if (one.what == reshard::detail::loss::kind::removed)
        return {};
    bool const is_all = one.boxes.size() == 1 && one.boxes[0] == whole(of.shape);
    return (one.what == reshard::detail::loss::kind::rounded ? "; rounded: " : "; lost: ") +
           (is_all ? "all" : reshard::detail::boxes_text(one)) + " of " + to_string(of.shape);
}

} // namespace reshard::aoa::detail

#endif
