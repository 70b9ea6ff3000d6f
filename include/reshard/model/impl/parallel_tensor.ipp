// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_PARALLEL_TENSOR_IPP
#define RESHARD_MODEL_IMPL_PARALLEL_TENSOR_IPP

#include <reshard/model/parallel_tensor.hpp>

#include <reshard/core/config.hpp>
#include <reshard/model/rank_group.hpp>

#include <algorithm>
#include <utility>

namespace reshard::detail {

/// Makes the parts of one tensor.
class cut_maker {
public:
    cut_maker(std::string_view key, index_vector const& shape, tensor_ranks const& on)
        : key_(key), shape_(shape), on_(on) {}

    vector<sharding_part> segments(model::tensor_cut const& cut) {
        using kind = model::tensor_cut::kind;
        if (cut.type != kind::none && cut.axis >= shape_.size())
            refuse("tensor parallelism cuts axis ", cut.axis, " of a tensor of ",
                   detail::counted(shape_.size(), "axis"));
        axis_ = cut.axis;
        switch (cut.type) {
        case kind::none: return {segment(0, shape_, on_.ranks, {})};
        case kind::equal: return {even(0, extent())};
        case kind::vocabulary: return {vocabulary(cut.heads)};
        case kind::heads: return {heads(cut.heads)};
        case kind::gate_up: return gate_up();
        default: return qkv(cut.heads, cut.groups);
        }
    }

private:
    template <class... Words>
    [[noreturn]] void refuse(Words const&... why) const {
        fail(errc::bad_layout, "'", key_, "': ", words(why...));
    }

    index_t extent() const { return shape_[axis_]; }
    index_t rank_count() const { return on_.ranks.all_axes[on_.ranks.axis(on_.cut_axis)].extent; }
    std::string degree() const { return words(on_.cut_axis, "=", rank_count()); }

    sharding_part segment(index_t offset, index_vector const& shape, mesh const& ranks,
                          vector<named_placement> placements) const {
        placements.insert(placements.end(), on_.fixed.begin(), on_.fixed.end());
        index_vector at = index_vector::filled(shape_.size(), 0);
        if (!at.empty())
            at[axis_] = offset;
        return {at, distribution(ranks, placements_on(ranks, placements), shape, key_), {}};
    }

    index_vector shape_of(index_t extent) const {
        index_vector shape = shape_;
        shape[axis_] = extent;
        return shape;
    }

    /// Equal parts of the `extent` elements from `offset` on.
    sharding_part even(index_t offset, index_t extent) const {
        return segment(offset, shape_of(extent), on_.ranks,
                       {{on_.cut_axis, shard{axis_, split_rule::even}}});
    }

    sharding_part vocabulary(index_t padded) const {
        index_t const ranks = rank_count();
        if (padded < extent() || padded % ranks != 0)
            refuse("axis ", axis_, ": a vocabulary of ", extent(), " words cannot be padded to ",
                   padded, " for ", degree(), "; use padded_vocabulary");
        vector<index_t> sizes;
        for (index_t i = 0, left = extent(); i < ranks; ++i, left -= sizes.back())
            sizes.push_back(std::min(left, padded / ranks));
        return segment(0, shape_, on_.ranks, {{on_.cut_axis, placement(axis_, std::move(sizes))}});
    }

    /// The number of elements in one of `count` equal units.
    index_t unit(index_t count, std::string const& noun) const {
        if (count < 1 || extent() % count != 0)
            refuse("axis ", axis_, ": the extent ", extent(), " cannot be divided into ", count,
                   " equal ", noun);
        return extent() / count;
    }

    /// Refuses a count that is neither a multiple of the number of ranks nor a divisor of it.
    void check_shares(index_t count, std::string const& noun) const {
        index_t const ranks = rank_count();
        if (count % ranks != 0 && ranks % count != 0)
            refuse("axis ", axis_, ": ", count, " ", noun, " and ", degree(),
                   ": one must divide the other");
    }

    /// The mesh with an additional axis `sharing`: the ranks along it share one of `count` heads or
    /// groups.
    mesh grouped(index_t count) const {
        return model::split_axis(on_.ranks, on_.cut_axis, count, sharing);
    }

    sharding_part heads(index_t count) const {
        unit(count, "heads");
        check_shares(count, "heads");
        if (rank_count() <= count)
            return even(0, extent());
        return segment(0, shape_, grouped(count), {{on_.cut_axis, shard{axis_, split_rule::even}}});
    }

    vector<sharding_part> gate_up() const {
        index_t const half = unit(2, "halves");
        return {even(0, half), even(half, half)};
    }

    vector<sharding_part> qkv(index_t query_heads, index_t groups) const {
        if (query_heads < 1 || groups < 1 || query_heads % groups != 0)
            refuse("axis ", axis_, ": ", query_heads, " query heads cannot be divided into ",
                   groups, " equal groups");
        index_t const head = unit(query_heads + 2 * groups, "query, key and value heads");
        check_shares(groups, "groups");
        if (rank_count() <= groups)
            return {even(0, extent())};
        if (query_heads % rank_count() != 0)
            refuse("axis ", axis_, ": ", query_heads, " query heads cannot be divided equally by ",
                   degree());
        return shared_groups(query_heads / groups * head, head, groups);
    }

    /// The parts of groups that several ranks share. Each group has `queries` elements of query
    /// heads, a key head and a value head.
    vector<sharding_part> shared_groups(index_t queries, index_t head, index_t groups) const {
        mesh const ranks = grouped(groups);
        vector<sharding_part> segments;
        for (index_t group = 0; group < groups; ++group) {
            index_t const offset = group * (queries + 2 * head);
            named_placement const here{on_.cut_axis, only{group}};
            segments.push_back(segment(offset, shape_of(queries), ranks,
                                       {here, {sharing, shard{axis_, split_rule::even}}}));
            segments.push_back(segment(offset + queries, shape_of(2 * head), ranks, {here}));
        }
        return segments;
    }

    static constexpr std::string_view sharing = "sharing";

    std::string_view key_;
    index_vector const& shape_;
    tensor_ranks const& on_;
    std::size_t axis_ = 0;
};

RESHARD_DECL vector<sharding_part> cut_parts(std::string_view key, index_vector const& shape,
                                             model::tensor_cut const& cut, tensor_ranks const& on) {
    return cut_maker(key, shape, on).segments(cut);
}

} // namespace reshard::detail

namespace reshard {

namespace model {

RESHARD_DECL parallel_job::parallel_job(parallelism const& degrees, pipeline stages,
                                        index_t experts)
    : dense_(dense_mesh(degrees)),
      expert_(expert_mesh(degrees)),
      stages_(std::move(stages)),
      experts_(experts, degrees.ep) {
    if (stages_.stages() != degrees.pp)
        fail(errc::bad_layout, "the pipeline has ", stages_.stages(),
             " stages, but pp=", degrees.pp);
}

RESHARD_DECL holder_t parallel_job::rank_count() const { return dense_.rank_count(); }

} // namespace model

namespace detail {

/// The stages that hold a tensor; empty for all stages.
inline vector<index_t> stages_of(model::stage_place const& stage_place,
                                 model::pipeline const& stages) {
    index_t const last = stages.stages() - 1;
    switch (stage_place.type) {
    case model::stage_place::kind::layer: return {stages.place_of(stage_place.layer).stage};
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
