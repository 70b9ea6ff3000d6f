// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_JOB_STATE_IPP
#define RESHARD_BIND_IMPL_JOB_STATE_IPP

#include <reshard/bind/job_state.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/expr/mapping.hpp>

#include <optional>
#include <string>
#include <utility>

namespace reshard::detail {

RESHARD_DECL compared_values call_fingerprint(options const& options) {
    compared_values fingerprint;
    fingerprint.add_digest("options.program", digest_of_given(options.program));
    fingerprint.add("options", options);
    fingerprint.add("options.strict", options.strict.value);
    fingerprint.add_presence("options.cache", options.cache != nullptr);
    fingerprint.add_presence("options.memory", static_cast<bool>(options.memory));
    fingerprint.add_presence("options.lookup", options.lookup.steps != nullptr);
    return fingerprint;
}

RESHARD_DECL void check_call(source_tensors const& have, target_tensors const& want,
                             options const& options) {
    reshard::detail::check_memory({&have.tensors, 1}, {&want.tensors, 1}, options.devices);
    if (!options.needs.empty())
        fail(errc::usage, "options.needs of size ", options.needs.size(),
             " is not used by a redistribution; pass it to a load or a save");
    if (options.memory)
        options.memory.steps->check(have, want, options);
}

RESHARD_DECL bound_job::bound_job(std::shared_ptr<planned_job const> ready, holder_t me,
                                  const_state_dict const& have, state_dict const& want,
                                  device_list tensor_devices)
    : job_state(std::move(ready)), devices(std::move(tensor_devices)) {
    sources.add(have, planned->source, me);
    check_complete(sources, planned->source, me);
    targets.add(want, planned->target, me);
    check_complete(targets, planned->target, me);
}

} // namespace reshard::detail

#endif
