// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_LOOK_UP_IPP
#define RESHARD_MPI_IMPL_LOOK_UP_IPP

#include <reshard/mpi/look_up.hpp>

#include <reshard/bind/check_complete.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/fit_shapes.hpp>
#include <reshard/expr/mapping_index.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <cstddef>
#include <string>

namespace reshard {

namespace detail {

RESHARD_DECL plan_search::plan_search(mpi_group const& world, redistribute_options const& options)
    : world_(world),
      me_(static_cast<holder_t>(world.rank())),
      options_(options),
      exchange_(world) {}

RESHARD_DECL looked_up plan_search::run(known_side const& source, known_side const& target,
                                        std::optional<mapping> program) {
    auto const source_keys = keys_of(source), target_keys = keys_of(target);
    agree_on(world_, [&] {
        compact_layout const wanted = told_layout(target, target_keys);
        result_.program = program ? std::move(*program)
                                  : by_name(catalog_of(told_layout(source, source_keys)), wanted);
        result_.program =
            fit_shapes(std::move(result_.program), wanted, options_.allow_shape_mismatch);
        result_.source = own_layout(source);
        result_.target = own_layout(target);
    });
    if (source.layout)
        agree_on(world_, [&] { plan_with(result_.source); });
    else
        ask(source, source_keys);
    tell();
    return std::move(result_);
}

RESHARD_DECL std::vector<directory_key> plan_search::keys_of(known_side const& side) {
    return side.layout ? std::vector<directory_key>() : gather_keys(world_, exchange_, side.held);
}

RESHARD_DECL compact_layout plan_search::told_layout(known_side const& side,
                                                     std::vector<directory_key> const& keys) const {
    if (side.layout)
        return *side.layout;
    layout all = layout_of(keys, static_cast<holder_t>(world_.size()));
    for (std::size_t i = 0; i < keys.size(); ++i)
        all.tensors[i].shards.push_back(keys[i].holder, whole(keys[i].shape));
    return compact_layout_of(std::move(all));
}

RESHARD_DECL compact_layout plan_search::own_layout(known_side const& side) const {
    if (side.layout)
        return *side.layout;
    std::vector<std::vector<shard_descriptor>> held(static_cast<std::size_t>(world_.size()));
    held[me_] = side.held;
    return compact_layout_of(layout_of(held));
}

RESHARD_DECL plan_problem plan_search::plan_with(compact_layout const& source) {
    plan_problem problem = problem_of(result_.program, source, result_.target);
    result_.whole =
        make_plan(problem, {holder_set::nobody(), holder_set({me_})}, plan_options_of(options_));
    return problem;
}

RESHARD_DECL void plan_search::ask(known_side const& source,
                                   std::vector<directory_key> const& keys) {
    shard_directory directory(world_, exchange_, keys, source.held);
    std::vector<directory_entry> questions;
    agree_on(world_, [&] { questions = questions_to(directory, keys); });
    auto const found = directory.look_up(questions, plan_options_of(options_));
    agree_on(world_, [&] {
        layout shards = layout_of(keys, static_cast<holder_t>(world_.size()));
        std::vector<std::vector<std::uint32_t>> positions(keys.size());
        for (directory_entry const& one : found) {
            shards.tensors[one.key].shards.push_back(one.holder, one.region, one.flat, one.cycles);
            positions[one.key].push_back(one.position);
        }
        compact_layout const known = compact_layout_of(std::move(shards));
        number_by_holder(plan_with(known), positions);
    });
}

RESHARD_DECL std::vector<directory_entry>
plan_search::questions_to(shard_directory const& directory,
                          std::vector<directory_key> const& keys) const {
    std::vector<directory_entry> questions;
    mapping_index const index(result_.program);
    auto const ask_for = [&](piece const& piece) {
        if (piece.source == zero_source)
            return;
        mapping_source const source = result_.program.sources()[piece.source];
        std::size_t const key = directory.find(source.key);
        if (key < keys.size() && keys[key].shape == source.shape)
            questions.push_back({static_cast<key_id>(key), me_, 0, piece.source_box(), {}});
    };
    for (compact_tensor const& tensor : result_.target.tensors) {
        tensor_shards const shards = result_.target.spread_of(tensor).view();
        mapping_output const* const output = result_.program.find(tensor.key);
        if (!output || output->added || output->value.shape != shape_of(tensor))
            continue;
        for (std::uint32_t const i : shards_held(shards, me_))
            for (box const& region : shards.boxes(i))
                index.for_each_piece(*output, region, ask_for);
    }
    return questions;
}

RESHARD_DECL index_vector const& plan_search::shape_of(compact_tensor const& tensor) const {
    return result_.target.spread_of(tensor).shape;
}

RESHARD_DECL void
plan_search::number_by_holder(plan_problem const& problem,
                              std::vector<std::vector<std::uint32_t>> const& positions) {
    for (transfer& moved : result_.whole.transfers) {
        if (moved.source_key == zero_source)
            continue;
        std::uint32_t const tensor = problem.sources[moved.source_key].tensor;
        moved.source_shard = positions[tensor][moved.source_shard];
    }
}

RESHARD_DECL void plan_search::tell() {
    std::vector<addressed_text> texts;
    agree_on(world_, [&] {
        for (auto const& [holder, subplan] : told_parts(result_.whole, me_))
            texts.push_back({static_cast<int>(holder), to_bytes(subplan)});
    });
    auto const told = exchange_.run(texts);
    agree_on(world_, [&] {
        for (addressed_text const& one : told) {
            auto subplan = from_bytes<told_part>(one.bytes);
            check(subplan, one.rank);
            append(result_.whole, std::move(subplan));
        }
    });
}

RESHARD_DECL void plan_search::check(told_part const& told, int rank) const {
    for (transfer const& moved : told.part.transfers)
        if (moved.source_holder != me_ || moved.target_holder != static_cast<holder_t>(rank))
            fail(errc::corrupt_file, "rank " + std::to_string(rank) + " told rank " +
                                         std::to_string(me_) + " of a transfer from rank " +
                                         std::to_string(moved.source_holder) + " to rank " +
                                         std::to_string(moved.target_holder));
    for (key_id const source : told.sources)
        if (source >= result_.whole.source_dtypes.size())
            fail(errc::corrupt_file, "rank " + std::to_string(rank) + " told of source " +
                                         std::to_string(source) + " of " +
                                         std::to_string(result_.whole.source_dtypes.size()));
}

} // namespace detail

} // namespace reshard

#endif
