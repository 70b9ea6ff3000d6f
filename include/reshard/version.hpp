// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_VERSION_HPP
#define RESHARD_VERSION_HPP

/// \file
/// The version of the library. The build system reads it from this file.
///
/// Before 1.0.0, an update from 0.N to 0.(N+1) may require changes to a program; an update within
/// 0.N never does.

#define RESHARD_VERSION_MAJOR 0
#define RESHARD_VERSION_MINOR 1
#define RESHARD_VERSION_PATCH 0

/// The version as one number to compare: 10000 * major + 100 * minor + patch.
#define RESHARD_VERSION                                                                            \
    (RESHARD_VERSION_MAJOR * 10000 + RESHARD_VERSION_MINOR * 100 + RESHARD_VERSION_PATCH)

#endif
