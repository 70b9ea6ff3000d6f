// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_TYPED_TENSORS_HPP
#define RESHARD_TEST_SUPPORT_TYPED_TENSORS_HPP

#include <reshard/layout/typed_facts.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

/// \file
/// Tensors for every rank of a typed layout, and what their elements are or should be.

namespace reshard::test {

using namespace reshard::detail;

/// What the element of a tensor at a global index is.
using element_rule = std::function<double(std::string_view key, index_vector const& at)>;

/// Memory for all shards of a layout all of whose tensors have elements of type `T`.
template <class Layout, class T>
class typed_tensors {
public:
    typed_tensors() : shards_(Layout::ranks.rank_count()) {
        for (holder_t rank = 0; rank < shards_.size(); ++rank)
            for (shard_descriptor& held : descriptors_of<Layout>(rank)) {
                auto const count = static_cast<std::size_t>(element_count(held.region.shape));
                shards_[rank].push_back({std::move(held), std::vector<T>(count + 1)});
            }
    }

    void fill(element_rule const& rule) {
        each([&](shard_descriptor const& held, index_vector const& at, T& element) {
            element = static_cast<T>(rule(held.key, at));
        });
    }

    /// The number of elements that are not what the rule says.
    std::size_t differences(element_rule const& rule) {
        std::size_t wrong = 0;
        each([&](shard_descriptor const& held, index_vector const& at, T& element) {
            wrong += element != static_cast<T>(rule(held.key, at));
        });
        return wrong;
    }

    template <class Dict>
    std::vector<Dict> state_dicts() {
        std::vector<Dict> all(shards_.size());
        for (std::size_t rank = 0; rank < all.size(); ++rank)
            for (shard& one : shards_[rank]) {
                index_vector const& shape = one.held.region.shape;
                all[rank].add(one.held, tensor_view{one.elements.data(), one.held.dtype, shape,
                                                    row_major_strides(shape)});
            }
        return all;
    }

private:
    struct shard {
        shard_descriptor held;
        std::vector<T> elements;
    };

    template <class Visit>
    void each(Visit&& visit) {
        for (auto& rank : shards_)
            for (shard& one : rank)
                for (index_t i = 0; i < element_count(one.held.region.shape); ++i) {
                    index_vector at = unravel_index(i, one.held.region.shape);
                    for (std::size_t axis = 0; axis < at.size(); ++axis)
                        at[axis] += one.held.region.offset[axis];
                    visit(one.held, at, one.elements[static_cast<std::size_t>(i)]);
                }
    }

    std::vector<std::vector<shard>> shards_; ///< by rank
};

} // namespace reshard::test

#endif
