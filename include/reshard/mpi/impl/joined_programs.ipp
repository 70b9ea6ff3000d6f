// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_JOINED_PROGRAMS_IPP
#define RESHARD_MPI_IMPL_JOINED_PROGRAMS_IPP

#include <reshard/mpi/joined_programs.hpp>

#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/os/process.hpp>
#include <reshard/os/waiting.hpp>

#include <boost/mpi/intercommunicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>

namespace reshard::detail {

/// The note that one job writes to a file for the other job.
struct joining_note {
    std::uint64_t token = 0; ///< the first job chooses it; the second job repeats it
    std::string port;        ///< as MPI names it; empty if the writer cannot connect jobs
    process_mark writer;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.token, self.port, self.writer);
    }
};

template <>
inline constexpr stored_form form_of<joining_note>{"note of an MPI job", 200};

/// The note in a file; std::nullopt if the file does not exist.
///
/// \throws error with errc::already_exists for another kind of file; errc::io
inline std::optional<joining_note> note_in(std::string const& file) {
    constexpr std::uint64_t most = std::uint64_t{1} << 16;
    std::optional<joining_note> note;
    auto const problem = attempt([&] {
        auto const opened = open_if_there(file);
        if (!opened)
            return;
        std::string bytes(static_cast<std::size_t>(std::min(opened->facts().bytes, most)), '\0');
        opened->read(0, std::as_writable_bytes(std::span(bytes)));
        note = from_bytes<joining_note>(bytes);
    });
    if (!problem)
        return note;
    if (problem->code() == errc::io)
        throw error(*problem);
    fail(errc::already_exists, file,
         ": the existing file is not a note of an MPI job; remove it, or give another path");
}

/// The note in a file, if the job that wrote it still runs.
inline std::optional<joining_note> read_note(std::string const& file) {
    auto note = note_in(file);
    return note && !has_ended(note->writer) ? std::move(note) : std::nullopt;
}

/// Waits for a note that answers `token`, or for any note if `token` is 0.
inline joining_note wait_for_note(std::string const& file, std::uint64_t token, double seconds) {
    waiting patience(seconds);
    for (;; patience.pause()) {
        auto note = read_note(file);
        if (note && (token == 0 || note->token == token))
            return *std::move(note);
        if (patience.is_over())
            fail(errc::deadline, file, ": the other job did not arrive within ",
                 seconds_text(seconds),
                 "; start both jobs with the same file, and exactly one of them as the first");
    }
}

/// False if the launcher is known not to connect jobs. Without a server that both jobs know, Open
/// MPI would end this job and let the other job wait forever.
inline bool can_join() {
#ifdef OPEN_MPI
    return std::getenv("OMPI_MCA_pmix_server_uri") != nullptr;
#else
    return true;
#endif
}

[[noreturn]] inline void fail_to_join(std::string const& file) {
    fail(errc::unsupported, file,
         ": the launcher cannot connect jobs that were started separately; with Open MPI, start "
         "one `ompi-server -r URI`, and start both jobs with `mpiexec --ompi-server file:URI`");
}

/// Opens a port, publishes it and waits for the answer.
inline std::string offer_port(std::string const& file, double seconds) {
    std::string const answer = file + ".answer";
    if (read_note(file))
        fail(errc::already_exists, file,
             ": another job is already waiting at this path as the first; start one of the two as "
             "the second, or give another path");
    static_cast<void>(note_in(answer)); // fails for a file that this job may not remove
    joining_note note{new_token(), {}, this_process()};
    char port[MPI_MAX_PORT_NAME] = {};
    if (can_join() && MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS)
        note.port = port;
    std::remove(answer.c_str());
    put_file(file, to_bytes(note));
    std::optional<joining_note> said;
    auto const problem = attempt([&] { said = wait_for_note(answer, note.token, seconds); });
    std::remove(answer.c_str());
    std::remove(file.c_str());
    if (problem)
        throw error(*problem);
    if (said->port.empty())
        fail_to_join(file);
    return note.port;
}

/// Reads the port of the other job, and answers whether this job can connect to it.
inline std::string find_port(std::string const& file, double seconds) {
    joining_note note = wait_for_note(file, 0, seconds);
    if (!can_join())
        note.port.clear();
    put_file(file + ".answer", to_bytes(joining_note{note.token, note.port, this_process()}));
    if (note.port.empty())
        fail_to_join(file);
    return note.port;
}

/// Ends the program if MPI has not connected the jobs in time. Otherwise MPI would wait forever,
/// for example if the other job was killed after its answer.
///
/// \par Units seconds; at least ten, because MPI may need them
class connecting_limit {
public:
    connecting_limit(std::string const& file, double longest)
        : watching_([file, seconds = std::max(longest, 10.0)](std::stop_token const& connected) {
              std::mutex alone;
              std::unique_lock lock(alone);
              std::condition_variable_any waking;
              waking.wait_for(lock, connected, std::chrono::duration<double>(seconds),
                              [] { return false; });
              if (connected.stop_requested())
                  return;
              std::cerr << file
                        << ": the other job arrived, but MPI did not connect the two within "
                        << seconds_text(seconds) << "; this job will exit; start both jobs again"
                        << std::endl;
              std::_Exit(EXIT_FAILURE);
          }) {}

private:
    std::jthread watching_;
};

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL mpi_group joined_programs(mpi_group const& side, std::string const& file,
                                       bool is_first, detail::wait_duration longest) {
    using namespace detail;
    mpi_group const ranks = mpi_group::duplicate_of(side);
    std::string port;
    std::optional<connecting_limit> limit;
    agree_on(ranks, [&] {
        if (ranks.rank() != 0)
            return;
        check_meeting_path(file, "the file at which two jobs meet");
        port = is_first ? offer_port(file, longest.seconds) : find_port(file, longest.seconds);
        limit.emplace(file, longest.seconds);
    });
    port = gather_values(ranks, port).front();
    MPI_Comm between = MPI_COMM_NULL; // from here on, an MPI error ends the program
    if (is_first)
        MPI_Comm_accept(port.c_str(), MPI_INFO_NULL, 0, ranks.base(), &between);
    else
        MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, ranks.base(), &between);
    if (is_first && ranks.rank() == 0)
        MPI_Close_port(port.c_str());
    return joint_group({between, boost::mpi::comm_take_ownership}, is_first);
}

RESHARD_DECL mpi_group joint_group(boost::mpi::intercommunicator const& between, bool is_first) {
    return between.merge(!is_first); // ranks that pass true come last
}

} // namespace reshard

#endif
