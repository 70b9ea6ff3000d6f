// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_OWNERS_IPP
#define RESHARD_MODEL_IMPL_OWNERS_IPP

#include <reshard/model/owners.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

namespace reshard::model {

RESHARD_DECL std::vector<index_t> least_loaded_owners(std::vector<named_size> const& tensors,
                                                      index_t ranks) {
    if (ranks < 1)
        fail(errc::bad_layout, std::to_string(tensors.size()) +
                                   " tensors cannot be distributed over " + std::to_string(ranks) +
                                   " ranks");
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
        loads.push({detail::checked_add(least.first, tensors[i].elements), least.second});
    }
    return owners;
}

} // namespace reshard::model

#endif
