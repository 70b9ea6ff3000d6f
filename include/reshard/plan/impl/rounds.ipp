// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_ROUNDS_IPP
#define RESHARD_PLAN_IMPL_ROUNDS_IPP

#include <reshard/plan/rounds.hpp>

#include <reshard/plan/flows.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

/// The memory that processes need while tensors are allocated and released.
class memory_ledger {
public:
    constexpr memory_ledger(holder_t processes) : held_(processes, 0), staged_(processes, 0) {}

    constexpr void add_held(vector<process_share> const& shares) {
        for (process_share const& share : shares)
            add_bytes(held_[share.process], share.bytes);
    }
    constexpr void remove_held(vector<process_share> const& shares) {
        for (process_share const& share : shares)
            held_[share.process] -= share.bytes;
    }
    constexpr void add_staged(vector<process_share> const& shares) {
        for (process_share const& share : shares)
            add_bytes(staged_[share.process], share.bytes);
    }
    constexpr void remove_staged(vector<process_share> const& shares) {
        for (process_share const& share : shares)
            staged_[share.process] -= share.bytes;
    }
    constexpr void clear_staged() { std::fill(staged_.begin(), staged_.end(), 0); }

    constexpr index_t held(holder_t process) const { return held_[process]; }
    constexpr index_t staged(holder_t process) const {
        return std::min(staged_[process], staging_bytes);
    }
    constexpr index_t needed(holder_t process) const {
        index_t sum = held(process);
        add_bytes(sum, staged(process));
        return sum;
    }

    /// The first process with the highest need.
    ///
    /// \pre there is a process
    constexpr holder_t neediest() const {
        holder_t most = 0;
        for (holder_t process = 1; process < held_.size(); ++process)
            if (needed(process) > needed(most))
                most = process;
        return most;
    }

private:
    vector<index_t> held_;
    vector<index_t> staged_; ///< sent and received in the round
};

/// Divides the target tensors into rounds, in order. Each round gets all tensors that fit.
class round_maker {
public:
    constexpr round_maker(plan_flows const& flows, holder_t processes)
        : flows_(flows),
          processes_(processes),
          sources_(flows.problem().sources, flows.options()),
          targets_(flows.problem().targets, flows.options()),
          released_(flows.problem().targets.size(), vector<key_id>{}) {
        for (std::size_t kind = 0; kind < flows.size(); ++kind)
            kinds_.push_back(moved_for(kind));
        find_last_uses();
    }

    /// \param most target tensors in a round
    constexpr vector<plan_round> make(index_t budget, std::size_t most) const {
        vector<plan_round> rounds;
        memory_ledger ledger(processes_);
        for (std::size_t i = 0; has_sources() && i < flows_.problem().sources.size(); ++i)
            ledger.add_held(sources_[i]);
        for (std::uint32_t t = 0; t < released_.size(); ++t) {
            add(t, ledger);
            if (t > 0 &&
                (rounds.back().last - rounds.back().first == most || !fits(t, ledger, budget))) {
                remove(t, ledger);
                close(rounds.back(), ledger);
                add(t, ledger);
                rounds.push_back({t, t, {}});
            } else if (t == 0) {
                rounds.push_back({});
            }
            extend(rounds.back(), t);
        }
        if (!rounds.empty())
            close(rounds.back(), ledger);
        return rounds;
    }

private:
    using shares = vector<process_share>;

    /// The bytes that one target tensor of a kind moves.
    struct kind_cost {
        shares staged;
        index_t transfers = 0;
        index_t bytes = 0;
        index_t bytes_local = 0;
    };

    constexpr bool has_sources() const { return !flows_.options().shared_sources; }

    constexpr kind_cost moved_for(std::size_t kind) const {
        kind_cost cost;
        flows_.for_each(kind, [&](flow const& flow) {
            ++cost.transfers;
            add_bytes(cost.bytes, flow.bytes);
            if (flow.source == flow.target) {
                cost.bytes_local += flow.bytes;
                return;
            }
            cost.staged.push_back({flow.source, flow.bytes});
            cost.staged.push_back({flow.target, flow.bytes});
        });
        cost.staged = add_up(std::move(cost.staged));
        return cost;
    }

    /// Unused sources are released with the first target tensor.
    constexpr void find_last_uses() {
        auto const& problem = flows_.problem();
        vector<std::uint32_t> last(problem.sources.size(), 0);
        for (std::uint32_t t = 0; t < problem.targets.size(); ++t)
            for (std::size_t i = 0; i < problem.targets[t].pieces->size(); ++i)
                if (key_id const id = problem.targets[t].pieces->source(i); id != zero_source)
                    last[id] = t;
        for (key_id id = 0; !released_.empty() && id < last.size(); ++id)
            released_[last[id]].push_back(id);
    }

    constexpr void add(std::uint32_t t, memory_ledger& ledger) const {
        ledger.add_held(targets_[t]);
        ledger.add_staged(kinds_[flows_.kind_of(t)].staged);
    }
    constexpr void remove(std::uint32_t t, memory_ledger& ledger) const {
        ledger.remove_held(targets_[t]);
        ledger.remove_staged(kinds_[flows_.kind_of(t)].staged);
    }

    /// Whether no process that has a shard of target `t`, or moves its bytes, exceeds the budget.
    constexpr bool fits(std::uint32_t t, memory_ledger const& ledger, index_t budget) const {
        auto const fine = [&](process_share const& share) {
            return ledger.needed(share.process) <= budget;
        };
        shares const& staged = kinds_[flows_.kind_of(t)].staged;
        return std::all_of(targets_[t].begin(), targets_[t].end(), fine) &&
               std::all_of(staged.begin(), staged.end(), fine);
    }

    constexpr void extend(plan_round& round, std::uint32_t t) const {
        kind_cost const& cost = kinds_[flows_.kind_of(t)];
        round.last = t + 1;
        round.transfers += cost.transfers;
        add_bytes(round.bytes, cost.bytes);
        round.bytes_local += cost.bytes_local;
        round.released.insert(round.released.end(), released_[t].begin(), released_[t].end());
    }

    constexpr void close(plan_round& round, memory_ledger& ledger) const {
        if (processes_ > 0) {
            round.peak_process = ledger.neediest();
            round.peak_bytes = ledger.needed(round.peak_process);
        }
        std::sort(round.released.begin(), round.released.end());
        for (key_id const id : round.released)
            if (has_sources())
                ledger.remove_held(sources_[id]);
        ledger.clear_staged();
    }

    plan_flows const& flows_;
    holder_t processes_;
    side_shares sources_;
    side_shares targets_;
    vector<vector<key_id>> released_; ///< by target tensor: the sources that no later target uses
    vector<kind_cost> kinds_;
};

[[noreturn]] inline void fail_budget(plan_problem const& problem, plan_round const& alone,
                                     index_t budget, index_t least) {
    fail_tensor(errc::limit_exceeded, problem.targets[alone.first].key,
                "cannot be filled with a memory budget of " + std::to_string(budget) +
                    " bytes: even in a separate round, rank " + std::to_string(alone.peak_process) +
                    " needs " + std::to_string(alone.peak_bytes) +
                    " bytes of tensors and staging; a budget of " + std::to_string(least) +
                    " bytes would be enough");
}

} // namespace detail

RESHARD_DECL detail::plan_rounds rounds_of(plan_flows const& flows, holder_t processes,
                                           index_t budget) {
    detail::round_maker const maker(flows, processes);
    detail::plan_rounds result;
    vector<detail::plan_round> const alone = maker.make(detail::any_budget, 1);
    for (detail::plan_round const& plan_round : alone)
        result.least_budget = std::max(result.least_budget, plan_round.peak_bytes);
    for (detail::plan_round const& plan_round : alone)
        if (plan_round.peak_bytes > budget)
            detail::fail_budget(flows.problem(), plan_round, budget, result.least_budget);
    result.rounds = maker.make(budget, flows.problem().targets.size());
    return result;
}

} // namespace reshard

#endif
