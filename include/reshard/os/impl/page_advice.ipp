// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_PAGE_ADVICE_IPP
#define RESHARD_OS_IMPL_PAGE_ADVICE_IPP

#include <reshard/os/page_advice.hpp>

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

namespace reshard::detail {

RESHARD_DECL void advise_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes,
                               [[maybe_unused]] bool large) {
#if defined(MADV_HUGEPAGE)
    ::madvise(memory, bytes, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

RESHARD_DECL bool populate(void* memory, std::size_t bytes) {
    auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto const before = reinterpret_cast<std::uintptr_t>(memory) % page;
    auto* const first = static_cast<std::byte*>(memory) - before;
#if defined(__linux__)
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE of Linux 5.14
    if (::madvise(first, bytes + before, populate_write) == 0)
        return true;
    if (errno != EINVAL)
        return false;
#endif
    touch_pages(first, bytes + before);
    return true;
}

RESHARD_DECL void touch_pages(std::byte* memory, std::size_t bytes) {
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    for (std::size_t at = 0; at < bytes; at += page) {
        std::atomic_ref<std::byte> const first(memory[at]);
        std::byte byte = first.load(std::memory_order_relaxed);
        // If another thread has written to the page meanwhile, the page exists.
        first.compare_exchange_strong(byte, byte, std::memory_order_relaxed);
    }
}

/// The number of large pages in the free blocks of a line. The line lists blocks by size, after the
/// name of a zone.
inline std::int64_t large_pages_in(std::istringstream& line, std::size_t order) {
    std::int64_t pages = 0, count = 0;
    for (std::size_t size = 0; line >> count; ++size)
        if (size >= order && size - order < 32)
            pages += count << (size - order);
    return pages;
}

RESHARD_DECL std::optional<std::int64_t> free_large_pages(std::string_view free_blocks,
                                                          std::size_t order) {
    std::optional<std::int64_t> pages;
    std::istringstream lines{std::string(free_blocks)};
    for (std::string text; std::getline(lines, text);) {
        std::istringstream line(text);
        std::string word;
        while (line >> word && word != "zone") {
        }
        if (line >> word)
            pages = pages.value_or(0) + large_pages_in(line, order);
    }
    return pages;
}

RESHARD_DECL std::string page_calls::read_free_blocks() {
    std::ifstream file("/proc/buddyinfo");
    return {std::istreambuf_iterator<char>(file), {}};
}

RESHARD_DECL double page_calls::thread_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

} // namespace reshard::detail

#endif
