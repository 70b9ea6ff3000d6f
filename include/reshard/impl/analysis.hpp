// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_IMPL_ANALYSIS_HPP
#define RESHARD_IMPL_ANALYSIS_HPP

/// \file
/// Analysis of plans, compiled once.

#include <reshard/analysis/impl/assignment.ipp>
#include <reshard/analysis/impl/balance.ipp>
#include <reshard/analysis/impl/flow_classes.ipp>
#include <reshard/analysis/impl/flow_runner.ipp>
#include <reshard/analysis/impl/relabelling.ipp>
#include <reshard/analysis/impl/simulation.ipp>

#endif
