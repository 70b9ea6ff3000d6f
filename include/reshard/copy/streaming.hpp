// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_STREAMING_HPP
#define RESHARD_COPY_STREAMING_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

/// \file
/// Copies of bytes that pass by the caches, for results too large to be found there later.

namespace reshard {

namespace detail {

inline constexpr std::size_t line_bytes = 64;

/// The bytes from `place` to the next line of the cache.
inline std::size_t bytes_to_line(void const* place) {
    return (line_bytes - reinterpret_cast<std::uintptr_t>(place) % line_bytes) % line_bytes;
}

/// Writes whole lines past the caches.
///
/// \pre `target` is aligned to a line
inline void stream_lines_portably(unsigned char* target, unsigned char const* source,
                                  std::size_t lines) {
#if defined(__SSE2__)
    auto const* from = reinterpret_cast<__m128i const*>(source);
    auto* to = reinterpret_cast<__m128i*>(target);
    for (; lines > 0; --lines, from += 4, to += 4) {
        __m128i const a = _mm_loadu_si128(from);
        __m128i const b = _mm_loadu_si128(from + 1);
        __m128i const c = _mm_loadu_si128(from + 2);
        __m128i const d = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
#else
    std::memcpy(target, source, lines * line_bytes);
#endif
}

#if defined(__x86_64__)

/// Writes a line past the caches, both halves in one go.
[[gnu::target("avx2"), gnu::always_inline]] inline void
stream_line_avx2(unsigned char* target, unsigned char const* source) {
    auto const* const from = reinterpret_cast<__m256i const*>(source);
    auto* const to = reinterpret_cast<__m256i*>(target);
    __m256i const a = _mm256_loadu_si256(from);
    __m256i const b = _mm256_loadu_si256(from + 1);
    _mm256_stream_si256(to, a);
    _mm256_stream_si256(to + 1, b);
}

/// The same with larger registers: a tenth to a quarter faster, the more so the shorter the runs.
[[gnu::target("avx2"), gnu::always_inline]] inline void
stream_lines_inline(unsigned char* target, unsigned char const* source, std::size_t lines) {
    for (; lines > 0; --lines, source += line_bytes, target += line_bytes)
        stream_line_avx2(target, source);
}

[[gnu::target("avx2")]] inline void
stream_lines_avx2(unsigned char* target, unsigned char const* source, std::size_t lines) {
    stream_lines_inline(target, source, lines);
}

inline void stream_lines(unsigned char* target, unsigned char const* source, std::size_t lines) {
    if (__builtin_cpu_supports("avx2"))
        stream_lines_avx2(target, source, lines);
    else
        stream_lines_portably(target, source, lines);
}

#else

inline void stream_lines(unsigned char* target, unsigned char const* source, std::size_t lines) {
    stream_lines_portably(target, source, lines);
}

#endif

/// Copies like memcpy, whole lines past the caches; `streaming_fence` must follow.
inline void stream_bytes(unsigned char* target, unsigned char const* source, std::size_t bytes) {
    std::size_t const head = std::min(bytes, bytes_to_line(target));
    if (head > 0)
        std::memcpy(target, source, head);
    std::size_t const lines = (bytes - head) / line_bytes;
    stream_lines(target + head, source + head, lines);
    std::size_t const done = head + lines * line_bytes;
    if (done < bytes)
        std::memcpy(target + done, source + done, bytes - done);
}

/// Makes streamed bytes visible before anything that is written later.
inline void streaming_fence() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

} // namespace detail

/// Copies `bytes` bytes past the caches: faster than memcpy where neither side is needed soon.
///
/// Places need no alignment; what is written is seen by other processes before any later store.
///
/// \pre the two ranges do not overlap
inline void copy_bytes_streaming(void* target, void const* source, std::size_t bytes) {
    if (bytes == 0)
        return;
    detail::stream_bytes(static_cast<unsigned char*>(target),
                         static_cast<unsigned char const*>(source), bytes);
    detail::streaming_fence();
}

} // namespace reshard

#endif
