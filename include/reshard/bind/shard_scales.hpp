// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_SHARD_SCALES_HPP
#define RESHARD_BIND_SHARD_SCALES_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bind/job.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

/// \file
/// The scales of the shards that a plan dequantizes.

namespace reshard::detail {

struct planned_job;

/// The scales of a source tensor that a program dequantizes.
struct dequantized_source {
    key_id scales = 0;
    index_vector shape; ///< of the scales
    index_vector block; ///< by axis of the tensor; 0 if all elements along it share their scales
    vector<std::optional<std::size_t>> axis; ///< by axis of the tensor: the axis of the scales
    key_id factor = zero_source;  ///< a tensor of one number that the scales are multiplied by
    key_id divisor = zero_source; ///< or divided by
};

/// The source tensors that a program dequantizes, by number.
///
/// \throws error with errc::bad_layout if the program lacks the scales of such a tensor, or if they
///         do not fit it
RESHARD_DECL std::map<key_id, dequantized_source> dequantized_sources(mapping const& program);

/// Some of the scales of a tensor, in row-major order.
struct scale_values {
    box region;
    vector<float> values;

    /// Casts stored scales to f32. Integers of 8 bits are exponents.
    void assign(void const* stored, data_type dtype);

    /// Multiplies or divides by the number in `by`.
    void multiply(scale_values const& by, bool divides);
};

/// Relates the elements of a shard to scales.
///
/// \param view_strides as for `place_in_shard`
/// \pre `values` has the scales of all elements, and outlives the result
RESHARD_DECL element_scales scales_in_shard(dequantized_source const& from,
                                            scale_values const& values, tensor_shards const& shards,
                                            std::uint32_t shard, index_vector const& view_strides);

/// Refuses a problem without the scales of a source tensor that it has.
///
/// \throws error with errc::unknown_key
RESHARD_DECL void check_scales_exist(mapping const& program, plan_problem const& problem);

/// The scales of shards, by shard.
class scale_cache : public shard_scales {
public:
    explicit scale_cache(std::map<key_id, dequantized_source> sources)
        : sources_(std::move(sources)) {}

    RESHARD_DECL element_scales const& of(bound_plan const& bound, transfer const& t) override;

protected:
    std::map<key_id, dequantized_source> const& sources() const { return sources_; }

    /// Ends the references of `of`.
    void clear() { by_shard_.clear(); }

private:
    /// The values stay in memory until `clear`.
    virtual scale_values const& values_of(bound_plan const& bound,
                                          dequantized_source const& from) = 0;

    std::map<key_id, dequantized_source> sources_;
    std::map<std::pair<key_id, std::uint32_t>, element_scales> by_shard_;
};

/// The scales of shards in memory. Each run of their job gets them from the ranks that hold them,
/// as they are then. A rank gets the smallest box of scales that has all of its shards.
class memory_scales final : public scale_cache {
public:
    /// Finds the scales of the shards of holder `me`. Does not communicate.
    ///
    /// \pre `planned` outlives this object
    memory_scales(planned_job const& planned, holder_t me);

    /// Prepares the redistribution of the scales.
    ///
    /// \par Collective every rank of the group, in the same order
    void prepare(const_state_dict const& have, tensor_preparer const& prepare);

    RESHARD_DECL void fetch() override;

private:
    RESHARD_DECL scale_values const& values_of(bound_plan const& bound,
                                               dequantized_source const& from) override;

    planned_job const& planned_;
    std::map<key_id, scale_values> values_;             ///< by number of the scales
    std::map<key_id, vector<std::byte>> stored_values_; ///< in the type of the scales
    std::optional<job> moving_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/shard_scales.ipp>
#endif

#endif
