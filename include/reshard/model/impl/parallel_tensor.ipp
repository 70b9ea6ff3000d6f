// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_PARALLEL_TENSOR_IPP
#define RESHARD_MODEL_IMPL_PARALLEL_TENSOR_IPP

#include <reshard/model/parallel_tensor.hpp>

#include <reshard/model/cut_parts.hpp>

#include <utility>

namespace reshard {

namespace model {

RESHARD_DECL parallel_job::parallel_job(parallelism const& degrees, pipeline stages,
                                        index_t experts)
    : dense_(dense_mesh(degrees)),
      expert_(expert_mesh(degrees)),
      stages_(std::move(stages)),
      experts_(experts, degrees.ep) {
    if (stages_.stages() != degrees.pp)
        fail(errc::bad_layout, "the pipeline has " + std::to_string(stages_.stages()) +
                                   " stages, but pp=" + std::to_string(degrees.pp));
}

RESHARD_DECL holder_t parallel_job::rank_count() const { return dense_.rank_count(); }

} // namespace model

namespace detail {

RESHARD_DECL std::vector<index_t> stages_of(model::stage_place const& place,
                                            model::pipeline const& stages) {
    index_t const last = stages.stages() - 1;
    switch (place.what) {
    case model::stage_place::kind::layer: return {stages.place_of(place.layer).stage};
    case model::stage_place::kind::first: return {0};
    case model::stage_place::kind::last: return {last};
    case model::stage_place::kind::ends:
        if (last > 0)
            return {0, last};
        return {0};
    default: return {};
    }
}

} // namespace detail

RESHARD_DECL tensor_sharding sharding_of(model::parallel_tensor const& tensor,
                                         model::parallel_job const& job) {
    detail::tensor_ranks on{
        tensor.expert ? job.expert() : job.dense(), tensor.expert ? "etp" : "tp", {}};
    if (tensor.expert)
        on.fixed.push_back({"ep", only{job.experts().rank_of(*tensor.expert)}});
    tensor_sharding result{tensor.key, tensor.dtype, tensor.shape, {}};
    auto const stages = detail::stages_of(tensor.stage, job.stages());
    if (stages.empty())
        result.parts = detail::cut_parts(tensor.key, tensor.shape, tensor.cut, on);
    for (index_t const stage : stages) {
        detail::tensor_ranks staged = on;
        staged.fixed.push_back({"pp", only{stage}});
        for (detail::sharding_part& segment :
             detail::cut_parts(tensor.key, tensor.shape, tensor.cut, staged)) {
            segment.is_copy = stage != stages.front();
            result.parts.push_back(std::move(segment));
        }
    }
    return result;
}

} // namespace reshard

#endif
