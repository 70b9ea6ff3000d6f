// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_BACKWARDS_HPP
#define RESHARD_TOOL_BACKWARDS_HPP

#include "job.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/core/vector.hpp>

#include <string>

/// \file
/// Runs a program in the direction opposite to the one that it is written in.

namespace tool {

/// Reverses a program without macros. Its findings name the options of the command line.
reshard::aoa::reversal reverse_program(reshard::aoa::program const& expanded,
                                       reshard::catalog const& source,
                                       reshard::catalog const* target, job_files const& files);

/// The reverse of the program `written` for `source`, without macros. `tensors` come from the
/// target's files and from `--like`. The expansion is complete only if there is no error.
reshard::aoa::expansion expand_backwards(reshard::aoa::program const& written,
                                         reshard::catalog const& source,
                                         reshard::vector<reshard::aoa::known_tensor> const& tensors,
                                         job_files const& files);

/// Describes the first error among the findings, and lists the keys of the other errors.
std::string errors_text(reshard::aoa::reversal const& of, std::string const& file);

} // namespace tool

#endif
