// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_HPP
#define RESHARD_BRIDGE_HPP

#include <reshard/bind/program.hpp>
#include <reshard/bridge/bridge_source.hpp>
#include <reshard/bridge/bridge_target.hpp>

/// \file
/// Programs on one machine: one repeatedly publishes new weights, and others read them in
/// other layouts.

#endif
