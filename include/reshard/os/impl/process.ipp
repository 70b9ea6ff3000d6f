// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_PROCESS_IPP
#define RESHARD_OS_IMPL_PROCESS_IPP

#include <reshard/os/process.hpp>

#include <reshard/core/error.hpp>

#if __has_include(<sys/random.h>)
#include <sys/random.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace reshard::detail {

/// The properties of a process that the system reports.
struct process_facts {
    char state = 'X'; ///< Z or X if the process has ended
    std::uint64_t started = 0;
};

/// Parses the fields after the name of a process. The name may have spaces and parentheses.
///
/// \par Source proc(5): field 3 is the state, and field 22 is the start time
inline process_facts facts_in(std::string const& text) {
    process_facts facts;
    std::size_t const end = text.rfind(')');
    if (end == std::string::npos)
        return facts;
    std::istringstream fields(text.substr(end + 1));
    fields >> facts.state;
    std::string other;
    for (int i = 0; i < 18; ++i)
        fields >> other;
    fields >> facts.started;
    return facts;
}

/// The properties of a process. A process that does not exist has ended.
inline process_facts facts_of(std::uint64_t number) {
    std::ifstream file("/proc/" + std::to_string(number) + "/stat");
    return facts_in({std::istreambuf_iterator<char>(file), {}});
}

/// The namespace of this process's number; 0 if the system does not report it.
inline std::uint64_t space_of_numbers() {
    struct stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

RESHARD_DECL process_mark this_process() {
    auto const number = static_cast<std::uint64_t>(::getpid());
    return {number, facts_of(number).started, space_of_numbers()};
}

RESHARD_DECL std::uint64_t new_token() {
    std::uint64_t token = 0;
    if (::getentropy(&token, sizeof token) != 0)
        fail(errc::unsupported, "this system does not provide random numbers (error ", errno, ")");
    return std::max<std::uint64_t>(token, 1);
}

RESHARD_DECL bool has_ended(process_mark const& mark) {
    if (mark.number == 0 || (mark.space != 0 && mark.space != space_of_numbers()))
        return false;
    if (::kill(static_cast<pid_t>(mark.number), 0) != 0 && errno == ESRCH)
        return true;
    if (mark.started == 0)
        return false;
    process_facts const now = facts_of(mark.number);
    return now.state == 'Z' || now.state == 'X' || now.started != mark.started;
}

} // namespace reshard::detail

#endif
