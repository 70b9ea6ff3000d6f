// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_DIRECTORY_QUERY_IPP
#define RESHARD_MPI_IMPL_DIRECTORY_QUERY_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/directory_query.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/mapping_index.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/plan_sides.hpp>
#include <reshard/mpi/shard_directory.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/subplan.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// The steps of `query_directory`.
class plan_search {
public:
    plan_search(mpi_group const& world, vector<int> const& nodes, options const& options)
        : world_(world),
          me_(static_cast<holder_t>(world.rank())),
          how_(options),
          nodes_(nodes_of(options, nodes)),
          exchange_(world) {
        nodes_.between_nodes = {sender_choice::by_target}; // others' targets are unknown
    }

    std::shared_ptr<planned_job> run(known_side const& source, known_side const& target,
                                     std::optional<mapping> program) {
        auto const source_keys = keys_of(source), target_keys = keys_of(target);
        agree_on(world_, [&] {
            layout source_made, target_made;
            std::tie(planned_->program, planned_->verdict) = fitted_program(
                std::move(program), catalog_of(layout_of_side(source, source_keys, source_made)),
                layout_of_side(target, target_keys, target_made),
                {how_.strict.value, how_.shape_mismatch.value});
            planned_->source = own_layout(source);
            planned_->target = own_layout(target);
            check_scales(planned_->program, planned_->target);
        });
        if (source.layout)
            agree_on(world_, [&] { plan_with(planned_->source); });
        else
            ask(source, source_keys);
        tell();
        agree_on(world_, [&] {
            planned_->problem = problem_of(planned_->program, planned_->source, planned_->target);
        });
        return std::move(planned_);
    }

private:
    vector<directory_key> keys_of(known_side const& side) {
        return side.layout ? vector<directory_key>()
                           : gather_keys(world_, exchange_, side.held.descriptors());
    }

    /// The layout of a side, with all keys. If the holders are not known, fills `layout`, in which
    /// the lowest rank that holds any of a tensor holds all of it.
    layout const& layout_of_side(known_side const& side, vector<directory_key> const& keys,
                                 layout& layout) const {
        if (side.layout)
            return *side.layout;
        vector<shard_table> shards;
        for (directory_key const& directory_key : keys) {
            shards.emplace_back(directory_key.shape.size());
            shards.back().push_back(directory_key.holder, whole(directory_key.shape));
        }
        layout = layout_of_keys(keys, std::move(shards), static_cast<holder_t>(world_.size()));
        return layout;
    }

    /// The layout of a side as far as this rank knows it.
    layout own_layout(known_side const& side) const {
        if (side.layout)
            return *side.layout;
        vector<vector<shard_descriptor>> shards(static_cast<std::size_t>(world_.size()));
        shards[me_] = side.held.descriptors();
        return layout_of(shards);
    }

    /// Plans the transfers to this rank. Returns the problem, which refers to `source`.
    plan_problem plan_with(layout const& source) {
        plan_problem problem = problem_of(planned_->program, source, planned_->target);
        planned_->whole = make_plan(problem, {holder_set::nobody(), holder_set({me_})}, nodes_);
        return problem;
    }

    void ask(known_side const& source, vector<directory_key> const& keys) {
        shard_directory directory(world_, exchange_, keys, source.held.descriptors());
        vector<directory_entry> questions;
        agree_on(world_, [&] { questions = questions_to(directory, keys); });
        auto const match = directory.look_up(questions, nodes_);
        agree_on(world_, [&] {
            vector<shard_table> shards;
            for (directory_key const& directory_key : keys)
                shards.emplace_back(directory_key.shape.size());
            vector<vector<std::uint32_t>> positions(keys.size());
            for (directory_entry const& entry : match) {
                shards[entry.key].push_back(entry.holder, entry.region, entry.flat, entry.cycles);
                positions[entry.key].push_back(entry.position);
            }
            layout const layout =
                layout_of_keys(keys, std::move(shards), static_cast<holder_t>(world_.size()));
            number_by_holder(plan_with(layout), positions);
        });
    }

    /// The regions of source tensors that make up the shards of this rank.
    vector<directory_entry> questions_to(shard_directory const& directory,
                                         vector<directory_key> const& keys) const {
        vector<directory_entry> questions;
        mapping_index const index(planned_->program);
        auto const ask_for = [&](piece const& piece) {
            if (piece.source == zero_source)
                return;
            mapping_source const source = planned_->program.sources()[piece.source];
            std::size_t const key = directory.find(source.key);
            if (key < keys.size() && keys[key].shape == source.shape)
                questions.push_back({static_cast<key_id>(key), me_, 0, piece.source_box(), {}});
        };
        for (tensor_layout const& tensor : planned_->target.tensors) {
            tensor_shards const shards = planned_->target.spread_of(tensor).view();
            mapping_output const* const output = planned_->program.find(tensor.key);
            if (!output || output->added || output->value.shape != shape_of(tensor))
                continue;
            for (std::uint32_t const i : shards_held(shards, me_))
                for (box const& region : shards.boxes(i))
                    index.for_each_piece(*output, region, ask_for);
        }
        return questions;
    }

    index_vector const& shape_of(tensor_layout const& tensor) const {
        return planned_->target.spread_of(tensor).shape;
    }

    /// Replaces the numbers of source shards by the numbers that their holders use.
    void number_by_holder(plan_problem const& problem,
                          vector<vector<std::uint32_t>> const& positions) {
        for (transfer& moved : planned_->whole.transfers) {
            if (moved.source_key == zero_source)
                continue;
            std::uint32_t const tensor = problem.sources[moved.source_key].tensor;
            moved.source_shard = positions[tensor][moved.source_shard];
        }
    }

    /// Sends each source rank the transfers that it must make, and receives the transfers of this
    /// rank.
    void tell() {
        vector<addressed_text> texts;
        agree_on(world_, [&] {
            for (auto const& [holder, message] : subplans_of(planned_->whole, me_))
                texts.push_back({static_cast<int>(holder), to_bytes(message)});
        });
        auto const received = exchange_.run(std::move(texts));
        agree_on(world_, [&] {
            for (addressed_text const& text : received) {
                auto message = from_bytes<subplan>(text.bytes);
                check(message, text.rank);
                append(planned_->whole, std::move(message));
            }
        });
    }

    /// \throws error with errc::corrupt_file if a transfer that `rank` sent does not go from this
    /// rank to `rank`, or has an unknown source
    void check(subplan const& subplan, int rank) const {
        for (transfer const& moved : subplan.part.transfers)
            if (moved.source_holder != me_ || moved.target_holder != static_cast<holder_t>(rank))
                fail(errc::corrupt_file, "rank ", rank, " sent rank ", me_,
                     " a transfer from rank ", moved.source_holder, " to rank ",
                     moved.target_holder);
        for (key_id const source : subplan.sources)
            if (source >= planned_->whole.source_dtypes.size())
                fail(errc::corrupt_file, "rank ", rank, " named source ", source,
                     ", but the number of sources is ", planned_->whole.source_dtypes.size());
    }

    mpi_group const& world_;
    holder_t me_;
    options const& how_;
    plan_options nodes_;
    sparse_exchange exchange_;
    std::shared_ptr<planned_job> planned_ = std::make_shared<planned_job>();
};

inline std::shared_ptr<planned_job> query_directory(mpi_group const& world, call_facts const& facts,
                                                    std::optional<mapping> program,
                                                    options const& options) {
    return plan_search(world, facts.nodes, options)
        .run(facts.sides.source, facts.sides.target, std::move(program));
}

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL detail::shard_lookup directory(holder_t gather_up_to) {
    static constexpr detail::lookup_steps steps{detail::query_directory};
    return {gather_up_to, &steps};
}

} // namespace reshard

#endif
