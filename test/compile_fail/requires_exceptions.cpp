// expect first: Reshard reports errors by exceptions: compile without -fno-exceptions
// with: -Wfatal-errors -fno-exceptions
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
