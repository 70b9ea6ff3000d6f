// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FUSED_FINDINGS_HPP
#define RESHARD_TOOL_FUSED_FINDINGS_HPP

#include "job.hpp"

#include <reshard/layout/catalog.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Checks whether a job separates the members of fused tensors, or tensors from their scales.

namespace tool {

/// Reports how a job treats fused tensors, and reports cuts of the target in tensors that are
/// fused, or seem to be. De-interleaves the tensors that the target does not cut.
void check_fused(job& full_job, reshard::layout const& layout, reshard::catalog const& source,
                 job_files const& files);

/// Reports tensors that a program separates from their scales, at the statement that makes them.
void check_scale_sources(job& full_job, reshard::layout const& layout, job_files const& files);

} // namespace tool

#endif
