// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "json_list.hpp"
#include "mpi_main.hpp"
#include "stopwatch.hpp"

#include <reshard.hpp>
#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/analysis/simulation.hpp>
#include <reshard/bridge.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/format/network_file.hpp>
#include <reshard/mpi.hpp>

#include <CLI/CLI.hpp>
#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/mpi/collectives/broadcast.hpp>
#include <boost/mpi/operations.hpp>
#include <boost/serialization/string.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

// Measures how long it takes to pass tensors from the first half of the ranks to the other half: by
// a bridge, as between two programs, and by a redistribution within their communicator. Checks
// every element.

namespace {

using namespace reshard;

struct options_of_run {
    index_t mebibytes = 1024;
    int repeat = 5;
    int keys = 100;
    std::string cut = "columns";
    std::string json;
    std::optional<network> over;
};

constexpr index_t columns = 1024;

/// The tensors of one rank on its side.
class tensors {
public:
    /// \param axis the axis along which the ranks of the side cut every matrix
    tensors(options_of_run const& chosen, mpi_group const& side, std::size_t axis) {
        index_t const bytes_each = (chosen.mebibytes << 20) / chosen.keys;
        index_t const rows = std::max<index_t>(side.size(), bytes_each / (4 * columns));
        for (int key = 0; key < chosen.keys; ++key) {
            box region = whole({rows, columns});
            index_t const extent = region.shape[axis];
            region.offset[axis] = extent * side.rank() / side.size();
            region.shape[axis] = extent * (side.rank() + 1) / side.size() - region.offset[axis];
            shards_.push_back({name(key), data_type::f32, {rows, columns}, region});
            elements_.emplace_back(static_cast<std::size_t>(element_count(region)));
        }
    }

    static std::string name(int key) { return "layer." + std::to_string(key); }

    state_dict views() {
        state_dict state;
        for (std::size_t i = 0; i < shards_.size(); ++i)
            state.add(shards_[i], adapt::raw_tensor(elements_[i].data(), shards_[i].region.shape));
        return state;
    }

    void set(float value) {
        for (auto& element : elements_)
            std::ranges::fill(element, value);
    }
    void set_first(float value) { std::ranges::fill(elements_[0], value); }

    bool are(float first, float others) const {
        for (std::size_t i = 0; i < elements_.size(); ++i)
            if (std::ranges::count(elements_[i], i == 0 ? first : others) !=
                std::ssize(elements_[i]))
                return false;
        return true;
    }

    double bytes() const {
        double sum = 0;
        for (auto const& element : elements_)
            sum += static_cast<double>(4 * element.size());
        return sum;
    }

    /// Copies the elements to other memory of this rank, as a trainer that keeps a copy would. Uses
    /// the library's kernel, which is not slower than `memcpy`.
    void copy_to(std::vector<std::vector<float>>& other) const {
        for (std::size_t i = 0; i < elements_.size(); ++i)
            detail::copy_elements({{std::ssize(elements_[i])}, 0, {1}, 0, {1}},
                                  {data_type::f32, {}}, elements_[i].data(), other[i].data());
    }
    std::vector<std::vector<float>> const& elements() const { return elements_; }

private:
    std::vector<shard_descriptor> shards_;
    std::vector<std::vector<float>> elements_;
};

/// The times of each step, by its name: the slowest rank's time, for each repetition.
class times {
public:
    explicit times(boost::mpi::communicator const& world) : world_(world) {}

    /// \par Collective every rank; ranks without work only wait
    void measure(std::string const& noun, std::function<void()> const& work) {
        world_.barrier();
        bench::stopwatch const clock;
        if (work)
            work();
        double const own = clock.seconds();
        all_[noun].push_back(boost::mpi::all_reduce(world_, own, boost::mpi::maximum<double>()));
    }
    void add(std::string const& noun, double own) {
        all_[noun].push_back(boost::mpi::all_reduce(world_, own, boost::mpi::maximum<double>()));
    }

    double median(std::string const& noun) const {
        auto sorted = all_.at(noun);
        std::ranges::sort(sorted);
        return sorted[sorted.size() / 2];
    }

private:
    boost::mpi::communicator world_;
    std::map<std::string, std::vector<double>> all_;
};

/// One half of the ranks, and its tensors.
struct one_side {
    boost::mpi::communicator const& world;
    bool is_source;
    mpi_group group;
    tensors have;
    tensors front;
    std::vector<std::vector<float>> copy;

    one_side(boost::mpi::communicator const& communicator, options_of_run const& chosen)
        : world(communicator),
          is_source(communicator.rank() < communicator.size() / 2),
          group(communicator.split(is_source)),
          have(chosen, group, is_source || chosen.cut == "rows" ? 0 : 1),
          front(have) {
        if (is_source)
            copy = have.elements();
    }
};

void print(char const* noun, double seconds, double bytes, std::string const& beside) {
    std::printf("%-34s %9.2f ms %7.2f GB/s  %s\n", noun, seconds * 1e3, bytes / seconds / 1e9,
                beside.c_str());
}

std::string ratio(double number, char const* of) {
    char text[80];
    std::snprintf(text, sizeof text, "%.3f of %s", number, of);
    return text;
}

/// Both ends of a bridge. A step ends when the targets have read the published version, so waiting
/// counts.
struct bridge_ends {
    std::optional<bridge_source> source;
    std::optional<bridge_target> target;

    bridge_ends(one_side& side, std::string const& port) {
        if (side.is_source)
            source.emplace(side.group, side.have.views(), port);
        else
            target.emplace(side.group, side.have.views(), side.front.views(), port,
                           bridge_options{.deadline = 60.0});
        side.world.barrier();
    }

    void step(times& times, std::string const& noun, std::uint64_t version,
              std::vector<std::string> const* changed) {
        times.measure(noun, [&] {
            if (target)
                target->update(version);
            else if (changed)
                source->publish(*changed);
            else
                source->publish();
        });
        times.add(noun + " held", source ? source->stats().seconds : 0);
        times.add(noun + " read", target ? target->stats().seconds : 0);
    }

    bool are(one_side& side, float first, float others) const {
        if (!target)
            return true;
        return (target->front() == 0 ? side.have : side.front).are(first, others);
    }
};

bool measure_bridge(one_side& side, options_of_run const& chosen, std::string const& port,
                    times& times) {
    bridge_ends ends(side, port);
    std::uint64_t version = 0;
    bool right = true;
    std::vector<std::string> const first{tensors::name(0)};
    for (int i = -2; i < chosen.repeat; ++i) { // two warm-up steps fill both buffers and both sets
        auto const value = static_cast<float>(i + 10);
        std::string const warm = i < 0 ? "warming " : "";
        if (side.is_source)
            side.have.set(value);
        ends.step(times, warm + "all", ++version, nullptr);
        right &= ends.are(side, value, value);
    }
    auto const others = static_cast<float>(chosen.repeat + 9);
    for (std::string const noun : {"named", "compared"})
        for (int i = -2; i < chosen.repeat; ++i) {
            auto const value = static_cast<float>(1000 + i);
            if (side.is_source)
                side.have.set_first(value);
            ends.step(times, (i < 0 ? "warming " : "") + noun, ++version,
                      noun == "named" ? &first : nullptr);
            right &= ends.are(side, value, others);
        }
    return right;
}

bool measure_redistribution(one_side& side, options_of_run const& chosen, times& times) {
    job moved = side.is_source ? prepare(side.world, side.have.views(), {})
                               : prepare(side.world, {}, side.front.views());
    bool right = true;
    for (int i = -1; i < chosen.repeat; ++i) {
        auto const value = static_cast<float>(100 + i);
        if (side.is_source)
            side.have.set(value);
        times.measure(i < 0 ? "warming" : "redistribute", [&] { run(moved); });
        right &= side.is_source || side.front.are(value, value);
        times.measure(i < 0 ? "warming" : "copy", [&] {
            if (side.is_source)
                side.have.copy_to(side.copy);
        });
    }
    return right;
}

/// The simulated time of a hand-over. Trainers copy their shards; then each server copies its shard
/// from them. If the servers cut columns, they copy a run for each row.
double simulated(options_of_run const& chosen, double bytes, int ranks) {
    auto const half = static_cast<std::size_t>(ranks) / 2;
    auto const share = static_cast<index_t>(bytes / static_cast<double>(half));
    bool const has_runs = chosen.cut == "columns" && half > 1;
    index_t const runs = has_runs ? share * static_cast<index_t>(half) / (4 * columns) : 0;
    std::vector<simulated_flow> flows;
    std::vector<simulated_flow::awaited> published;
    for (holder_t trainer = 0; trainer < half; ++trainer) {
        flows.push_back({trainer, trainer, share});
        published.push_back({trainer});
    }
    for (auto server = static_cast<holder_t>(half); server < 2 * half; ++server)
        flows.push_back({server, server, share, published, runs});
    return simulate(flows, *chosen.over).seconds;
}

void report(options_of_run const& chosen, double bytes, times const& times, int ranks) {
    double const moved = times.median("redistribute"), copied = times.median("copy");
    double const total = times.median("all"), named = times.median("named");
    print("redistribute, one communicator", moved, bytes, "");
    print("copy of the trainer's shards", copied, bytes, "");
    print("bridge, all", total, bytes, ratio(moved / total, "redistribute"));
    if (chosen.over)
        print("  by the network", simulated(chosen, bytes, ranks), bytes, "");
    print("  the trainer is held", times.median("all held"), bytes,
          ratio(times.median("all held") / copied, "the copy"));
    print("  a server reads", times.median("all read"), bytes, "");
    print("bridge, one tensor, named", named, bytes / chosen.keys, ratio(named / total, "all"));
    print("bridge, one tensor, compared", times.median("compared"), bytes / chosen.keys,
          ratio(times.median("compared") / total, "all"));
    if (chosen.json.empty())
        return;
    std::vector<std::string> rows;
    for (char const* noun : {"redistribute", "copy", "all", "all held", "all read", "named",
                             "named held", "named read", "compared", "compared held"}) {
        bench::json_object row;
        row.add("what", noun).add("ranks", ranks).add("cut", chosen.cut);
        row.add("bytes", static_cast<index_t>(bytes)).add("seconds", times.median(noun));
        rows.push_back(row.text());
    }
    bench::write_json_list(chosen.json, rows);
}

bool run_all(boost::mpi::communicator const& world, options_of_run const& chosen) {
    std::string port = (std::filesystem::temp_directory_path() /
                        ("handover-" + std::to_string(::getpid()) + ".port"))
                           .string();
    boost::mpi::broadcast(world, port, 0);
    one_side side(world, chosen);
    times times(world);
    bool right = measure_redistribution(side, chosen, times);
    right &= measure_bridge(side, chosen, port, times);
    double const bytes = boost::mpi::all_reduce(world, side.is_source ? side.have.bytes() : 0.0,
                                                std::plus<double>());
    right = boost::mpi::all_reduce(world, right, std::logical_and<bool>());
    if (world.rank() == 0) {
        report(chosen, bytes, times, world.size());
        if (!right)
            std::printf("handover: elements are wrong\n");
    }
    return right;
}

} // namespace

int main(int count, char** words) {
    CLI::App program("Measures how long it takes to hand tensors from one half of the ranks to "
                     "the other.");
    options_of_run chosen;
    program.add_option_function<std::string>(
        "--network", [&](std::string const& path) { chosen.over = read_network(path); },
        "Also show how long the bridge takes according to this file of reshard measure-network");
    program.add_option("--mebibytes", chosen.mebibytes, "of all tensors")->capture_default_str();
    program.add_option("--keys", chosen.keys, "tensors")->capture_default_str();
    program.add_option("--repeat", chosen.repeat, "times each")->capture_default_str();
    program
        .add_option("--cut", chosen.cut,
                    "how the second half cuts the tensors that the first has by rows")
        ->check(CLI::IsMember({"rows", "columns"}))
        ->capture_default_str();
    program.add_option("--json", chosen.json, "write the medians there");
    return bench::mpi_main(
        "handover", program, count, words, [&](boost::mpi::communicator const& world) {
            program.parse(count, words);
            if (world.size() % 2 != 0)
                throw CLI::ValidationError("mpiexec -n", "give an even number of ranks");
            return run_all(world, chosen) ? 0 : 1;
        });
}
