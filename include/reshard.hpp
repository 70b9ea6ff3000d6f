// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_HPP
#define RESHARD_HPP

#include <reshard/adapt/span.hpp>
#include <reshard/aoa/check.hpp>
#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/infer_source.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/aoa/statement_trace.hpp>
#include <reshard/bind/copy_shared.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/expr/explain.hpp>
#include <reshard/expr/mapping_index.hpp>
#include <reshard/group/check_rules.hpp>
#include <reshard/group/check_world.hpp>
#include <reshard/group/gather_parts.hpp>
#include <reshard/layout/compact_layout.hpp>
#include <reshard/layout/compact_sharding.hpp>
#include <reshard/layout/distribution.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/flat_share.hpp>
#include <reshard/layout/replica.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/model/fully_shard.hpp>
#include <reshard/model/interleave.hpp>
#include <reshard/model/model_part.hpp>
#include <reshard/model/optimizer_state.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/tied_weights.hpp>
#include <reshard/model/zero.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/plan_digest.hpp>
#include <reshard/plan/rounds.hpp>
#include <reshard/plan/verify.hpp>
#include <reshard/tensor/join_neighbours.hpp>

/// \file
/// Everything that needs neither MPI nor a disk: layouts, programs, plans, and redistribution in one process.
/// Layouts and plans as types are in <reshard/typed.hpp>.

#endif
