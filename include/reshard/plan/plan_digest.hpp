// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PLAN_DIGEST_HPP
#define RESHARD_PLAN_PLAN_DIGEST_HPP

#include <reshard/expr/digest.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/problem.hpp>

#include <cstdint>

/// \file
/// A number that stands for all that a plan is made from.

namespace reshard {

/// What a planner makes of the same inputs; goes up when it makes something else.
inline constexpr std::uint64_t planner_version = 1;

namespace detail {

inline void add_shards(hasher& digest, tensor_shards const& shards) {
    digest.add(std::uint64_t{shards.size()});
    digest.add(std::uint64_t{shards.grids() ? 2u : shards.grid() ? 1u : 0u});
    shards.add_geometry(digest);
    shards.add_holders(digest);
}

inline void add(hasher& digest, holder_set const& some) {
    digest.add(std::uint64_t{some.is_everybody()});
    digest.add(std::uint64_t{some.listed().size()});
    for (holder_t const holder : some.listed())
        digest.add(std::uint64_t{holder});
}

} // namespace detail

/// A digest of all that a layout says; the same on every machine.
inline std::uint64_t digest_of(layout const& all) {
    hasher digest;
    digest.add(std::uint64_t{all.holders});
    for (tensor_layout const& one : all.tensors) {
        digest.add(one.key);
        digest.add(static_cast<std::uint64_t>(one.dtype));
        digest.add(one.shape);
        detail::add_shards(digest, &one.shards);
    }
    return digest.value();
}

/// The same of a compact layout; each way of spreading is looked at once. The digest is another one
/// than that of the same shards listed.
inline std::uint64_t digest_of(compact_layout const& all) {
    hasher digest;
    digest.add(std::uint64_t{all.holders});
    digest.add(std::uint64_t{all.spreads.size()});
    for (tensor_spread const& one : all.spreads) {
        digest.add(one.shape);
        detail::add_shards(digest, one.view());
    }
    for (compact_tensor const& one : all.tensors) {
        digest.add(one.key);
        digest.add(static_cast<std::uint64_t>(one.dtype) << 32 | one.spread);
    }
    return digest.value();
}

/// A digest of mapping, layouts and options: what all holders have in common.
///
/// \tparam Source `layout` or `compact_layout`
/// \tparam Target likewise
template <class Source, class Target>
std::uint64_t structure_digest(mapping const& program, Source const& source, Target const& target,
                               plan_options const& options = {}) {
    hasher digest;
    digest.add(planner_version);
    digest.add(digest_of(program));
    digest.add(digest_of(source));
    digest.add(digest_of(target));
    digest.add(std::uint64_t{options.processes} << 1 | options.shared_sources);
    digest.add(std::uint64_t{options.processes_per_node});
    return digest.value();
}

/// A digest of a structure and of those for whom a plan is made: equal for equal inputs of
/// `make_plan`.
///
/// \param structure what `structure_digest` returned
inline std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope = {}) {
    hasher digest;
    digest.add(structure);
    detail::add(digest, scope.sources);
    detail::add(digest, scope.targets);
    return digest.value();
}

} // namespace reshard

#endif
