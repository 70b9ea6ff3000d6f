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

/// The value of the element of a tensor at a global index.
using element_rule = std::function<double(std::string_view key, index_vector const& at)>;

/// Memory for all shards of a layout all of whose tensors have elements of type `T`.
template <class Layout, class T>
class typed_tensors {
public:
    typed_tensors() : shards_(Layout::ranks.rank_count()) {
        for (holder_t rank = 0; rank < shards_.size(); ++rank)
            for (shard_descriptor& descriptor : descriptors_of<Layout>(rank)) {
                auto const count = static_cast<std::size_t>(element_count(local_shape(descriptor)));
                shards_[rank].push_back({std::move(descriptor), std::vector<T>(count + 1)});
            }
    }

    void fill(element_rule const& rule) {
        each([&](shard_descriptor const& descriptor, index_vector const& at, T& element) {
            element = static_cast<T>(rule(descriptor.key, at));
        });
    }

    /// The number of elements that contradict the rule.
    std::size_t differences(element_rule const& rule) {
        std::size_t wrong = 0;
        each([&](shard_descriptor const& descriptor, index_vector const& at, T& element) {
            wrong += element != static_cast<T>(rule(descriptor.key, at));
        });
        return wrong;
    }

    template <class Dict>
    std::vector<Dict> state_dicts() {
        std::vector<Dict> values(shards_.size());
        for (std::size_t rank = 0; rank < values.size(); ++rank)
            for (shard& element : shards_[rank]) {
                index_vector const shape = local_shape(element.held);
                values[rank].add(element.held,
                                 tensor_view{element.elements.data(), element.held.dtype, shape,
                                             row_major_strides(shape)});
            }
        return values;
    }

private:
    struct shard {
        shard_descriptor held;
        std::vector<T> elements;
    };

    template <class Visit>
    void each(Visit&& visit) {
        for (auto& rank : shards_)
            for (shard& element : rank)
                for (index_t i = 0; i < element_count(local_shape(element.held)); ++i) {
                    index_vector at = unravel_index(i, local_shape(element.held));
                    for (axis_cycle const& cycle : element.held.cycles)
                        at[cycle.axis] = at[cycle.axis] / cycle.block * cycle.period +
                                         at[cycle.axis] % cycle.block;
                    for (std::size_t axis = 0; axis < at.size(); ++axis)
                        at[axis] += element.held.region.offset[axis];
                    visit(element.held, at, element.elements[static_cast<std::size_t>(i)]);
                }
    }

    std::vector<std::vector<shard>> shards_; ///< by rank
};

} // namespace reshard::test

#endif
