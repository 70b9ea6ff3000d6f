// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LOST_ELEMENTS_HPP
#define RESHARD_AOA_LOST_ELEMENTS_HPP

#include <reshard/expr/losses.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// \file
/// Which elements of a tensor a program loses, in words.

namespace reshard::aoa::detail {

/// Finds losses by key.
class lost_elements {
public:
    /// `losses` have to outlive this.
    explicit lost_elements(std::vector<reshard::detail::loss> const& losses);

    bool has(std::string_view key) const { return by_key_.contains(key); }

    /// Words that go on after the reason why a tensor cannot be recovered: the boxes of it that are
    /// lost, or rounded. Nothing for a tensor that is removed: that says it all.
    std::string describe(catalog_entry const& of) const;

private:
    std::unordered_map<std::string_view, reshard::detail::loss const*> by_key_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/lost_elements.ipp>
#endif

#endif
