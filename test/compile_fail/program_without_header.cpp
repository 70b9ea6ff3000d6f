// expect first: include_bind_program_hpp<reshard::mapping>
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/redistribute.hpp>

using namespace reshard;

void move_with(mapping const& program, state_dict const& have, state_dict const& want) {
    redistribute(solo{}, have, want, {.program = program});
}
