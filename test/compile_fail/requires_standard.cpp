// expect first: Reshard needs C..20: compile with -std=c..20 or later
// with: -Wfatal-errors -std=c++17
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
