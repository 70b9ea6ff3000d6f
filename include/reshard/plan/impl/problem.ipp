// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_PROBLEM_IPP
#define RESHARD_PLAN_IMPL_PROBLEM_IPP

#include <reshard/plan/problem.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/expr/by_name.hpp>

#include <string>

namespace reshard::detail {

RESHARD_DECL source_side source_of(mapping_source const& wanted, held_tensor const* held) {
    if (held && held->shape != wanted.shape)
        fail_tensor(errc::shape_mismatch, wanted.key,
                    "has the shape " + to_string(held->shape) +
                        " in the source, and the program was " + "made for " +
                        to_string(wanted.shape));
    if (held && held->dtype != wanted.dtype)
        fail_tensor(errc::dtype_mismatch, wanted.key,
                    "is " + std::string(name(held->dtype)) +
                        " in the source, and the program was " + "made for " +
                        std::string(name(wanted.dtype)));
    return {wanted.key, wanted.dtype, held ? held->shards : tensor_shards(),
            held ? held->spread : no_spread};
}

RESHARD_DECL target_side target_of(std::string_view key, held_tensor const& wanted,
                                   mapping const& program, mapping_output const* output) {
    if (!output)
        fail_tensor(errc::unknown_key, key,
                    "is " + wanted_by_rank(wanted.shards) +
                        ", and neither the program nor the source yields it" +
                        did_you_mean_key(key, program.outputs(), &mapping_output::key) +
                        "; to leave it as it is write '_ -> " + std::string(key) + "'");
    if (output->value.shape != wanted.shape)
        fail_tensor(errc::shape_mismatch, key,
                    "has the shape " + to_string(wanted.shape) +
                        " in the target, and the program " + "yields " +
                        to_string(output->value.shape));
    if (output->value.dtype != wanted.dtype)
        fail_tensor(
            errc::dtype_mismatch, key,
            "is " + std::string(name(wanted.dtype)) + " in the target, and the program yields " +
                std::string(name(output->value.dtype)) + "; to cast it write '" + std::string(key) +
                " -> " + std::string(key) + ", dtype=\"" + std::string(name(wanted.dtype)) + "\"'");
    return {key, wanted.dtype, wanted.shards, &output->value.pieces, output->added, wanted.spread};
}

} // namespace reshard::detail

#endif
