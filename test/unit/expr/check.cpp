// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/check.hpp>

#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_check)

namespace {

catalog_entry whole_tensor(std::string key, index_vector const& shape,
                           data_type dtype = data_type::f32) {
    return {std::move(key), dtype, shape, index_vector::filled(shape.size(), 1)};
}

catalog const checked_source({whole_tensor("a", {4, 6}), whole_tensor("b", {2, 6})});

/// `note unused a` and the sentence, a line a finding.
std::string said(report const& report) {
    std::string text;
    for (mapping_finding const& finding : report.findings)
        text += std::string(name_of(finding.level)) + " " + finding.code + " " + finding.key +
                ": " + finding.message + "\n";
    return text;
}

/// A target of 4 x 6 elements that has the given pieces of `a`, `[offset, offset + shape)` each.
expression of_pieces(std::vector<box> const& boxes) {
    expression value{{4, 6}, data_type::f32, piece_list(2)};
    for (box const& region : boxes)
        value.pieces.push_back({0,
                                data_type::f32,
                                permutation::identity(2),
                                {},
                                region.offset,
                                region.offset,
                                region.shape});
    return value;
}

std::string said_of(expression value) {
    mapping map(checked_source);
    map.define("b", map.source(1));
    map.define("a", map.source(0));
    map.define("x", std::move(value));
    return said(check(map, checked_source));
}

} // namespace

BOOST_AUTO_TEST_CASE(of_a_sound_mapping_there_is_nothing_to_say) {
    mapping map(checked_source);
    map.define("ab", concat({map.source(0), map.source(1)}, 0));
    catalog const target({whole_tensor("ab", {6, 6})});
    report const report = check(map, checked_source, &target);
    BOOST_TEST(said(report) == "");
    BOOST_TEST(report.ok());
    BOOST_TEST(report.invertible());
    BOOST_TEST(report.keys.transformed == std::vector<std::string>{"ab"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_target_element_has_one_source) {
    BOOST_TEST(said_of(of_pieces({{{0, 0}, {4, 3}}, {{0, 3}, {4, 3}}})) == "");
    BOOST_TEST(said_of(of_pieces({{{0, 0}, {4, 3}}, {{1, 3}, {3, 3}}})) ==
               "error not_covered x: 'x' has no source for its elements [0:1, 3:6] of [4, 6]\n");
    BOOST_TEST(said_of(of_pieces({{{0, 0}, {4, 4}}, {{0, 3}, {4, 3}}})) ==
               "error overlap x: 'x' has two sources for its elements [0:4, 3:4]: the pieces "
               "[0:4, 0:4] and [0:4, 3:6]\n");
    BOOST_TEST(said_of(of_pieces({})) ==
               "error not_covered x: 'x' has no source for its elements [0:4, 0:6] of [4, 6]\n");
}

BOOST_AUTO_TEST_CASE(pieces_stay_within_their_tensors) {
    BOOST_TEST(said_of(of_pieces({{{0, 0}, {5, 6}}})) ==
               "error shape_mismatch x: 'x' has the shape [4, 6], but a piece is "
               "a box of [5, 6] at [0, 0]\n");
    constexpr index_t far = index_t{1} << 62; // twice as much does not fit 64 bits
    BOOST_TEST(said_of(of_pieces({{{far, 0}, {far, 6}}}))
                   .starts_with("error shape_mismatch x: 'x' has the shape [4, 6], but a piece"));
    expression value = of_pieces({});
    value.pieces.push_back(
        {1, data_type::f32, permutation::identity(2), {}, {0, 0}, {0, 0}, {4, 6}});
    BOOST_TEST(
        said_of(value) ==
        "error shape_mismatch x: 'x' takes a box of [4, 6] at [0, 0] from 'b', shape [2, 6]\n");
    BOOST_TEST(said_of(source_tensor(2, {4, 6}, data_type::f32)) ==
               "error unknown_key x: 'x' refers to source tensor number 2, but there are only 2\n");
    BOOST_TEST(said_of(source_tensor(0, {24}, data_type::f32)) ==
               "error shape_mismatch x: 'x' takes a box of 1 axis from 'a', shape [4, 6]\n");
}

BOOST_AUTO_TEST_CASE(data_types_are_those_of_sources_and_target) {
    expression value = of_pieces({});
    value.pieces.push_back(
        {0, data_type::bf16, permutation::identity(2), {}, {0, 0}, {0, 0}, {4, 6}});
    value.dtype = data_type::bf16;
    BOOST_TEST(said_of(value) ==
               "error dtype_mismatch x: 'x' takes 'a' as bfloat16, but it is float32\n");
    value = of_pieces({{{0, 0}, {4, 6}}});
    value.dtype = data_type::f16;
    BOOST_TEST(said_of(value) == "error dtype_mismatch x: 'x' is float16, but its piece "
                                 "[0:4, 0:6] is float32\n");
}

BOOST_AUTO_TEST_CASE(all_findings_are_there_errors_first) {
    mapping map(checked_source);
    map.define("x", of_pieces({{{0, 0}, {3, 6}}}));
    map.define("y", of_pieces({{{0, 0}, {2, 6}}}));
    map.define("z", zeros({2}, data_type::f32));
    catalog const target({whole_tensor("x", {4, 6}), whole_tensor("y", {4, 7}),
                          whole_tensor("yy", {1}), whole_tensor("z", {2}, data_type::f16)});
    BOOST_TEST(said(check(map, checked_source, &target)) ==
               "error not_covered x: 'x' has no source for its elements [3:4, 0:6] of [4, 6]\n"
               "error not_covered y: 'y' has no source for its elements [2:4, 0:6] of [4, 6]\n"
               "error shape_mismatch y: 'y' has the shape [4, 6], but the target wants [4, 7]\n"
               "error unknown_key yy: the target wants 'yy', which the mapping does not make\n"
               "error dtype_mismatch z: 'z' is float32, but the target wants float16\n"
               "note unused a: 'a' has elements that no target uses: [3:4, 0:6] of [4, 6]\n"
               "note unused b: 'b' is not used by any target\n");
}

BOOST_AUTO_TEST_CASE(a_mapping_is_for_the_tensors_that_there_are) {
    mapping map;
    map.define("a", map.source("a", {4, 6}, data_type::bf16));
    map.define("b", map.source("b", {2, 5}, data_type::f32));
    map.define("c", map.source("model.norm.weigth", {2}, data_type::f32));
    catalog const there({whole_tensor("a", {4, 6}), whole_tensor("b", {2, 6}),
                         whole_tensor("model.norm.weight", {2})});
    BOOST_TEST(said(check(map, there)) ==
               "error dtype_mismatch a: 'a' is float32 in the source, but the mapping was made "
               "for bfloat16\nerror shape_mismatch b: 'b' has the shape [2, 6] in the source, but "
               "the mapping was made for [2, 5]\nerror unknown_key model.norm.weigth: the mapping "
               "was made for 'model.norm.weigth', which the source does not have (did you mean "
               "'model.norm.weight'?)\n");
}

BOOST_AUTO_TEST_CASE(what_is_lost_is_noted_but_for_what_is_removed) {
    mapping map(checked_source);
    map.define("x", cast(map.source(0), data_type::bf16));
    map.remove("b");
    report const report = check(map, checked_source);
    BOOST_TEST(said(report) == "note rounded a: 'a' is rounded on the way from float32 to "
                               "bfloat16\n");
    BOOST_TEST(report.ok());
    BOOST_TEST(!report.invertible());
    BOOST_TEST(report.losses.size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_made_and_not_wanted_is_noted) {
    mapping map(checked_source);
    map.define("a", map.source(0));
    map.define("b", map.source(1));
    catalog const target({whole_tensor("a", {4, 6})});
    report const report = check(map, checked_source, &target);
    BOOST_TEST(said(report) == "note not_wanted b: 'b' is made, but the target does not want it\n");
}

BOOST_AUTO_TEST_CASE(a_check_of_nothing_finds_nothing) {
    report const report = check(mapping(), catalog());
    BOOST_TEST(report.findings.empty());
    BOOST_TEST(report.ok());
    BOOST_TEST(report.invertible());
}

BOOST_AUTO_TEST_CASE(tensors_without_elements_and_scalars_are_sound) {
    catalog const odd({whole_tensor("e", {0, 3}), whole_tensor("s", {})});
    mapping map(odd);
    map.define("e", map.source(0));
    map.define("s", map.source(1));
    BOOST_TEST(said(check(map, odd, &odd)) == "");
}

namespace {

/// Whole tensors on one rank.
layout stored(std::vector<catalog_entry> const& tensors) {
    std::vector<shard_descriptor> shards;
    for (catalog_entry const& tensor : tensors)
        shards.push_back({tensor.key, tensor.dtype, tensor.shape, whole(tensor.shape), {}});
    return layout_of({shards});
}

/// A quantised matrix `l.weight` that a program turns, and a tensor beside it.
struct unknown_scales {
    std::string other;
    bool is_warned_of;
};

} // namespace

BOOST_AUTO_TEST_CASE(scales_follow_the_tensor_that_they_belong_to) {
    for (bool const has_scales : {true, false}) {
        std::vector<catalog_entry> tensors{whole_tensor("a.weight", {4, 4}, data_type::f8_e4m3)};
        mapping map;
        map.define("b.weight", map.source("a.weight", {4, 4}, data_type::f8_e4m3));
        for (std::string const scales : {"weight_scale", "weight_scale_2"}) {
            tensors.push_back(whole_tensor("a." + scales, {1}));
            if (has_scales)
                map.define("b." + scales, map.source("a." + scales, {1}, data_type::f32));
        }
        auto const findings = carry_scales(map, stored(tensors));
        BOOST_TEST(findings.empty() == has_scales);
        BOOST_TEST(map.relations().size() == (has_scales ? 2u : 0u));
    }
}

BOOST_AUTO_TEST_CASE(tensors_that_may_be_scales_are_warned_of) {
    unknown_scales const trials[] = {{"l.weight_my_scale", true}, // named after the tensor
                                     {"l.weight_mine", false},
                                     {"l.my_scale", true}, // in its module
                                     {"l.mine", false},
                                     {"m.my_scale", false}};
    for (auto const& [other, is_warned_of] : trials) {
        mapping map;
        map.define("w", transpose(map.source("l.weight", {2, 6}, data_type::f8_e4m3)));
        layout const source = stored(
            {whole_tensor("l.weight", {2, 6}, data_type::f8_e4m3), whole_tensor(other, {2})});
        BOOST_TEST(find_unknown_scales(map, source, nullptr).has_value() == is_warned_of, other);
    }
}

BOOST_AUTO_TEST_SUITE_END()
