// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_JOB_HPP
#define RESHARD_TOOL_JOB_HPP

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower_context.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/strictness.hpp>

#include <map>
#include <optional>
#include <string>

/// \file
/// Source, program and target together: what most commands begin with.

namespace tool {

struct source_spec;

/// The files of a job as given on the command line; empty if there is none.
struct job_files {
    std::string source;
    reshard::detail::safetensors_options reading = {}; ///< how a source is opened
    std::string target;
    std::string program; ///< a file, or `@` and the name of one of the tool's
    reshard::vector<std::string> settings = {}; ///< `NAME=NUMBER`, for gaps of the program
    reshard::vector<std::string> names = {};    ///< tables for names that the target has otherwise
    reshard::vector<std::string> renames = {};  ///< `FROM=TO`, or files of such pairs
    reshard::vector<std::string> casts = {};    ///< `PATTERN=DTYPE`
    reshard::vector<std::string> objects = {}; ///< keys of the source's values that are not tensors
    /// Other names of the source's tensors, with their keys.
    std::map<std::string, std::string> aliases = {};
    bool partial = false;         ///< the target's shards may share elements, and leave some out
    std::string strict;           ///< the name of a strictness, or empty
    bool strict_warnings = false; ///< a warning is refused
    reshard::aoa::expand_options expanding = {};
    reshard::aoa::lower_options lowering = {};
    bool cut_fused = false; ///< fused tensors may be cut otherwise than they were made for
    bool reverse = false;   ///< the program is written in the other direction
    std::string like;       ///< a checkpoint with the tensors that such a program restores
    reshard::aoa::reverse_options reversing = {};
};

/// A program as it is run for a source.
struct program_source {
    std::string text;
    std::string note; ///< a note on it for people, if any
    /// Of values that are not tensors: new names by old ones.
    std::map<std::string, std::string> object_names = {};
    /// Of a text that says what it is for: patterns of tensors that its statements do not name.
    /// Then all others have to be named.
    std::optional<reshard::vector<std::string>> keeps = {};
};

/// The contents of the files together.
struct job {
    program_source written;
    reshard::aoa::expansion expanded;
    reshard::aoa::lowering lowered;
    std::optional<reshard::catalog> wanted;       ///< the target's tensors, if there is a target
    bool lists_keys = false;                      ///< the target says itself which tensors it has
    std::optional<reshard::layout> target;        ///< nothing without a target, or after an error
    reshard::vector<reshard::aoa::finding> notes; ///< notes on the layout for people
    std::string unwritten; ///< which keys there are that the layout does not have
    reshard::strict_verdict verdict;

    reshard::aoa::program const& code() const { return expanded.code; }
    reshard::mapping const& map() const { return lowered.map; }
    /// Of the expansion, of the later steps, and of the layout.
    reshard::vector<reshard::aoa::finding> findings() const;
    std::optional<reshard::errc> first_error() const {
        return expanded.first_error ? expanded.first_error : lowered.first_error;
    }
};

/// The code of the note about values that a program has from elsewhere.
inline constexpr std::string_view program_values_code = "program_values";

/// Reads program and target; errors of the program are findings.
///
/// \throws error for files that cannot be read
job make_job(reshard::layout const& source, job_files const& files);

/// The same of a source that the command line names: `--rename` is for its other values, too.
job make_job(source_spec const& source, job_files const& files);

/// Refuses a target whose shards leave elements out, or share some, unless it may be partial.
///
/// \throws error that begins with the target's file
void check_cover(job const& full_job, job_files const& files);

/// A job whose findings are not errors and whose target is covered; otherwise the first error is
/// thrown.
job make_sound_job(reshard::layout const& source, job_files const& files);
job make_sound_job(source_spec const& source, job_files const& files);

/// The statements of a program, without macros, as lines.
reshard::vector<std::string> statement_lines(reshard::aoa::program const& code,
                                             reshard::layout const& source);

/// The command line's word for an option of the library.
void name_flags(std::string& text);

/// Adds a file to an error of `work` that names none: the source's for elements that nobody holds,
/// or too many, the target's for all else.
template <class Work>
auto with_files(job_files const& files, Work&& work) {
    try {
        return work();
    } catch (reshard::error const& problem) {
        std::string text = problem.what();
        if (!text.starts_with('\''))
            throw;
        name_flags(text);
        bool const is_about_source = problem.code() == reshard::errc::not_covered ||
                                     problem.code() == reshard::errc::overlap;
        std::string const& file =
            is_about_source || files.target.empty() ? files.source : files.target;
        reshard::fail(problem.code(), file + ": " + text);
    }
}

} // namespace tool

#endif
