// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_OVERLAP_HPP
#define RESHARD_BIND_OVERLAP_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/core/config.hpp>
#include <reshard/device/device.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/tensor/view.hpp>

#include <optional>
#include <span>
#include <string>

/// \file
/// Refuses tensors that share memory before any element is written, and shards that were added
/// twice.

namespace reshard::detail {

/// A table with only that shard.
RESHARD_DECL shard_table table_of(shard_descriptor const& shard);

/// Copies the elements that both shards have from `source` to `target`, and returns their number.
/// The other elements of `target` keep their values.
///
/// Keys may differ. Both shards may be flat or strided.
///
/// \throws     the errors of `check` of local shards; errc::shape_mismatch or
///             errc::dtype_mismatch for shards of different tensors, errc::memory_overlap if they
///             share memory
/// \par Source `assign_sharded_slice` of PaddlePaddle Flex Checkpoint, which asserts that one of
///             the two shards has elements, although both must
RESHARD_DECL index_t copy_shared(const_local_shard const& source, local_shard const& target);

struct used_memory {
    memory_space memory;
    address_range bytes;
    std::string const* key;
    bool is_target;
    bool is_dense; ///< every byte of the range belongs to an element
};

RESHARD_DECL void check_apart(used_memory const* before, used_memory const& memory);

/// Refuses a target that shares memory with a source, or that certainly shares it with a target.
/// Refuses tensors on other devices than `devices`.
///
/// Compares the ranges from first to last byte. Interleaved targets, such as column blocks of one
/// matrix, are legal, unless the first byte of one target belongs to another target. A target that
/// is interleaved with a source is not legal, because the two may overlap.
///
/// \throws error with errc::memory_overlap that names both keys; errc::unsupported for a device;
///         the errors of `spaces_of`
RESHARD_DECL void check_memory(std::span<const_state_dict const> source,
                               std::span<state_dict const> target, device_list const& devices = {});

/// Elements in memory, at a distance of `step`.
struct element_row {
    unsigned char const* bytes;
    index_t first;
    index_t step;

    index_t bit(index_t i, int bits) const { return (first + i * step) * bits; }
};

/// The index of the first of `count` elements that differs, or `count`.
RESHARD_DECL index_t first_difference(element_row const& a, element_row const& b, index_t count,
                                      int bits);

/// The offset in `b` of the first element that differs, relative to the first element; std::nullopt
/// if all are equal.
///
/// Both sides are row-major, so fused axes keep the order of elements.
RESHARD_DECL std::optional<index_t>
first_difference(affine_copy const& loop, const_tensor_view const& a, const_tensor_view const& b);

/// Refuses a shard that a rank has added twice, at two addresses, with different elements: the job
/// would read only one of the two.
///
/// Equal shards are replicas. Two shards at one address, such as aliases, are one tensor.
///
/// \param  devices the devices of the tensors
/// \throws error with errc::overlap
RESHARD_DECL void check_twins(const_state_dict const& source, device_list const& devices = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/overlap.ipp>
#endif

#endif
