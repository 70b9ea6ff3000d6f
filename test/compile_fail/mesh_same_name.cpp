// expect: the mesh has two axes
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/mesh.hpp>

// The check that throws at run time is an error in a constant expression.
constexpr reshard::mesh bad{{"tp", 2}, {"tp", 3}};
