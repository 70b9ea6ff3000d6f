// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_IMPL_FLOW_RUNNER_IPP
#define RESHARD_ANALYSIS_IMPL_FLOW_RUNNER_IPP

#include <reshard/analysis/simulation.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/analysis/impl/flow_classes.ipp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>

/// \file
/// Runs classes of flows, event by event.

namespace reshard::detail {

/// The rates of flows that share links. The rates of all flows grow equally until a link is full.
/// Then flows over that link stop growing, and the others continue.
///
/// \par Source max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks)
class link_sharing {
public:
    explicit link_sharing(flow_classes const& classes)
        : classes_(classes), shares_(classes.link_class_count), rates_(classes.flows.size(), 0) {}

    /// \param moving classes of flows, in order
    /// \param held_by gives the flows that are not faster than a flow
    void share(vector<std::uint32_t> const& moving, auto&& held_by) {
        for (std::uint32_t const flow : moving)
            add(flow);
        for (std::uint32_t const link : touched_)
            queue_.emplace(shares_[link].level(), link);
        double level = 0;
        while (!queue_.empty()) {
            auto const [expected, link] = queue_.top();
            queue_.pop();
            if (shares_[link].growing == 0)
                continue;
            if (double const now = shares_[link].level(); now > expected) {
                queue_.emplace(now, link);
                continue;
            }
            level = std::max(level, expected);
            for (flow_classes::use const& use : classes_.flows_of[link])
                end_growth(use.other, level, held_by);
        }
        for (std::uint32_t const link : touched_)
            shares_[link] = {};
        touched_.clear();
    }

    /// Bytes a second of one flow of a class that was moving.
    double rate(std::uint32_t flow) const { return rates_[flow]; }

private:
    static constexpr double growing = -1;

    /// The load of one link; all links of a class have the same.
    struct link_share {
        double taken = 0;          ///< of a second in each second, by flows that no longer grow
        double per_rate = 0;       ///< for each byte a second of those that grow
        std::uint32_t growing = 0; ///< classes of flows

        /// The rate at which the link is full.
        double level() const { return std::max(0.0, 1 - taken) / per_rate; }
    };

    static double weight(flow_classes::use const& use) { return use.count * use.seconds_per_byte; }

    void add(std::uint32_t flow) {
        rates_[flow] = growing;
        for (flow_classes::use const& use : classes_.links_of[flow]) {
            link_share& share = shares_[use.other];
            if (share.growing++ == 0)
                touched_.push_back(use.other);
            share.per_rate += weight(use);
        }
    }

    void end_growth(std::uint32_t flow, double level, auto&& held_by) {
        if (rates_[flow] != growing)
            return;
        rates_[flow] = level;
        for (flow_classes::use const& use : classes_.links_of[flow]) {
            link_share& share = shares_[use.other];
            --share.growing;
            share.taken += weight(use) * level;
            share.per_rate -= weight(use);
        }
        held_by(flow, [&](std::uint32_t other) { end_growth(other, level, held_by); });
    }

    flow_classes const& classes_;
    vector<link_share> shares_; ///< by class of links
    vector<double> rates_;      ///< by class of flows
    vector<std::uint32_t> touched_;
    using place = std::pair<double, std::uint32_t>;
    std::priority_queue<place, vector<place>, std::greater<>> queue_;
};

/// The bytes that move over one link in the course of time.
class link_record {
public:
    void add(double begin, double end, double bytes) {
        double const rate = bytes / (end - begin);
        busy_ += end - begin;
        if (!all_.empty() && all_.back().end == begin &&
            is_close(all_.back().bytes_per_second, rate)) {
            all_.back().end = end;
            return;
        }
        if (all_.size() == simulation::most_intervals)
            join_pairs();
        all_.push_back({begin, end, rate});
    }

    double busy() const { return busy_; }
    vector<simulation::interval> const& all() const { return all_; }

private:
    static bool is_close(double a, double b) { return std::abs(a - b) <= 1e-9 * a; }

    void join_pairs() {
        for (std::size_t i = 0; i < all_.size() / 2; ++i) {
            simulation::interval const &a = all_[2 * i], &b = all_[2 * i + 1];
            double const bytes =
                a.bytes_per_second * (a.end - a.begin) + b.bytes_per_second * (b.end - b.begin);
            all_[i] = {a.begin, b.end, bytes / (b.end - a.begin)};
        }
        all_.resize(all_.size() / 2);
    }

    double busy_ = 0;
    vector<simulation::interval> all_;
};

/// Runs classes of flows from event to event: one begins, ends, is far enough ahead of another, or
/// has caught up with it.
class flow_runner {
public:
    explicit flow_runner(flow_classes const& classes)
        : classes_(classes),
          sharing_(classes),
          states_(classes.flows.size(), state::waiting),
          flows_(classes.flows.size()),
          records_(classes.link_class_count),
          moved_(classes.link_class_count, 0) {
        vector<std::pair<std::uint32_t, flow_classes::wait>> followers;
        for (std::uint32_t f = 0; f < flows_.size(); ++f) {
            waiting_.push_back(f);
            for (flow_classes::wait const& wait : classes.waits[f])
                followers.push_back({wait.flow, {f, wait.bytes_ahead}});
        }
        std::ranges::stable_sort(followers, {}, [](auto const& element) { return element.first; });
        followers_ = {flows_.size(), followers};
    }

    void run() {
        for (settle(); !moving_.empty() || !starting_.empty(); settle()) {
            sharing_.share(moving_, [&](std::uint32_t flow, auto&& hold) {
                for (flow_classes::wait const& wait : followers_[flow])
                    if (is_at_heels(wait.flow, {flow, wait.bytes_ahead}))
                        hold(wait.flow);
            });
            advance(next_step());
        }
    }

    double ended(std::uint32_t flow) const { return flows_[flow].ended; }
    link_record const& record(std::uint32_t link) const { return records_[link]; }

private:
    enum class state : std::uint8_t { waiting, starting, moving, ended };

    struct progress {
        double moved = 0; ///< bytes
        double start = 0;
        double ended = 0;
    };

    /// The rounding error of a byte count, or of a time.
    static constexpr double slack = 1e-9;

    double bytes(std::uint32_t flow) const {
        return static_cast<double>(classes_.flows[flow].bytes);
    }

    /// By how many bytes `flow` could be ahead of its position, for the one that it waits for.
    double gap(std::uint32_t flow, flow_classes::wait const& wait) const {
        return flows_[wait.flow].moved - static_cast<double>(wait.bytes_ahead) - flows_[flow].moved;
    }

    bool is_at_heels(std::uint32_t flow, flow_classes::wait const& wait) const {
        return states_[flow] == state::moving && states_[wait.flow] == state::moving &&
               gap(flow, wait) <= slack * bytes(wait.flow);
    }

    bool may_begin(std::uint32_t flow) const {
        return std::ranges::all_of(classes_.waits[flow], [&](flow_classes::wait const& wait) {
            return states_[wait.flow] == state::ended ||
                   (states_[wait.flow] == state::moving &&
                    gap(flow, wait) >= -slack * bytes(wait.flow));
        });
    }

    /// Removes the elements for which `goes` is true from a list, in its order.
    static void take_out(vector<std::uint32_t>& list, auto&& goes) {
        std::size_t count = 0;
        for (std::uint32_t const f : list)
            if (!goes(f))
                list[count++] = f;
        list.resize(count);
    }

    /// Lets flows go and start, in the order in which they wait for each other.
    void settle() {
        take_out(moving_, [&](std::uint32_t f) { return states_[f] == state::ended; });
        std::size_t const before = moving_.size();
        take_out(starting_, [&](std::uint32_t f) { return starts(f); });
        take_out(waiting_, [&](std::uint32_t f) { return may_begin(f) && (begin(f), true); });
        if (moving_.size() > before)
            std::ranges::sort(moving_);
    }

    bool starts(std::uint32_t f) {
        if (flows_[f].start > now_ * (1 + slack))
            return false;
        states_[f] = state::moving;
        moving_.push_back(f);
        return true;
    }

    void begin(std::uint32_t f) {
        if (classes_.flows[f].bytes == 0)
            return end(f, now_);
        states_[f] = state::starting;
        flows_[f].start = now_ + classes_.flows[f].latency;
        if (!starts(f))
            starting_.push_back(f);
    }

    double left_seconds(std::uint32_t f) const {
        return (bytes(f) - flows_[f].moved) / sharing_.rate(f);
    }

    /// Calls `visit(seconds)` for all that happens next if rates stay as they are.
    void for_each_event(auto&& visit) const {
        for (std::uint32_t const f : starting_)
            visit(flows_[f].start - now_);
        for (std::uint32_t const f : moving_) {
            visit(left_seconds(f));
            for (flow_classes::wait const& wait : followers_[f])
                visit_follower(f, wait, visit);
        }
    }

    void visit_follower(std::uint32_t f, flow_classes::wait const& wait, auto&& visit) const {
        state const now = states_[wait.flow];
        double const room = gap(wait.flow, {f, wait.bytes_ahead});
        if (now == state::waiting && wait.bytes_ahead < classes_.flows[f].bytes &&
            room < -slack * bytes(f))
            visit(-room / sharing_.rate(f));
        if (now == state::moving && room > slack * bytes(f) &&
            sharing_.rate(wait.flow) > sharing_.rate(f))
            visit(room / (sharing_.rate(wait.flow) - sharing_.rate(f)));
    }

    /// Seconds until the next event; with many events, until the last of those that count as one.
    double next_step() {
        constexpr std::size_t most_exact = 1024, fraction = 64;
        events_.clear();
        for_each_event([&](double seconds) { events_.push_back(seconds); });
        std::size_t const skipped = events_.size() > most_exact ? events_.size() / fraction : 0;
        auto const last = events_.begin() + static_cast<std::ptrdiff_t>(skipped);
        std::ranges::nth_element(events_, last);
        return *last;
    }

    void advance(double step) {
        for (std::uint32_t const f : moving_) {
            progress& current_progress = flows_[f];
            double const seconds = left_seconds(f);
            bool const ends = seconds <= step + slack * (now_ + step);
            double const reached =
                held_back(f, ends ? bytes(f) : current_progress.moved + sharing_.rate(f) * step);
            add_moved(f, reached - current_progress.moved);
            current_progress.moved = reached;
            if (current_progress.moved >= bytes(f))
                end(f, now_ + std::min(step, seconds));
        }
        record(step);
        now_ += step;
    }

    /// The position of a flow that would come to `reached`. It does not pass the flows that it
    /// waits for.
    double held_back(std::uint32_t f, double reached) const {
        double nearest = reached;
        for (flow_classes::wait const& wait : classes_.waits[f])
            if (states_[wait.flow] == state::moving)
                if (double const room = gap(f, wait) + flows_[f].moved;
                    room < reached - slack * bytes(wait.flow))
                    nearest = std::min(nearest, room);
        return std::max(nearest, flows_[f].moved);
    }

    void end(std::uint32_t f, double when) {
        states_[f] = state::ended;
        flows_[f].ended = when;
    }

    void add_moved(std::uint32_t f, double bytes) {
        for (flow_classes::use const& use : classes_.links_of[f]) {
            if (moved_[use.other] == 0)
                touched_.push_back(use.other);
            moved_[use.other] += use.count * bytes;
        }
    }

    void record(double step) {
        for (std::uint32_t const link : touched_)
            if (double const bytes = std::exchange(moved_[link], 0.0); bytes > 0 && step > 0)
                records_[link].add(now_, now_ + step, bytes);
        touched_.clear();
    }

    flow_classes const& classes_;
    link_sharing sharing_;
    ragged_list<flow_classes::wait> followers_; ///< which classes wait for a class, and at what
                                                ///< distance
    vector<state> states_;   ///< by class; apart, since most are only asked for it
    vector<progress> flows_; ///< by class
    vector<std::uint32_t> waiting_, starting_, moving_;
    vector<link_record> records_; ///< by class of links
    vector<double> moved_;        ///< over each link in this step
    vector<std::uint32_t> touched_;
    vector<double> events_; ///< in how many seconds
    double now_ = 0;
};

} // namespace reshard::detail

#endif
