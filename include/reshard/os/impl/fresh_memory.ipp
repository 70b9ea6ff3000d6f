// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_FRESH_MEMORY_IPP
#define RESHARD_OS_IMPL_FRESH_MEMORY_IPP

#include <reshard/os/fresh_memory.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <system_error>

namespace reshard {

namespace detail {

RESHARD_DECL private_mapping::private_mapping(std::size_t bytes, bool huge)
    : bytes_(bytes + alignment) {
    whole_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole_ == MAP_FAILED)
        fail(errc::io, bytes,
             " bytes of memory are refused: ", std::generic_category().message(errno),
             "; ask for less on this rank");
    first_ = whole_;
    std::size_t space = bytes_;
    std::align(alignment, bytes, first_, space);
    if (huge)
        advise_huge(first_, bytes);
}

} // namespace detail

RESHARD_DECL fresh_memory::fresh_memory(index_t bytes, page_advice advice)
    : bytes_(sized(bytes)), mapping_(bytes_, advice.huge), resource_(mapping_.data(), bytes_) {
    if (advice.populate)
        try {
            filling_ = std::jthread([this](std::stop_token const& stop) { fill(stop); });
        } catch (std::system_error const&) { // no more threads: pages come when they are written
        }
}

RESHARD_DECL void fresh_memory::wait() {
    if (filling_.joinable())
        filling_.join();
}

RESHARD_DECL std::size_t fresh_memory::sized(index_t bytes) {
    constexpr index_t books = detail::arena_resource::least_bytes;
    if (bytes < 0 || bytes > std::numeric_limits<index_t>::max() / 2)
        fail(errc::usage, "fresh memory of ", bytes,
             " bytes; it must be 0 or more, and less than 2^62");
    return static_cast<std::size_t>(bytes + books);
}

RESHARD_DECL void fresh_memory::fill(std::stop_token const& stop) const {
    constexpr std::size_t piece = std::size_t{32} << 20;
    for (std::size_t done = 0; done < bytes_ && !stop.stop_requested(); done += piece)
        if (!detail::populate(mapping_.data() + done, std::min(piece, bytes_ - done)))
            return;
}

} // namespace reshard

#endif
