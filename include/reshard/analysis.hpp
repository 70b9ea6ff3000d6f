// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_HPP
#define RESHARD_ANALYSIS_HPP

#include <reshard/analysis/balance.hpp>
#include <reshard/analysis/relabelling.hpp>
#include <reshard/analysis/simulation.hpp>

/// \file
/// Evaluates plans before they run: the time over a network, the busiest ranks and links, and the
/// numbering of ranks that moves the fewest bytes.

#endif
