// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "rows_to_columns.hpp"

#include <reshard/plan/between_nodes.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/environment.hpp>

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
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
/// A rank is stopped while others wait for it: `stopped_rank TIER PLACE`. PLACE is the point at
/// which it stops: `before` anything is agreed, `between` preparing and running, `within` a run.
/// For the tier `load`, which passes on bytes read, it is always within: as the rank reads.
///
/// All other ranks have to get errc::deadline, which names it; then it goes on, and learns that
/// they gave up. Messages between ranks about that go over a communicator that the library does not
/// know. The seconds are those of `rank_clock`: the speed and load of the machine change nothing.

namespace {

using namespace reshard;

/// A time that all ranks share. It stands still until one of them is stopped; then 50 ms pass each
/// time that all others have looked at it. The last rank is the one that stops.
class rank_clock {
public:
    /// \param apart a communicator of nobody else
    /// \param file  a path where nothing is
    rank_clock(boost::mpi::communicator const& apart, std::filesystem::path const& file)
        : rank_(static_cast<std::size_t>(apart.rank())),
          size_(static_cast<std::size_t>(apart.size())) {
        constexpr auto bytes = sizeof(looks_of_ranks);
        int const number = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (number < 0 || ::ftruncate(number, bytes) != 0)
            throw std::runtime_error(file.string() + " cannot be made");
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
        ::close(number);
        if (memory == MAP_FAILED)
            throw std::runtime_error(file.string() + " cannot be mapped");
        looks_ = static_cast<looks_of_ranks*>(memory);
        apart.barrier();
        std::filesystem::remove(file);
    }

    /// Of the rank that stops: time begins, and passes without it.
    void begin() { (*looks_)[last_] = none; }
    /// Of the same one: it looks again. All others have left.
    void resume() { (*looks_)[last_] = 1; }

    /// Of any other one: time passes without it.
    void leave() { (*looks_)[rank_] = none; }

    double look() {
        if ((*looks_)[last_] == 0)
            return 0;
        std::uint64_t const now = *std::min_element(looks_->begin(), looks_->begin() + size_);
        std::atomic<std::uint64_t>& atomic = (*looks_)[rank_];
        atomic = std::max(atomic.load(), now + 1);
        return 0.05 * static_cast<double>(now);
    }

private:
    using looks_of_ranks = std::array<std::atomic<std::uint64_t>, 16>;
    static constexpr std::uint64_t none = std::uint64_t{1} << 50;

    std::size_t rank_, size_, last_ = size_ - 1;
    looks_of_ranks* looks_; ///< up to which time each has looked, which in a new file is 0
};

rank_clock* shared_clock = nullptr;
test::rows_to_columns const* interrupted = nullptr;

void stop() {
    shared_clock->begin();
    ::raise(SIGSTOP);
    shared_clock->resume();
}

/// What `options::deadline` makes of a job, on one rank.
std::string outcome(mpi_group const& world, std::string_view tier, std::string_view location) {
    bool const is_stopped = world.rank() == world.size() - 1;
    // Messages under way still reach the tensors: they stay until exit.
    auto const& elements = *new test::rows_to_columns(world, tier, {.deadline = 0.5});
    interrupted = &elements;
    try {
        if (is_stopped && location == "before")
            stop();
        job moving = elements.prepare(world);
        run(moving);
        if (elements.tier_of(moving) != tier)
            return "the tier is " + std::string(elements.tier_of(moving));
        if (is_stopped && location == "between")
            stop();
        if (is_stopped && location == "within")
            elements.rows.interrupt_with([](int) {
                interrupted->rows.let_pass();
                stop();
            });
        run(moving);
        return "ran";
    } catch (error const& problem) {
        return std::string(name(problem.code())) + ": " + problem.what();
    }
}

/// Files whose reader is stopped once, on request.
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
        load(world, saved, tensors, {.between_nodes = relays(), .deadline = 0.5});
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

// In front of MPI's own.
double MPI_Wtime() { return shared_clock ? shared_clock->look() : PMPI_Wtime(); }

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    boost::mpi::communicator const apart(world, boost::mpi::comm_duplicate);
    int const last = world.size() - 1;
    std::vector<int> processes;
    boost::mpi::all_gather(apart, static_cast<int>(::getpid()), processes);
    auto const directory = std::filesystem::temp_directory_path() /
                           ("stopped_rank." + std::to_string(processes.front()));
    if (world.rank() == 0) // what a process of this number has left that did not come to its end
        std::filesystem::remove_all(directory);
    apart.barrier();
    shared_clock = new rank_clock(apart, directory.string() + ".clock");
    std::string const text = std::string_view(argv[1]) == "load"
                                 ? outcome_of_load(mpi_group(world), directory)
                                 : outcome(mpi_group(world), argv[1], argv[2]);
    if (world.rank() != last)
        shared_clock->leave();
    // Who writes to an arena by itself has all it needs from others, who wait for it at the end.
    std::string_view const late =
        std::string_view(argv[1]) == "arena" && std::string_view(argv[2]) == "within"
            ? "ran"
            : "ranks that have given up by now";
    try {
        check(text, world.rank() == last
                        ? std::string(late)
                        : "for rank " + std::to_string(last) + ", which did not answer: ");
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
