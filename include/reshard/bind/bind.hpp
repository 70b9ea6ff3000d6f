// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_BIND_HPP
#define RESHARD_BIND_BIND_HPP

#include <reshard/bind/shard_views.hpp>
#include <reshard/copy/affine_copy.hpp>
#include <reshard/copy/choose.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/layout/tensor_shards.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/plan_problem.hpp>

/// \file
/// Binds a transfer to memory: turns global coordinates into an affine copy.

namespace reshard {

namespace detail {

/// The position of a box's elements in a shard's memory.
///
/// \par Units elements, relative to the view's first element
struct memory_place {
    index_t offset = 0;
    index_vector strides;

    static constexpr void members(auto& self, auto&& visit) { visit(self.offset, self.strides); }

    bool operator==(memory_place const&) const = default;
};

/// The position of the element at `global`, and `view_strides`, or the strides of the region if the
/// shard is a flat range.
///
/// \par Shape  `view_strides` has one or two numbers for each axis, or one number if the shard is a
///             flat range
/// \pre        `global` lies in the shard; for a flat range, the box that begins there lies in one
///             part, and for a block-cyclic shard, in one block
/// \tparam     Shards `shard_table` or `tensor_shards`
memory_place place_in_shard(auto const& shards, std::size_t shard, index_vector const& global,
                            index_vector const& view_strides) {
    box const region = shards.region(shard);
    index_vector local = global;
    for (std::size_t axis = 0; axis < local.size(); ++axis)
        local[axis] -= region.offset[axis];
    auto const flat = shards.flat(shard);
    if (!flat) {
        memory_place memory{0, view_strides};
        axis_cycles const cycles = shards.cycles(shard);
        for (std::size_t axis = 0; axis < local.size(); ++axis)
            memory.offset += memory_step(cycles, view_strides, local.size(), axis, local[axis]);
        return memory;
    }
    index_t const step = view_strides[0];
    memory_place memory{(ravel_index(local, region.shape) - flat->begin) * step,
                        row_major_strides(region.shape)};
    for (index_t& stride : memory.strides)
        stride *= step;
    return memory;
}

struct bound_plan;

/// Finds the scales of the shards that a plan dequantizes.
class shard_scales {
public:
    virtual ~shard_scales() = default;

    /// The scales of the source shard of a transfer. The reference stays valid until the transfer
    /// has run.
    ///
    /// \pre the transfer's chain dequantizes
    virtual element_scales const& of(bound_plan const& bound, transfer const& t) = 0;

    /// Gets the scales as they are now.
    ///
    /// \par Collective every rank of the group of a job, in the same order
    virtual void fetch() {}
};

/// A plan with its source and target tensors, for the holders that this process plays.
///
/// Refers to all arguments, which must outlive it.
struct bound_plan {
    plan const& whole;
    plan_problem const& problem;
    shard_views<const_tensor_view> const& sources;
    shard_views<tensor_view> const& targets;
    conversion_kernels const* conversions = nullptr; ///< of a plan that casts
    shard_scales* scales = nullptr;                  ///< of a plan that dequantizes
    device_list const* devices = nullptr;            ///< null if all tensors are in host memory

    bool has_devices() const { return devices && !devices->empty(); }
};

/// The devices of a transfer's tensors. An end that this process does not play is in host memory,
/// such as a message.
RESHARD_DECL device_ends ends_of(bound_plan const& bound, transfer const& t);

/// The device of a tensor that this process holds; null for host memory, and for other tensors.
template <class View>
device* device_of(bound_plan const& bound, shard_views<View> const& views, std::uint32_t tensor,
                  std::uint32_t shard) {
    if (!bound.has_devices() || !views.contains(tensor, shard))
        return nullptr;
    return find_device(*bound.devices, views.at(tensor, shard).memory);
}

/// A position in memory, with the strides of the target's factors from there.
///
/// \par Units elements, relative to `data`
template <class Pointer>
struct bound_end {
    Pointer data;
    memory_place position;

    static constexpr void members(auto& self, auto&& visit) { visit(self.data, self.position); }
};

/// The source end of a transfer.
///
/// \pre this process plays the source holder
RESHARD_DECL bound_end<void const*> source_end(bound_plan const& bound, transfer const& t);

/// The target end of a transfer.
///
/// \pre this process plays the target holder
RESHARD_DECL bound_end<void*> target_end(bound_plan const& bound, transfer const& t);

/// The loop of a transfer, from the source's view to the target's view.
///
/// \pre this process plays both holders
RESHARD_DECL affine_copy loop_of(bound_plan const& bound, transfer const& t);

/// The conversion of a transfer's elements from the source's type to the target's type, by the
/// devices that hold them.
///
/// \pre the transfer has a source: `t.source_key != zero_source`. If it dequantizes, this process
///      plays the source holder
RESHARD_DECL element_conversion conversion_of(bound_plan const& bound, transfer const& t);

/// Runs a transfer within this process.
///
/// \pre    this process plays both holders; for zeros, the target holder
/// \throws error with errc::dtype_mismatch for a cast from complex to real numbers
RESHARD_DECL void run_locally(bound_plan const& bound, transfer const& t);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/bind.ipp>
#endif

#endif
