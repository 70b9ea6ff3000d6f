// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_REDISTRIBUTE_HPP
#define RESHARD_BIND_REDISTRIBUTE_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <span>
#include <vector>

/// \file
/// Redistribution with every rank in this process: for tests, tools and single-process programs.

namespace reshard {

/// What the tensors of all ranks say of themselves, one list a rank, as one layout.
///
/// \throws error as `layout_of` of descriptors: a shard that contradicts itself, or one key that is
///         two tensors
template <class View>
layout layout_of(std::span<basic_state_dict<View> const> ranks) {
    std::vector<std::vector<shard_descriptor>> held;
    for (basic_state_dict<View> const& one : ranks)
        held.push_back(one.descriptors());
    return layout_of(held);
}

/// Fills the tensors of `target` from those of `source`, as `program` says; element `r` is rank
/// `r`.
///
/// Tensors that the program only adds (`_ -> key`) keep their content. With equal options, each
/// rank gets the elements of the same replica as over MPI.
///
/// \throws error as `problem_of` and `make_plan`, and with errc::memory_overlap where a target
///         shares memory with another tensor; nothing is written then
RESHARD_DECL void redistribute_locally(std::span<const_state_dict const> source,
                                       std::span<state_dict const> target, mapping const& program,
                                       redistribute_options const& options = {});

/// The same where each target key is the source key of that name.
///
/// \throws error as above, and with errc::unknown_key for a key that no source has
RESHARD_DECL void redistribute_locally(std::span<const_state_dict const> source,
                                       std::span<state_dict const> target,
                                       redistribute_options const& options = {});

/// Fills `target` from `source` in a group of one: what code over any group calls.
///
/// \throws error as `redistribute_locally`
inline void redistribute(solo const&, const_state_dict const& source, state_dict const& target,
                         redistribute_options const& options = {}) {
    redistribute_locally({&source, 1}, {&target, 1}, options);
}

/// The same, as `program` says.
///
/// \throws error as `redistribute_locally`
inline void redistribute(solo const&, const_state_dict const& source, state_dict const& target,
                         mapping const& program, redistribute_options const& options = {}) {
    redistribute_locally({&source, 1}, {&target, 1}, program, options);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/redistribute.ipp>
#endif

#endif
