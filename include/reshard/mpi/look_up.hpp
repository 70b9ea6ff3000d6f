// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_LOOK_UP_HPP
#define RESHARD_MPI_LOOK_UP_HPP

#include <reshard/bind/check_complete.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/fit_shapes.hpp>
#include <reshard/expr/mapping_index.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/mpi/shard_directory.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/told_part.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A plan between layouts that no rank knows whole: targets look up their sources, and tell them.

namespace reshard {

/// What a rank knows of one side before it asks: all of it, or the shards that it has itself.
struct known_side {
    std::optional<compact_layout> layout;
    std::vector<shard_descriptor> held;
    std::vector<shard_descriptor> joined; ///< the same, neighbours in memory as one shard
};

/// What one process gives and gets, and the layouts by whose numbers it is said: that of a side that no
/// rank knows whole has the process's own shards only.
struct looked_up {
    mapping program;
    compact_layout source;
    compact_layout target;
    plan whole;
    bool source_is_joined = false; ///< a rank's shards are those that `join_neighbours` makes
    bool target_is_joined = false;
};

namespace detail {

/// The steps of `look_up`.
class plan_search {
public:
    plan_search(mpi_group const& world, redistribute_options const& options)
        : world_(world),
          me_(static_cast<holder_t>(world.rank())),
          options_(options),
          exchange_(world) {}

    looked_up run(known_side const& source, known_side const& target,
                  std::optional<mapping> program) {
        auto const source_keys = keys_of(source), target_keys = keys_of(target);
        agree_on(world_, [&] {
            compact_layout const wanted = told_layout(target, target_keys);
            result_.program = program
                                  ? std::move(*program)
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

private:
    std::vector<directory_key> keys_of(known_side const& side) {
        return side.layout ? std::vector<directory_key>()
                           : gather_keys(world_, exchange_, side.held);
    }

    /// All keys; where who holds them is not known, the lowest rank that has some of a tensor stands
    /// for all of it.
    compact_layout told_layout(known_side const& side,
                               std::vector<directory_key> const& keys) const {
        if (side.layout)
            return *side.layout;
        layout all = layout_of(keys, static_cast<holder_t>(world_.size()));
        for (std::size_t i = 0; i < keys.size(); ++i)
            all.tensors[i].shards.push_back(keys[i].holder, whole(keys[i].shape));
        return compact_layout_of(std::move(all));
    }

    /// The side as far as this rank knows it.
    compact_layout own_layout(known_side const& side) const {
        if (side.layout)
            return *side.layout;
        std::vector<std::vector<shard_descriptor>> held(static_cast<std::size_t>(world_.size()));
        held[me_] = side.held;
        return compact_layout_of(layout_of(held));
    }

    /// The problem that is planned, which refers to `source`.
    plan_problem plan_with(compact_layout const& source) {
        plan_problem problem = problem_of(result_.program, source, result_.target);
        result_.whole = make_plan(problem, {holder_set::nobody(), holder_set({me_})},
                                  plan_options_of(options_));
        return problem;
    }

    void ask(known_side const& source, std::vector<directory_key> const& keys) {
        shard_directory directory(world_, exchange_, keys, source.held);
        std::vector<directory_entry> questions;
        agree_on(world_, [&] { questions = questions_to(directory, keys); });
        auto const found = directory.look_up(questions, plan_options_of(options_));
        agree_on(world_, [&] {
            layout shards = layout_of(keys, static_cast<holder_t>(world_.size()));
            std::vector<std::vector<std::uint32_t>> positions(keys.size());
            for (directory_entry const& one : found) {
                shards.tensors[one.key].shards.push_back(one.holder, one.region, one.flat);
                positions[one.key].push_back(one.position);
            }
            compact_layout const known = compact_layout_of(std::move(shards));
            number_by_holder(plan_with(known), positions);
        });
    }

    /// The regions of source tensors that the shards of this rank are made of.
    std::vector<directory_entry> questions_to(shard_directory const& directory,
                                              std::vector<directory_key> const& keys) const {
        std::vector<directory_entry> questions;
        mapping_index const index(result_.program);
        auto const ask_for = [&](piece const& part) {
            if (part.source == zero_source)
                return;
            mapping_source const source = result_.program.sources()[part.source];
            std::size_t const key = directory.find(source.key);
            if (key < keys.size() && keys[key].shape == source.shape)
                questions.push_back({static_cast<key_id>(key), me_, 0, part.source_box(), {}});
        };
        for (compact_tensor const& tensor : result_.target.tensors) {
            tensor_shards const shards = result_.target.spread_of(tensor).view();
            mapping_output const* const output = result_.program.find(tensor.key);
            if (!output || output->added || output->value.shape != shape_of(tensor))
                continue;
            for (std::uint32_t const i : shards_held(shards, me_))
                for (box const& part : shards.boxes(i))
                    index.for_each_piece(*output, part, ask_for);
        }
        return questions;
    }

    index_vector const& shape_of(compact_tensor const& tensor) const {
        return result_.target.spread_of(tensor).shape;
    }

    /// Shards get the numbers that they have at their holder.
    void number_by_holder(plan_problem const& problem,
                          std::vector<std::vector<std::uint32_t>> const& positions) {
        for (transfer& moved : result_.whole.transfers) {
            if (moved.source_key == zero_source)
                continue;
            std::uint32_t const tensor = problem.sources[moved.source_key].tensor;
            moved.source_shard = positions[tensor][moved.source_shard];
        }
    }

    /// Each source learns what it gives.
    void tell() {
        std::vector<addressed_text> texts;
        agree_on(world_, [&] {
            for (auto const& [holder, part] : told_parts(result_.whole, me_))
                texts.push_back({static_cast<int>(holder), to_bytes(part)});
        });
        auto const told = exchange_.run(texts);
        agree_on(world_, [&] {
            for (addressed_text const& one : told) {
                auto part = from_bytes<told_part>(one.bytes);
                check(part, one.rank);
                append(result_.whole, std::move(part));
            }
        });
    }

    /// \throws error with errc::corrupt_file where what `rank` told is not between it and this rank
    void check(told_part const& told, int rank) const {
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

    mpi_group const& world_;
    holder_t me_;
    redistribute_options const& options_;
    sparse_exchange exchange_;
    looked_up result_;
};

} // namespace detail

/// The plan of this process, in memory that grows with its own shards, what they are made of, and the
/// number of keys. It is that of gathered layouts, where replicas are described alike; but of source
/// shards that overlap without being replicas, only those that somebody wants are seen.
///
/// \par Collective every rank of the group, in the same order; nobody else communicates over it
/// \pre  each side's layout is known to all ranks, or to none
/// \throws error on every rank alike: as `by_name`, `fit_shapes`, `problem_of` and `make_plan`
inline looked_up look_up(mpi_group const& world, known_side const& source, known_side const& target,
                         std::optional<mapping> program, redistribute_options const& options) {
    return detail::plan_search(world, options).run(source, target, std::move(program));
}

} // namespace reshard

#endif
