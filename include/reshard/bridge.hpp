// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_HPP
#define RESHARD_BRIDGE_HPP

#include <reshard/bind/program.hpp>
#include <reshard/bridge/bridge_source.hpp>
#include <reshard/bridge/bridge_target.hpp>

/// \file
/// Two programs on one machine: one hands new weights to others, of other layouts, again and again.

#endif
