// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_ROUNDS_HPP
#define RESHARD_BIND_ROUNDS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <functional>
#include <string>

/// \file
/// Redistribution in rounds, so that no rank exceeds its memory budget.

namespace reshard {

/// For `options::memory`. Tensors are filled in rounds, as in `rounds_of`: each round allocates and
/// fills targets, and releases sources that no later round reads. Sources that the program does not
/// name are neither counted nor released. The caller gives the target as a layout without tensors.
/// All elements travel in messages.
///
/// \param budget   the most bytes of tensors and staging that a rank may need
/// \param allocate allocates and returns this rank's shards of these target tensors
/// \param release  called when no round reads this rank's shards of these source tensors any more
/// \throws error with errc::usage without an `allocate` function
RESHARD_DECL detail::memory_rounds
rounds(index_t budget, std::function<state_dict(vector<std::string> const& keys)> allocate,
       std::function<void(vector<std::string> const& keys)> release = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/rounds.ipp>
#endif

#endif
