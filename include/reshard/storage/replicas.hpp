// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_REPLICAS_HPP
#define RESHARD_STORAGE_REPLICAS_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/plan/plan_problem.hpp>
#include <reshard/storage/stored_tensor.hpp>

#include <cstddef>
#include <vector>

/// \file
/// Do the files of a checkpoint that hold the same elements hold the same values?

namespace reshard::detail {

/// The places in `held` of the tensors that some target is made of, ascending.
RESHARD_DECL std::vector<std::size_t> tensors_used(plan_problem const& work, layout const& held);

/// Refuses replicas that differ: equal boxes in two files must have equal elements, bit by bit.
///
/// Only the tensors `numbers` are read: rank `r` compares every `size`-th of them.
///
/// \par Collective every rank of the group, with equal numbers
/// \throws error with errc::overlap, naming both files, the key and the first element that differs,
///         on every rank alike
template <group Group>
void check_replicas(Group const& world, checkpoint const& source,
                    std::vector<std::size_t> const& numbers) {
    agree_on(world, [&] {
        auto const step = static_cast<std::size_t>(world.size());
        for (auto i = static_cast<std::size_t>(world.rank()); i < numbers.size(); i += step)
            stored_tensor(source, numbers[i]).check_replicas();
    });
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/replicas.ipp>
#endif

#endif
