// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FUSED_FINDINGS_HPP
#define RESHARD_TOOL_FUSED_FINDINGS_HPP

#include "job.hpp"

#include <reshard/layout/catalog.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Whether a job takes apart what belongs together: fused tensors, and tensors and their scales.

namespace tool {

/// Reports how a job treats fused tensors, and the cuts of the target in tensors that are fused, or
/// seem to be. Tensors that the target has whole are de-interleaved.
void check_fused(job& full_job, reshard::layout const& layout, reshard::catalog const& source,
                 job_files const& files);

/// Reports tensors that a program parts from their scales, at the statement that makes them.
void check_scale_sources(job& full_job, reshard::layout const& layout, job_files const& files);

} // namespace tool

#endif
