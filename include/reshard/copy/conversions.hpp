// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONVERSIONS_HPP
#define RESHARD_COPY_CONVERSIONS_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/copy/choose.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/step_chain.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>

/// \file
/// The kernels for casts and scales. A program without casts includes none of them.

namespace reshard::detail {

struct conversion_kernels;

/// The scales of the elements of a shard, by the positions of the elements in memory. So a loop
/// over any of the elements finds their scales, in any order.
///
/// \par Units positions and strides in elements
struct element_scales {
    /// An axis of the shard in memory; several of them make up an axis of the tensor that is cut
    /// into blocks.
    struct memory_axis {
        index_t stride;
        index_t extent;
        std::size_t axis; ///< of the tensor
        index_t distance; ///< between neighbours, along the tensor's axis
    };

    /// The scales along an axis of the tensor.
    struct scaled_axis {
        index_t first; ///< the index of the shard's first element along the axis
        index_t block; ///< the number of elements that share a scale; 0: all of them
        index_t step;  ///< the distance in memory between the scales of neighbouring blocks
    };

    vector<memory_axis> memory; ///< in the order of descending strides
    vector<scaled_axis> axes;
    index_t offset = 0;            ///< added to positions: of a flat range, its begin
    float const* values = nullptr; ///< some of the tensor's scales
    index_t origin = 0;            ///< the position of `values[0]` among all scales

    /// The scales of `count` elements, the first of which is at `position`.
    void fill(index_t position, index_t stride, index_t count, float* result) const;

private:
    /// The same for the first elements that lie along one axis. Returns their number.
    index_t fill_run(index_t position, index_t stride, index_t count, float* result) const;
};

/// The kernels for all casts.
RESHARD_DECL conversion_kernels const& all_conversions();

/// A conversion with these casts, and with the kernels for them.
inline element_conversion casting(data_type source, step_chain const& chain) {
    return {source, chain, &all_conversions()};
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/conversions.ipp>
#endif

#endif
