// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_PLAN_CACHE_HPP
#define RESHARD_BIND_PLAN_CACHE_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/plan/planned_job.hpp>

#include <cstdint>
#include <utility>

/// \file
/// Keeps plans, and finds them by a digest of their problems.

namespace reshard {

/// The plans of one rank, by digests of the shards of all ranks. See `options::cache`.
class plan_cache final : public detail::any_plan_cache,
                         public detail::digest_cache<detail::planned_job> {
public:
    using digest_cache::digest_cache;

    plan_pointer find_plan(std::uint64_t digest) override { return find(digest); }

    void keep_plan(std::uint64_t digest, plan_pointer plan) override {
        add(digest, std::move(plan));
    }

    std::uint64_t latest_plan(std::uint64_t own_digest) const override {
        detail::planned_job const* const kept = latest(
            [&](detail::planned_job const& planned) { return planned.own_digest == own_digest; });
        return kept ? kept->group_digest : 0;
    }

    std::uint64_t digest(layout const& some) const override { return detail::digest_of(some); }
};

} // namespace reshard

#endif
