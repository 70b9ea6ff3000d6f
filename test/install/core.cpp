// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/box.hpp>

#include <iostream>

static_assert(reshard::intersect({{0, 0}, {4, 4}}, {{2, 1}, {4, 2}}) ==
              reshard::box{{2, 1}, {2, 2}});

int main() { std::cout << to_string(reshard::box{{2, 1}, {2, 2}}) << '\n'; }
