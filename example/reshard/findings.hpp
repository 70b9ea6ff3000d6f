// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FINDINGS_HPP
#define RESHARD_TOOL_FINDINGS_HPP

#include "job.hpp"

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/place.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>

#include <optional>
#include <string>
#include <string_view>

/// \file
/// Findings as all commands show them.

namespace tool {

/// A finding with all that is shown of it.
struct reported {
    std::string severity;
    std::string code;
    std::string key;
    std::string message;
    std::string file;
    std::optional<reshard::aoa::place> where; ///< in the program
    reshard::vector<std::string> chain;
    std::string text;  ///< for people: the position, the severity, the message, the lines below
    std::string plain; ///< the same without the severity, to follow `note: `
};

/// Whether a finding is about a position in the program.
inline bool is_placed(reshard::aoa::finding const& finding) {
    return finding.where.last > finding.where.first;
}

/// \param code the program that the finding is of
reported report_of(reshard::aoa::program const& code, reshard::aoa::finding const& finding,
                   job_files const& files);

/// A finding that is about no place of the program.
reshard::aoa::finding unplaced(reshard::aoa::severity level, std::string_view code, std::string key,
                               std::string message);

/// Adds an error that the target makes, not the program.
void add_error(job& full_job, reshard::errc code, std::string key, std::string message);

/// An error that has stopped a stage, and whose sentence begins with the file.
reported report_of(reshard::error const& problem, std::string const& file);

reshard::vector<reported> reports_of(reshard::aoa::program const& code,
                                     reshard::vector<reshard::aoa::finding> const& findings,
                                     job_files const& files);

std::size_t count_of(std::string_view severity, reshard::vector<reported> const& reports);

/// Findings that say the same of several tensors: the first one, and the keys of the others.
struct finding_group {
    reported const* first;
    reshard::vector<std::string> others = {};
    std::size_t nameless = 0; ///< more of them, of no tensor
};

reshard::vector<finding_group> groups_of(reshard::vector<reported> const& reports);

/// For which other tensors the same holds, as lines below the first finding.
std::string same_text(finding_group const& group);

/// Says findings on standard error, those that say the same of several tensors once.
void say_findings(reshard::vector<reported> const& reports);

/// Notes tensors of the source that a program of the user's renames, if nothing has their old names
/// afterwards. A target that lists its tensors says itself which names it wants.
void note_renamed_away(job& full_job, reshard::catalog const& source, job_files const& files);

/// Prints the warnings about a job that will be carried out to standard error.
void say_notes(job const& full_job, job_files const& files);

/// The number of warnings that a job gives rise to.
std::size_t count_warnings(job const& full_job);

/// Refuses a job with warnings if the options say so.
void refuse_warnings(std::size_t warnings, job_files const& files);

} // namespace tool

#endif
