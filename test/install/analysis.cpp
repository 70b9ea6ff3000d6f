// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis.hpp>

#include <iostream>
#include <vector>

int main() {
    std::vector<reshard::simulated_flow> const flows{{.source = 0, .target = 1, .bytes = 1000}};
    double const seconds = reshard::simulate(flows, reshard::network{}).seconds;
    std::cout << seconds << '\n';
    return seconds > 0 ? 0 : 1;
}
