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

/// Sets the rates of flows that share links. The rates of all flows grow equally until a link is
/// full. Then flows over that link stop growing, and the other flows continue.
///
/// \par Source max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks)
class link_sharing {
public:
    link_sharing(running_flows& all, std::size_t links) : all_(all), shares_(links) {}

    /// \param moving classes of flows, in order
    /// \param held_by lists the flows that cannot be faster than a given flow
    void share(vector<std::uint32_t> const& moving, auto&& held_by) {
        for (std::uint32_t const flow : moving)
            add(all_.flows[flow]);
        list_growing(moving);
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
            for (std::uint32_t i = shares_[link].first; i < shares_[link].last; ++i)
                end_growth(by_link_[i], level, held_by);
        }
        for (std::uint32_t const link : touched_)
            shares_[link] = {};
        touched_.clear();
    }

private:
    static constexpr double growing = -1;

    /// The load of one link; all links of a class have equal loads.
    struct link_share {
        double taken = 0;          ///< share of the bandwidth for flows that no longer grow
        double per_rate = 0;       ///< share for growing flows, for each byte per second
        std::uint32_t growing = 0; ///< number of growing classes of flows
        std::uint32_t first = 0;   ///< range in `by_link_`: moving flows over the link
        std::uint32_t last = 0;

        /// The rate at which the link is full.
        double level() const { return std::max(0.0, 1 - taken) / per_rate; }
    };

    void add(running_flow& flow) {
        flow.rate = growing;
        for (running_flows::flow_link const& use : all_.links_of(flow)) {
            link_share& share = shares_[use.link];
            if (share.growing++ == 0)
                touched_.push_back(use.link);
            share.per_rate += use.weight;
        }
    }

    /// Lists the moving flows of each link, which are only a few of its flows.
    void list_growing(vector<std::uint32_t> const& moving) {
        std::uint32_t first = 0;
        for (std::uint32_t const link : touched_) {
            shares_[link].first = shares_[link].last = first;
            first += shares_[link].growing;
        }
        by_link_.resize(first);
        for (std::uint32_t const flow : moving)
            for (running_flows::flow_link const& use : all_.links_of(all_.flows[flow]))
                by_link_[shares_[use.link].last++] = flow;
    }

    void end_growth(std::uint32_t number, double level, auto&& held_by) {
        running_flow& flow = all_.flows[number];
        if (flow.rate != growing)
            return;
        flow.rate = level;
        for (running_flows::flow_link const& use : all_.links_of(flow)) {
            link_share& share = shares_[use.link];
            --share.growing;
            share.taken += use.weight * level;
            share.per_rate -= use.weight;
        }
        held_by(flow, [&](std::uint32_t other) { end_growth(other, level, held_by); });
    }

    running_flows& all_;
    vector<link_share> shares_; ///< by class of links
    vector<std::uint32_t> touched_;
    vector<std::uint32_t> by_link_; ///< moving flows
    using place = std::pair<double, std::uint32_t>;
    std::priority_queue<place, vector<place>, std::greater<>> queue_;
};

/// The bytes that move over one link, with their times.
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

/// Runs classes of flows from event to event. At an event, a flow begins or ends, gets far enough
/// ahead of a waiting flow, or catches up with the flow before it.
class flow_runner {
public:
    explicit flow_runner(flow_classes const& classes)
        : classes_(classes),
          all_(classes),
          sharing_(all_, classes.link_class_count),
          ended_(classes.flows.size(), 0),
          records_(classes.link_class_count),
          moved_(classes.link_class_count, 0) {
        for (std::uint32_t f = 0; f < ended_.size(); ++f)
            if (classes.waits[f].empty())
                near_.push_back(f);
    }

    void run() {
        for (settle(); !moving_.empty() || !starting_.empty(); settle()) {
            sharing_.share(moving_, [&](running_flow const& flow, auto&& hold) {
                for (flow_classes::wait const& wait : all_.followers_of(flow))
                    if (is_at_heels(all_.flows[wait.flow], flow, wait.bytes_ahead))
                        hold(wait.flow);
            });
            advance(next_step());
        }
    }

    double ended(std::uint32_t flow) const { return ended_[flow]; }
    link_record const& record(std::uint32_t link) const { return records_[link]; }

private:
    using state = running_flow::state;

    /// The rounding error of a byte count, or of a time.
    static constexpr double slack = 1e-9;

    /// The bytes that `flow` may still move before it has to wait for `before`.
    static double gap(running_flow const& flow, running_flow const& before, index_t bytes_ahead) {
        return before.moved - static_cast<double>(bytes_ahead) - flow.moved;
    }

    static bool is_at_heels(running_flow const& flow, running_flow const& before,
                            index_t bytes_ahead) {
        return flow.now == state::moving && before.now == state::moving &&
               gap(flow, before, bytes_ahead) <= slack * before.bytes;
    }

    bool may_begin(std::uint32_t flow) const {
        return std::ranges::all_of(classes_.waits[flow], [&](flow_classes::wait const& wait) {
            running_flow const& before = all_.flows[wait.flow];
            return before.now == state::ended ||
                   (before.now == state::moving &&
                    gap(all_.flows[flow], before, wait.bytes_ahead) >= -slack * before.bytes);
        });
    }

    /// Removes the elements for which `goes` is true, and keeps the order of the others.
    static void take_out(vector<std::uint32_t>& list, auto&& goes) {
        std::size_t count = 0;
        for (std::uint32_t const f : list)
            if (!goes(f))
                list[count++] = f;
        list.resize(count);
    }

    /// Removes flows that have ended, and starts flows that no longer wait.
    void settle() {
        take_out(moving_, [&](std::uint32_t f) { return all_.flows[f].now == state::ended; });
        std::size_t const before = moving_.size();
        take_out(starting_, [&](std::uint32_t f) { return starts(f); });
        do {
            near_.insert(near_.end(), followed_.begin(), followed_.end());
            followed_.clear();
            take_out(near_, [&](std::uint32_t f) {
                return all_.flows[f].now != state::waiting || (may_begin(f) && (begin(f), true));
            });
        } while (!followed_.empty());
        auto const first_new = moving_.begin() + static_cast<std::ptrdiff_t>(before);
        std::sort(first_new, moving_.end());
        std::inplace_merge(moving_.begin(), first_new, moving_.end());
    }

    bool starts(std::uint32_t f) {
        if (all_.flows[f].start > now_ * (1 + slack))
            return false;
        all_.flows[f].now = state::moving;
        moving_.push_back(f);
        look_at_followers(f);
        return true;
    }

    void begin(std::uint32_t f) {
        if (classes_.flows[f].bytes == 0) {
            end(f, now_);
            return look_at_followers(f);
        }
        all_.flows[f].now = state::starting;
        all_.flows[f].start = now_ + classes_.flows[f].latency;
        if (!starts(f))
            starting_.push_back(f);
    }

    /// Lists the flows that wait for this flow, because they may now be able to begin.
    void look_at_followers(std::uint32_t f) {
        for (flow_classes::wait const& wait : all_.followers_of(all_.flows[f]))
            followed_.push_back(wait.flow);
    }

    static double left_seconds(running_flow const& flow) {
        return (flow.bytes - flow.moved) / flow.rate;
    }

    /// Calls `visit(seconds)` for each possible next event, if rates do not change.
    void for_each_event(auto&& visit) const {
        for (std::uint32_t const f : starting_)
            visit(all_.flows[f].start - now_);
        for (std::uint32_t const f : moving_) {
            running_flow const& flow = all_.flows[f];
            visit(left_seconds(flow));
            for (flow_classes::wait const& wait : all_.followers_of(flow))
                visit_follower(flow, all_.flows[wait.flow], wait.bytes_ahead, visit);
        }
    }

    static void visit_follower(running_flow const& flow, running_flow const& follower,
                               index_t bytes_ahead, auto&& visit) {
        double const room = gap(follower, flow, bytes_ahead);
        if (follower.now == state::waiting && static_cast<double>(bytes_ahead) < flow.bytes &&
            room < -slack * flow.bytes)
            visit(-room / flow.rate);
        if (follower.now == state::moving && room > slack * flow.bytes && follower.rate > flow.rate)
            visit(room / (follower.rate - flow.rate));
    }

    /// Seconds until the next event; if there are many events, until the last of the events that
    /// are handled together.
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
            running_flow& flow = all_.flows[f];
            double const seconds = left_seconds(flow);
            bool const ends = seconds <= step + slack * (now_ + step);
            double const reached = held_back(f, ends ? flow.bytes : flow.moved + flow.rate * step);
            add_moved(flow, reached - flow.moved);
            flow.moved = reached;
            if (flow.moved >= flow.bytes)
                end(f, now_ + std::min(step, seconds));
        }
        record(step);
        now_ += step;
    }

    /// The position of a flow that could move up to `reached`. The flow does not pass flows that it
    /// waits for.
    double held_back(std::uint32_t f, double reached) const {
        double nearest = reached;
        running_flow const& flow = all_.flows[f];
        for (flow_classes::wait const& wait : classes_.waits[f])
            if (running_flow const& before = all_.flows[wait.flow]; before.now == state::moving)
                if (double const room = gap(flow, before, wait.bytes_ahead) + flow.moved;
                    room < reached - slack * before.bytes)
                    nearest = std::min(nearest, room);
        return std::max(nearest, flow.moved);
    }

    void end(std::uint32_t f, double when) {
        all_.flows[f].now = state::ended;
        ended_[f] = when;
    }

    void add_moved(running_flow const& flow, double bytes) {
        for (running_flows::flow_link const& use : all_.links_of(flow)) {
            if (moved_[use.link] == 0)
                touched_.push_back(use.link);
            moved_[use.link] += use.count * bytes;
        }
    }

    void record(double step) {
        for (std::uint32_t const link : touched_)
            if (double const bytes = std::exchange(moved_[link], 0.0); bytes > 0 && step > 0)
                records_[link].add(now_, now_ + step, bytes);
        touched_.clear();
    }

    flow_classes const& classes_;
    running_flows all_;
    link_sharing sharing_;
    vector<double> ended_;           ///< by class
    vector<std::uint32_t> near_;     ///< waiting flows; a flow that they wait for has begun
    vector<std::uint32_t> followed_; ///< flows to be added to `near_`
    vector<std::uint32_t> starting_, moving_;
    vector<link_record> records_; ///< by class of links
    vector<double> moved_;        ///< by class of links: bytes in this step
    vector<std::uint32_t> touched_;
    vector<double> events_; ///< seconds until each event
    double now_ = 0;
};

} // namespace reshard::detail

#endif
