// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REDISTRIBUTION_HPP
#define RESHARD_MPI_REDISTRIBUTION_HPP

#include <reshard/expr/mapping.hpp>
#include <reshard/plan/options.hpp>

#include <optional>

/// \file
/// What a redistribution does, apart from where.

namespace reshard {

/// What is to be done with tensors: by name where there is no program.
struct redistribution {
    std::optional<mapping> program = std::nullopt;
    redistribute_options options = {};
};

} // namespace reshard

#endif
