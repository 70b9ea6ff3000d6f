// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_REPORT_HPP
#define RESHARD_TOOL_REPORT_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

/// \file
/// The tool's output for people: numbers, notes, progress, errors.

namespace tool {

using reshard::index_t;

/// The exit statuses that scripts rely on.
enum status { done = 0, no = 1, wrong_usage = 2, refused_input = 3, io_failure = 4 };

/// The status with which the tool ends after an error.
int status_of(reshard::errc code);

/// For example `1,234,567`.
std::string grouped(index_t number);

/// For example `3 keys` or `1 key`.
std::string counted(std::size_t count, std::string const& noun);

/// For example `'a', 'b' and 7 more`.
std::string listed(reshard::vector<std::string> const& keys);

/// Joins lines, each with a line break at the end.
std::string joined_lines(reshard::vector<std::string> const& lines);

/// `text` in bold if standard output is a terminal with colour.
std::string bold(std::string_view text);

/// Prints a line to standard error that begins with its severity, such as `warning: `.
void say(std::string const& noun, std::string const& text);
inline void note(std::string const& text) { say("note", text); }

/// Prints each text as a warning; returns the number of warnings.
std::size_t say_warnings(reshard::vector<std::string> const& texts);

/// Text with its control characters made visible, except those from `bold`.
std::string without_controls(std::string text);

/// Whether standard output is a terminal that a person reads.
bool is_terminal();

/// Prints an error to standard error, in red on a terminal.
void print_error(std::string const& text);

/// While an object exists, it collects the lines that `say` would print from this thread.
class kept_lines {
public:
    /// The severity of a line, such as `warning`, and its text.
    using line = std::pair<std::string, std::string>;

    kept_lines();
    kept_lines(kept_lines const&) = delete;
    kept_lines& operator=(kept_lines const&) = delete;
    ~kept_lines();

    reshard::vector<line> const& lines() const { return lines_; }

private:
    friend void say(std::string const& noun, std::string const& text);

    reshard::vector<line> lines_;
    kept_lines* outer_;
};

/// Measures the time since its construction.
class stopwatch {
public:
    double seconds() const;

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// For example `269,030,016 bytes in 0.42 s, 0.64 GB/s`.
std::string closing_line(index_t bytes, double seconds);

/// When progress is shown.
enum class progress_when { on_terminal, always, never };

/// A line on standard error that is redrawn several times a second, and erased when the work is
/// done.
///
/// In a pipe it is shown only on request, and it remains.
class progress_bar {
public:
    /// \param is_first false for processes that print nothing
    explicit progress_bar(bool is_first, progress_when when = progress_when::on_terminal);
    progress_bar(progress_bar const&) = delete;
    progress_bar& operator=(progress_bar const&) = delete;
    ~progress_bar();

    void operator()(index_t bytes, index_t total);

private:
    bool is_terminal_;
    bool is_shown_;
    stopwatch watch_;
    double next_ = 0; ///< the next time to draw, in seconds
    bool is_drawn_ = false;
    bool is_complete_ = false;
};

/// A similar line for work without known progress: it shows the elapsed time.
class elapsed_line {
public:
    /// \param work a name such as `planning`
    elapsed_line(std::string work, progress_when when);

private:
    std::jthread drawing_;
};

} // namespace tool

#endif
