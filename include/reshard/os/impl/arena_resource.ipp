// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_ARENA_RESOURCE_IPP
#define RESHARD_OS_IMPL_ARENA_RESOURCE_IPP

#include <reshard/os/arena_resource.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace reshard {

namespace detail {

/// The bytes from `place` to the next multiple of `alignment`.
inline std::size_t bytes_to(std::byte const* place, std::size_t alignment) {
    return (0 - reinterpret_cast<std::uintptr_t>(place)) & (alignment - 1);
}

/// Whole lines, and no two blocks at one place.
///
/// \pre `bytes` is not within a line of the largest number
constexpr std::size_t whole_lines(std::size_t bytes) {
    constexpr std::size_t line = arena_resource::alignment;
    return std::max(line, (bytes + line - 1) / line * line);
}

} // namespace detail

RESHARD_DECL arena_resource::arena_resource(void* memory, std::size_t bytes)
    : bytes_(bytes), free_bytes_(bytes / alignment * alignment) {
    gaps_.push_back({static_cast<std::byte*>(memory), free_bytes_});
}

RESHARD_DECL void* arena_resource::do_allocate(std::size_t bytes, std::size_t wanted) {
    std::size_t const needed = bytes <= bytes_ ? detail::whole_lines(bytes) : bytes;
    std::size_t const aligned = std::max(wanted, alignment);
    std::size_t best = gaps_.size();
    for (std::size_t i = 0; i < gaps_.size(); ++i) {
        std::size_t const head = detail::bytes_to(gaps_[i].first, aligned);
        if (gaps_[i].bytes >= needed && gaps_[i].bytes - needed >= head &&
            (best == gaps_.size() || gaps_[i].bytes < gaps_[best].bytes))
            best = i;
    }
    if (best == gaps_.size())
        fail(errc::limit_exceeded, "an arena of " + std::to_string(bytes_) +
                                       " bytes has no room for " + std::to_string(bytes) +
                                       " more: " + std::to_string(free_bytes_) +
                                       " are free, perhaps fragmented; make it larger");
    std::byte* const first = gaps_[best].first + detail::bytes_to(gaps_[best].first, aligned);
    take(best, first, needed);
    return first;
}

RESHARD_DECL void arena_resource::take(std::size_t index, std::byte* first, std::size_t bytes) {
    if (gaps_.capacity() < blocks_ + 2) // each block has at most one gap behind it
        gaps_.reserve(2 * (blocks_ + 2));
    gap const old = gaps_[index];
    gap const head{old.first, static_cast<std::size_t>(first - old.first)};
    gap const rest{first + bytes, old.bytes - head.bytes - bytes};
    auto const place = gaps_.begin() + static_cast<std::ptrdiff_t>(index);
    if (rest.bytes > 0 && head.bytes > 0)
        gaps_.insert(place + 1, rest);
    if (head.bytes > 0)
        *place = head;
    else if (rest.bytes > 0)
        *place = rest;
    else
        gaps_.erase(place);
    ++blocks_;
    free_bytes_ -= bytes;
}

RESHARD_DECL void arena_resource::do_deallocate(void* memory, std::size_t bytes, std::size_t) {
    gap freed{static_cast<std::byte*>(memory), detail::whole_lines(bytes)};
    --blocks_;
    free_bytes_ += freed.bytes;
    auto const next =
        std::lower_bound(gaps_.begin(), gaps_.end(), freed.first,
                         [](gap const& one, std::byte const* first) { return one.first < first; });
    bool const joins_next = next != gaps_.end() && freed.end() == next->first;
    bool const joins_previous = next != gaps_.begin() && (next - 1)->end() == freed.first;
    if (joins_next)
        freed.bytes += next->bytes;
    if (joins_previous) {
        (next - 1)->bytes += freed.bytes;
        if (joins_next)
            gaps_.erase(next);
    } else if (joins_next) {
        *next = freed;
    } else {
        gaps_.insert(next, freed);
    }
}

} // namespace reshard

#endif
