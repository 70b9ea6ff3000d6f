// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_OWNERS_HPP
#define RESHARD_MODEL_OWNERS_HPP

#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Whole tensors dealt out to ranks so that each has about as much.

namespace reshard {

/// A tensor by name and number of elements.
struct named_size {
    std::string_view key;
    index_t elements = 0;
};

/// Gives each tensor to the rank that has the fewest elements so far; the results stand in the order of
/// `tensors`.
///
/// The largest tensors are dealt first, those of one size in the order of their keys; of ranks with equally
/// many elements the lowest takes the next. So the order of `tensors` does not matter.
///
/// \throws     error with errc::bad_layout where there is no rank
/// \par Source sharding V1 of PaddlePaddle, which takes parameters in the order in which they were made
inline std::vector<index_t> least_loaded_owners(std::vector<named_size> const& tensors,
                                                index_t ranks) {
    if (ranks < 1)
        fail(errc::bad_layout, std::to_string(tensors.size()) + " tensors cannot be dealt out to " +
                                   std::to_string(ranks) + " ranks");
    std::vector<std::size_t> order(tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(-tensors[a].elements, tensors[a].key, a) <
               std::tuple(-tensors[b].elements, tensors[b].key, b);
    });
    using load = std::pair<index_t, index_t>; // elements, rank
    std::priority_queue<load, std::vector<load>, std::greater<>> loads;
    index_t idle = 0; // ranks from here on have nothing yet
    std::vector<index_t> owners(tensors.size());
    for (std::size_t const i : order) {
        load least{0, idle};
        if (idle < ranks && (loads.empty() || loads.top() > least))
            ++idle;
        else {
            least = loads.top();
            loads.pop();
        }
        owners[i] = least.second;
        loads.push({checked_add(least.first, tensors[i].elements), least.second});
    }
    return owners;
}

} // namespace reshard

#endif
