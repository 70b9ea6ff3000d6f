// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_LAYOUT_HPP
#define RESHARD_LAYOUT_LAYOUT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/tensor_shards.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

/// \file
/// The shards of a whole state dict and their holders. Shards are listed or computed; computed
/// shards take memory that does not grow with the number of ranks.

namespace reshard {

namespace detail {

/// How a tensor of one shape is distributed: computed if possible, otherwise listed.
struct tensor_spread {
    index_vector shape; ///< global
    std::variant<shard_table, shard_grid, grid_list> shards;

    /// The shards. They refer to this object.
    tensor_shards view() const;

    static constexpr void members(auto& self, auto&& visit) { visit(self.shape, self.shards); }

    bool operator==(tensor_spread const&) const = default;
};

} // namespace detail

/// One tensor of a layout.
struct tensor_layout {
    std::string key;
    data_type dtype{};
    std::uint32_t spread = 0; ///< index in the layout's `spreads`

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.spread);
    }

    bool operator==(tensor_layout const&) const = default;
};

/// All tensors of a state dict with all their shards. Tensors with equal spreads share one spread.
///
/// A thousand tensors over 100,000 ranks have 100 million boxes. Here each tensor takes only a
/// name, a data type and a number, and each computed spread takes a few hundred bytes.
///
/// \invariant `tensors` is sorted by key without duplicates; every holder is less than `holders`
struct layout {
    holder_t holders = 0;
    vector<detail::tensor_spread> spreads;
    vector<tensor_layout> tensors;
    /// Facts about the fused tensors of a checkpoint; not sent to other ranks.
    detail::fused_tensors fused = {};
    /// The rank of each holder, if holders are files of a checkpoint. A rank may have several
    /// files.
    vector<holder_t> ranks = {};
    /// True if the checkpoint's format stores tensors in their global order, regardless of how they
    /// are cut. Then shards are not blocks of a fused tensor.
    bool has_global_order = false;
    detail::quantisation_facts quantised = {}; ///< from the checkpoint's configuration
    /// Tensors of a checkpoint that cannot be read, with the reasons. Nobody holds them. A load
    /// fails only if it requests one of them.
    std::map<std::string, std::string> unread = {};

    /// The tensor with that key, or null.
    tensor_layout const* find(std::string_view key) const;

    /// \pre `tensor` is an element of `tensors`, here and below
    detail::tensor_spread const& spread_of(tensor_layout const& tensor) const {
        return spreads[tensor.spread];
    }
    index_vector const& shape_of(tensor_layout const& tensor) const {
        return spread_of(tensor).shape;
    }
    /// The shards of all ranks. They refer to this object.
    detail::tensor_shards shards_of(tensor_layout const& tensor) const {
        return spread_of(tensor).view();
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.holders, self.spreads, self.tensors);
    }

    bool operator==(layout const&) const = default;
};

namespace detail {

template <>
inline constexpr stored_form form_of<layout>{"layout", 1};

} // namespace detail

/// \throws error with errc::bad_layout or errc::overflow if the invariant does not hold, or if the
///         spread of a tensor does not exist
RESHARD_DECL void validate(layout const& layout);

/// The layout in which holder `i` holds the shards `shards[i]`.
///
/// The shards of a tensor are in the order of their holders. The shards of one holder stay in the
/// given order.
///
/// \throws error with errc::bad_layout for a shard that contradicts itself (see `check`), with
///         errc::shape_mismatch or errc::dtype_mismatch if two shards of a key have different
///         shapes or data types; the message names both ranks
RESHARD_DECL layout layout_of(vector<vector<shard_descriptor>> const& shards);

namespace detail {

/// Like `layout_of`, for lists of shards that the caller keeps.
RESHARD_DECL layout layout_of_spans(vector<std::span<shard_descriptor const>> const& shards);

} // namespace detail

/// The shards of a tensor that a rank holds, in the rank's storage order. Omits flat ranges without
/// elements. A rank beyond the layout's last rank holds no shards.
///
/// \pre `tensor` is an element of `layout.tensors`
RESHARD_DECL vector<shard_descriptor> shards_of(layout const& layout, tensor_layout const& tensor,
                                                index_t rank);

/// A rank's shards of all tensors, in the order of the tensors.
RESHARD_DECL vector<shard_descriptor> shards_of(layout const& layout, index_t rank);

/// The catalog of a layout: its tensors without holders. A fused tensor has the number of parts for
/// which it was made, regardless of how it is cut.
RESHARD_DECL catalog catalog_of(layout const& layout);

namespace detail {

/// The same tensors as if no axis were cut, for callers that need only names, types and shapes.
RESHARD_DECL catalog uncut_tensors(layout const& layout);

} // namespace detail

} // namespace reshard

namespace reshard::detail {

/// Builds a layout from tensors that are added in the order of their keys. Equal spreads are
/// shared.
class layout_builder {
public:
    explicit layout_builder(holder_t holders) : made_{holders, {}, {}, {}} {}

    void reserve(std::size_t tensors) { made_.tensors.reserve(tensors); }

    /// \pre `key` is greater than all keys added before
    void add(std::string key, data_type dtype, tensor_spread spread);

    layout take() &&;

private:
    std::uint32_t number_of(tensor_spread spread);

    layout made_;
    class_table spread_numbers_;
};

/// The descriptor of shard `i` of a tensor.
///
/// \pre `tensor` is an element of `layout.tensors` and has more than `i` shards
RESHARD_DECL shard_descriptor descriptor_of(layout const& layout, tensor_layout const& tensor,
                                            std::size_t i);

/// Throws if a shard and the tensor with the same key have different shapes or data types. The
/// message names both ranks.
///
/// \param other a rank that has a shard of the tensor
RESHARD_DECL void check_same_tensor(shard_descriptor const& shard, holder_t holder,
                                    index_vector const& shape, data_type dtype, holder_t other);

/// A tensor as programs see it: for each axis, the number of distinct offsets of non-empty shards,
/// and whether the parts are equal.
///
/// \par Source the macros of PaddlePaddle count the distinct offsets of all axes together, so that
///             a 2 x 2 grid counts as 4, and assume that all parts are equal; here axes are counted
///             separately
RESHARD_DECL catalog_entry entry_of(std::string key, data_type dtype, tensor_spread const& spread);

/// Appends the offsets of a region along an axis: one offset, or one for each block.
RESHARD_DECL void add_begins(vector<index_t>& begins, box const& region, axis_cycles const& cycles,
                             std::size_t axis);

/// The distinct numbers of `numbers`, in ascending order.
RESHARD_DECL vector<index_t> sorted_once(vector<index_t> numbers);

/// The shards of a tensor as a list.
RESHARD_DECL shard_table listed(tensor_spread const& spread);

/// The shards of a tensor as a list. Each cyclic block is a separate shard.
RESHARD_DECL shard_table blocks_listed(tensor_spread const& spread);

/// Converts each spread of a layout to a list.
RESHARD_DECL layout listed(layout layout);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/catalog_parts.ipp>
#include <reshard/layout/impl/layout.ipp>
#endif

#endif
