// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_TYPED_JOB_HPP
#define RESHARD_BENCH_TYPED_JOB_HPP

#include "stopwatch.hpp"

#include <reshard/bind/bind.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/typed.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A thousand small tensors, moved by a plan that is made each time, by one that is ready, and by
/// one that is a type.

namespace bench {

inline constexpr std::size_t typed_tensor_count = 1000;

/// `t000` to `t999`.
template <std::size_t I>
constexpr reshard::detail::fixed_string<5> typed_key() {
    char const text[] = {'t', '0' + I / 100, '0' + I / 10 % 10, '0' + I % 10, '\0'};
    return text;
}

/// Tensors of 4 KiB on some ranks, the axis `Axis` cut.
template <reshard::index_t Ranks, std::size_t Axis, class Numbers>
struct small_tensors;

template <reshard::index_t Ranks, std::size_t Axis, std::size_t... I>
struct small_tensors<Ranks, Axis, std::index_sequence<I...>>
    : reshard::typed::layout<
          reshard::mesh{{"tp", Ranks}},
          reshard::typed::tensor<typed_key<I>(), float, reshard::index_vector{16, 64},
                                 reshard::shard{Axis}>...> {};

template <reshard::index_t Ranks, std::size_t Axis>
using thousand_tensors = small_tensors<Ranks, Axis, std::make_index_sequence<typed_tensor_count>>;

/// Memory for all shards of a layout.
template <class Layout>
class shard_memory {
public:
    shard_memory() : elements_(typed_tensor_count * 1024) {
        float* next = elements_.data();
        for (reshard::holder_t rank = 0; rank < Layout::ranks.rank_count(); ++rank) {
            ranks_.emplace_back();
            for (reshard::shard_descriptor& held : reshard::detail::descriptors_of<Layout>(rank)) {
                reshard::index_vector const shape = held.region.shape;
                ranks_.back().add(std::move(held),
                                  reshard::tensor_view{next, held.dtype, shape,
                                                       reshard::row_major_strides(shape)});
                next += element_count(shape);
            }
        }
    }

    std::vector<float>& elements() { return elements_; }
    std::vector<reshard::state_dict> const& ranks() const { return ranks_; }
    std::vector<reshard::const_state_dict> const_ranks() const {
        return {ranks_.begin(), ranks_.end()};
    }

private:
    std::vector<float> elements_;
    std::vector<reshard::state_dict> ranks_;
};

/// What the tensors of all ranks say of themselves, one list a rank, as one layout.
template <class View>
reshard::layout layout_of_ranks(std::span<reshard::detail::basic_state_dict<View> const> ranks) {
    std::vector<std::vector<reshard::shard_descriptor>> shards;
    for (reshard::detail::basic_state_dict<View> const& tensors : ranks)
        shards.push_back(tensors.descriptors());
    return reshard::layout_of(shards);
}

/// A plan made at run time, with everything done that can be done before the elements are there.
class ready_plan {
public:
    ready_plan(std::span<reshard::const_state_dict const> source,
               std::span<reshard::state_dict const> target) {
        reshard::layout const held = layout_of_ranks(source);
        reshard::layout const wanted = layout_of_ranks(target);
        reshard::mapping const program = reshard::detail::by_name(catalog_of(held), wanted);
        reshard::detail::plan_problem const problem = problem_of(program, held, wanted);
        reshard::plan const whole = reshard::make_plan(problem);
        reshard::detail::shard_views<reshard::const_tensor_view> from;
        reshard::detail::shard_views<reshard::tensor_view> to;
        for (reshard::holder_t rank = 0; rank < source.size(); ++rank)
            from.add(source[rank], held, rank);
        for (reshard::holder_t rank = 0; rank < target.size(); ++rank)
            to.add(target[rank], wanted, rank);
        reshard::detail::bound_plan const bound{whole, problem, from, to};
        for (reshard::transfer const& transfer : whole.transfers) {
            auto const read = source_end(bound, transfer);
            auto const write = target_end(bound, transfer);
            copies_.push_back(
                {reshard::detail::prepare({reshard::detail::cut_of(whole, transfer).extent,
                                           read.place.offset, read.place.strides,
                                           write.place.offset, write.place.strides},
                                          reshard::detail::conversion_of(whole, transfer)),
                 read.data, write.data});
        }
    }

    void run() const {
        for (ready_copy const& one : copies_)
            reshard::detail::run(one.copy, one.source, one.target);
    }

private:
    struct ready_copy {
        reshard::detail::prepared_copy copy;
        void const* source;
        void* target;
    };

    std::vector<ready_copy> copies_;
};

/// The least time that `work` takes, of several.
template <class Work>
double quickest(int repeat, Work&& work) {
    double least = 1e9;
    for (int i = 0; i < repeat; ++i) {
        stopwatch const watch;
        work();
        least = std::min(least, watch.seconds());
    }
    return least;
}

/// Measures one pair of layouts; false where an element is wrong.
template <class Source, class Target>
bool run_typed(char const* name, int repeat) {
    shard_memory<Source> source;
    shard_memory<Target> target, expected;
    for (std::size_t i = 0; i < source.elements().size(); ++i)
        source.elements()[i] = static_cast<float>(i);
    auto const from = source.const_ranks();
    double const each_time = quickest(repeat, [&] { ready_plan(from, expected.ranks()).run(); });
    ready_plan const ready(from, target.ranks());
    double const prepared = quickest(100 * repeat, [&] { ready.run(); });
    bool is_right = target.elements() == expected.elements();
    std::fill(target.elements().begin(), target.elements().end(), 0.0F);
    reshard::typed::addresses<Source, std::byte const> const reads(from);
    reshard::typed::addresses<Target, std::byte> const writes(target.ranks());
    double const typed = quickest(100 * repeat, [&] {
        reshard::run_locally<reshard::typed::plan<Source, Target>>(reads, writes);
    });
    is_right = is_right && target.elements() == expected.elements();
    std::printf("%-16s  %12.1f  %12.1f  %12.1f  %8.1f  %8.2f  %s\n", name, each_time * 1e6,
                prepared * 1e6, typed * 1e6, each_time / typed, prepared / typed,
                is_right ? "as expected" : "WRONG ELEMENTS");
    std::fflush(stdout);
    return is_right;
}

/// Measures plans that are types; false where an element is wrong.
inline bool run_typed(int repeat) {
    std::printf("1,000 tensors     each time us   prepared us      typed us     times  prepared\n");
    bool const rows =
        run_typed<thousand_tensors<4, 0>, thousand_tensors<2, 0>>("rows 4 -> 2", repeat);
    bool const columns =
        run_typed<thousand_tensors<2, 0>, thousand_tensors<2, 1>>("rows -> columns", repeat);
    return rows && columns;
}

} // namespace bench

#endif
