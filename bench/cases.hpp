// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_CASES_HPP
#define RESHARD_BENCH_CASES_HPP

#include "case_llm.hpp"
#include "redistribution_case.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The cases of the redistribution benchmark.

namespace bench {

/// Makes the cases with one tensor, for a given number of ranks.
class case_maker {
public:
    /// Divides the first extent of every case by `scale`.
    case_maker(std::string name, int ranks, index_t scale)
        : name_(std::move(name)), ranks_(ranks), scale_(scale) {}

    redistribution_case rows_to_columns(index_vector shape, data_type from = data_type::f64,
                                        data_type to = data_type::f64) const {
        shape = scaled(shape);
        auto result = one_tensor(shape, blocks(shape, {ranks_, 1}), blocks(shape, {1, ranks_}));
        result.sources[0].dtype = from;
        result.targets[0].dtype = to;
        if (from != to)
            result.program = "array -> array, dtype=\"" + std::string(reshard::name(to)) + '"';
        return result;
    }

    redistribution_case transposed(index_vector shape) const {
        shape = scaled(shape);
        index_vector const turned{shape[1], shape[0]};
        auto result = one_tensor(shape, blocks(shape, {ranks_, 1}), blocks(turned, {ranks_, 1}));
        result.targets[0] = tensor_of(turned, blocks(turned, {ranks_, 1}));
        result.pieces[0].order = permutation::reversed(2);
        result.program = "array -> array, permute=\"[1, 0]\"";
        return result;
    }

    /// A case between two block-cyclic distributions.
    ///
    /// \pre the number of ranks is even
    redistribution_case block_cyclic() const {
        return one_tensor(scaled({16384, 8192}), small_blocks(), {{ranks_ / 2, 2}, {128, 128}});
    }

    /// A case between two equal layouts, except that ranks are shifted by `shift`.
    ///
    /// \pre the number of ranks is even
    redistribution_case relabelled(index_t shift) const {
        block_grid target = small_blocks();
        target.first = shift % ranks_;
        return one_tensor(scaled({16384, 8192}), small_blocks(), target);
    }

    /// A case from one shard on each rank to one copy in each of two groups of ranks, or back.
    ///
    /// \pre the number of ranks is even
    redistribution_case replicated(bool back) const {
        index_vector const shape = scaled({8192, 16384});
        block_grid const block_grid = blocks(shape, {ranks_, 1}),
                         half = blocks(shape, {ranks_ / 2, 1});
        return back ? one_tensor(shape, half, block_grid) : one_tensor(shape, block_grid, half);
    }

    /// A case from one rank to a copy on each other rank.
    redistribution_case to_others() const {
        index_vector const shape = scaled({8192, 1024});
        auto result = one_tensor(shape, blocks(shape, {1, 1}), blocks(shape, {1, 1}));
        for (auto* const side : {&result.sources[0], &result.targets[0]})
            side->grid.reset();
        for (std::size_t rank = 0; rank < result.targets[0].by_rank.size(); ++rank)
            (rank == 0 && ranks_ > 1 ? result.targets : result.sources)[0].by_rank[rank] =
                no_part(2);
        if (ranks_ == 1)
            result.sources[0].by_rank = result.targets[0].by_rank;
        return result;
    }

    /// A case from pencils along the first axis to pencils along the last axis.
    redistribution_case pencils() const {
        index_vector const shape = scaled({512, 512, 1024});
        index_t const first = ranks_ % 2 == 0 ? 2 : ranks_;
        index_t const second = ranks_ / first;
        return one_tensor(shape, blocks(shape, {1, first, second}),
                          blocks(shape, {first, second, 1}));
    }

    /// A case with one tensor, which is not scaled, from one grid to another.
    redistribution_case one_tensor(index_vector const& shape, block_grid const& source,
                                   block_grid const& target) const {
        auto const origin = index_vector::filled(shape.size(), 0);
        return {name_,
                static_cast<int>(ranks_),
                {tensor_of(shape, source)},
                {tensor_of(shape, target)},
                {{0, 0, origin, origin, shape, permutation::identity(shape.size())}},
                {}};
    }

private:
    index_vector scaled(index_vector shape) const {
        shape[0] = std::max<index_t>(1, shape[0] / scale_);
        return shape;
    }

    block_grid small_blocks() const { return {{2, ranks_ / 2}, {36, 36}}; }

    case_tensor tensor_of(index_vector const& shape, block_grid const& grid) const {
        case_tensor tensor{"array", data_type::f64, shape, {}, grid};
        for (index_t rank = 0; rank < ranks_; ++rank)
            tensor.by_rank.push_back(grid.of_rank(shape, rank, ranks_));
        return tensor;
    }

    std::string name_;
    index_t ranks_;
    index_t scale_;
};

/// A case, by its name.
struct named_case {
    char const* name;
    bool needs_even_ranks;
    std::function<redistribution_case(case_maker const&)> make; ///< empty: many tensors
};

inline std::vector<named_case> const& all_cases() {
    using maker = case_maker const&;
    constexpr data_type f32 = data_type::f32, bf16 = data_type::bf16;
    static std::vector<named_case> const cases{
        {"R2C-wide", false,
         [](maker m) {
             return m.rows_to_columns({8192, 16384});
         }},
        {"R2C-narrow", false,
         [](maker m) {
             return m.rows_to_columns({524288, 256});
         }},
        {"BC", true, [](maker m) { return m.block_cyclic(); }},
        {"SAME", true, [](maker m) { return m.relabelled(0); }},
        {"RELABEL", true, [](maker m) { return m.relabelled(1); }},
        {"T", false,
         [](maker m) {
             return m.transposed({8192, 8192});
         }},
        {"T-wide", false,
         [](maker m) {
             return m.transposed({8192, 16384});
         }},
        {"CAST-down", false,
         [](maker m) {
             return m.rows_to_columns({8192, 16384}, f32, bf16);
         }},
        {"CAST-up", false,
         [](maker m) {
             return m.rows_to_columns({8192, 16384}, bf16, f32);
         }},
        {"REPL", true, [](maker m) { return m.replicated(false); }},
        {"REPL-back", true, [](maker m) { return m.replicated(true); }},
        {"ONE-TO-ALL", false, [](maker m) { return m.to_others(); }},
        {"3D", false, [](maker m) { return m.pencils(); }},
        {"LLM", true, nullptr},
    };
    return cases;
}

/// The case, or std::nullopt if it does not exist for this number of ranks.
inline std::optional<redistribution_case> make_case(named_case const& which, int ranks,
                                                    index_t scale) {
    if (which.needs_even_ranks && ranks % 2 != 0)
        return std::nullopt;
    if (!which.make)
        return llm_case(which.name, ranks, scale);
    return which.make(case_maker(which.name, ranks, scale));
}

} // namespace bench

#endif
