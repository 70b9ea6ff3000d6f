// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_JOB_HPP
#define RESHARD_BIND_JOB_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/strictness.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

/// \file
/// The tensors of a redistribution, and a redistribution that is ready to run.

namespace reshard {

namespace detail {

struct arena_state;
struct arena_steps;

/// An arena, as a call refers to it.
class any_arena {
public:
    std::shared_ptr<arena_state const> const& state() const { return state_; }
    arena_steps const& steps() const { return *steps_; }

    /// Not 0. The number is equal on all ranks, and differs from the numbers of their other arenas.
    std::uint64_t number() const { return number_; }

protected:
    any_arena() = default;

    std::shared_ptr<arena_state const> state_;
    arena_steps const* steps_ = nullptr;
    std::uint64_t number_ = 0;
};

} // namespace detail

/// The tensors of one rank. Optionally, the layout of all ranks' tensors, and the `shared_arena` in
/// which some tensors are.
///
/// If a rank knows the layout, for example by placements, ranks do not send all their shards to all
/// ranks: the memory and time of each rank grow only with its own shards, not with the number of
/// ranks. Ranks that know the layout send it to the others. Either every rank gives an arena, or
/// none does.
template <class View>
class side {
public:
    side(detail::basic_state_dict<View> state = {},
         std::optional<reshard::layout> known_layout = std::nullopt,
         detail::any_arena const* memory = nullptr)
        : tensors(std::move(state)), layout(std::move(known_layout)), arena(memory) {}

    /// Converts a side whose tensors may be written to a side whose tensors are only read.
    template <class Other>
        requires(
            !std::same_as<Other, View> &&
            std::convertible_to<detail::basic_state_dict<Other>, detail::basic_state_dict<View>>)
    side(detail::basic_state_dict<Other> const& state) : tensors(state) {}

    detail::basic_state_dict<View> tensors;
    std::optional<reshard::layout> layout;
    detail::any_arena const* arena = nullptr;
};

/// The source of a redistribution: the tensors of each rank.
using source_tensors = side<const_tensor_view>;
/// The target of a redistribution: the tensors that each rank wants.
using target_tensors = side<tensor_view>;

namespace detail {

class job_state;
struct plan_rounds;

} // namespace detail

/// A redistribution that is ready to run, any number of times, while its tensors stay in place.
///
/// `prepare` makes it. A job owns its layouts, its plan and its staging memory, and the handles in
/// its state dicts; it refers to the memory of all other tensors. It also owns its group's
/// messages, so all ranks must destroy their jobs in the same order. A moved-from job may be
/// destroyed or assigned to; any other use throws an error with errc::usage, on this rank alone. If
/// other ranks run their jobs then, end the program.
class job {
public:
    explicit job(std::unique_ptr<detail::job_state> state);
    job(job&& other_job) noexcept;
    job& operator=(job&& other_job) noexcept;
    ~job();

    /// Moves the bytes. An error of MPI ends the program. So does an error of a device, unless the
    /// rank is alone. An error in the functions of `rounds` does not.
    ///
    /// \par Collective every rank of the group for which it was prepared, in the same order
    /// \throws error with errc::usage for a second run of a job that has released its sources
    friend void run(job& ready);

    /// The bytes that this process sends and receives.
    process_cost const& cost() const;

    /// The layouts of all ranks' tensors together, with neighbours in memory as one shard. If a
    /// layout was looked up in a directory, it has only this rank's shards.
    layout const& source_layout() const;
    layout const& target_layout() const;

    /// Whether the plan came from `options::cache` on every rank; equal on all ranks.
    bool was_kept() const;

    /// The rounds of a job with `options::memory`, equal on every rank; empty for other jobs. A
    /// call needs `bind/rounds.hpp`, and the result's members need `plan/rounds.hpp`.
    detail::plan_rounds const& rounds() const;

    /// The memory for staged elements; for rounds, the most of any round that has run.
    ///
    /// \par Units bytes of this rank
    index_t staging_bytes() const;

    /// The verdict of `options::strict` on the keys.
    strict_verdict const& keys_judged() const;

private:
    detail::job_state& state() const;

    std::unique_ptr<detail::job_state> state_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/job.ipp>
#endif

#endif
