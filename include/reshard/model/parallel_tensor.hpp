// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_PARALLEL_TENSOR_HPP
#define RESHARD_MODEL_PARALLEL_TENSOR_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/mesh.hpp>
#include <reshard/layout/placement.hpp>
#include <reshard/layout/sharding.hpp>
#include <reshard/model/parallelism.hpp>
#include <reshard/model/pipeline.hpp>
#include <reshard/model/tensor_cut.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Makes the layout of a model's tensor from the parallelism of a job.

namespace reshard::detail {

/// A placement and the name of the mesh axis that it belongs to.
struct named_placement {
    std::string_view mesh_axis;
    placement spread;
};

/// One placement for each axis of the mesh, in the order of the mesh. Axes that are not named
/// replicate.
///
/// \throws error with errc::bad_layout for a name that the mesh does not have, or that appears
///         twice
constexpr vector<placement> placements_on(mesh const& ranks, vector<named_placement> const& named) {
    vector<placement> placements(ranks.ndim());
    for (std::size_t i = 0; i < named.size(); ++i) {
        placements[ranks.axis(named[i].mesh_axis)] = named[i].spread;
        for (std::size_t earlier = 0; earlier < i; ++earlier)
            if (named[earlier].mesh_axis == named[i].mesh_axis)
                fail(errc::bad_layout, "two placements for mesh axis '", named[i].mesh_axis,
                     "': ", named[earlier].spread, " and ", named[i].spread);
    }
    return placements;
}

/// The ranks that hold a tensor, and the mesh axis along which they cut it.
struct tensor_ranks {
    mesh ranks;
    std::string_view cut_axis = "tp";
    vector<detail::named_placement> fixed = {}; ///< on other mesh axes: a stage, an expert
};

/// The parts into which `cut` divides a tensor of shape `shape` over the ranks `on`.
///
/// \par Units  elements
/// \throws     error with errc::bad_layout if the cut does not fit the shape or the ranks; the
///             message names key, axis and both numbers
/// \par Source Megatron-Core's and PaddlePaddle's tensor-parallel layers. There, an extent that
///             cannot be divided fails an assertion. Ranks that share a key or value head have
///             copies of it, as here
RESHARD_DECL vector<sharding_part> cut_parts(std::string_view key, index_vector const& shape,
                                             model::tensor_cut const& cut, tensor_ranks const& on);

} // namespace reshard::detail

namespace reshard {

namespace model {

/// The position of a tensor in the pipeline.
struct stage_place {
    enum class kind {
        layer, ///< on the stage of its layer
        first, ///< on the first stage: an embedding
        last,  ///< on the last stage: the last norm, a head, layers that predict further tokens
        ends,  ///< on the first and the last stage: an embedding that is also the head
        every,
    };

    kind type = kind::every;
    index_t layer = 0; ///< the layer's number in the model, for `kind::layer`

    constexpr bool operator==(stage_place const&) const = default;
};

/// A tensor on the stage of `layer`. Layers are numbered from 0 in the whole model.
constexpr stage_place on_layer(index_t layer) { return {stage_place::kind::layer, layer}; }
/// A tensor on the first stage: an embedding.
constexpr stage_place on_first_stage() { return {stage_place::kind::first}; }
/// A tensor on the last stage: the last norm, the head.
constexpr stage_place on_last_stage() { return {stage_place::kind::last}; }
/// A tensor on the first and the last stage: an embedding that is also the head.
constexpr stage_place on_both_ends() { return {stage_place::kind::ends}; }

/// A tensor of a model, and the facts about it that parallelism needs.
struct parallel_tensor {
    std::string key;
    index_vector shape; ///< global
    data_type dtype = data_type::bf16;
    tensor_cut cut = {};
    stage_place stage = {};
    std::optional<index_t> expert = {}; ///< the expert's number in the model
};

/// A training job: its ranks, its pipeline and its experts.
class parallel_job {
public:
    /// `experts` is the number of experts in a layer.
    ///
    /// \throws error with errc::bad_layout if degrees do not fit together, or do not fit the
    ///         pipeline or the experts
    explicit parallel_job(parallelism const& degrees, pipeline stages = {}, index_t experts = 0);

    holder_t rank_count() const;
    mesh const& dense() const { return dense_; }
    mesh const& expert() const { return expert_; }
    pipeline const& stages() const { return stages_; }
    expert_numbers const& experts() const { return experts_; }

private:
    mesh dense_;
    mesh expert_;
    pipeline stages_;
    expert_numbers experts_;
};

} // namespace model

/// The layout of a tensor.
///
/// \throws error with errc::bad_layout if the tensor does not fit the job; the message names key,
///         axis and both numbers
RESHARD_DECL tensor_sharding sharding_of(model::parallel_tensor const& tensor,
                                         model::parallel_job const& job);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/parallel_tensor.ipp>
#endif

#endif
