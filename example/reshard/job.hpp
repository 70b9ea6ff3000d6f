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
/// Source, program and target together: the input of most commands.

namespace tool {

struct source_spec;

/// The files of a job as given on the command line; an empty path means no file.
struct job_files {
    std::string source;
    reshard::detail::safetensors_options reading = {}; ///< options for opening the source
    std::string target;
    std::string program; ///< a file, or `@` and the name of one of the tool's programs
    reshard::vector<std::string> settings = {}; ///< `NAME=NUMBER`, for gaps of the program
    reshard::vector<std::string> names = {};    ///< tables with other names of the target's tensors
    reshard::vector<std::string> renames = {};  ///< `FROM=TO`, or files of such pairs
    reshard::vector<std::string> casts = {};    ///< `PATTERN=DTYPE`
    reshard::vector<std::string> objects = {}; ///< keys of the source's values that are not tensors
    /// Other names of the source's tensors, and the keys of these tensors.
    std::map<std::string, std::string> aliases = {};
    bool partial = false;         ///< the target's shards may share and omit elements
    std::string strict;           ///< the name of a strictness mode, or empty
    bool strict_warnings = false; ///< a warning makes the command fail
    reshard::aoa::expand_options expanding = {};
    reshard::aoa::lower_options lowering = {};
    bool cut_fused = false; ///< fused tensors may be cut in ways that separate their members
    bool reverse = false;   ///< the program is written in the other direction
    std::string like;       ///< a checkpoint with the tensors that a reversed program restores
    reshard::aoa::reverse_options reversing = {};
};

/// A program in the form in which it runs for a source.
struct program_source {
    std::string text;
    std::string note; ///< a note on it for the user; may be empty
    /// New names, by old names, of values that are not tensors.
    std::map<std::string, std::string> object_names = {};
    /// Patterns of tensors that may be unnamed, if the text states which source it needs. Then all
    /// other tensors have to be named. std::nullopt for any other text.
    std::optional<reshard::vector<std::string>> keeps = {};
};

/// The job that the files describe.
struct job {
    program_source written;
    reshard::aoa::expansion expanded;
    reshard::aoa::lowering lowered;
    std::optional<reshard::catalog> wanted;       ///< the target's tensors, if there is a target
    bool lists_keys = false;                      ///< the target lists its tensors
    std::optional<reshard::layout> target;        ///< std::nullopt without one, or after an error
    reshard::vector<reshard::aoa::finding> notes; ///< notes on the layout for the user
    std::string unwritten;                        ///< a text about the keys that the layout omits
    reshard::strict_verdict verdict;

    reshard::aoa::program const& code() const { return expanded.code; }
    reshard::mapping const& map() const { return lowered.map; }
    /// Findings of the expansion, of the lowering, and about the layout.
    reshard::vector<reshard::aoa::finding> findings() const;
    std::optional<reshard::errc> first_error() const {
        return expanded.first_error ? expanded.first_error : lowered.first_error;
    }
};

/// The code of the note about values that a program takes from other files.
inline constexpr std::string_view program_values_code = "program_values";

/// Reads program and target. Errors of the program become findings.
///
/// \throws error for files that cannot be read
job make_job(reshard::layout const& source, job_files const& files);

/// Makes a job for a source from the command line. `--rename` also applies to its other values.
job make_job(source_spec const& source, job_files const& files);

/// Refuses a target whose shards omit or share elements, unless it may be partial.
///
/// \throws error whose text begins with the target's file
void check_cover(job const& full_job, job_files const& files);

/// Makes a job without errors whose target is covered. Otherwise the first error is thrown.
job make_sound_job(reshard::layout const& source, job_files const& files);
job make_sound_job(source_spec const& source, job_files const& files);

/// The statements of a program without macros, one per line.
reshard::vector<std::string> statement_lines(reshard::aoa::program const& code,
                                             reshard::layout const& source);

/// Replaces the names of library options by the names of command-line options.
void name_flags(std::string& text);

/// Adds a file name to an error of `work` that has none. The source is named for elements with no
/// holder or too many; the target is named for all other errors.
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
