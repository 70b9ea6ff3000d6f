// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/model/fully_shard.hpp>

#include "support/json_lines.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

// What PyTorch says each rank holds: test/data/torch-layouts.jsonl, made by torch_layouts.py there.

BOOST_AUTO_TEST_SUITE(format_torch_layouts)

namespace {

mesh mesh_of(boost::json::value const& line) {
    std::vector<mesh_axis> axes;
    for (auto const& axis : line.at("mesh").as_array())
        axes.push_back({test::json_string(axis.at(0)), axis.at(1).to_number<index_t>()});
    return mesh(axes);
}

/// `R`, `S(1)` or `_S(0, 2)`, whose second number follows from the mesh here.
placement placement_of(std::string const& text) {
    if (text == "R")
        return replicate{};
    bool const is_strided = text[0] == '_';
    std::size_t const axis = std::stoul(text.substr(text.find('(') + 1));
    return is_strided ? placement(strided_shard{axis}) : placement(shard{axis});
}

distribution distribution_of(boost::json::value const& line) {
    std::vector<placement> placements;
    for (auto const& text : line.at("placements").as_array())
        placements.push_back(placement_of(test::json_string(text)));
    return {mesh_of(line), std::move(placements), test::json_numbers(line.at("shape"))};
}

/// The boxes that a layout gives a rank; one, or an empty one.
box region_of(layout const& layout, holder_t rank, index_vector const& shape) {
    std::vector<shard_descriptor> const shards = shards_of(layout, rank);
    return shards.empty() ? box{shape, index_vector::filled(shape.size(), 0)}
                          : shards.front().region;
}

/// The numbers of the elements of a box, row by row.
std::vector<index_t> elements_of(box const& region, index_vector const& shape) {
    std::vector<index_t> result;
    for (index_t row = 0; row < region.shape[0]; ++row)
        for (index_t column = 0; column < region.shape[1]; ++column)
            result.push_back((region.offset[0] + row) * shape[1] + region.offset[1] + column);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_rank_holds_what_dtensor_says) {
    auto const cases = test::json_lines("torch-layouts.jsonl", "dtensor");
    BOOST_TEST_REQUIRE(cases.size() == 12u);
    for (auto const& line : cases)
        BOOST_TEST_CONTEXT(line) {
            distribution const distribution = distribution_of(line);
            layout const layout = layout_of({sharding_of("w", data_type::f32, distribution)});
            auto const& ranks = line.at("ranks").as_array();
            for (holder_t rank = 0; rank < ranks.size(); ++rank) {
                box const box = region_of(layout, rank, distribution.shape());
                BOOST_TEST(box.shape == test::json_numbers(ranks[rank].at("shape")));
                if (element_count(box) > 0)
                    BOOST_TEST(box.offset == test::json_numbers(ranks[rank].at("offset")));
            }
        }
}

BOOST_AUTO_TEST_CASE(each_rank_has_the_elements_that_fsdp2_gives_it) {
    auto const cases = test::json_lines("torch-layouts.jsonl", "fsdp2");
    BOOST_TEST_REQUIRE(cases.size() == 7u);
    for (auto const& line : cases)
        BOOST_TEST_CONTEXT(line) {
            distribution const distribution = distribution_of(line);
            // Written as a user does: what tensor parallelism leaves, fully sharded.
            std::vector<placement> left = distribution.placements();
            left[0] = replicate{};
            BOOST_TEST(
                (model::fully_shard({distribution.ranks(), left, distribution.shape()},
                                    distribution.ranks().all_axes[0].name()) == distribution));
            layout const layout = layout_of({sharding_of("w", data_type::f32, distribution)});
            auto const& ranks = line.at("elements").as_array();
            for (holder_t rank = 0; rank < ranks.size(); ++rank) {
                std::vector<index_t> expected;
                for (auto const& number : ranks[rank].as_array())
                    expected.push_back(number.to_number<index_t>());
                BOOST_TEST(elements_of(region_of(layout, rank, distribution.shape()),
                                       distribution.shape()) == expected,
                           boost::test_tools::per_element());
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()
