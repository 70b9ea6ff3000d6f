// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_PARALLELISM_HPP
#define RESHARD_MODEL_PARALLELISM_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/mesh.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <string_view>

/// \file
/// Named parallelism: the number of ranks for each kind of parallelism, and the order of the ranks.

namespace reshard::model {

/// The numbers of experts: each expert-parallel rank has the same number of consecutive experts.
///
/// A key must contain the expert's number in the model: with local numbers, experts of different
/// ranks would have the same key.
struct expert_numbers {
    /// \throws error with errc::bad_layout if the experts cannot be shared equally
    constexpr expert_numbers(index_t total, index_t ranks) : experts_(total), ranks_(ranks) {
        if (total < 0 || ranks < 1 || total % ranks != 0)
            fail(errc::bad_layout, detail::counted(total, "expert"),
                 " cannot be shared equally by ep=", detail::counted(ranks, "rank"));
    }

    /// The number of experts that a rank holds.
    constexpr index_t local_count() const { return experts_ / ranks_; }

    /// The expert-parallel rank that holds an expert.
    ///
    /// \throws error with errc::bad_layout for an expert that does not exist
    constexpr index_t rank_of(index_t expert) const {
        check(expert, experts_, "expert");
        return expert / local_count();
    }

    /// The number of an expert on its rank.
    ///
    /// \throws error with errc::bad_layout for an expert that does not exist
    constexpr index_t local(index_t expert) const {
        check(expert, experts_, "expert");
        return expert % local_count();
    }

    /// The number of an expert in the model, given its number on a rank.
    ///
    /// \post   `rank_of` and `local` of the result are the arguments
    /// \throws error with errc::bad_layout for a rank or an expert that does not exist
    constexpr index_t global(index_t rank, index_t local) const {
        check(rank, ranks_, "expert-parallel rank");
        check(local, local_count(), "local expert");
        return rank * local_count() + local;
    }

private:
    static constexpr void check(index_t number, index_t count, char const* noun) {
        if (number < 0 || number >= count)
            fail(errc::bad_layout, "there is no ", noun, " ", number, " among ", count,
                 "; numbering starts at 0");
    }

    index_t experts_;
    index_t ranks_;
};

/// The layers that have experts: from layer `first` on, one layer in `every`.
///
/// \pre        `every > 0`
/// \par Source `first_k_dense_replace` and `moe_layer_freq` of DeepSeek and Megatron-Core
struct expert_layers {
    index_t first = 0;
    index_t every = 1;

    constexpr bool contains(index_t layer) const {
        BOOST_ASSERT(every > 0);
        return layer >= first && (layer - first) % every == 0;
    }
};

/// The degrees of parallelism of a training job.
///
/// A pipeline stage has `tp * cp * dp` ranks. For experts, the same ranks form groups of `etp * ep`
/// ranks. Each group has a copy of the experts.
///
/// \par Source parallel_state of Megatron-Core: its names, its order of ranks. There, `dp` follows
///             from the number of ranks, and `etp` is `tp` by default
struct parallelism {
    index_t tp = 1;  ///< tensor parallel
    index_t cp = 1;  ///< context parallel: for parameters, the same as data parallel
    index_t dp = 1;  ///< data parallel
    index_t pp = 1;  ///< pipeline stages
    index_t ep = 1;  ///< expert parallel
    index_t etp = 1; ///< tensor parallel, for experts

    /// Ranks along the first names are neighbours. Omitted axes must have the degree 1.
    std::string_view order = "tp-cp-ep-dp-pp";

    constexpr bool operator==(parallelism const&) const = default;
};

/// The names of the rank axes that `parallelism::order` lists.
inline constexpr std::string_view parallelism_names[] = {"tp", "cp", "ep", "dp", "pp"};

} // namespace reshard::model

namespace reshard::detail {

/// \pre `name` is one of `parallelism_names`
constexpr index_t degree_of(model::parallelism const& job, std::string_view name) {
    index_t const degrees[] = {job.tp, job.cp, job.ep, job.dp, job.pp};
    return degrees[std::find(std::begin(model::parallelism_names),
                             std::end(model::parallelism_names), name) -
                   std::begin(model::parallelism_names)];
}

/// Refuses an unknown name, and a name that is in `earlier`.
constexpr void check_name(model::parallelism const& job, std::string_view name,
                          vector<std::string_view> const& earlier) {
    auto const elements = std::end(model::parallelism_names);
    if (std::find(std::begin(model::parallelism_names), elements, name) == elements)
        fail(errc::bad_layout, "the order '", job.order, "' names '", name,
             "'; it may name 'tp', 'cp', 'ep', 'dp' and 'pp'");
    if (std::find(earlier.begin(), earlier.end(), name) != earlier.end())
        fail(errc::bad_layout, "the order '", job.order, "' names '", name, "' twice");
}

/// All names, the fastest first; names that the order omits come last.
///
/// \throws error with errc::bad_layout if the order names an unused axis, or omits a used one
constexpr vector<std::string_view> names_in_order(model::parallelism const& job) {
    vector<std::string_view> names;
    for (std::string_view remainder = job.order; !remainder.empty();) {
        std::string_view const name = remainder.substr(0, remainder.find('-'));
        check_name(job, name, names);
        names.push_back(name);
        remainder.remove_prefix(std::min(remainder.size(), name.size() + 1));
    }
    for (std::string_view const name : model::parallelism_names) {
        if (std::find(names.begin(), names.end(), name) != names.end())
            continue;
        if (degree_of(job, name) != 1)
            fail(errc::bad_layout, "the order '", job.order, "' omits '", name,
                 "', which has the degree ", degree_of(job, name),
                 "; name it, or set the degree to 1");
        names.push_back(name);
    }
    return names;
}

/// The number of copies of each expert.
///
/// \throws error with errc::bad_layout if the ranks of a stage cannot be divided in this way
constexpr index_t expert_copies(model::parallelism const& job) {
    index_t const stage = checked_multiply(checked_multiply(job.tp, job.cp), job.dp);
    if (job.ep < 1 || job.etp < 1 || stage % checked_multiply(job.ep, job.etp) != 0)
        fail(errc::bad_layout, "the ", counted(stage, "rank"), " of a stage (tp=", job.tp,
             " cp=", job.cp, " dp=", job.dp, ") cannot be divided by ep=", job.ep,
             " times etp=", job.etp);
    return stage / (job.ep * job.etp);
}

/// The stride between ranks along an axis.
constexpr index_t distance_along(mesh const& ranks, std::string_view axis) {
    return row_major_strides(ranks.shape())[ranks.axis(axis)];
}

} // namespace reshard::detail

namespace reshard::model {

/// The ranks of a job as a mesh of `pp`, `dp`, `cp` and `tp`: for all tensors except experts.
///
/// The axes are in the reverse of the job's order: ranks along the last axis are neighbours.
///
/// \throws error with errc::bad_layout for a degree below 1 or an order that does not fit
constexpr mesh dense_mesh(parallelism const& job) {
    vector<mesh_axis> axes;
    for (std::string_view const name : detail::names_in_order(job))
        if (name != "ep")
            axes.emplace_back(name, detail::degree_of(job, name));
    std::reverse(axes.begin(), axes.end());
    return mesh(axes);
}

/// The same ranks as a mesh of `pp`, `edp`, `ep` and `etp`: for experts.
///
/// `edp` counts the copies: `tp * cp * dp / (ep * etp)`. It has the position of `dp` in the order,
/// and `etp` the position of `tp`.
///
/// \throws error with errc::bad_layout if that is not a whole number, or if a rank would not be on
///         the same stage as in `dense_mesh`
constexpr mesh expert_mesh(parallelism const& job) {
    mesh const dense = dense_mesh(job);
    vector<mesh_axis> axes;
    for (std::string_view const name : detail::names_in_order(job)) {
        if (name == "tp")
            axes.emplace_back("etp", job.etp);
        else if (name == "dp")
            axes.emplace_back("edp", detail::expert_copies(job));
        else if (name != "cp")
            axes.emplace_back(name, detail::degree_of(job, name));
    }
    std::reverse(axes.begin(), axes.end());
    mesh const experts(axes);
    index_t const apart = detail::distance_along(dense, "pp");
    if (job.pp > 1 && detail::distance_along(experts, "pp") != apart)
        fail(errc::bad_layout, "in the order '", job.order, "', dense stages are ",
             detail::counted(apart, "rank"), " apart, but expert stages are ",
             detail::distance_along(experts, "pp"), "; name 'pp' first or last");
    return experts;
}

} // namespace reshard::model

#endif
