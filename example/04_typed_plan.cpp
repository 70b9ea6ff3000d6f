// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/typed.hpp>

#include <array>
#include <cstddef>
#include <iostream>

// A whole redistribution as a type. The compiler plans it: this program does not compile unless the plan is
// complete and costs what is written here. It only copies: all offsets and extents are constants, and no memory
// is allocated.

namespace {

using namespace reshard;

// Trained on four tensor-parallel ranks, to be served by two, with query and key in one tensor.
struct trained
    : typed::layout<mesh{{"tp", 4}}, typed::tensor<"q", float, index_vector{8, 2}, shard{0}>,
                    typed::tensor<"k", float, index_vector{4, 2}, shard{0}>,
                    typed::tensor<"norm", float, index_vector{2}, replicate{}>> {};
struct served
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"qk", float, index_vector{12, 2}, shard{0}>,
                    typed::tensor<"norm", float, index_vector{2}, replicate{}>> {};

// What is not the source's tensor of its key is defined.
using qk = typed::concat<0, typed::source_of<trained, "q">, typed::source_of<trained, "k">>;
using serve = typed::plan<trained, served, typed::definition<"qk", qk>>;

// The first six rows of qk come from the first three ranks, two each, the others from the fourth and, as k, from
// all four; each rank keeps a norm of its own.
static_assert(typed::is_covered<trained> && typed::has_equal_shards<served>);
static_assert(cost_of<serve>().transfers == 3 + 5 + 2);
static_assert(cost_of<serve>().by_process[0].bytes_local == 2 * 2 * 4 + 2 * 4);
static_assert(cost_of<serve>().by_process[0].bytes_in == 4 * 2 * 4);

} // namespace

int main() {
    std::array<std::array<float, 8>, 4> shards{}; // of each rank: two rows of q, one of k, the norm
    for (std::size_t rank = 0; rank < 4; ++rank)
        for (std::size_t i = 0; i < 8; ++i)
            shards[rank][i] = static_cast<float>(10 * rank + i);
    std::array<std::array<float, 14>, 2> served_shards{}; // six rows of qk, the norm

    constexpr std::size_t first_of[] = {0, 4, 6};
    typed::addresses<trained, std::byte const> from;
    for (holder_t rank = 0; rank < 4; ++rank)
        for (std::size_t tensor = 0; tensor < 3; ++tensor)
            from.set(tensor, rank,
                     reinterpret_cast<std::byte const*>(&shards[rank][first_of[tensor]]));
    typed::addresses<served, std::byte> to;
    for (holder_t rank = 0; rank < 2; ++rank) {
        to.set(0, rank, reinterpret_cast<std::byte*>(&served_shards[rank][0]));
        to.set(1, rank, reinterpret_cast<std::byte*>(&served_shards[rank][12]));
    }
    run_locally<serve>(from, to);

    // Rank 1 has the last two rows of q, which rank 3 had, and then all of k.
    auto const& last = served_shards[1];
    std::cout << "q: " << last[0] << " to " << last[3] << "; k: " << last[4] << " to " << last[11]
              << "; " << cost_of<serve>().transfers << " copies, known before the program ran\n";
    return last[0] == 30 && last[3] == 33 && last[4] == 4 && last[11] == 35 ? 0 : 1;
}
