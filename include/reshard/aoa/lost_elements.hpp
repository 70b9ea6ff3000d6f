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

namespace reshard::aoa {

/// Finds losses by key.
class lost_elements {
public:
    /// `losses` have to outlive this.
    explicit lost_elements(std::vector<loss> const& losses) {
        for (loss const& one : losses)
            by_key_.emplace(one.key, &one);
    }

    bool has(std::string_view key) const { return by_key_.contains(key); }

    /// Words that go on after the reason why a tensor cannot be had back: the boxes of it that are
    /// lost, or rounded. Nothing for a tensor that is removed: that says it all.
    std::string describe(catalog_entry const& of) const {
        auto const found = by_key_.find(of.key);
        if (found == by_key_.end()) // as where a type cannot be cast back
            return "; nothing of it is lost, but no statement that can be undone has all of it";
        loss const& one = *found->second;
        if (one.what == loss::kind::removed)
            return {};
        bool const is_all = one.boxes.size() == 1 && one.boxes[0] == whole(of.shape);
        return (one.what == loss::kind::rounded ? "; rounded: " : "; lost: ") +
               (is_all ? "all" : boxes_text(one)) + " of " + to_string(of.shape);
    }

private:
    std::unordered_map<std::string_view, loss const*> by_key_;
};

} // namespace reshard::aoa

#endif
