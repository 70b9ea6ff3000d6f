// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/source_indices.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_source_indices)

namespace {

plan_problem with_sources(reshard::vector<shard_table const*> const& tables) {
    plan_problem problem;
    for (shard_table const* const table : tables)
        problem.sources.push_back({"w", data_type::f32, table});
    return problem;
}

shard_table halves(holder_t first, holder_t second) {
    shard_table table(1);
    table.push_back(first, {{0}, {2}});
    table.push_back(second, {{2}, {2}});
    return table;
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_that_are_cut_alike_share_an_index_whoever_holds_them) {
    shard_table const a = halves(0, 1), b = halves(5, 3);
    shard_table c(1);
    c.push_back(0, {{0}, {4}});
    plan_problem const problem = with_sources({&a, &c, &b, nullptr, nullptr});
    detail::source_indices const indices(problem);
    BOOST_TEST(indices.kind(0) == indices.kind(2));
    BOOST_TEST(indices.kind(0) != indices.kind(1));
    BOOST_TEST(indices.kind(0) != indices.kind(3));
    BOOST_TEST(indices.kind(3) == indices.kind(4));
    BOOST_TEST(&indices.of(0) == &indices.of(2));
    BOOST_TEST(indices.of(1).size() == 1u);
    BOOST_TEST(indices.of(3).size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_flat_range_makes_a_difference) {
    shard_table a(1), b(1), c(1);
    a.push_back(0, {{0}, {4}});
    b.push_back(0, {{0}, {4}}, flat_range{0, 2});
    c.push_back(0, {{0}, {4}}, flat_range{0, 3});
    plan_problem const problem = with_sources({&a, &b, &c});
    detail::source_indices const indices(problem);
    BOOST_TEST(indices.kind(0) != indices.kind(1));
    BOOST_TEST(indices.kind(1) != indices.kind(2));
}

BOOST_AUTO_TEST_CASE(shards_that_share_elements_name_their_holders) {
    shard_table table(2);
    table.push_back(4, {{0, 0}, {2, 3}});
    table.push_back(7, {{1, 1}, {2, 3}});
    plan_problem problem = with_sources({&table});
    BOOST_CHECK_EXCEPTION(detail::source_indices{problem}, error,
                          says(errc::overlap, "'w' has unequal shards that overlap in [1:2, 1:3]: "
                                              "rank 4 holds [0:2, 0:3], rank 7 holds [1:3, 1:4]"));
    reshard::vector<std::string> const files{"", "", "", "", "a.st", "", "", "b.st"};
    problem.source_names = &files;
    BOOST_CHECK_EXCEPTION(detail::source_indices{problem}, error,
                          says(errc::overlap, "'w' has unequal shards that overlap in [1:2, 1:3]: "
                                              "a.st holds [0:2, 0:3], b.st holds [1:3, 1:4]"));
}

BOOST_AUTO_TEST_SUITE_END()
