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
#include <reshard/expr/algebra.hpp>
#include <reshard/expr/explain.hpp>
#include <reshard/expr/mapping_index.hpp>
#include <reshard/expr/typed_expression.hpp>
#include <reshard/local.hpp>
#include <reshard/local/copy_shared.hpp>
#include <reshard/model/first_step.hpp>
#include <reshard/model/fully_shard.hpp>
#include <reshard/model/inner_optimizer.hpp>
#include <reshard/model/interleave.hpp>
#include <reshard/model/master_names.hpp>
#include <reshard/model/model_part.hpp>
#include <reshard/model/numbered_names.hpp>
#include <reshard/model/optimizer_state.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/tied_weights.hpp>
#include <reshard/model/variable_names.hpp>
#include <reshard/model/zero.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/plan_digest.hpp>
#include <reshard/plan/rounds.hpp>
#include <reshard/plan/verify.hpp>
#include <reshard/shard/check_rules.hpp>
#include <reshard/shard/check_world.hpp>
#include <reshard/shard/compact_layout.hpp>
#include <reshard/shard/compact_sharding.hpp>
#include <reshard/shard/distribution.hpp>
#include <reshard/shard/equal_shares.hpp>
#include <reshard/shard/flat_share.hpp>
#include <reshard/shard/gather_parts.hpp>
#include <reshard/shard/replica.hpp>
#include <reshard/shard/shards_of.hpp>
#include <reshard/shard/typed_layout.hpp>
#include <reshard/tensor/join_neighbours.hpp>
#include <reshard/tensor/model_state.hpp>

/// \file
/// Everything that needs neither MPI nor a disk: layouts, programs, plans, and redistribution in one process.

#endif
