// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "rows_to_columns.hpp"

#include <boost/mpi/environment.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

/// \file
/// Redistributes again and again, until one rank is killed: `killed_rank TIER PLACE SEGMENTS FIFO`.
///
/// Into the fifo, which is open for as long as a rank lives, each rank says its number as a process and the
/// tier that it really uses, and the one that dies says so. What then becomes of the others is judged outside.

namespace {

using namespace reshard;

int fifo = -1;
bool has_unnamed_segments = true;

/// Says a line, also from the handler of a signal.
void say(std::string_view line) { static_cast<void>(!::write(fifo, line.data(), line.size())); }

[[noreturn]] void die() {
    say("dies\n");
    ::kill(::getpid(), SIGKILL);
    ::_exit(0);
}

/// The options of a run of this program.
struct request {
    std::string_view tier, position, segments;
};

void redistribute_for_ever(mpi_group const& world, request const& wanted) {
    test::rows_to_columns const rows_to_columns(world, wanted.tier);
    job moving = rows_to_columns.prepare(world);
    run(moving);
    say(std::to_string(::getpid()) + " " + std::string(rows_to_columns.tier_of(moving)) + "\n");
    world.base().barrier();
    for (int i = 0;; ++i) {
        if (i == 3 && wanted.position == "between" && world.rank() == 0)
            die();
        if (i == 3 && wanted.position == "within" && world.rank() == world.size() - 1)
            rows_to_columns.rows.interrupt_with([](int) { die(); });
        run(moving);
    }
}

} // namespace

/// Replaces the system's. Unnamed segments are refused if they are to have names.
extern "C" {

int memfd_create(char const* name, unsigned flags) noexcept {
    if (has_unnamed_segments)
        return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
    errno = ENOSYS;
    return -1;
}
}

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    request const wanted{argv[1], argv[2], argv[3]};
    has_unnamed_segments = wanted.segments == "unnamed";
    fifo = ::open(argv[4], O_WRONLY | O_CLOEXEC);
    boost::mpi::communicator const world;
    world.barrier(); // all of them have it open
    redistribute_for_ever(mpi_group(world), wanted);
}
