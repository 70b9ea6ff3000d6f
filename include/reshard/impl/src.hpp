// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_IMPL_SRC_HPP
#define RESHARD_IMPL_SRC_HPP

#ifndef RESHARD_SEPARATE_COMPILATION
#error                                                                                             \
    "define RESHARD_SEPARATE_COMPILATION in all sources, or do not include <reshard/impl/src.hpp>"
#endif

/// \file
/// All functions that are not compiled into every program, except those whose libraries are
/// missing. One source file of a program includes this header.

#include <reshard/impl/analysis.hpp>
#include <reshard/impl/core.hpp>

#if __has_include(<boost/json/value.hpp>) && __has_include(<xxhash.h>)
#include <reshard/impl/format.hpp>
#define RESHARD_IMPL_HAS_FORMAT
#endif

#if __has_include(<mpi.h>) && __has_include(<boost/mpi/communicator.hpp>)
#include <reshard/impl/mpi.hpp>
#ifdef RESHARD_IMPL_HAS_FORMAT
#include <reshard/impl/storage.hpp>
#endif
#endif

#undef RESHARD_IMPL_HAS_FORMAT

#endif
