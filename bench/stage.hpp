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
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

/// \file
/// Measures methods in turn on the same arrays, and checks each result.

namespace bench {

struct free_lines {
    void operator()(std::byte* memory) const { ::operator delete(memory, line); }
    static constexpr std::align_val_t line{64};
};

/// Memory that begins at a cache line.
using line_memory = std::unique_ptr<std::byte, free_lines>;

inline line_memory new_memory(index_t bytes) {
    return line_memory(
        static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), free_lines::line)));
}

/// Makes MPI set up its resources, so that no method's time includes this.
inline void warm_up(boost::mpi::communicator const& world) {
    constexpr int count = 1 << 18;
    auto const ranks = static_cast<std::size_t>(world.size());
    std::vector<double> out(ranks * count), in(ranks * count);
    for (int i = 0; i < 3; ++i)
        MPI_Alltoall(out.data(), count, MPI_DOUBLE, in.data(), count, MPI_DOUBLE, world);
}

/// Measures one case on all ranks. Every member function is collective.
class stage {
public:
    stage(boost::mpi::communicator const& world, redistribution_case const& moved)
        : world_(world),
          moved_(moved),
          source_bytes_(memory_map(moved.sources, world.rank()).bytes),
          target_bytes_(memory_map(moved.targets, world.rank()).bytes),
          read_(sum(read_bytes(moved, world.rank()))),
          source_(new_memory(source_bytes_)) {
        fill_sources(moved, world.rank(), source_.get());
    }

    /// Measures only `run`: the target exists, and the method is prepared.
    std::vector<measurement> measure_warm(std::vector<contestant> const& contestants,
                                          int repetitions) {
        line_memory const target = new_memory(target_bytes_);
        clear(target.get());
        std::vector<measurement> results;
        std::vector<std::unique_ptr<method>> methods;
        for (contestant const& contestant : contestants) {
            results.push_back(empty_result(contestant, true));
            methods.push_back(prepared_first(contestant, target.get(), results.back()));
        }
        for (int i = 0; i < repetitions; ++i)
            for (std::size_t m = 0; m < methods.size(); ++m)
                if (methods[m])
                    run_warm(contestants[m], *methods[m], target.get(), results[m]);
        return results;
    }

    /// Measures the allocation of the target and the preparation, too.
    std::vector<measurement> measure_cold(std::vector<contestant> const& contestants,
                                          int repetitions) {
        std::vector<measurement> results;
        for (contestant const& contestant : contestants)
            results.push_back(empty_result(contestant, false));
        for (int i = 0; i < repetitions; ++i)
            for (std::size_t m = 0; m < contestants.size(); ++m)
                if (contestants[m].refusal.empty())
                    run_cold(contestants[m], results[m]);
        return results;
    }

    /// True if every element of every result was right on this rank, and the source is unchanged.
    bool all_right() const {
        line_memory const fresh = new_memory(source_bytes_);
        std::memset(fresh.get(), 0, static_cast<std::size_t>(source_bytes_));
        fill_sources(moved_, world_.rank(), fresh.get());
        index_t wrong = 0;
        memory_map const map(moved_.sources, world_.rank());
        for (std::size_t i = 0; i < map.begins.size(); ++i) {
            case_tensor const& tensor = moved_.sources[i];
            index_t const bytes =
                tensor.of_rank(world_.rank()).elements() * element_bytes(tensor.dtype);
            wrong += std::memcmp(fresh.get() + map.begins[i], source_.get() + map.begins[i],
                                 static_cast<std::size_t>(bytes)) != 0;
        }
        if (wrong)
            complain("the source", "was written to");
        return all_right_ && wrong == 0;
    }

private:
    measurement empty_result(contestant const& contestant, bool warm) const {
        return {
            moved_.name, moved_.ranks, contestant.name, warm, contestant.refusal, read_, 0, {}, 0,
            {}};
    }

    setting setting_with(std::byte* target) const {
        return {world_, moved_, source_.get(), target};
    }

    void clear(std::byte* target) const {
        std::memset(target, 0xFF, static_cast<std::size_t>(target_bytes_));
    }

    /// Prepares a method and runs it once, to measure its memory; null if it cannot do the case.
    std::unique_ptr<method> prepared_first(contestant const& contestant, std::byte* target,
                                           measurement& result) {
        if (!contestant.refusal.empty())
            return nullptr;
        peak_memory const memory;
        auto prepare = contestant.prepare(setting_with(contestant.owns_target ? nullptr : target));
        prepare->run();
        // A rank may write its neighbours' targets; these do not count as its memory.
        index_t const targets = std::max<index_t>(target_bytes_, memory.shared_bytes());
        result.peak_extra_bytes = largest(memory.bytes() - (contestant.owns_target ? targets : 0));
        return prepare;
    }

    void run_warm(contestant const& contestant, method& used, std::byte* shared,
                  measurement& result) {
        std::byte* const target = contestant.owns_target ? used.target() : shared;
        clear(target);
        traffic const before = all_sent;
        time(result, [&] { used.run(); });
        used.finish();
        finish(used, before, result);
        check(contestant, target);
    }

    void run_cold(contestant const& contestant, measurement& result) {
        peak_memory const memory;
        traffic const before = all_sent;
        line_memory target;
        std::unique_ptr<method> used;
        time(result, [&] {
            if (!contestant.owns_target)
                target = new_memory(target_bytes_);
            used = contestant.prepare(setting_with(target.get()));
            used->run();
        });
        result.peak_extra_bytes = std::max(
            result.peak_extra_bytes,
            largest(memory.bytes() - std::max<index_t>(target_bytes_, contestant.owns_target
                                                                          ? memory.shared_bytes()
                                                                          : 0)));
        finish(*used, before, result);
        check(contestant, contestant.owns_target ? used->target() : target.get());
    }

    template <class Work>
    void time(measurement& result, Work const& work) const {
        world_.barrier();
        stopwatch const watch;
        work();
        double const own = watch.seconds();
        result.seconds.push_back(
            boost::mpi::all_reduce(world_, own, boost::mpi::maximum<double>()));
    }

    /// Stores the messages of all ranks since `before`: the method's own figures, or the counted
    /// messages.
    void finish(method const& used, traffic const& before, measurement& result) const {
        traffic const own_traffic = used.sent().value_or(
            traffic{all_sent.bytes - before.bytes, all_sent.messages - before.messages});
        result.sent = {sum(own_traffic.bytes), sum(own_traffic.messages)};
    }

    void check(contestant const& contestant, std::byte const* target) {
        if (contestant.is_bound || is_right(moved_, world_.rank(), target))
            return;
        all_right_ = false;
        complain(contestant.name, "left wrong elements");
    }

    void complain(std::string const& who, char const* noun) const {
        std::fprintf(stderr, "%s: rank %d: %s %s\n", moved_.name.c_str(), world_.rank(),
                     who.c_str(), noun);
    }

    index_t sum(index_t own) const {
        return boost::mpi::all_reduce(world_, own, std::plus<index_t>());
    }

    index_t largest(index_t own) const {
        return std::max<index_t>(
            0, boost::mpi::all_reduce(world_, own, boost::mpi::maximum<index_t>()));
    }

    boost::mpi::communicator world_;
    redistribution_case const& moved_;
    index_t source_bytes_;
    index_t target_bytes_;
    index_t read_;
    line_memory source_;
    bool all_right_ = true;
};

} // namespace bench

#endif
