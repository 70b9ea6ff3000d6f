// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_IMPL_BRIDGE_TARGET_IPP
#define RESHARD_BRIDGE_IMPL_BRIDGE_TARGET_IPP

#include <reshard/bridge/bridge_target.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/bridge/session.hpp>
#include <reshard/bridge/stored_shards.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/process.hpp>
#include <reshard/os/waiting.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

/// The first rank's view of the source, which the others follow.
struct seen_source {
    std::string problem;       ///< as `encode` writes it
    std::uint64_t version = 0; ///< the version to read; 0: none
    bool is_new = false;       ///< true for another source, which `head` and `content` describe
    port_head head;
    std::string content;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.problem, self.version, self.is_new, self.head, self.content);
    }
};

/// The result of one rank that has read a version.
struct read_outcome {
    std::string problem;
    bool is_intact = false;

    static constexpr void members(auto& self, auto&& visit) { visit(self.problem, self.is_intact); }
};

inline void throw_encoded(std::string const& bytes) {
    if (auto const problem = decode(bytes))
        throw error(*problem);
}

/// A target: its tensors, and the source that it met last.
class target_state {
public:
    /// \par Collective every rank of the group, in the same order, here and below
    target_state(any_group world, vector<target_tensors> const& sets, std::filesystem::path path,
                 bridge_options const& options);
    target_state(target_state const&) = delete;

    std::uint64_t update(std::uint64_t least);

    std::size_t front() const { return front_; }
    std::uint64_t version() const { return done_.version; }
    std::uint64_t newest() const { return session_->control().newest.load(); }
    bridge_stats stats() const;

private:
    bool is_first() const { return world_.rank() == 0; }

    void meet_first();

    /// Sends the first rank's view to all ranks.
    seen_source tell(seen_source source);

    /// Plans the transfers from another source; false if that source has ended meanwhile.
    bool meet(seen_source const& source);

    /// Waits for a port file.
    seen_source wait_for_port(waiting& patience) const;

    /// The other ranks sleep meanwhile, because a group may wait by polling.
    void sleep_until_port(waiting& patience) const;

    /// The port file of a new source that is running; std::nullopt if there is none.
    std::optional<port_bytes> new_port() const;

    /// Looks for a new source or version. Waits while no version has reached `least`.
    seen_source look(std::uint64_t least, waiting& patience);

    void sleep_until(std::uint64_t least, waiting& patience) const;

    /// Reads a version; false if it was overwritten meanwhile.
    bool read(std::uint64_t version);
    void take(std::uint64_t version, std::size_t set);

    any_group world_;
    target_sets wanted_;
    vector<std::shared_ptr<void const>> handles_;
    std::filesystem::path path_;
    bridge_options how_;
    std::unique_ptr<bridge_session> session_;
    taken_seat seat_;        ///< taken by the first rank for all
    std::uint64_t gone_ = 0; ///< the token of a source that ended before this target met it
    std::array<std::uint64_t, 2> bases_{}; ///< by set, the version of this source; 0: none
    std::uint64_t taken_ = 0;              ///< the last version of this source; 0: none
    std::size_t front_ = 0;
    bridge_stats done_;
};

/// \throws error with errc::bad_layout for sets of different shards
inline void check_sets(vector<target_tensors> const& sets, device_list const& devices) {
    vector<state_dict> tensors;
    for (target_tensors const& set : sets) {
        tensors.push_back(set.tensors);
        if (set.tensors.descriptors() != sets[0].tensors.descriptors())
            fail(errc::bad_layout, "tensor set ", tensors.size(), " (",
                 counted(set.tensors.size(), "shard"), ") has different shards from tensor set 1 (",
                 counted(sets[0].tensors.size(), "shard"),
                 "); give the same shards in the same order");
    }
    check_memory({}, tensors, devices);
}

RESHARD_DECL target_state::target_state(any_group world, vector<target_tensors> const& sets,
                                        std::filesystem::path path, bridge_options const& options)
    : world_(std::move(world)), path_(std::move(path)), how_(options) {
    wanted_.me = static_cast<holder_t>(world_.rank());
    wanted_.whole = layout_of_side(world_, sets[0], how_.devices, "target");
    agree_on(world_, [&] {
        check_sets(sets, how_.devices);
        if (is_first())
            check_meeting_path(path_, name_of_port);
    });
    for (target_tensors const& tensors : sets) {
        wanted_.sets.push_back(tensors.tensors);
        handles_.insert(handles_.end(), tensors.tensors.handles().begin(),
                        tensors.tensors.handles().end());
    }
    meet_first();
}

RESHARD_DECL seen_source target_state::tell(seen_source source) {
    seen_source received_source =
        gather_values(world_, is_first() ? source : seen_source{}).front();
    throw_encoded(received_source.problem);
    return received_source;
}

/// Describes a source in a message.
inline std::string state_of(process_mark const& source, bool lives) {
    return "process " + std::to_string(source.number) +
           (lives ? ", which is running" : ", which has ended");
}

RESHARD_DECL seen_source target_state::wait_for_port(waiting& patience) const {
    seen_source source;
    auto const problem = attempt([&] {
        for (;; patience.pause()) {
            auto port = read_port(path_);
            if (port && port->head.token != gone_) {
                source.is_new = true;
                source.head = port->head;
                source.content = std::move(port->content);
                return;
            }
            if (patience.is_over())
                fail(errc::deadline, path_.string(), ": waited ",
                     seconds_text(how_.deadline.seconds), " for a source's port file; ",
                     port ? words("the existing file belongs to process ",
                                  read_content(*port).control.maker.number, ", which has ended")
                          : "the file does not exist",
                     "; start the source with this path");
        }
    });
    source.problem = encode(problem);
    return source;
}

RESHARD_DECL void target_state::sleep_until_port(waiting& patience) const {
    attempt([&] { // the first rank reports a bad file
        auto head = read_port_head(path_);
        for (; (!head || head->token == gone_) && !patience.is_over(); head = read_port_head(path_))
            patience.pause();
    });
}

RESHARD_DECL void target_state::meet_first() {
    waiting patience(how_.deadline.seconds);
    for (;;) {
        if (!is_first())
            sleep_until_port(patience);
        seen_source const source = tell(is_first() ? wait_for_port(patience) : seen_source());
        if (meet(source))
            return;
        gone_ = source.head.token;
    }
}

RESHARD_DECL bool target_state::meet(seen_source const& source) {
    std::unique_ptr<bridge_session> fresh;
    try {
        agree_on(world_, [&] {
            fresh = std::make_unique<bridge_session>(port_bytes{source.head, source.content},
                                                     wanted_, how_);
        });
    } catch (error const& problem) {
        if (problem.code() == errc::io)
            return false;
        if (session_)
            fail(problem.code(), path_.string(), ": the new source does not fit: ", problem.what());
        throw;
    }
    seat_ = {}; // freed before the memory that contains it
    session_ = std::move(fresh);
    if (is_first())
        seat_ = taken_seat(session_->control());
    bases_ = {};
    taken_ = 0;
    ++done_.others;
    return true;
}

RESHARD_DECL std::optional<port_bytes> target_state::new_port() const {
    std::optional<port_bytes> port;
    attempt([&] { // ignores a bad file: the current source stays
        auto const head = read_port_head(path_);
        if (!head || head->token == session_->token() || head->token == gone_)
            return;
        auto match = read_port(path_);
        if (match && !has_ended(read_content(*match).control.maker))
            port = std::move(match);
    });
    return port;
}

/// Explains why no version reaches the requested number although the source publishes.
inline std::string counts_anew(std::uint64_t had) {
    return words(
        "; the new source restarted its version numbers, but the previous source had reached ", had,
        "; set continue_numbering or versions_before");
}

RESHARD_DECL seen_source target_state::look(std::uint64_t least, waiting& patience) {
    seen_source source;
    auto const problem = attempt([&] {
        for (;; patience.pause()) {
            if (auto port = new_port()) {
                source.is_new = true;
                source.head = port->head;
                source.content = std::move(port->content);
                return;
            }
            std::uint64_t const newest = seat_.begin_reading();
            source.version = newest == taken_ ? 0 : newest;
            if (source.version == 0)
                seat_.end_reading();
            if (std::max(newest, done_.version) >= least)
                return;
            seat_.end_reading();
            if (patience.is_over())
                fail(errc::deadline, path_.string(), ": waited ",
                     seconds_text(how_.deadline.seconds), " for version ", least,
                     "; the newest version is ", newest, ", and its source is ",
                     state_of(session_->source(), session_->source_lives()),
                     taken_ == 0 && newest > 0 && newest <= done_.version
                         ? counts_anew(done_.version)
                         : "");
        }
    });
    source.problem = encode(problem);
    return source;
}

RESHARD_DECL void target_state::sleep_until(std::uint64_t least, waiting& patience) const {
    while (std::max(newest(), done_.version) < least && !patience.is_over() && !new_port())
        patience.pause();
}

/// Reports that every version until the deadline was overwritten while it was read.
inline seen_source always_overwritten(std::filesystem::path const& path, std::uint64_t times,
                                      double seconds) {
    seen_source source;
    source.problem = encode(error(
        errc::deadline,
        words(path.string(), ": ", times,
              " versions were overwritten while they were being read, within ",
              seconds_text(seconds), "; give the source a deadline that is longer than one read")));
    return source;
}

RESHARD_DECL std::uint64_t target_state::update(std::uint64_t least) {
    waiting patience(how_.deadline.seconds);
    gone_ = 0;
    for (std::uint64_t overwritten = 0;;) {
        seen_source source;
        if (is_first())
            source = overwritten > 0 && patience.is_over()
                         ? always_overwritten(path_, overwritten, how_.deadline.seconds)
                         : look(least, patience);
        else
            sleep_until(least, patience);
        seen_source const seen_source = tell(std::move(source));
        if (seen_source.is_new) {
            gone_ = meet(seen_source) ? 0 : seen_source.head.token;
            continue;
        }
        if (seen_source.version == 0 || read(seen_source.version))
            return done_.version;
        ++overwritten;
        ++done_.overwritten;
    }
}

RESHARD_DECL bool target_state::read(std::uint64_t version) {
    std::size_t const set = wanted_.sets.size() == 1 ? 0 : 1 - front_;
    waiting const clock(0);
    bool is_intact = false;
    index_t bytes = 0;
    auto const problem = attempt([&] {
        is_intact = session_->fill({set, bases_[set], version}, how_.ready, bytes);
    });
    double const seconds = clock.seconds();
    auto const values = gather_values(world_, read_outcome{encode(problem), is_intact});
    seat_.end_reading();
    for (read_outcome const& outcome : values)
        throw_encoded(outcome.problem);
    if (!std::ranges::all_of(values, &read_outcome::is_intact))
        return false;
    done_.bytes = bytes;
    done_.seconds = seconds;
    done_.bytes_of_all += bytes;
    done_.seconds_of_all += seconds;
    take(version, set);
    return true;
}

RESHARD_DECL void target_state::take(std::uint64_t version, std::size_t set) {
    bases_[set] = version;
    front_ = set;
    taken_ = done_.version = version;
    seat_.set_has(version);
}

RESHARD_DECL bridge_stats target_state::stats() const {
    bridge_stats now = done_;
    now.lag = newest() - std::min(newest(), taken_);
    now.other_lives = session_->source_lives();
    return now;
}

} // namespace detail

RESHARD_DECL
bridge_target::bridge_target(detail::any_group world, vector<target_tensors> const& sets,
                             std::filesystem::path const& port, bridge_options const& options)
    : state_(std::make_unique<detail::target_state>(std::move(world), sets, port, options)) {}
RESHARD_DECL bridge_target::bridge_target(bridge_target&& target) noexcept = default;
RESHARD_DECL bridge_target& bridge_target::operator=(bridge_target&& target) noexcept = default;
RESHARD_DECL bridge_target::~bridge_target() = default;

RESHARD_DECL detail::target_state& bridge_target::state() const {
    if (!state_)
        fail(errc::usage, "this target has been moved from; use the one that it was moved to");
    return *state_;
}

RESHARD_DECL std::uint64_t bridge_target::update(std::uint64_t least) {
    return state().update(least);
}

RESHARD_DECL std::size_t bridge_target::front() const { return state().front(); }
RESHARD_DECL std::uint64_t bridge_target::version() const { return state().version(); }
RESHARD_DECL std::uint64_t bridge_target::latest_complete_version() const {
    return state().newest();
}
RESHARD_DECL bridge_stats bridge_target::stats() const { return state().stats(); }

} // namespace reshard

#endif
