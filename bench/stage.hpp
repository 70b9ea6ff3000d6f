// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_STAGE_HPP
#define RESHARD_BENCH_STAGE_HPP

#include "measurement.hpp"
#include "peak_memory.hpp"
#include "sent_messages.hpp"
#include "stopwatch.hpp"
#include "values.hpp"

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/mpi/operations.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// \file
/// Where methods compete: the same arrays, in turn, each result checked.

namespace bench {

/// A method's name, and how it is prepared.
struct contestant {
    std::string name;
    std::function<std::unique_ptr<method>(setting const&)> prepare;
    bool is_checked = true; ///< the bound copies, but to no purpose
};

/// One case on all ranks. Every member function is collective.
class stage {
public:
    stage(boost::mpi::communicator const& world, redistribution_case const& moved)
        : world_(world), moved_(moved), source_(filled_source(moved, world.rank())) {}

    /// True while every element was right.
    bool all_right() const { return all_right_; }

    /// The target is there, and what a method needs is prepared: only `run` counts.
    std::vector<measurement> measure_warm(std::vector<contestant> const& contestants,
                                          int repetitions) {
        auto const target = new_target();
        clear(target.get());
        std::vector<measurement> results;
        std::vector<std::unique_ptr<method>> methods;
        for (contestant const& one : contestants) {
            peak_memory const memory;
            methods.push_back(one.prepare(setting_with(target.get())));
            methods.back()->run();
            results.push_back({one.name, true, {}, largest(memory.bytes()), {}});
        }
        for (int i = 0; i < repetitions; ++i)
            for (std::size_t m = 0; m < methods.size(); ++m) {
                clear(target.get());
                traffic const before = all_sent;
                time(results[m], [&] { methods[m]->run(); });
                results[m].sent = sum(before, methods[m]->sent());
                check(contestants[m], target.get());
            }
        return results;
    }

    /// The target is allocated, and all is prepared, on the clock.
    std::vector<measurement> measure_cold(std::vector<contestant> const& contestants,
                                          int repetitions) {
        std::vector<measurement> results;
        for (contestant const& one : contestants)
            results.push_back({one.name, false, {}, 0, {}});
        for (int i = 0; i < repetitions; ++i)
            for (std::size_t m = 0; m < contestants.size(); ++m)
                run_cold(contestants[m], results[m]);
        return results;
    }

private:
    std::unique_ptr<double[]> new_target() const {
        return std::make_unique_for_overwrite<double[]>(
            static_cast<std::size_t>(target_elements()));
    }

    index_t target_elements() const {
        return moved_.target[static_cast<std::size_t>(world_.rank())].elements();
    }

    setting setting_with(double* target) const { return {world_, moved_, {source_.get(), target}}; }

    void clear(double* target) const { std::fill_n(target, target_elements(), -1.0); }

    void run_cold(contestant const& one, measurement& result) {
        peak_memory const memory;
        traffic const before = all_sent;
        std::unique_ptr<double[]> target;
        std::unique_ptr<method> used;
        time(result, [&] {
            target = new_target();
            used = one.prepare(setting_with(target.get()));
            used->run();
        });
        index_t const extra = memory.bytes() - target_elements() * index_t{sizeof(double)};
        result.peak_extra_bytes = std::max(result.peak_extra_bytes, largest(extra));
        result.sent = sum(before, used->sent());
        check(one, target.get());
    }

    template <class Work>
    void time(measurement& result, Work const& work) const {
        world_.barrier();
        stopwatch const watch;
        work();
        double const mine = watch.seconds();
        result.seconds.push_back(
            boost::mpi::all_reduce(world_, mine, boost::mpi::maximum<double>()));
    }

    void check(contestant const& one, double const* target) {
        if (one.is_checked && !is_right(moved_, world_.rank(), target)) {
            all_right_ = false;
            std::fprintf(stderr, "%s: rank %d: %s left wrong elements\n", moved_.name.c_str(),
                         world_.rank(), one.name.c_str());
        }
    }

    /// What all ranks sent since `before`, by themselves or through a collective call.
    traffic sum(traffic const& before, traffic const& collective) const {
        auto const all = [&](index_t mine) {
            return boost::mpi::all_reduce(world_, mine, std::plus<index_t>());
        };
        index_t const bytes = all_sent.bytes - before.bytes + collective.bytes;
        index_t const messages = all_sent.messages - before.messages + collective.messages;
        return {all(bytes), all(messages)};
    }

    index_t largest(index_t mine) const {
        return std::max<index_t>(
            0, boost::mpi::all_reduce(world_, mine, boost::mpi::maximum<index_t>()));
    }

    boost::mpi::communicator world_;
    redistribution_case const& moved_;
    std::unique_ptr<double[]> source_;
    bool all_right_ = true;
};

} // namespace bench

#endif
