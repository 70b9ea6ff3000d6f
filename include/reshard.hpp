// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_HPP
#define RESHARD_HPP

#include <reshard/adapt/span.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/group/check_world.hpp>
#include <reshard/layout/distribution.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/plan/cost.hpp>

/// \file
/// Everything that needs neither MPI nor a disk: layouts, programs, plans, and redistribution in
/// one process.

#endif
