// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_IMPL_FIRST_STEP_IPP
#define RESHARD_FORMAT_NAMES_IMPL_FIRST_STEP_IPP

#include <reshard/format/names/first_step.hpp>

#include <reshard/expr/cast.hpp>

#include <string>

namespace reshard::model {

RESHARD_DECL mapping before_first_step(std::vector<tensor_sharding> const& parameters,
                                       std::vector<state_kind> const& kinds) {
    mapping program;
    for (tensor_sharding const& parameter : parameters) {
        expression const value = program.source(parameter.key, parameter.shape, parameter.dtype);
        for (state_kind const& kind : kinds) {
            if (!is_kept_for(kind, parameter.dtype))
                continue;
            std::string const key = key_of(kind, parameter.key);
            if (kind.scalar_shape)
                program.add(key, *kind.scalar_shape, kind.dtype);
            else
                program.define(key, kind.is_master ? cast(value, kind.dtype)
                                                   : zeros(parameter.shape, kind.dtype));
        }
    }
    return program;
}

} // namespace reshard::model

#endif
