// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_VERSION_HPP
#define RESHARD_VERSION_HPP

/// \file
/// Which version of the library this is; the build system reads it here.
///
/// Before 1.0.0 a program that was written for 0.N may have to be changed for 0.(N+1), and never
/// for another 0.N.

#define RESHARD_VERSION_MAJOR 0
#define RESHARD_VERSION_MINOR 1
#define RESHARD_VERSION_PATCH 0

/// One number to compare: 10000 times the major one, 100 times the minor one, and the patch.
#define RESHARD_VERSION                                                                            \
    (RESHARD_VERSION_MAJOR * 10000 + RESHARD_VERSION_MINOR * 100 + RESHARD_VERSION_PATCH)

#endif
