// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_JOB_HPP
#define RESHARD_TOOL_JOB_HPP

#include <reshard/aoa/expand.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/shard/layout.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

/// \file
/// Source, program and target together: what most commands begin with.

namespace tool {

/// The files of a job as they stand on the command line; empty where there is none.
struct job_files {
    std::string source;
    std::string target;
    std::string program;
    bool partial = false; ///< the target's shards may share elements, and leave some out
};

/// What the files say together.
struct job {
    reshard::aoa::program code; ///< without macros
    std::vector<reshard::aoa::finding> findings;
    std::optional<reshard::errc> first_error; ///< among the findings
    reshard::mapping map;
    std::optional<reshard::layout> target; ///< nothing without a target, or after an error
    std::map<std::string, reshard::data_type> target_dtypes; ///< as the target's file wants them
    std::vector<std::string> notes;                          ///< what a person should know besides
};

/// Reads program and target; errors of the program are findings.
///
/// \throws error for files that cannot be read, and for what stops the expansion of the program
job make_job(reshard::layout const& source, job_files const& files);

/// The same; the first error among the findings is thrown.
job make_sound_job(reshard::layout const& source, job_files const& files);

/// The statements of a program, without macros, as lines.
std::vector<std::string> statement_lines(reshard::aoa::program const& code,
                                         reshard::layout const& source);

/// A finding for people; one that is about no statement begins with the target's file.
std::string text_of(job const& all, reshard::aoa::finding const& one, job_files const& files);

/// Says on standard error what a person should know of a job that will be carried out.
void print_notes(job const& all, reshard::layout const& source, job_files const& files);

/// Adds a file to an error of `work` that names none: the source's for elements that nobody holds, or
/// too many, the target's for all else.
template <class Work>
auto with_files(job_files const& files, Work&& work) {
    try {
        return work();
    } catch (reshard::error const& problem) {
        std::string const text = problem.what();
        if (!text.starts_with('\''))
            throw;
        bool const is_about_source = problem.code() == reshard::errc::not_covered ||
                                     problem.code() == reshard::errc::overlap;
        std::string const& file =
            is_about_source || files.target.empty() ? files.source : files.target;
        reshard::fail(problem.code(), file + ": " + text);
    }
}

} // namespace tool

#endif
