// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_EQUAL_CLASSES_HPP
#define RESHARD_PLAN_EQUAL_CLASSES_HPP

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Finds equal things, so that the work for them is done once.

namespace reshard {

/// Numbers things so that equal ones, and only those, have the same number.
struct equal_classes {
    std::vector<std::uint32_t> class_of;       ///< by thing
    std::vector<std::uint32_t> representative; ///< by class: one of its things
};

/// Things 0 to `digests.size() - 1` by equality: `equal(i, j)` is asked only where digests are
/// equal.
///
/// A model of 126 equal layers is planned for one: that is a hundredfold.
///
/// \pre  equal things have equal digests
/// \post the representative of a class is the first thing in it
template <class Equal>
constexpr equal_classes classify(std::vector<std::uint64_t> const& digests, Equal&& equal) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
    order.reserve(digests.size());
    for (std::uint32_t i = 0; i < digests.size(); ++i)
        order.push_back({digests[i], i});
    std::sort(order.begin(), order.end());
    equal_classes result{std::vector<std::uint32_t>(digests.size(), 0), {}};
    std::size_t first_class = 0; // of the classes that share the digest at hand
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || order[i].first != order[i - 1].first)
            first_class = result.representative.size();
        std::size_t place = first_class;
        while (place < result.representative.size() &&
               !equal(result.representative[place], order[i].second))
            ++place;
        if (place == result.representative.size())
            result.representative.push_back(order[i].second);
        result.class_of[order[i].second] = static_cast<std::uint32_t>(place);
    }
    return result;
}

} // namespace reshard

#endif
