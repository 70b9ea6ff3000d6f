// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/expr/explain.hpp>

#include <iostream>
#include <vector>

// The algebra without AOA text: a query and a key projection are transposed and fused, head by
// head. No element is computed before the end, when only copies of boxes are left.

int main() {
    using namespace reshard;

    // Two heads with two rows each, and an input with three columns.
    std::vector<float> const q{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    std::vector<float> const k{20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    index_vector const shape{4, 3};

    mapping program;
    std::vector<expression> const q_heads = split(program.source("q", shape, data_type::f32), 0, 2);
    std::vector<expression> const k_heads = split(program.source("k", shape, data_type::f32), 0, 2);
    program.define("qk", transpose(concat({q_heads[0], k_heads[0], q_heads[1], k_heads[1]}, 0)));

    // Prints the source of each element, before anything moves.
    for (piece const& piece : explain(program, "qk"))
        std::cout << to_string(piece.target_box()) << " is " << program.sources()[piece.source].key
                  << to_string(piece.source_box()) << '\n';

    // The memory may have any strides. Both sources are row-major, and so is the target with its
    // three rows and eight columns.
    std::vector<float> qk(24);
    auto const shard_of = [&](char const* key, std::vector<float> const& elements) {
        return const_local_shard{{key, data_type::f32, shape, whole(shape), {}},
                                 {elements.data(), data_type::f32, shape, {3, 1}}};
    };
    const_state_dict have;
    for (const_local_shard const& shard : {shard_of("q", q), shard_of("k", k)})
        have.add(shard.descriptor, shard.tensor);
    state_dict want;
    want.add({"qk", data_type::f32, {3, 8}, whole({3, 8}), {}},
             tensor_view{qk.data(), data_type::f32, {3, 8}, {8, 1}});

    redistribute(solo{}, have, want, {.program = program});

    std::vector<float> const expected{0, 3,  20, 23, 6, 9, 26, 29, 1, 4,  21, 24,
                                      7, 10, 27, 30, 2, 5, 22, 25, 8, 11, 28, 31};
    return qk == expected ? 0 : 1;
}
