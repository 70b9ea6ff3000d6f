// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LOCAL_OVERLAP_HPP
#define RESHARD_LOCAL_OVERLAP_HPP

#include <reshard/core/error.hpp>
#include <reshard/tensor/address_range.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

/// \file
/// Refuses tensors that share memory before anything is written into them.

namespace reshard {

namespace detail {

struct used_memory {
    address_range bytes;
    std::string const* key;
    bool is_target;
};

template <class View>
void list_memory(basic_state_dict<View> const& held, bool is_target,
                 std::vector<used_memory>& all) {
    for (auto const& local : held)
        if (address_range const bytes = addresses(local.tensor); !bytes.empty())
            all.push_back({bytes, &local.descriptor.key, is_target});
}

} // namespace detail

/// Refuses a target that shares memory with a source or with another target.
///
/// Compares the ranges from first to last byte: a target interleaved with another tensor counts too.
///
/// \throws error with errc::memory_overlap, naming both keys
inline void check_memory(std::span<const_state_dict const> source,
                         std::span<state_dict const> target) {
    std::vector<detail::used_memory> all;
    for (const_state_dict const& one : source)
        detail::list_memory(one, false, all);
    for (state_dict const& one : target)
        detail::list_memory(one, true, all);
    std::sort(all.begin(), all.end(),
              [](auto const& a, auto const& b) { return a.bytes.begin < b.bytes.begin; });
    detail::used_memory const* longest = nullptr;        // of all tensors so far
    detail::used_memory const* longest_target = nullptr; // of the targets so far
    for (detail::used_memory const& one : all) {
        detail::used_memory const* const other = one.is_target ? longest : longest_target;
        if (other && other->bytes.end > one.bytes.begin)
            fail(errc::memory_overlap,
                 "target '" + *(one.is_target ? one : *other).key + "' shares memory with " +
                     ((one.is_target ? *other : one).is_target ? "target '" : "source '") +
                     *(one.is_target ? *other : one).key + "'; give it memory of its own");
        if (!longest || one.bytes.end > longest->bytes.end)
            longest = &one;
        if (one.is_target && (!longest_target || one.bytes.end > longest_target->bytes.end))
            longest_target = &one;
    }
}

} // namespace reshard

#endif
