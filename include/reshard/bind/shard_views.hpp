// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_SHARD_VIEWS_HPP
#define RESHARD_BIND_SHARD_VIEWS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// Finds the tensor in memory for each shard of a layout.

namespace reshard::detail {

/// Numbers the tensors in memory, by shard.
///
/// A shard is identified by the number of its tensor in the layout, and its number in that tensor.
class shard_numbers {
public:
    /// Reserves memory for more shards without memory.
    void reserve_shapes(std::size_t shards) {
        table_.reserve(shards);
        added_.reserve(added_.size() + shards);
    }

    bool contains(std::uint32_t tensor, std::uint32_t shard) const {
        return index_of({tensor, shard}) != class_table::none;
    }

protected:
    struct shard_key {
        std::uint32_t tensor;
        std::uint32_t shard;

        bool operator==(shard_key const&) const = default;
    };

    /// Returns false if the shard already has a number.
    bool put(shard_key where, std::size_t number);

    /// \pre the shard was added
    std::uint32_t number_at(shard_key where) const;

    /// The numbers of a shard that `holder` holds, and that was not yet added.
    ///
    /// \throws error with errc::bad_layout if `holder` does not hold it in `layout`
    shard_key key_of(shard_descriptor const& shard, layout const& layout, holder_t holder);

private:
    std::optional<std::uint32_t> find_shard(shard_descriptor const& shard, std::uint32_t tensor,
                                            tensor_shards const& shards, holder_t holder);

    /// The index of a shard among those that were added, or `class_table::none`.
    std::uint32_t index_of(shard_key where) const;

    struct added_shard {
        shard_key where;
        std::uint32_t number;
    };

    std::uint32_t last_ = 0; ///< the last number found; usually right for the next tensor, too
    class_table table_;
    vector<added_shard> added_; ///< by index
};

/// The tensors of the holders that this process plays, by shard. Refers to their memory.
template <class View>
class shard_views : public shard_numbers {
public:
    /// Adds the tensors of `holder`: each is the shard of `layout` with the same key and region.
    /// Tensors without elements may be at any address, or missing.
    ///
    /// \throws error with errc::bad_layout for a tensor that is not a shard of `holder` in `layout`
    void add(basic_state_dict<View> const& tensors, layout const& layout, holder_t holder) {
        for (auto const& local : tensors)
            if (element_count(local_shape(local.descriptor)) > 0)
                add(key_of(local.descriptor, layout, holder), local.tensor);
    }

    /// Adds the tensor of shard number `shard` of tensor number `tensor`.
    void add(std::uint32_t tensor, std::uint32_t shard, View const& view) {
        add(shard_key{tensor, shard}, view);
    }

    /// Adds a shard without memory, as a row-major tensor; shards of one shape share a view.
    void add_shape(std::uint32_t tensor, std::uint32_t shard, data_type dtype,
                   index_vector const& shape) {
        std::uint32_t const index = shape_table_.number(
            digest_of_all(static_cast<std::uint64_t>(dtype), shape), [&](std::uint32_t candidate) {
                View const& view = views_[shapes_[candidate]];
                return view.dtype == dtype && view.shape == shape;
            });
        if (index == shapes_.size()) {
            shapes_.push_back(static_cast<std::uint32_t>(views_.size()));
            views_.push_back(View{nullptr, dtype, shape, row_major_strides(shape)});
        }
        put({tensor, shard}, shapes_[index]);
    }

    /// \pre the shard was added
    View const& at(std::uint32_t tensor, std::uint32_t shard) const {
        return views_[number_at({tensor, shard})];
    }

private:
    /// Ignores all but the first view of a shard.
    void add(shard_key where, View const& view) {
        if (put(where, views_.size()))
            views_.push_back(view);
    }

    vector<View> views_;
    class_table shape_table_;      ///< numbers the views without memory
    vector<std::uint32_t> shapes_; ///< by such a number, the index of the view
};

/// The shards of a holder that have elements.
RESHARD_DECL vector<std::uint32_t> shards_held(tensor_shards const& shards, holder_t holder);

/// Refuses tensors if a shard of `holder` in `layout` is missing. A shard without elements may be
/// missing.
///
/// Checks each spread once.
///
/// \throws error with errc::bad_layout that names the shard
RESHARD_DECL void check_complete(shard_numbers const& views, layout const& layout, holder_t holder);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/shard_views.ipp>
#endif

#endif
