// expect first: static assertion failed.*: a state_dict is written to, and this tensor or its elements are const
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/span.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <span>

using namespace reshard;

void add(state_dict& want, layout const& all, std::span<float const> elements) {
    want.add("w", all, 0, elements);
}
