// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "picture/byte_text.hpp"
#include "picture/duration_text.hpp"
#include "summary.hpp"

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/format/network_file.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/network.hpp>
#include <reshard/storage/put_in_place.hpp>

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
#include <vector>

namespace tool {

namespace {

using namespace reshard;

struct measure_command {
    std::string output; ///< a file, or empty
    index_t bytes = index_t{64} << 20;
};

/// What was measured; a way that is not among the words is as by default.
struct measured_network {
    network found;
    std::vector<std::string> ways; ///< fields of the file
    std::vector<std::string> notes;
};

/// What a job of rows moves.
struct job_size {
    static constexpr index_t run_bytes = 1024;

    index_t bytes = 0;
    bool has_short_runs = false; ///< of `run_bytes`; else all is one run

    index_t runs() const { return bytes / run_bytes; }
};

/// Two ranks that swap their rows; a rank alone copies its own. In short runs, the left and the
/// right halves of rows are wanted apart.
class row_job {
public:
    /// \pre bytes in short runs are whole rows
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
    std::vector<float> have_, want_;
    std::optional<reshard::job> job_;
};

/// Where a process runs: its node, by the first process on it, and its place there.
struct process_place {
    int node = 0;
    int place = 0;

    bool operator==(process_place const&) const = default;
};

/// What the processes of a machine share, however many of them count as a node.
struct shared_machine {
    index_t ranks = 1;
    index_t cores = 1; ///< on which one of them may run; where unknown, as many as ranks
    index_t bytes = 0; ///< of memory; 0: unknown
};

/// By number of a core, '1' where this process may run on it; empty where the system does not say.
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
    std::vector<std::string> all{own_cores()};
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

/// What is wrong with more ranks than cores, or nothing.
std::string crowd_text(shared_machine const& machine) {
    return machine.ranks <= machine.cores
               ? std::string()
               : counted(static_cast<std::size_t>(machine.ranks), "rank") + " on " +
                     counted(static_cast<std::size_t>(machine.cores), "core") +
                     ": what is measured between them is mostly how long one waits for a core; "
                     "start as many ranks as there are cores, or fewer";
}

/// Says how much memory it takes on a machine that ranks give `bytes` each, and get as many.
[[noreturn]] void refuse_bytes(shared_machine const& machine, index_t bytes,
                               std::string const& why) {
    constexpr index_t most = std::numeric_limits<index_t>::max();
    bool const is_beyond = bytes > most / 2 / machine.ranks;
    fail(errc::io, "reshard measure-network: --bytes: to give and get ", byte_text(bytes), ", ",
         counted(static_cast<std::size_t>(machine.ranks), "rank"), " of one machine would take ",
         is_beyond ? "more than " : "", byte_text(is_beyond ? most : 2 * machine.ranks * bytes),
         " of memory, and ", why, "; give fewer, as in 64MiB");
}

/// Refuses what does not fit the memory of the machine, before the system ends a process for it.
void check_memory(shared_machine const& machine, index_t bytes) {
    if (machine.bytes > 0 && bytes > machine.bytes / 2 / machine.ranks)
        refuse_bytes(machine, bytes, "there are " + byte_text(machine.bytes));
}

using rank_pairs = std::vector<std::pair<int, int>>;

class network_probe {
public:
    network_probe(processes const& world, index_t bytes)
        : world_(world), bytes_(whole_rows(bytes)), machine_(machine_of(world)) {
        agree_on(world, [&] { check_memory(machine_, bytes); });
        process_place mine;
        if (mpi_group const* const ranks = world.mpi()) {
            auto const node = detail::agreed_node_of(*ranks);
            mine = {node.numbers.front(), node.group.rank()};
        }
        for (std::string const& text :
             world.all_gather(std::to_string(mine.node) + " " + std::to_string(mine.place)))
            places_.push_back({std::stoi(text), std::stoi(text.substr(text.find(' ')))});
        for (process_place const& one : places_)
            per_node_ = std::max(per_node_, one.place + 1);
    }

    measured_network measure() {
        measured_network all;
        all.found.ranks_per_node = static_cast<holder_t>(per_node_);
        constexpr index_t least = index_t{1} << 20;
        if (bytes_ < least)
            all.notes.push_back("what so few bytes take is mostly how long a job takes to begin, "
                                "and shows nothing of runs; give more than the caches hold, as in "
                                "64MiB");
        measure_copy(all);
        measure_memory(all);
        measure_link(all);
        for (std::string const& text : world_.all_gather(crowd_text(machine_)))
            if (!text.empty()) {
                all.notes.push_back(text);
                break;
            }
        return all;
    }

private:
    /// So many bytes in whole rows of short runs, or fewer than one has.
    static index_t whole_rows(index_t bytes) {
        constexpr index_t row_bytes = 2 * job_size::run_bytes;
        return bytes < row_bytes ? bytes : bytes / row_bytes * row_bytes;
    }

    /// A job of this rank in its memory, as far as that goes.
    void make_job(std::optional<row_job>& made, job_size const& size) const {
        try {
            made.emplace(size);
        } catch (std::bad_alloc const&) {
            refuse_bytes(machine_, size.bytes, "the system gives less");
        }
    }

    int at(int node, int place) const {
        auto const found = std::ranges::find(places_, process_place{node, place});
        return found == places_.end() ? -1 : static_cast<int>(found - places_.begin());
    }

    /// The nodes, by the first process on each.
    std::vector<int> nodes() const {
        std::vector<int> all;
        for (process_place const& one : places_)
            if (one.place == 0)
                all.push_back(one.node);
        return all;
    }

    void measure_copy(measured_network& all) {
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
        network::speed& copy = all.found.copy;
        copy.latency_seconds = seconds({4}, false);
        double const alone = seconds({bytes_}, false);
        copy.rank_bytes_per_second = rate(1, alone, copy.latency_seconds);
        copy.run_seconds =
            run_seconds(1, alone, [&](job_size const& size) { return seconds(size, false); });
        copy.node_bytes_per_second = rate(per_node_, seconds({bytes_}, true), copy.latency_seconds);
        keep_order(copy);
        all.ways.push_back("copy");
    }

    void measure_memory(measured_network& all) {
        if (per_node_ < 2) {
            all.notes.push_back("one rank a node: what passes between ranks of a node was not "
                                "measured, and is as by default; start as many ranks on a node "
                                "as the job will have");
            return;
        }
        rank_pairs together;
        for (int const node : nodes())
            for (int place = 1; place < per_node_ && at(node, place) >= 0; place += 2)
                together.emplace_back(at(node, place - 1), at(node, place));
        int const fullest = std::ranges::find(places_, per_node_ - 1, &process_place::place)->node;
        network::speed& memory = all.found.memory;
        rank_pairs const one{{at(fullest, 0), at(fullest, 1)}};
        memory.latency_seconds = time_of(one, {4});
        // Each of the two gives and gets.
        double const alone = time_of(one, {bytes_});
        memory.rank_bytes_per_second = rate(2, alone, memory.latency_seconds);
        memory.run_seconds =
            run_seconds(2, alone, [&](job_size const& size) { return time_of(one, size); });
        memory.node_bytes_per_second =
            rate(per_node_ / 2 * 2, time_of(together, {bytes_}), memory.latency_seconds);
        keep_order(memory);
        all.ways.push_back("memory");
    }

    void measure_link(measured_network& all) {
        auto const known = nodes();
        if (known.size() < 2) {
            all.notes.push_back("one node: links between nodes were not measured, and are as by "
                                "default");
            return;
        }
        rank_pairs together;
        for (int place = 0; at(known[0], place) >= 0 && at(known[1], place) >= 0; ++place)
            together.emplace_back(at(known[0], place), at(known[1], place));
        network::speed& link = all.found.link;
        rank_pairs const one{together.front()};
        auto const width = static_cast<int>(together.size());
        link.latency_seconds = time_of(one, {4});
        link.rank_bytes_per_second = rate(1, time_of(one, {bytes_}), link.latency_seconds);
        link.node_bytes_per_second = rate(width, time_of(together, {bytes_}), link.latency_seconds);
        keep_order(link);
        all.ways.push_back("link");
    }

    /// What a rank can do alone, a node can.
    static void keep_order(network::speed& one) {
        one.node_bytes_per_second = std::max(one.node_bytes_per_second, one.rank_bytes_per_second);
    }

    /// Of few bytes, or where others use the machine, latency may be all that is seen: half of the
    /// time counts in any case.
    double rate(int count, double seconds, double latency) const {
        double const moving = std::max({seconds - latency, seconds / 2, 1e-9});
        return count * static_cast<double>(bytes_) / moving;
    }

    /// What a run costs a rank that moves its bytes `count` times: how much longer short runs take
    /// than one long run, which takes `alone`. Fewer bytes than a row have none.
    double run_seconds(int count, double alone, auto&& time_of_job) const {
        job_size const short_runs{bytes_, true};
        if (bytes_ % (2 * job_size::run_bytes) != 0)
            return 0;
        return std::max(0.0, time_of_job(short_runs) - alone) /
               (count * static_cast<double>(short_runs.runs()));
    }

    /// What pairs of ranks take to swap so much, all pairs at once; the other ranks rest.
    ///
    /// \pre there are several processes
    double time_of(rank_pairs const& all, job_size const& size) {
        auto const mine = std::ranges::find_if(all, [&](auto const& one) {
            return one.first == world_.rank() || one.second == world_.rank();
        });
        // Those that rest are a communicator, too.
        boost::mpi::communicator const ranks =
            world_.mpi()->base().split(static_cast<int>(mine - all.begin()));
        std::optional<row_job> swapped;
        agree_on(world_, [&] { // before anybody waits for the other rank of a pair
            if (mine != all.end())
                make_job(swapped, size);
        });
        agree_on(world_, [&] {
            if (swapped)
                swapped->prepare_in(world_.mpi()->subgroup(ranks));
        });
        return time_of(swapped, size.bytes);
    }

    /// The median of what the slowest rank takes for its job, which begins on all ranks together;
    /// those without one rest.
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
        std::vector<double> slowest(static_cast<std::size_t>(repeats), 0);
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
    std::vector<process_place> places_;
    int per_node_ = 1;
};

std::string speed_text(double bytes_per_second) {
    return bytes_per_second == 0 ? "no limit"
                                 : byte_text(static_cast<index_t>(bytes_per_second)) + "/s";
}

std::string text_of(measured_network const& all) {
    std::vector<std::vector<std::string>> rows{{"way", "a rank", "a node", "a run", "latency"}};
    for (auto const& [field, name, one] :
         {std::tuple("copy", "within a rank", &all.found.copy),
          std::tuple("memory", "between ranks of a node", &all.found.memory),
          std::tuple("link", "between nodes", &all.found.link)})
        if (std::ranges::count(all.ways, field) > 0)
            rows.push_back({name, speed_text(one->rank_bytes_per_second),
                            speed_text(one->node_bytes_per_second),
                            one == &all.found.link ? "-" : duration_text(one->run_seconds),
                            duration_text(one->latency_seconds)});
    return counted(all.found.ranks_per_node, "rank") + " a node\n" + table(rows);
}

boost::json::object json_of(network::speed const& one) {
    return {{"rank_bytes_per_second", one.rank_bytes_per_second},
            {"node_bytes_per_second", one.node_bytes_per_second},
            {"latency_seconds", one.latency_seconds}};
}

boost::json::object memory_json_of(network::speed const& one) {
    boost::json::object fields = json_of(one);
    fields["run_seconds"] = one.run_seconds;
    return fields;
}

/// The document that the file is, and what of it was measured.
boost::json::object json_of(measured_network const& all) {
    network const& one = all.found;
    return {{"ranks_per_node", one.ranks_per_node},
            {"copy", memory_json_of(one.copy)},
            {"memory", memory_json_of(one.memory)},
            {"link", json_of(one.link)},
            {"rack",
             {{"nodes", one.rack.nodes},
              {"bytes_per_second", one.rack.bytes_per_second},
              {"latency_seconds", one.rack.latency_seconds}}},
            {"measured", json_texts(all.ways)}};
}

std::string complaint_about_measured_bytes(std::string& text) {
    std::string const given = text, complaint = complaint_about_bytes(text);
    return complaint.empty() && text == "0"
               ? "'" + given + "' is nothing that could be measured; give at least 1, as in 64MiB"
               : complaint;
}

outcome measure(processes const& world, measure_command const& options, bool as_json) {
    agree_on(world, [&] {
        if (world.rank() == 0)
            detail::check_parent(options.output);
    });
    measured_network const all = network_probe(world, options.bytes).measure();
    agree_on(world, [&] {
        if (world.rank() == 0 && !options.output.empty())
            detail::write_whole_file(options.output, detail::to_json(all.found));
    });
    if (world.rank() == 0)
        for (std::string const& text : all.notes)
            note(text);
    if (as_json)
        return json_outcome(json_of(all));
    return {text_of(all) + (options.output.empty() ? "" : options.output + ": written\n")};
}

} // namespace

void add_measure_network(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<measure_command>();
    CLI::App* const command = add_command(
        app, chosen, "measure-network",
        "Measure how fast jobs copy and exchange tensors here: within a rank, between ranks of a "
        "node, between nodes; for plan --network",
        "  mpiexec -n 8 reshard measure-network --output network.json\n"
        "  reshard measure-network --bytes 256MiB --json");
    command
        ->add_option("--output", options->output,
                     "The file to write; one that is there is replaced")
        ->check(complaint_about_file, "");
    command
        ->add_option("--bytes", options->bytes,
                     "What a rank gives in each measurement; more than the caches hold")
        ->transform(CLI::Validator(complaint_about_measured_bytes, "SIZE"));
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return measure(world, *options, chosen.json);
        };
    });
}

} // namespace tool
