// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_JOB_IPP
#define RESHARD_BIND_IMPL_JOB_IPP

#include <reshard/bind/job.hpp>

#include <reshard/bind/job_state.hpp>

namespace reshard {

RESHARD_DECL job::job(std::unique_ptr<detail::job_state> state) : state_(std::move(state)) {}
RESHARD_DECL job::job(job&& other_job) noexcept = default;
RESHARD_DECL job& job::operator=(job&& other_job) noexcept = default;
RESHARD_DECL job::~job() = default;

RESHARD_DECL detail::job_state& job::state() const {
    if (!state_)
        fail(errc::usage, "this job has been moved from; use the one that it was moved to");
    return *state_;
}

RESHARD_DECL void run(job& ready) { ready.state().run(); }

RESHARD_DECL process_cost const& job::cost() const { return state().cost; }

RESHARD_DECL layout const& job::source_layout() const { return state().planned->source; }

RESHARD_DECL layout const& job::target_layout() const { return state().planned->target; }

RESHARD_DECL bool job::was_kept() const { return state().was_kept; }

RESHARD_DECL index_t job::staging_bytes() const { return state().staging_bytes(); }

RESHARD_DECL strict_verdict const& job::keys_judged() const { return state().planned->verdict; }

} // namespace reshard

#endif
