// expect first: Reshard needs Boost 1.81 or later
// with: -Wfatal-errors -I old_boost
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
