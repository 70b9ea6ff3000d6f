// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/rounds.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

#include <reshard/layout/layout_of.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_memory)

namespace {

/// Rank 0 has 10 floats and a flat range of 5 of 6; rank 1 wants the ten, and rank 2 the six.
whole_problem uneven() {
    return {{{part("a", {10}, {{0}, {10}}), part("b", {2, 3}, {{0, 0}, {2, 3}}, flat_range{0, 5})},
             {part("b", {2, 3}, {{0, 0}, {2, 3}}, flat_range{5, 6})}},
            {{},
             {part("a", {10}, {{0}, {10}})},
             {part("b", {2, 3}, {{0, 0}, {2, 3}}), part("a", {10}, {{4}, {0}})}}};
}

} // namespace

BOOST_AUTO_TEST_CASE(shards_are_counted_where_they_are) {
    whole_problem const problem = uneven();
    auto const memory = memory_of(problem(), 3);
    BOOST_TEST((memory == std::vector<process_memory>{{60, 0}, {4, 40}, {0, 24}}));
}

BOOST_AUTO_TEST_CASE(a_process_has_what_its_holders_have) {
    whole_problem const problem = uneven();
    auto const memory = memory_of(problem(), 2, {.processes = 2});
    BOOST_TEST((memory == std::vector<process_memory>{{60, 24}, {4, 40}}));
}

BOOST_AUTO_TEST_CASE(files_take_no_memory) {
    whole_problem const problem = uneven();
    auto const memory = memory_of(problem(), 3, {.shared_sources = true});
    BOOST_TEST((memory == std::vector<process_memory>{{0, 0}, {0, 40}, {0, 24}}));
}

BOOST_AUTO_TEST_CASE(tensors_that_share_a_spread_are_counted_with_their_own_types) {
    // Rows of 3 over 2 ranks: two and one. Bytes of floats, and of halves.
    distribution const rows(mesh({{"dp", 2}}), {shard{0}}, {3, 5});
    layout const layout =
        layout_of({sharding_of("a", data_type::f32, rows), sharding_of("b", data_type::f32, rows),
                   sharding_of("c", data_type::bf16, rows)});
    mapping program;
    for (std::string const key : {"a", "b", "c"})
        program.define(key,
                       program.source(key, {3, 5}, key == "c" ? data_type::bf16 : data_type::f32));
    auto const memory = memory_of(problem_of(program, layout, layout), 2);
    BOOST_TEST((memory == std::vector<process_memory>{{100, 100}, {50, 50}}));
}

BOOST_AUTO_TEST_CASE(more_bytes_than_64_bits_count_are_refused) {
    // 16 tensors of 2^59 bytes are 2^63 bytes.
    index_t const large = index_t{1} << 57;
    std::vector<shard_descriptor> tensors;
    for (char name = 'a'; name < 'q'; ++name)
        tensors.push_back(part(std::string(1, name), {large}, {{0}, {large}}));
    whole_problem const problem({tensors}, {{}});
    BOOST_CHECK_EXCEPTION(memory_of(problem(), 1), error,
                          reshard::test::says(errc::overflow,
                                              "the sum of the bytes of a rank 8646911284551352320 "
                                              "and 576460752303423488 does not fit in 64 bits"));
}

BOOST_AUTO_TEST_SUITE_END()
