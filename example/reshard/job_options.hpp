// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_JOB_OPTIONS_HPP
#define RESHARD_TOOL_JOB_OPTIONS_HPP

#include "job.hpp"

#include <CLI/CLI.hpp>

/// \file
/// The options that several commands have, each spelled once.

namespace tool {

inline CLI::Option* add_program(CLI::App& command, job_files& files) {
    return command.add_option("--program", files.program, "A file with AOA statements");
}

inline CLI::Option* add_source(CLI::App& command, job_files& files) {
    return command.add_option("--source", files.source, "A checkpoint or a layout file")
        ->required();
}

inline CLI::Option* add_target(CLI::App& command, job_files& files) {
    return command.add_option("--target", files.target, "A layout file or a checkpoint");
}

} // namespace tool

#endif
