// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "rows_to_columns.hpp"

#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/environment.hpp>

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A rank is stopped while others wait for it: `stopped_rank TIER PLACE`. PLACE is where it stops: `before`
/// anything is agreed, `between` preparing and running, `within` a run. Of the tier `load`, which passes on what
/// is read, it is always within: as the rank reads.
///
/// All other ranks have to get errc::deadline, which names it; then it goes on, and learns that they gave up.
/// What ranks tell one another of that goes over a communicator that the library does not know.

namespace {

using namespace reshard;

test::rows_to_columns const* interrupted = nullptr;

void stop() { ::raise(SIGSTOP); }

/// What `options::deadline` makes of a job, on one rank.
std::string outcome(mpi_group const& world, std::string_view tier, std::string_view place) {
    bool const is_stopped = world.rank() == world.size() - 1;
    // Messages under way still reach the tensors: they stay until exit.
    auto const& all = *new test::rows_to_columns(world, tier, {.deadline = 0.5});
    interrupted = &all;
    try {
        if (is_stopped && place == "before")
            stop();
        job moving = all.prepare(world);
        run(moving);
        if (all.tier_of(moving) != tier)
            return "the tier is " + std::string(all.tier_of(moving));
        if (is_stopped && place == "between")
            stop();
        if (is_stopped && place == "within")
            all.rows.interrupt_with([](int) {
                interrupted->rows.let_pass();
                stop();
            });
        run(moving);
        return "ran";
    } catch (error const& problem) {
        return std::string(name(problem.code())) + ": " + problem.what();
    }
}

/// Files whose reader is stopped once, where it is told so.
class stopping_files : public detail::system_files {
public:
    struct file : file_store::file {
        file_store::identity facts() const override { return real->facts(); }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            if (std::exchange(*stops, false))
                stop();
            real->read(position, target);
        }

        std::unique_ptr<file_store::file> real;
        bool* stops = nullptr;
    };

    std::unique_ptr<file_store::file> open(std::filesystem::path const& path) const override {
        auto opened = std::make_unique<file>();
        opened->real = detail::system_files::open(path);
        opened->stops = &stops;
        return opened;
    }

    mutable bool stops = false;
};

/// What `options::deadline` makes of a load whose windows are passed on, on one rank.
std::string outcome_of_load(mpi_group const& world, std::filesystem::path const& directory) {
    ::setenv("RESHARD_RANKS_PER_NODE", "1", 1);
    auto& bytes = *new std::vector<std::byte>(10 << 20);
    state_dict tensors;
    tensors.add({.key = "w",
                 .dtype = data_type::u8,
                 .global_shape = {10 << 20},
                 .region = {{0}, {10 << 20}}},
                tensor_view{bytes.data(), data_type::u8, {10 << 20}, {1}});
    try {
        save(world, tensors, directory);
        auto const files = std::make_shared<stopping_files>();
        auto const saved = open_checkpoint(world, directory, {.files = files});
        files->stops = world.rank() == world.size() - 1;
        load(world, saved, tensors, {.relays = true, .deadline = 0.5});
        return "ran";
    } catch (error const& problem) {
        return std::string(name(problem.code())) + ": " + problem.what();
    }
}

/// \throws std::runtime_error unless `text` has `expected`
void check(std::string const& text, std::string const& expected) {
    std::puts(text.c_str());
    if (text.find(expected) == std::string::npos)
        throw std::runtime_error("expected '" + expected + "', got: " + text);
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    boost::mpi::communicator const apart(world, boost::mpi::comm_duplicate);
    int const last = world.size() - 1;
    std::vector<int> processes;
    boost::mpi::all_gather(apart, static_cast<int>(::getpid()), processes);
    auto const directory = std::filesystem::temp_directory_path() /
                           ("stopped_rank." + std::to_string(processes.front()));
    std::string const text = std::string_view(argv[1]) == "load"
                                 ? outcome_of_load(mpi_group(world), directory)
                                 : outcome(mpi_group(world), argv[1], argv[2]);
    // Who writes to an arena by itself has all it needs from others, who wait for it at the end.
    std::string_view const late =
        std::string_view(argv[1]) == "arena" && std::string_view(argv[2]) == "within"
            ? "ran"
            : "others, which have given up waiting";
    try {
        check(text, world.rank() == last ? std::string(late)
                                         : "do not answer: " + std::to_string(last) + ";");
    } catch (std::runtime_error const& problem) {
        std::fprintf(stderr, "FAILED: rank %d: %s\n", world.rank(), problem.what());
        MPI_Abort(world, 1);
    }
    // The first rank lets the stopped one go on, when all others have their error.
    if (world.rank() == 0) {
        for (int rank = 1; rank < last; ++rank)
            apart.recv(rank, 0);
        ::kill(processes[static_cast<std::size_t>(last)], SIGCONT);
        apart.recv(last, 0);
        std::filesystem::remove_all(directory);
        std::puts("all ranks got their error");
        std::fflush(stdout);
        MPI_Abort(world, 0);
    }
    apart.send(0, 0);
    ::pause(); // what was given up is still under way: the first rank ends the job
}
