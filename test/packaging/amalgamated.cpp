// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "reshard.hpp"

#include <cstdlib>
#include <iostream>

// Weak, so that the object of this file can be linked twice: what the library defines must not clash.
[[gnu::weak]] int main() {
    using namespace reshard;
    aoa::program const program = aoa::parse("q, k -> qk, axis=1\nqk -> qk^T", "turn.aoa");
    std::cout << aoa::print(program);
    static_assert(RESHARD_VERSION >= 100);
    box const common{{1, 2}, {3, 2}};
    return intersect(box{{0, 2}, {4, 9}}, box{{1, 0}, {3, 4}}) == common ? EXIT_SUCCESS
                                                                         : EXIT_FAILURE;
}
