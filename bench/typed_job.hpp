// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_TYPED_JOB_HPP
#define RESHARD_BENCH_TYPED_JOB_HPP

#include "stopwatch.hpp"

#include <reshard/bind/options.hpp>
#include <reshard/bind/typed_redistribute.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/typed.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

/// \file
/// The plan of one rank for a thousand small tensors: made at run time, and listed from a type.

namespace bench {

inline constexpr std::size_t typed_tensor_count = 1000;

/// The key of tensor `I`, from `t000` to `t999`.
template <std::size_t I>
constexpr reshard::detail::fixed_string<5> typed_key() {
    char const text[] = {'t', '0' + I / 100, '0' + I / 10 % 10, '0' + I % 10, '\0'};
    return text;
}

/// Tensors of 4 KiB on `Ranks` ranks, which cut axis `Axis`.
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

/// The least time of several calls of `work`.
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

/// Plans the transfers of rank 0, by name, between known layouts.
inline void plan_by_name(reshard::detail::planned_job& planned_job) {
    reshard::holder_set const me({0});
    reshard::options const options;
    reshard::detail::fit_program(planned_job, std::nullopt,
                                 {options.strict.value, options.shape_mismatch.value});
    reshard::detail::plan_transfers(planned_job, {me, me}, {});
}

/// Measures one pair of layouts; false if the two plans differ.
template <class Source, class Target>
bool run_typed(char const* name, int repeat) {
    using plan = reshard::typed::plan<Source, Target>;
    constexpr auto ranks = static_cast<reshard::holder_t>(reshard::detail::rank_count_of<plan>);
    reshard::plan planned, listed;
    double const layouts =
        quickest(repeat, [] { reshard::layout const source = Source{}, target = Target{}; });
    double const each_time = quickest(repeat, [&] {
        reshard::detail::planned_job planned_job;
        planned_job.source = Source{};
        planned_job.target = Target{};
        plan_by_name(planned_job);
        planned = std::move(planned_job.whole);
    });
    double const typed = quickest(repeat, [&] {
        listed = reshard::detail::listed_plan<plan>({}, {}, {0, ranks}).planned->whole;
    });
    bool const is_right = listed == planned;
    std::printf("%-16s  %12.1f  %12.1f  %12.1f  %8.1f  %s\n", name, layouts * 1e6, each_time * 1e6,
                typed * 1e6, each_time / typed, is_right ? "as expected" : "ANOTHER PLAN");
    std::fflush(stdout);
    return is_right;
}

/// Measures plans that are types; false if one differs from the plan made at run time.
inline bool run_typed(int repeat) {
    std::printf("1,000 tensors       layouts us    planned us      typed us     times\n");
    bool const rows =
        run_typed<thousand_tensors<4, 0>, thousand_tensors<2, 0>>("rows 4 -> 2", 20 * repeat);
    bool const columns =
        run_typed<thousand_tensors<2, 0>, thousand_tensors<2, 1>>("rows -> columns", 20 * repeat);
    return rows && columns;
}

} // namespace bench

#endif
