// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"

#include <reshard/group/agree.hpp>

#include <cerrno>
#include <csignal>
#include <iostream>

/// \file
/// The command-line tool as a function, for the program and for the Python module.

namespace tool {

namespace {

/// Writes to standard output. Returns false if the reader has closed it, as `| head` does; that is
/// not an error to report.
bool print(std::string const& text) {
    errno = 0;
    if (std::cout << text << std::flush)
        return true;
    if (errno == EPIPE)
        return false;
    reshard::fail(reshard::errc::io, "standard output: cannot be written");
}

/// Prints a result on the first process; returns the exit status, which all processes share.
int finish(processes const& world, outcome const& result) {
    constexpr int nobody_reads = 128 + SIGPIPE; // a shell's status for a program that SIGPIPE ended
    int status = result.status;
    reshard::agree_on(world, [&] {
        std::string const text = result.is_program ? result.text : without_controls(result.text);
        if (world.rank() == 0 && !print(text))
            status = nobody_reads;
    });
    return std::stoi(world.all_gather(std::to_string(status)).front());
}

} // namespace

int run_tool(int argc, char** argv) try {
    std::signal(SIGXFSZ, SIG_IGN); // a file that grows too large is an error, like a full disk
    std::signal(SIGPIPE, SIG_IGN);
    processes const world;
    try {
        return finish(world, run_command(world, argc, argv));
    } catch (reshard::error const& problem) {
        if (world.rank() == 0)
            print_error(problem.what());
        world.all_gather(""); // no process exits before the message is written
        return status_of(problem.code());
    } catch (std::exception const& problem) {
        print_error(std::string("reshard: ") + problem.what());
        world.abort();
    }
} catch (reshard::error const& problem) { // no MPI among several processes
    print_error(problem.what());
    return status_of(problem.code());
}

} // namespace tool
