// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#define RESHARD_SEPARATE_COMPILATION
#include <reshard/core/config.hpp>

int separate() { return 0; }
