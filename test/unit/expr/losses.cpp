// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/losses.hpp>

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_losses)

namespace {

/// a is 4 x 6 float32, b is 8 bfloat16, e has no elements.
mapping lossy() {
    return mapping(catalog({{"a", data_type::f32, {4, 6}, {1, 1}},
                            {"b", data_type::bf16, {8}, {1}},
                            {"e", data_type::f32, {0}, {1}}}));
}

std::string text_of(mapping const& map, loss const& loss) {
    return loss.key + " " + describe(loss, map.sources()[loss.source]);
}

} // namespace

BOOST_AUTO_TEST_CASE(what_arrives_whole_is_not_lost) {
    mapping map = lossy();
    map.define("x", transpose(map.source(0)));
    auto const halves = split(map.source(1), 0, std::size_t{2});
    map.define("y", halves[1]);
    map.define("z", cast(halves[0], data_type::f32)); // holds every bfloat16
    BOOST_TEST(losses_of(map).empty());
}

BOOST_AUTO_TEST_CASE(what_no_target_uses_is_lost) {
    mapping map = lossy();
    map.define("y", map.source(1));
    auto const losses = losses_of(map);
    BOOST_TEST_REQUIRE(losses.size() == 1u);
    BOOST_TEST((losses[0] == loss{loss::kind::unused, 0, "a", {box{{0, 0}, {4, 6}}}}));
    BOOST_TEST(text_of(map, losses[0]) == "a is not used by any target");
}

BOOST_AUTO_TEST_CASE(elements_that_no_target_uses_are_named) {
    mapping map = lossy();
    map.define("y", map.source(1));
    map.define("x", split(map.source(0), 1, std::size_t{3})[1]);
    auto const losses = losses_of(map);
    BOOST_TEST_REQUIRE(losses.size() == 1u);
    BOOST_TEST(text_of(map, losses[0]) ==
               "a has elements that no target uses: [0:4, 0:2], [0:4, 4:6] of [4, 6]");
    BOOST_TEST(!losses[0].has_more);
}

BOOST_AUTO_TEST_CASE(of_many_gaps_the_first_are_named) {
    mapping map(catalog({{"w", data_type::f32, {12}, {1}}}));
    auto const parts = split(map.source(0), 0, std::size_t{12});
    map.define("odd", concat({parts[1], parts[3], parts[5], parts[7], parts[9], parts[11]}, 0));
    auto const losses = losses_of(map);
    BOOST_TEST_REQUIRE(losses.size() == 1u);
    BOOST_TEST(losses[0].boxes.size() == 4u);
    BOOST_TEST(losses[0].has_more);
    BOOST_TEST(describe(losses[0], map.sources()[0]).ends_with(" and more of [12]"));
}

BOOST_AUTO_TEST_CASE(what_is_rounded_is_lost_unless_it_arrives_elsewhere_too) {
    mapping map = lossy();
    map.define("y", map.source(1));
    map.define("x", cast(cast(map.source(0), data_type::bf16), data_type::f32));
    auto const losses = losses_of(map);
    BOOST_TEST_REQUIRE(losses.size() == 1u);
    BOOST_TEST((losses[0].type == loss::kind::rounded));
    BOOST_TEST((losses[0].step == chain_step{data_type::bf16}));
    BOOST_TEST(text_of(map, losses[0]) == "a is rounded on the way from float32 to bfloat16");
    map.define("z", map.source(0));
    BOOST_TEST(losses_of(map).empty());
}

BOOST_AUTO_TEST_CASE(elements_that_nobody_uses_say_more_than_that_the_others_are_rounded) {
    mapping map = lossy();
    map.define("y", map.source(1));
    map.define("x", cast(split(map.source(0), 0, std::size_t{2})[0], data_type::f16));
    auto const losses = losses_of(map);
    BOOST_TEST_REQUIRE(losses.size() == 1u);
    BOOST_TEST(text_of(map, losses[0]) ==
               "a has elements that no target uses: [2:4, 0:6] of [4, 6]");
}

BOOST_AUTO_TEST_CASE(a_tensor_may_be_removed_knowingly) {
    mapping map = lossy();
    map.define("y", map.source(1));
    map.remove("a");
    map.remove("e"); // which has nothing to be lost
    auto const losses = losses_of(map);
    BOOST_TEST_REQUIRE(losses.size() == 1u);
    BOOST_TEST((losses[0].type == loss::kind::removed));
    BOOST_TEST(text_of(map, losses[0]) == "a is removed");
}

BOOST_AUTO_TEST_CASE(a_piece_that_fits_no_source_uses_nothing) {
    mapping map = lossy();
    map.define("y", map.source(1));
    map.define("x", source_tensor(7, {4, 6}, data_type::f32));
    map.define("z", source_tensor(0, {5, 6}, data_type::f32));
    BOOST_TEST_REQUIRE(losses_of(map).size() == 1u);
    BOOST_TEST(losses_of(map)[0].key == "a");
}

BOOST_AUTO_TEST_CASE(arithmetic_may_change_every_element) {
    mapping map;
    map.define("a", shifted(map.source("a", {4}, data_type::bf16), 1));
    auto const losses = losses_of(map);
    BOOST_TEST_REQUIRE(losses.size() == 1u);
    BOOST_TEST((losses[0].type == loss::kind::rounded));
    BOOST_TEST(text_of(map, losses[0]) == "a is computed on the way, and rounded to bfloat16");
}

BOOST_AUTO_TEST_SUITE_END()
