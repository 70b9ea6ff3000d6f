// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/shards_of.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/rank_group.hpp>
#include <reshard/model/zero.hpp>

#include "support/json_lines.hpp"

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

// What Megatron-Core says of its ranks and of its distributed optimizer:
// test/data/megatron-layouts.jsonl, made by megatron_layouts.py there.

BOOST_AUTO_TEST_SUITE(format_megatron_layouts)

namespace {

index_t number(boost::json::value const& line, char const* name) {
    return line.at(name).to_number<index_t>();
}

std::vector<holder_t> ranks_of(boost::json::value const& list) {
    std::vector<holder_t> result;
    for (auto const& rank : list.as_array())
        result.push_back(rank.to_number<holder_t>());
    return result;
}

/// The axes of `dp-cp`.
axis_set axes_of(mesh const& ranks, std::string const& names) {
    std::size_t const dash = names.find('-');
    if (dash == std::string::npos)
        return model::axes_named(ranks, {names});
    return model::axes_named(ranks, {names.substr(0, dash), names.substr(dash + 1)});
}

/// `0:32`; empty if a rank has none of the tensor.
std::string range_of(std::vector<shard_descriptor> const& shards, std::string const& key) {
    for (shard_descriptor const& shard : shards)
        if (shard.key == key)
            return to_string(shard.flat.value_or(flat_range{0, element_count(shard.region)}));
    return "";
}

} // namespace

BOOST_AUTO_TEST_CASE(groups_are_those_of_its_rank_generator) {
    auto const cases = test::json_lines("megatron-layouts.jsonl", "groups");
    BOOST_TEST_REQUIRE(cases.size() == 5u);
    for (auto const& line : cases)
        BOOST_TEST_CONTEXT(line) {
            std::string const order = test::json_string(line.at("order"));
            mesh const ranks = model::dense_mesh({.tp = number(line, "tp"),
                                                  .cp = number(line, "cp"),
                                                  .dp = number(line, "dp"),
                                                  .pp = number(line, "pp"),
                                                  .order = order});
            for (auto const& [names, groups] : line.at("groups").as_object())
                for (auto const& group : groups.as_array())
                    for (holder_t rank : ranks_of(group))
                        BOOST_TEST(
                            model::group_of(ranks, rank, axes_of(ranks, std::string(names))) ==
                                ranks_of(group),
                            boost::test_tools::per_element());
        }
}

BOOST_AUTO_TEST_CASE(ranges_are_those_of_its_distributed_optimizer) {
    auto const cases = test::json_lines("megatron-layouts.jsonl", "optimizer");
    BOOST_TEST_REQUIRE(cases.size() == 6u);
    for (auto const& line : cases)
        BOOST_TEST_CONTEXT(line) {
            index_t const dp = number(line, "dp");
            model::parallel_job const job({.dp = dp});
            std::vector<tensor_sharding> parameters;
            for (auto const& size : line.at("sizes").as_array())
                parameters.push_back(sharding_of({.key = std::to_string(parameters.size()),
                                                  .shape = {size.to_number<index_t>()}},
                                                 job));
            auto const shared = model::shard_buffers(parameters, [&](index_t ranks) {
                model::buffer_rules rules = model::megatron_buckets(ranks);
                rules.target = number(line, "bucket_size");
                return rules;
            });
            for (holder_t rank = 0; rank < static_cast<holder_t>(dp); ++rank) {
                auto const shards = shards_of(shared, rank);
                auto const& expected = line.at("ranges").at(rank).as_array();
                for (std::size_t i = 0; i < expected.size(); ++i)
                    BOOST_TEST(
                        range_of(shards, std::to_string(i)) ==
                        (expected[i].is_null()
                             ? ""
                             : to_string(flat_range{expected[i].at(0).to_number<index_t>(),
                                                    expected[i].at(1).to_number<index_t>()})));
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()
