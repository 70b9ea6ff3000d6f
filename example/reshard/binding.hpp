// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_BINDING_HPP
#define RESHARD_TOOL_BINDING_HPP

#include "processes.hpp"
#include "report.hpp"

#include <reshard/bind/options.hpp>
#include <reshard/core/error.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <optional>
#include <string>
#include <vector>

/// \file
/// What the modules for other languages share: communicators, programs as text, mistakes that reach
/// all ranks, and commands that return their output.

namespace tool {

/// A communicator, as MPI numbers it for Fortran; std::nullopt for this process alone.
using given_communicator = std::optional<int>;

/// The group of a communicator; the caller keeps ownership of the communicator.
reshard::mpi_group group_of(int communicator);

/// A mistake of this rank, in words for the other ranks.
reshard::detail::local_error named(reshard::group auto const& world,
                                   reshard::detail::local_error const& mistake) {
    if (!mistake || world.size() == 1)
        return mistake;
    return reshard::error(mistake->code(),
                          reshard::detail::words("rank ", world.rank(), ": ", mistake->what()));
}

/// Calls `run` with the group of a communicator, after all its ranks have agreed that none has made
/// a mistake.
///
/// \par Collective every rank of the communicator, in the same order
/// \throws error on all ranks: the mistake of the lowest rank that has one
void run_agreed(given_communicator const& communicator, reshard::detail::local_error const& mistake,
                auto const& run) {
    auto const run_with = [&](auto const& world) {
        reshard::agree(world, named(world, mistake));
        run(world);
    };
    if (communicator)
        run_with(group_of(*communicator));
    else
        run_with(reshard::solo());
}

/// A program that adds its warnings to `warnings`, which outlive it. Without text, tensors keep
/// their names.
///
/// \param file     the name of the program in messages
/// \param left_out the code of findings that are not added; empty: all are
reshard::any_program program_of(std::string const& text, std::string const& file,
                                std::vector<std::string>& warnings,
                                std::string const& left_out = {});

/// The tensor of a checkpoint with that key; null if there is none.
reshard::detail::checkpoint_tensor const* find_tensor(reshard::checkpoint const& files,
                                                      std::string const& key);

/// The version of the library, such as `0.1.0`.
std::string version_text();

/// Words as `main` has them.
std::vector<char*> pointers_to(std::vector<std::string>& words);

/// The output of a command, and its other lines. Both are the same on all processes, except that
/// before an error only the first process knows the lines.
struct answer {
    std::string text;
    std::vector<kept_lines::line> said;
    bool is_first = false;
    reshard::detail::local_error problem;

    void check() const {
        if (problem)
            throw reshard::error(*problem);
    }
};

/// Runs a command: its words, without the name of the program. `problem` of the answer is the error
/// of the command, or the mistake that a rank has made before.
///
/// \par Collective every process
answer run_words(processes const& world, std::vector<std::string> words,
                 reshard::detail::local_error const& mistake);

} // namespace tool

#endif
