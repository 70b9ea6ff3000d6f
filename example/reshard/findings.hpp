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
/// Findings in the form that all commands print.

namespace tool {

/// A finding with everything that is printed of it.
struct reported {
    std::string severity;
    std::string code;
    std::string key;
    std::string message;
    std::string file;
    std::optional<reshard::aoa::place> where; ///< position in the program
    reshard::vector<std::string> chain;
    std::string text;  ///< for people: the position, the severity, the message, the lines below
    std::string plain; ///< `text` without the severity, to be printed after `note: `
};

/// Whether a finding is about a position in the program.
inline bool is_placed(reshard::aoa::finding const& finding) {
    return finding.where.last > finding.where.first;
}

/// \param code the program of the finding
reported report_of(reshard::aoa::program const& code, reshard::aoa::finding const& finding,
                   job_files const& files);

/// A finding without a position in the program.
reshard::aoa::finding unplaced(reshard::aoa::severity level, std::string_view code, std::string key,
                               std::string message);

/// Adds an error that the target causes, not the program.
void add_error(job& full_job, reshard::errc code, std::string key, std::string message);

/// Reports an error that has stopped a stage, in a sentence that begins with the file.
reported report_of(reshard::error const& problem, std::string const& file);

reshard::vector<reported> reports_of(reshard::aoa::program const& code,
                                     reshard::vector<reshard::aoa::finding> const& findings,
                                     job_files const& files);

std::size_t count_of(std::string_view severity, reshard::vector<reported> const& reports);

/// Findings with the same message for several tensors: the first finding, and the keys of the
/// others.
struct finding_group {
    reported const* first;
    reshard::vector<std::string> others = {};
    std::size_t nameless = 0; ///< number of further findings without a key
};

reshard::vector<finding_group> groups_of(reshard::vector<reported> const& reports);

/// The other tensors of a group, as lines below its first finding.
std::string same_text(finding_group const& group);

/// Prints findings to standard error. Findings with the same message for several tensors are
/// printed once.
void say_findings(reshard::vector<reported> const& reports);

/// Notes source tensors that the user's program renames if no tensor has their old names
/// afterwards. A target that lists its tensors gets no note, since it states the names itself.
void note_renamed_away(job& full_job, reshard::catalog const& source, job_files const& files);

/// Prints the warnings about a job that will run to standard error.
void say_notes(job const& full_job, job_files const& files);

/// The number of warnings about a job.
std::size_t count_warnings(job const& full_job);

/// Refuses a job that has warnings, if the options require it.
void refuse_warnings(std::size_t warnings, job_files const& files);

} // namespace tool

#endif
