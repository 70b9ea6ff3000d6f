// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_COMPACT_LAYOUT_HPP
#define RESHARD_LAYOUT_COMPACT_LAYOUT_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/tensor_shards.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

/// \file
/// Who holds what of a whole state dict, in memory that does not grow with the number of ranks.

namespace reshard {

namespace detail {

/// A way of spreading a tensor of one shape: computed where it can be.
struct tensor_spread {
    index_vector shape; ///< global
    std::variant<shard_table, shard_grid, grid_list> shards;

    /// The shards, which refer to this object.
    tensor_shards view() const;

    static constexpr void members(auto& self, auto&& visit) { visit(self.shape, self.shards); }

    bool operator==(tensor_spread const&) const = default;
};

/// One tensor of a compact layout.
struct compact_tensor {
    std::string key;
    data_type dtype{};
    std::uint32_t spread = 0; ///< of the layout's spreads

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.spread);
    }

    bool operator==(compact_tensor const&) const = default;
};

} // namespace detail

/// All tensors of a state dict; those that are spread alike share a spread.
///
/// A layout of a thousand tensors over 100,000 ranks as a `layout` is 100 million boxes; here it is
/// a name, a data type and a number a tensor, and a few hundred bytes a way of spreading.
///
/// \invariant `tensors` is sorted by key, each key once; every holder is less than `holders`
struct compact_layout {
    holder_t holders = 0;
    std::vector<detail::tensor_spread> spreads;
    std::vector<detail::compact_tensor> tensors;

    /// \pre `tensor` is one of `tensors`
    detail::tensor_spread const& spread_of(detail::compact_tensor const& tensor) const {
        return spreads[tensor.spread];
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.holders, self.spreads, self.tensors);
    }

    bool operator==(compact_layout const&) const = default;
};

namespace detail {

template <>
inline constexpr stored_form form_of<compact_layout>{"compact layout", 7};

/// \throws error with errc::bad_layout or errc::overflow where shards are not parts of the tensor
RESHARD_DECL void validate(tensor_spread const& spread);

} // namespace detail

/// \throws error with errc::bad_layout or errc::overflow where the invariant does not hold, or
///         where a tensor is spread in no way
RESHARD_DECL void validate(compact_layout const& all);

/// The layout in which tensors that are spread alike share their list of shards.
RESHARD_DECL compact_layout compact_layout_of(layout all);

/// The same layout with all shards of all ranks listed.
RESHARD_DECL layout layout_of(compact_layout const& all);

/// The shards that a rank holds of a tensor, in the order in which it stores them; flat ranges
/// without elements are left out. A rank behind the layout's last one holds nothing.
///
/// \pre `tensor` is one of the layout's
RESHARD_DECL std::vector<shard_descriptor>
shards_of(compact_layout const& all, detail::compact_tensor const& tensor, holder_t rank);

/// The same of all tensors, in their order.
RESHARD_DECL std::vector<shard_descriptor> shards_of(compact_layout const& all, holder_t rank);

/// The catalog of a layout; each way of spreading is looked at once.
RESHARD_DECL catalog catalog_of(compact_layout const& all);

} // namespace reshard

namespace reshard::detail {

/// A tensor of a layout that lists its shards, or of one that computes them. Refers to the layout.
struct held_tensor {
    index_vector const& shape; ///< global
    data_type dtype;
    tensor_shards shards;
    std::uint32_t spread; ///< tensors of one number have the same shards
};

/// \pre `tensor` is one of the layout's
RESHARD_DECL held_tensor held_in(layout const&, tensor_layout const& tensor);

RESHARD_DECL held_tensor held_in(compact_layout const& all, compact_tensor const& tensor);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/compact_layout.ipp>
#endif

#endif
