// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "report.hpp"

#include "picture/progress_text.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <stop_token>

#include <unistd.h>

namespace tool {

namespace {

/// Whether to use colour: only on a terminal, and as no-color.org describes. Open MPI gives its
/// processes a terminal that no user sees.
bool has_colour(int file) {
    return ::isatty(file) == 1 && std::getenv("NO_COLOR") == nullptr &&
           std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
}

template <class... Values>
std::string formatted(char const* format, Values... values) {
    char text[64];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

bool is_progress_shown(progress_when when, bool is_terminal) {
    return when == progress_when::always || (when == progress_when::on_terminal && is_terminal);
}

/// Draws a line over the previous one.
void draw_line(std::string const& text, bool is_terminal) {
    std::cerr << "\r" + text + (is_terminal ? "\033[K" : "") << std::flush;
}

/// Erases the drawn line; in a pipe it remains.
void end_line(bool is_terminal) { std::cerr << (is_terminal ? "\r\033[K" : "\n") << std::flush; }

} // namespace

int status_of(reshard::errc code) {
    switch (code) {
    case reshard::errc::usage: return wrong_usage;
    case reshard::errc::io: return io_failure;
    default: return refused_input;
    }
}

std::string grouped(index_t number) {
    std::string text = std::to_string(number);
    for (std::size_t end = text.size(); end > 3 + (number < 0 ? 1u : 0u);) {
        end -= 3;
        text.insert(end, 1, ',');
    }
    return text;
}

std::string counted(std::size_t count, std::string const& noun) {
    return grouped(static_cast<index_t>(count)) + " " + noun + (count == 1 ? "" : "s");
}

std::string listed(reshard::vector<std::string> const& keys) {
    constexpr std::size_t most = 4;
    std::size_t const shown = keys.size() <= most + 1 ? keys.size() : most;
    std::string text;
    for (std::size_t i = 0; i < shown; ++i)
        text += (i == 0 ? "'" : ", '") + keys[i] + "'";
    if (shown < keys.size())
        text += " and " + grouped(static_cast<index_t>(keys.size() - shown)) + " more";
    return text;
}

std::string joined_lines(reshard::vector<std::string> const& lines) {
    std::string text;
    for (std::string const& line : lines)
        text += line + "\n";
    return text;
}

namespace {

constexpr std::string_view bold_begin = "\033[1m", bold_end = "\033[0m";

}

std::string bold(std::string_view text) {
    return has_colour(STDOUT_FILENO)
               ? std::string(bold_begin) + std::string(text) + std::string(bold_end)
               : std::string(text);
}

std::string without_controls(std::string text) {
    std::string shown;
    while (!text.empty()) {
        std::size_t const mark = std::min(text.find(bold_begin), text.find(bold_end));
        shown += reshard::detail::printable(text.substr(0, mark));
        if (mark == text.npos)
            break;
        shown += text.substr(mark, bold_end.size());
        text.erase(0, mark + bold_end.size());
    }
    return shown;
}

namespace {

thread_local kept_lines* keeper = nullptr;

}

kept_lines::kept_lines() : outer_(std::exchange(keeper, this)) {}

kept_lines::~kept_lines() { keeper = outer_; }

void say(std::string const& noun, std::string const& text) {
    std::string const shown = reshard::detail::printable(text);
    if (keeper)
        keeper->lines_.emplace_back(noun, shown);
    else
        std::cerr << noun + ": " + shown + "\n";
}

std::size_t say_warnings(reshard::vector<std::string> const& texts) {
    for (std::string const& text : texts)
        say("warning", text);
    return texts.size();
}

bool is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

void print_error(std::string const& text) {
    std::cerr << (has_colour(STDERR_FILENO) ? "\033[31m" + text + "\033[0m\n" : text + "\n");
}

double stopwatch::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string closing_line(index_t bytes, double seconds) {
    double const rate = static_cast<double>(bytes) / 1e9 / std::max(seconds, 1e-9);
    return grouped(bytes) + " bytes in " + formatted("%.2f", seconds) + " s, " +
           formatted("%.2f", rate) + " GB/s";
}

progress_bar::progress_bar(bool is_first, progress_when when)
    : is_terminal_(::isatty(STDERR_FILENO) == 1),
      is_shown_(is_first && is_progress_shown(when, is_terminal_)) {}

progress_bar::~progress_bar() {
    if (is_drawn_)
        end_line(is_terminal_);
}

void progress_bar::operator()(index_t bytes, index_t total) {
    constexpr double between = 0.1;
    if (!is_shown_ || is_complete_)
        return;
    double const seconds = watch_.seconds();
    is_complete_ = bytes >= total;
    if (seconds < next_ && !is_complete_)
        return;
    next_ = seconds + between;
    is_drawn_ = true;
    draw_line(reshard::progress_text(bytes, total, seconds), is_terminal_);
}

elapsed_line::elapsed_line(std::string work, progress_when when) {
    bool const is_terminal = ::isatty(STDERR_FILENO) == 1;
    if (!is_progress_shown(when, is_terminal))
        return;
    drawing_ =
        std::jthread([work = std::move(work), is_terminal,
                      is_at_once = when == progress_when::always](std::stop_token const& done) {
            stopwatch const watch;
            std::mutex alone;
            std::unique_lock lock(alone);
            std::condition_variable_any waking;
            bool is_drawn = false;
            while (!done.stop_requested() || (is_at_once && !is_drawn)) {
                if (is_drawn || is_at_once || watch.seconds() >= 1) {
                    draw_line(work + ": " + formatted("%.0f", watch.seconds()) + " s", is_terminal);
                    is_drawn = true;
                }
                waking.wait_for(lock, done, std::chrono::seconds(1), [] { return false; });
            }
            if (is_drawn)
                end_line(is_terminal);
        });
}

} // namespace tool
