// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_CONFIG_HPP
#define RESHARD_CORE_CONFIG_HPP

/// \file
/// Selects how the library is compiled: in every source that includes it, or once.
///
/// By default, every header defines its functions. If all sources of a program define
/// RESHARD_SEPARATE_COMPILATION, headers only declare functions, and one source file includes
/// `<reshard/impl/src.hpp>`. The CMake targets `reshard::compiled_*` do both.

#include <boost/version.hpp>

#include <version>

#if __cplusplus < 202002L
#error "Reshard needs C++20: compile with -std=c++20 or later"
#elif defined(__clang__) && __clang_major__ < 16
#error "Reshard needs clang 16 or later"
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ < 12
#error "Reshard needs g++ 12 or later"
#elif !defined(__cpp_exceptions)
#error "Reshard reports errors by exceptions: compile without -fno-exceptions"
#elif !defined(__cpp_lib_constexpr_vector)
#error "Reshard needs constexpr std::vector: use the standard library of g++ 12 or later"
#endif
#if BOOST_VERSION < 108100
#error "Reshard needs Boost 1.81 or later, but the compiler found an older one"
#endif

#ifdef RESHARD_SEPARATE_COMPILATION
#define RESHARD_DECL
#else
#define RESHARD_DECL inline
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Reshard supports only little-endian machines: it writes tensors to files as in memory"
#endif

namespace reshard::detail {

// Sources that are compiled in different modes do not link. The variable is thread-local in only
// one mode, so the linker reports a mismatch and the variable's name. Kernels are for both modes.
#ifdef __CUDACC__
#elif defined(RESHARD_SEPARATE_COMPILATION)
[[gnu::used, gnu::visibility("hidden")]] inline char header_only_and_separate_compilation_are_mixed;
#else
[[gnu::used,
  gnu::visibility(
      "hidden")]] inline thread_local char header_only_and_separate_compilation_are_mixed;
#endif

} // namespace reshard::detail

#endif
