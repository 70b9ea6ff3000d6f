// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// The version of Debian 12's default Boost, before the system's in requires_boost.cpp.

#define BOOST_VERSION 107400
