// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_TYPED_SHARDING_HPP
#define RESHARD_MODEL_TYPED_SHARDING_HPP

#include <reshard/layout/compact_sharding.hpp>
#include <reshard/layout/typed_layout.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// From typed layouts to their run-time forms that do not grow with the number of ranks.

namespace reshard {

namespace model {

/// How the tensors of a typed layout are spread, in their order.
template <class Layout>
std::vector<tensor_sharding> shardings_of() {
    std::vector<tensor_sharding> all;
    all.reserve(Layout::keys.size());
    for (std::size_t i = 0; i < Layout::keys.size(); ++i)
        all.push_back(sharding_of(std::string(Layout::keys[i].text), Layout::kinds[i]->dtype,
                                  Layout::kinds[i]->how()));
    return all;
}

} // namespace model

/// A typed layout as a `compact_layout`; the tensors of a kind share a spread there.
template <class Layout>
compact_layout compact_layout_of() {
    compact_layout result = compact_layout_of(model::shardings_of<Layout>());
    result.holders = Layout::ranks.rank_count();
    return result;
}

} // namespace reshard

#endif
