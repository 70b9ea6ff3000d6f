// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "picture/byte_text.hpp"
#include "picture/duration_text.hpp"
#include "summary.hpp"

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/network_file.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/plan/network.hpp>

#include <boost/json/object.hpp>
#include <boost/mpi/communicator.hpp>

#include <CLI/CLI.hpp>

#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

namespace tool {

namespace {

using namespace reshard;

struct measure_command {
    std::string output; ///< a file, or empty
    index_t bytes = index_t{64} << 20;
};

/// The measured speeds. A way that is not listed in `ways` has the default speeds.
struct measured_network {
    network found;
    reshard::vector<std::string> ways; ///< names of fields in the file
    reshard::vector<std::string> notes;
    std::optional<detail::measured_ways> between_private; ///< within a node
};

/// The size of a job that moves rows.
struct job_size {
    static constexpr index_t run_bytes = 1024;

    index_t bytes = 0;
    bool has_short_runs = false; ///< in runs of `run_bytes`; else all bytes are one run

    index_t runs() const { return bytes / run_bytes; }
};

/// A job in which two ranks swap their rows, or one rank copies its own. With short runs, the
/// target has the left and the right halves of the rows as separate shards.
class row_job {
public:
    /// \pre with short runs, the bytes are whole rows
    explicit row_job(job_size const& size)
        : columns_(size.has_short_runs ? 2 * job_size::run_bytes / 4 : 1),
          have_(count_of(size.bytes), 1.0f),
          want_(have_.size(), 0.0f) {}

    void prepare_in(auto const& group) {
        index_t const rows = std::ssize(have_) / columns_, half = columns_ / 2;
        auto const part = [&](int number, index_t first, index_t end) {
            return shard_descriptor{"rows",
                                    data_type::f32,
                                    {group.size() * rows, columns_},
                                    {{number * rows, first}, {rows, end - first}},
                                    {}};
        };
        int const other = group.size() - 1 - group.rank();
        state_dict have, want;
        have.add(part(group.rank(), 0, columns_),
                 adapt::raw_tensor(have_.data(), {rows, columns_}));
        if (half > 0)
            want.add(part(other, 0, half), adapt::raw_tensor(want_.data(), {rows, half}));
        want.add(part(other, half, columns_),
                 adapt::raw_tensor(want_.data() + rows * half, {rows, columns_ - half}));
        job_.emplace(prepare(group, have, want));
    }

    void operator()() { run(*job_); }

private:
    static std::size_t count_of(index_t bytes) {
        return static_cast<std::size_t>(std::max<index_t>(1, bytes / 4));
    }

    index_t columns_;
    reshard::vector<float> have_, want_;
    std::optional<reshard::job> job_;
};

/// The position of a process: its node, identified by the node's first process, and its index
/// there.
struct process_place {
    int node = 0;
    int position = 0;

    bool operator==(process_place const&) const = default;
};

/// The resources that the processes of a machine share, regardless of how the processes are grouped
/// into nodes.
struct shared_machine {
    index_t ranks = 1;
    index_t cores = 1; ///< cores that any of them may use; the number of ranks if unknown
    index_t bytes = 0; ///< memory; 0: unknown
};

/// For each core, '1' if this process may run on it; empty if the system does not report it.
std::string own_cores() {
    std::string text;
#if defined(__linux__)
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (::sched_getaffinity(0, sizeof cores, &cores) == 0)
        for (unsigned i = 0; i < CPU_SETSIZE; ++i)
            text += CPU_ISSET(i, &cores) ? '1' : '0';
#endif
    return text;
}

shared_machine machine_of(processes const& world) {
    reshard::vector<std::string> all{own_cores()};
    if (mpi_group const* const ranks = world.mpi())
        all = detail::node_of(*ranks, 0).group.all_gather(all.front());
    std::string cores;
    for (std::string const& text : all) {
        cores.resize(std::max(cores.size(), text.size()), '0');
        for (std::size_t i = 0; i < text.size(); ++i)
            cores[i] = std::max(cores[i], text[i]);
    }
    auto const ranks = static_cast<index_t>(all.size());
    index_t const count = std::ranges::count(cores, '1');
    return {ranks, count == 0 ? ranks : count,
            index_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)};
}

/// The warning about more ranks than cores; empty if there are enough cores.
std::string crowd_text(shared_machine const& machine) {
    return machine.ranks <= machine.cores
               ? std::string()
               : counted(static_cast<std::size_t>(machine.ranks), "rank") + " on " +
                     counted(static_cast<std::size_t>(machine.cores), "core") +
                     ": the measurements between them mostly show the wait for a core; start "
                     "at most one rank per core";
}

/// Refuses a job of `bytes` for each rank of a machine, and states the memory that it would need.
[[noreturn]] void refuse_bytes(shared_machine const& machine, index_t bytes,
                               std::string const& why) {
    constexpr index_t most = std::numeric_limits<index_t>::max();
    bool const is_beyond = bytes > most / 2 / machine.ranks;
    fail(errc::io, "reshard measure-network: --bytes: to send and receive ", byte_text(bytes), ", ",
         counted(static_cast<std::size_t>(machine.ranks), "rank"), " of one machine would need ",
         is_beyond ? "more than " : "", byte_text(is_beyond ? most : 2 * machine.ranks * bytes),
         " of memory, but ", why, "; give fewer bytes, such as 64MiB");
}

/// Refuses a job that exceeds the memory of the machine, before the system kills a process for it.
void check_memory(shared_machine const& machine, index_t bytes) {
    if (machine.bytes > 0 && bytes > machine.bytes / 2 / machine.ranks)
        refuse_bytes(machine, bytes, "the machine has " + byte_text(machine.bytes));
}

using rank_pairs = reshard::vector<std::pair<int, int>>;

class network_probe {
public:
    network_probe(processes const& world, index_t bytes)
        : world_(world), bytes_(whole_rows(bytes)), machine_(machine_of(world)) {
        agree_on(world, [&] { check_memory(machine_, bytes); });
        process_place own_place;
        if (mpi_group const* const ranks = world.mpi()) {
            auto const node = detail::agreed_node_of(*ranks);
            own_place = {node.numbers.front(), node.group.rank()};
        }
        for (std::string const& text : world.all_gather(std::to_string(own_place.node) + " " +
                                                        std::to_string(own_place.position)))
            places_.push_back({std::stoi(text), std::stoi(text.substr(text.find(' ')))});
        for (process_place const& process_place : places_)
            per_node_ = std::max(per_node_, process_place.position + 1);
    }

    measured_network measure() {
        measured_network network;
        network.found.ranks_per_node = static_cast<holder_t>(per_node_);
        constexpr index_t least = index_t{1} << 20;
        if (bytes_ < least)
            network.notes.push_back(
                "with so few bytes, starting a job takes most of the time, and the cost of "
                "runs is not measured; give more bytes than the caches hold, such as 64MiB");
        measure_copy(network);
        measure_memory(network);
        measure_link(network);
        for (std::string const& text : world_.all_gather(crowd_text(machine_)))
            if (!text.empty()) {
                network.notes.push_back(text);
                break;
            }
        return network;
    }

private:
    /// The bytes rounded down to full rows of short runs; unchanged if less than a row.
    static index_t whole_rows(index_t bytes) {
        constexpr index_t row_bytes = 2 * job_size::run_bytes;
        return bytes < row_bytes ? bytes : bytes / row_bytes * row_bytes;
    }

    /// Makes this rank's job in its memory, if there is enough.
    void make_job(std::optional<row_job>& row_job, job_size const& size) const {
        try {
            row_job.emplace(size);
        } catch (std::bad_alloc const&) {
            refuse_bytes(machine_, size.bytes, "the system provides less");
        }
    }

    int at(int node, int index) const {
        auto const match = std::ranges::find(places_, process_place{node, index});
        return match == places_.end() ? -1 : static_cast<int>(match - places_.begin());
    }

    /// The nodes, each identified by its first process.
    reshard::vector<int> nodes() const {
        reshard::vector<int> values;
        for (process_place const& process_place : places_)
            if (process_place.position == 0)
                values.push_back(process_place.node);
        return values;
    }

    void measure_copy(measured_network& network) {
        auto const seconds = [&](job_size const& size, bool are_all) {
            std::optional<row_job> copied;
            agree_on(world_, [&] {
                if (!are_all && world_.rank() != 0)
                    return;
                make_job(copied, size);
                copied->prepare_in(solo());
            });
            return time_of(copied, size.bytes);
        };
        network::speed& copy = network.found.copy;
        copy.latency_seconds = seconds({4}, false);
        double const alone = seconds({bytes_}, false);
        copy.rank_bytes_per_second = rate(1, alone, copy.latency_seconds);
        copy.run_seconds =
            run_seconds(1, alone, [&](job_size const& size) { return seconds(size, false); });
        copy.node_bytes_per_second = rate(per_node_, seconds({bytes_}, true), copy.latency_seconds);
        keep_order(copy);
        network.ways.push_back("copy");
    }

    void measure_memory(measured_network& network) {
        if (per_node_ < 2) {
            network.notes.push_back(
                "one rank a node: the speed between ranks of a node was not measured, and "
                "has the default value; start as many ranks per node as the job will have");
            return;
        }
        rank_pairs together;
        for (int const node : nodes())
            for (int index = 1; index < per_node_ && at(node, index) >= 0; index += 2)
                together.emplace_back(at(node, index - 1), at(node, index));
        int const fullest =
            std::ranges::find(places_, per_node_ - 1, &process_place::position)->node;
        network::speed& memory = network.found.memory;
        rank_pairs const pairs{{at(fullest, 0), at(fullest, 1)}};
        memory.latency_seconds = time_of(pairs, {4});
        // each of the two ranks sends and receives
        double const alone = time_of(pairs, {bytes_});
        memory.rank_bytes_per_second = rate(2, alone, memory.latency_seconds);
        memory.run_seconds =
            run_seconds(2, alone, [&](job_size const& size) { return time_of(pairs, size); });
        memory.node_bytes_per_second =
            rate(per_node_ / 2 * 2, time_of(together, {bytes_}), memory.latency_seconds);
        keep_order(memory);
        network.ways.push_back("memory");
        auto const rings = detail::make_rings(detail::agreed_node_of(*world_.mpi()));
        if (rings) {
            rings->choose_ways(true);
            network.between_private = rings->measured();
        }
    }

    void measure_link(measured_network& network) {
        auto const match = nodes();
        if (match.size() < 2) {
            network.notes.push_back(
                "one node: links between nodes were not measured, and have the default values");
            return;
        }
        rank_pairs together;
        for (int index = 0; at(match[0], index) >= 0 && at(match[1], index) >= 0; ++index)
            together.emplace_back(at(match[0], index), at(match[1], index));
        network::speed& link = network.found.link;
        rank_pairs const pairs{together.front()};
        auto const width = static_cast<int>(together.size());
        link.latency_seconds = time_of(pairs, {4});
        link.rank_bytes_per_second = rate(1, time_of(pairs, {bytes_}), link.latency_seconds);
        link.node_bytes_per_second = rate(width, time_of(together, {bytes_}), link.latency_seconds);
        keep_order(link);
        network.ways.push_back("link");
    }

    /// Makes the speed of a node at least the speed of a single rank.
    static void keep_order(network::speed& speed) {
        speed.node_bytes_per_second =
            std::max(speed.node_bytes_per_second, speed.rank_bytes_per_second);
    }

    /// The bytes per second, not counting the latency. With few bytes, or on a busy machine, the
    /// latency may exceed the measured time; at least half of the time is counted.
    double rate(int count, double seconds, double latency) const {
        double const moving = std::max({seconds - latency, seconds / 2, 1e-9});
        return count * static_cast<double>(bytes_) / moving;
    }

    /// The cost of a run, from the additional time of short runs over one long run, which takes
    /// `alone`. A rank moves its bytes `count` times. 0 if the bytes are less than a row.
    double run_seconds(int count, double alone, auto&& time_of_job) const {
        job_size const short_runs{bytes_, true};
        if (bytes_ % (2 * job_size::run_bytes) != 0)
            return 0;
        return std::max(0.0, time_of_job(short_runs) - alone) /
               (count * static_cast<double>(short_runs.runs()));
    }

    /// The time that pairs of ranks take to swap `size`, all pairs at once. The other ranks are
    /// idle.
    ///
    /// \pre there are several processes
    double time_of(rank_pairs const& pairs, job_size const& size) {
        auto const match = std::ranges::find_if(pairs, [&](auto const& element) {
            return element.first == world_.rank() || element.second == world_.rank();
        });
        // the idle ranks form a communicator, too
        boost::mpi::communicator const ranks =
            world_.mpi()->base().split(static_cast<int>(match - pairs.begin()));
        std::optional<row_job> swapped;
        agree_on(world_, [&] { // an error is agreed before a rank waits for its partner
            if (match != pairs.end())
                make_job(swapped, size);
        });
        agree_on(world_, [&] {
            if (swapped)
                swapped->prepare_in(world_.mpi()->subgroup(ranks));
        });
        return time_of(swapped, size.bytes);
    }

    /// The median, over repeats, of the slowest rank's time for its job. All ranks start together.
    /// Ranks without a job are idle.
    double time_of(std::optional<row_job>& work, index_t bytes) {
        int const repeats = bytes < 4096 ? 51 : 9;
        if (work)
            (*work)();
        std::string times;
        for (int i = 0; i < repeats; ++i) {
            world_.all_gather("");
            stopwatch const watch;
            if (work)
                (*work)();
            double const seconds = work ? watch.seconds() : 0;
            times.append(reinterpret_cast<char const*>(&seconds), sizeof seconds);
        }
        reshard::vector<double> slowest(static_cast<std::size_t>(repeats), 0);
        for (std::string const& text : world_.all_gather(times))
            for (std::size_t i = 0; i < slowest.size(); ++i) {
                double seconds = 0;
                std::memcpy(&seconds, text.data() + i * sizeof seconds, sizeof seconds);
                slowest[i] = std::max(slowest[i], seconds);
            }
        std::ranges::nth_element(slowest, slowest.begin() + repeats / 2);
        return slowest[slowest.size() / 2];
    }

    processes const& world_;
    index_t bytes_;
    shared_machine machine_;
    reshard::vector<process_place> places_;
    int per_node_ = 1;
};

std::string speed_text(double bytes_per_second) {
    return bytes_per_second == 0 ? "no limit"
                                 : byte_text(static_cast<index_t>(bytes_per_second)) + "/s";
}

/// The ways between private memories, each with its speed for two ranks that swap, and the chosen
/// ways.
std::string text_of(detail::measured_ways const& ways) {
    auto const speed = [](double seconds) {
        return speed_text(static_cast<double>(detail::measured_ways::bytes) / seconds);
    };
    detail::ring_ways const best = ways.best();
    bool const reads = best.least_read != detail::ring_ways::nothing_is_read;
    return "between private memories of a node: slots in caches " + speed(ways.in_cache) +
           ", slots in memory " + speed(ways.streamed) + ", reading the other's memory " +
           (ways.read_whole > 0 ? speed(ways.read_whole) : "not permitted") + "; used: slots in " +
           (best.streams ? "memory" : "caches") +
           (reads ? ", and reading runs of " + byte_text(best.least_read) + " or more" : "") + "\n";
}

std::string text_of(measured_network const& network) {
    reshard::vector<reshard::vector<std::string>> rows{
        {"way", "a rank", "a node", "a run", "latency"}};
    for (auto const& [field, name, element] :
         {std::tuple("copy", "within a rank", &network.found.copy),
          std::tuple("memory", "between ranks of a node", &network.found.memory),
          std::tuple("link", "between nodes", &network.found.link)})
        if (std::ranges::count(network.ways, field) > 0)
            rows.push_back(
                {name, speed_text(element->rank_bytes_per_second),
                 speed_text(element->node_bytes_per_second),
                 element == &network.found.link ? "-" : duration_text(element->run_seconds),
                 duration_text(element->latency_seconds)});
    return counted(network.found.ranks_per_node, "rank") + " a node\n" + table(rows) +
           (network.between_private ? text_of(*network.between_private) : "");
}

boost::json::object json_of(network::speed const& speed) {
    return {{"rank_bytes_per_second", speed.rank_bytes_per_second},
            {"node_bytes_per_second", speed.node_bytes_per_second},
            {"latency_seconds", speed.latency_seconds}};
}

boost::json::object memory_json_of(network::speed const& speed) {
    boost::json::object fields = json_of(speed);
    fields["run_seconds"] = speed.run_seconds;
    return fields;
}

/// The document in the file, and a list of what was measured.
boost::json::object json_of(measured_network const& measured_network) {
    network const& network = measured_network.found;
    return {{"ranks_per_node", network.ranks_per_node},
            {"copy", memory_json_of(network.copy)},
            {"memory", memory_json_of(network.memory)},
            {"link", json_of(network.link)},
            {"rack",
             {{"nodes", network.rack.nodes},
              {"bytes_per_second", network.rack.bytes_per_second},
              {"latency_seconds", network.rack.latency_seconds}}},
            {"measured", json_texts(measured_network.ways)}};
}

std::string complaint_about_measured_bytes(std::string& text) {
    std::string const stated = text, complaint = complaint_about_bytes(text);
    return complaint.empty() && text == "0"
               ? "'" + stated + "' cannot be measured; give at least 1 byte, for example 64MiB"
               : complaint;
}

outcome measure(processes const& world, measure_command const& options, bool as_json) {
    agree_on(world, [&] {
        if (world.rank() == 0)
            detail::check_parent(options.output);
    });
    measured_network const network = network_probe(world, options.bytes).measure();
    agree_on(world, [&] {
        if (world.rank() == 0 && !options.output.empty())
            detail::write_whole_file(options.output, detail::to_json(network.found));
    });
    if (world.rank() == 0)
        for (std::string const& text : network.notes)
            note(text);
    if (as_json)
        return json_outcome(json_of(network));
    return {text_of(network) + (options.output.empty() ? "" : options.output + ": written\n")};
}

} // namespace

void add_measure_network(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<measure_command>();
    CLI::App* const command = add_command(
        app, chosen, "measure-network",
        "Measure how fast jobs copy and exchange tensors here: within a rank, between ranks of "
        "a node, and between nodes; for plan --network",
        "  mpiexec -n 8 reshard measure-network --output network.json\n"
        "  reshard measure-network --bytes 256MiB --json");
    command
        ->add_option("--output", options->output, "The file to write; an existing file is replaced")
        ->check(complaint_about_file, "");
    command
        ->add_option("--bytes", options->bytes,
                     "The number of bytes that a rank sends in each measurement; give more "
                     "than the caches hold")
        ->transform(CLI::Validator(complaint_about_measured_bytes, "SIZE"));
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return measure(world, *options, chosen.json);
        };
    });
}

} // namespace tool
