// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/redistribute.hpp>

#include "oracle/array.hpp"
#include "oracle/spread.hpp"
#include "support/all_ranks.hpp"
#include "support/memory.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(laws_round_trip)

namespace {

using side = std::vector<oracle::tensor>;

/// Random tensors that nobody holds yet.
side some_tensors(oracle::random_numbers& random) {
    static std::vector<std::string> const dtypes{"float32", "bfloat16", "int64", "uint8"};
    side full_side;
    for (std::int64_t i = random.between(1, 4); i > 0; --i) {
        oracle::tensor tensor{"w" + std::to_string(i), {}, random.pick(dtypes), {}, false};
        for (std::int64_t ndim = random.between(0, 5); ndim > 0; --ndim)
            tensor.shape.push_back(random.chance(3) ? 0 : random.between(1, 5));
        full_side.push_back(std::move(tensor));
    }
    return full_side;
}

/// The same tensors over some ranks.
struct spread_out {
    spread_out(side tensors, oracle::random_numbers& random)
        : ranks(random.between(1, 8)), all(std::move(tensors)) {
        for (oracle::tensor& tensor : all)
            oracle::spreader(random, ranks).spread(tensor, {});
        memory = test::memory_of(all, ranks);
    }

    void fill() {
        std::map<std::string, oracle::array> arrays;
        std::int64_t base = 0;
        for (oracle::tensor const& tensor : all) {
            std::int64_t index = base += 1000;
            arrays[tensor.key] =
                oracle::make_array(tensor.shape, tensor.dtype, [&](oracle::numbers const&) {
                    return oracle::nearest(tensor.dtype,
                                           tensor.dtype == "uint8" ? index++ % 251 : index++);
                });
        }
        for (test::rank_memory& rank : memory)
            rank.fill(arrays);
    }

    std::vector<state_dict> shards() {
        std::vector<state_dict> result;
        for (test::rank_memory& rank : memory)
            result.push_back(rank.shards());
        return result;
    }

    std::int64_t ranks;
    side all;
    std::vector<test::rank_memory> memory;
};

void move(spread_out& from, spread_out& to) {
    std::vector<const_state_dict> source;
    for (state_dict const& tensors : from.shards())
        source.push_back(tensors);
    reshard::test::redistribute_ranks(source, to.shards());
}

bool same(spread_out const& a, spread_out const& b) {
    for (std::size_t rank = 0; rank < a.memory.size(); ++rank)
        if (a.memory[rank].difference(b.memory[rank]))
            return false;
    return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(there_and_back_is_the_identity) {
    for (std::uint64_t seed = 0; seed < test::trials(1000); ++seed) {
        oracle::random_numbers random(seed);
        side const tensors = some_tensors(random);
        spread_out a(tensors, random), b(tensors, random);
        spread_out back = a;
        a.fill();
        move(a, b);
        move(b, back);
        BOOST_TEST(same(a, back), "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(a_stop_on_the_way_changes_nothing) {
    for (std::uint64_t seed = 0; seed < test::trials(1000); ++seed) {
        oracle::random_numbers random(seed + 10'000);
        side const tensors = some_tensors(random);
        spread_out a(tensors, random), b(tensors, random), c(tensors, random);
        spread_out direct = c;
        a.fill();
        move(a, b);
        move(b, c);
        move(a, direct);
        BOOST_TEST(same(c, direct), "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
