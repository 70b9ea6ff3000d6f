// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/fused_outputs.hpp>

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_fused_outputs)

namespace {

/// `key`, of that shape, in equal parts along an axis.
layout cut_in(std::string const& key, index_vector const& shape, std::size_t axis, index_t parts,
              data_type dtype = data_type::f32) {
    std::vector<std::vector<shard_descriptor>> shards(static_cast<std::size_t>(parts));
    for (std::size_t rank = 0; rank < shards.size(); ++rank) {
        box region = whole(shape);
        region.shape[axis] /= parts;
        region.offset[axis] = static_cast<index_t>(rank) * region.shape[axis];
        shards[rank].push_back({key, dtype, shape, region, {}});
    }
    return layout_of(shards);
}

catalog const gate_and_up({{"gate", data_type::f32, {12, 4}, {1, 1}},
                           {"up", data_type::f32, {12, 4}, {1, 1}},
                           {"gate.moment1_0", data_type::f32, {12, 4}, {1, 1}},
                           {"up.moment1_0", data_type::f32, {12, 4}, {1, 1}}});

mapping compiled(std::string const& text, catalog const& source, layout const& target) {
    catalog const wanted = catalog_of(target);
    return aoa::mapping_of(aoa::parse(text), source, &wanted);
}

/// A source that has `w`, float32 of shape 24 x 4, fused so.
layout stored(fused_tensor tensor, std::string const& key = "w") {
    layout layout = cut_in("w", {24, 4}, 0, 1);
    layout.fused.emplace(key, std::move(tensor));
    return layout;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_macro_declares_for_how_many_parts_its_tensor_was_made) {
    mapping const mapping =
        compiled("gate, up -> w, fused_ffn, axis=0", gate_and_up, cut_in("w", {24, 4}, 0, 3));
    fused_tensors const expected{{"w", {0, 3, "fused_ffn, axis=0"}}};
    BOOST_TEST((mapping.fused() == expected));
}

BOOST_AUTO_TEST_CASE(an_axis_from_the_end_is_counted_from_the_front) {
    mapping const mapping =
        compiled("gate, up -> w, fused_ffn, axis=-2", gate_and_up, cut_in("w", {24, 4}, 0, 2));
    BOOST_TEST_REQUIRE(mapping.fused().size() == 1u);
    BOOST_TEST(mapping.fused().at("w").axis == 0);
    BOOST_TEST(mapping.fused().at("w").blocks == 2);
}

BOOST_AUTO_TEST_CASE(another_name_of_the_tensor_is_declared_too) {
    mapping const mapping = compiled("gate, up -> w, fused_ffn, axis=0\nw -> x", gate_and_up,
                                     cut_in("x", {24, 4}, 0, 1));
    BOOST_TEST_REQUIRE(mapping.fused().size() == 1u);
    BOOST_TEST(mapping.fused().contains("x"));
}

BOOST_AUTO_TEST_CASE(what_stays_whole_is_declared_under_its_axis) {
    auto const fused_as = [](std::string const& text, index_vector const& shape, std::size_t axis,
                             data_type dtype = data_type::f32) {
        layout const target = cut_in("x", shape, axis, 3, dtype);
        return compiled("gate, up -> w, fused_ffn, axis=0\n" + text, gate_and_up, target).fused();
    };
    fused_tensors const expected{{"x", {0, 3, "fused_ffn, axis=0"}}};
    fused_tensors const transposed{{"x", {1, 3, "fused_ffn, axis=1"}}};
    BOOST_TEST((fused_as("w -> x, dtype=\"bfloat16\"", {24, 4}, 0, data_type::bf16) == expected));
    BOOST_TEST((fused_as("w^T -> x", {4, 24}, 1) == transposed));
    BOOST_TEST((fused_as("w -> y, permute=\"[1, 0]\"\ny -> x", {4, 24}, 1) == transposed));
    BOOST_TEST((fused_as("w -> y, permute=\"[]\"\ny^T -> x", {24, 4}, 0) == expected));
    for (char const* const text : {"w -> x, reshape=\"[48, 2]\"", "w -> x, slice=\"[0:12, :]\""}) {
        auto const program = aoa::parse("gate, up -> w, fused_ffn, axis=0\n" + std::string(text));
        BOOST_TEST(aoa::mapping_of(program, gate_and_up, nullptr).fused().empty());
    }
}

BOOST_AUTO_TEST_CASE(what_is_made_of_fused_tensors_is_declared_by_the_program_that_fuses_them) {
    std::string const fuse = "gate, up -> w, fused_ffn, axis=0\n";
    auto const made = [&](std::string const& more, index_vector const& shape, std::size_t axis) {
        return compiled(fuse + more, gate_and_up, cut_in("x", shape, axis, 3)).fused();
    };
    fused_tensors const rows{{"x", {0, 3, "fused_ffn, axis=0"}}};
    fused_tensors const columns{{"x", {1, 3, "fused_ffn, axis=1"}}};
    catalog const cast({{"x", data_type::bf16, {24, 4}, {3, 1}}});
    BOOST_TEST((aoa::mapping_of(aoa::parse(fuse + "w -> x, dtype=\"bfloat16\""), gate_and_up, &cast)
                    .fused() == rows));
    BOOST_TEST((made("w, w -> x, axis=1", {24, 8}, 0) == rows));
    BOOST_TEST((made("w^T -> x", {4, 24}, 1) == columns));
}

BOOST_AUTO_TEST_CASE(tensors_that_are_taken_apart_are_not_declared) {
    catalog const source({{"w", data_type::f32, {24, 4}, {3, 1}}});
    mapping const mapping =
        compiled("w -> gate, up, fused_ffn, axis=0", source, cut_in("gate", {12, 4}, 0, 1));
    BOOST_TEST(mapping.fused().empty());
}

BOOST_AUTO_TEST_CASE(heads_are_no_parts_of_ranks) {
    catalog const source({{"q", data_type::f32, {8, 4}, {1, 1}},
                          {"k", data_type::f32, {4, 4}, {1, 1}},
                          {"v", data_type::f32, {4, 4}, {1, 1}}});
    std::string const heads = "num_heads=8, num_key_value_groups=4, axis=0";
    layout const target = cut_in("w", {16, 4}, 0, 2);
    BOOST_TEST(compiled("q, k, v -> w, fused_qkv, " + heads, source, target).fused().empty());
    auto const old = compiled("q, k, v -> w, fused_qkv_old, " + heads, source, target).fused();
    fused_tensors const expected{{"w", {0, 2, "fused_qkv_old, " + heads}}};
    BOOST_TEST((old == expected));
}

BOOST_AUTO_TEST_CASE(a_copy_carries_what_is_known_of_its_source) {
    layout const source = stored({0, 3, "fused_ffn, axis=0"});
    mapping copy(catalog_of(source));
    copy.define("same", copy.source(0));
    copy.define("cast", cast(copy.source(0), data_type::bf16));
    copy.define("turned", transpose(copy.source(0)));
    copy.define("half", split(copy.source(0), 0, std::size_t{2})[0]);
    carry_fused(copy, source);
    BOOST_TEST_REQUIRE(copy.fused().size() == 3u);
    BOOST_TEST((copy.fused().at("same").axis == 0));
    BOOST_TEST((copy.fused().at("cast").blocks == 3));
    BOOST_TEST((copy.fused().at("turned").axis == 1));
    BOOST_TEST(copy.fused().at("turned").macro == "fused_ffn, axis=1"); // which makes it again
    BOOST_TEST(!copy.fused().contains("half"));
    carry_fused(copy, source);
    BOOST_TEST(copy.fused().size() == 3u); // once
}

BOOST_AUTO_TEST_CASE(what_has_all_blocks_of_each_of_its_sources_is_fused_as_they_are) {
    layout source = layout_of({{{"a", data_type::f32, {24, 4}, whole({24, 4}), {}},
                                {"b", data_type::f32, {24, 4}, whole({24, 4}), {}},
                                {"c", data_type::f32, {24, 4}, whole({24, 4}), {}},
                                {"n", data_type::f32, {24, 4}, whole({24, 4}), {}}}});
    for (char const* const key : {"a", "b"})
        source.fused.emplace(key, fused_tensor{0, 3, "fused_ffn, axis=0"});
    source.fused.emplace("c", fused_tensor{0, 2, "fused_ffn, axis=0"});
    mapping mapping(catalog_of(source));
    auto const a = mapping.source(0), b = mapping.source(1), c = mapping.source(2),
               n = mapping.source(3);
    mapping.define("columns", split(a, 1, std::size_t{2})[1]);
    mapping.define("beside", concat({a, b}, 1));
    mapping.define("beside_turned", concat({transpose(a), transpose(b)}, 0));
    mapping.define("below", concat({a, b}, 0));
    mapping.define("otherwise", concat({a, c}, 1));
    mapping.define("with_plain", concat({a, n}, 1));
    mapping.define("with_zeros", resize(a, {24, 6}));
    mapping.define("stack", concat({reshape(a, {1, 24, 4}), reshape(b, {1, 24, 4})}, 0));
    mapping.define("split", reshape(a, {24, 2, 2}));
    mapping.define("merged", reshape(a, {96}));
    mapping.define("longer", resize(a, {36, 4}));
    carry_fused(mapping, source);
    fused_tensor const rows{0, 3, "fused_ffn, axis=0"}, columns{1, 3, "fused_ffn, axis=1"};
    fused_tensors const expected{{"columns", rows},  {"beside", rows},
                                 {"split", rows},    {"beside_turned", columns},
                                 {"stack", columns}, {"with_zeros", rows}};
    BOOST_TEST((mapping.fused() == expected));
}

BOOST_AUTO_TEST_CASE(what_takes_a_fused_tensor_apart_makes_it_backwards) {
    catalog const fused({{"w", data_type::f32, {24, 4}, {3, 1}}});
    catalog const parts(
        {{"gate", data_type::f32, {12, 4}, {1, 1}}, {"up", data_type::f32, {12, 4}, {1, 1}}});
    auto const apart = aoa::expand(aoa::parse("w -> gate, up, fused_ffn, axis=0"), fused, &parts);
    auto const back = aoa::reverse(apart.code, fused, &parts);
    fused_tensors const expected{{"w", {0, 3, "fused_ffn, axis=0"}}};
    BOOST_TEST((aoa::lower(back, parts, &fused).fused() == expected));
}

BOOST_AUTO_TEST_CASE(state_is_fused_as_its_parameter_is) {
    std::vector<std::vector<shard_descriptor>> shards(1);
    for (char const* const key : {"w", "w.moment1_0"})
        shards[0].push_back({key, data_type::f32, {24, 4}, whole({24, 4}), {}});
    layout const target = layout_of(shards);
    mapping mapping = compiled("gate, up -> w, fused_ffn, axis=0", gate_and_up, target);
    carry_fused(mapping, target);
    BOOST_TEST_REQUIRE(mapping.fused().size() == 2u);
    BOOST_TEST((mapping.fused().at("w.moment1_0").blocks == 1));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_blocks_of_ranks_is_cut_into_them_or_not_at_all) {
    layout const source = stored({0, 3, "fused_ffn, axis=0"});
    mapping copy = identity_mapping(catalog_of(source));
    carry_fused(copy, source);
    check_fused(copy, cut_in("w", {24, 4}, 0, 3));
    check_fused(copy, cut_in("v", {24, 4}, 0, 2)); // another tensor
    // All of the rows: gate and up in turn, but one rank expects one after the other.
    for (layout const& all_rows : {cut_in("w", {24, 4}, 0, 1), cut_in("w", {24, 4}, 1, 4)})
        BOOST_TEST(find_fused_fault(copy, all_rows)
                       .value()
                       .find("but the target does not cut it there, ") != std::string::npos);
    BOOST_CHECK_EXCEPTION(
        check_fused(copy, cut_in("w", {24, 4}, 0, 6)), error, [](error const& problem) {
            BOOST_TEST(
                problem.what() ==
                std::string(
                    "'w', shape [24, 4], is interleaved in 3 parts along axis 0, but the target "
                    "cuts it there into 6 parts, so that ranks would get elements of the wrong "
                    "tensors; "
                    "rebuild it with the statement  w -> w, fused_ffn, axis=0; if the parts are "
                    "gathered before they are used, as FSDP does, cut_fused allows it"));
            return problem.code() == errc::bad_layout;
        });
}

BOOST_AUTO_TEST_CASE(parts_that_are_not_equal_are_refused) {
    layout const source = stored({0, 2, {}});
    mapping copy = identity_mapping(catalog_of(source));
    carry_fused(copy, source);
    layout const uneven = layout_of({{{"w", data_type::f32, {24, 4}, {{0, 0}, {10, 4}}, {}}},
                                     {{"w", data_type::f32, {24, 4}, {{10, 0}, {14, 4}}, {}}}});
    BOOST_TEST(find_fused_fault(copy, uneven).has_value());
}

BOOST_AUTO_TEST_CASE(two_boxes_a_rank_are_no_parts_of_ranks) {
    mapping copy = identity_mapping(catalog_of(stored({0, 4, "fused_ffn, axis=0"})));
    carry_fused(copy, stored({0, 4, "fused_ffn, axis=0"}));
    // Four parts of equal extents, as many as it was made for, but two of each rank.
    auto const rows = [](index_t first) {
        return shard_descriptor{"w", data_type::f32, {24, 4}, {{first, 0}, {6, 4}}, {}};
    };
    layout const pairs = layout_of({{rows(0), rows(12)}, {rows(6), rows(18)}});
    std::string const fault = find_fused_fault(copy, pairs).value_or("");
    BOOST_TEST(fault ==
               "'w', shape [24, 4], is interleaved in 4 parts along axis 0, but rank 0 of the "
               "target holds 2 boxes there, so that ranks would get elements of the wrong tensors; "
               "take it apart with the statement  w -> gate, up, fused_ffn, axis=0  and write the "
               "plain concatenation  gate, up -> w, axis=0");
}

BOOST_AUTO_TEST_CASE(a_tensor_is_taken_apart_with_as_much_of_each_part) {
    layout const source = stored({0, 4, "fused_ffn, axis=0"});
    catalog const catalog = catalog_of(source);
    check_torn(aoa::mapping_of(aoa::parse("w -> gate, up, fused_ffn, axis=0"), catalog), source);
    mapping columns = aoa::mapping_of(aoa::parse("w -> left, right, axis=1"), catalog);
    carry_fused(columns, source);
    check_torn(columns, source);
    mapping const torn = aoa::mapping_of(aoa::parse("w -> gate, up, axis=0"), catalog);
    BOOST_CHECK_EXCEPTION(check_torn(torn, source), error, [](error const& problem) {
        BOOST_TEST(problem.what() ==
                   std::string("'w', shape [24, 4], is interleaved in 4 parts along axis 0, but "
                               "'gate' takes 24 elements of each of the parts 0 to 1, none of each "
                               "of the parts 2 to 3; take it apart with the statement  w -> gate, "
                               "up, fused_ffn, axis=0; if that is intended, cut_fused allows it"));
        return problem.code() == errc::bad_layout;
    });
    layout const one_part = stored({0, 1, "fused_ffn, axis=0"});
    check_torn(aoa::mapping_of(aoa::parse("w -> gate, up, axis=0"), catalog_of(one_part)),
               one_part);
}

BOOST_AUTO_TEST_CASE(another_form_of_a_fused_tensor_keeps_its_axis_or_is_refused) {
    layout const source = stored({0, 4, "fused_ffn, axis=0"});
    auto const fault = [&](std::string const& text) {
        mapping mapping = aoa::mapping_of(aoa::parse(text), catalog_of(source));
        carry_fused(mapping, source);
        return find_torn_fused(mapping, source).value_or("");
    };
    for (char const* const text :
         {"w -> v", "w -> v, permute='[1, 0]'", "w -> gate, up, fused_ffn, axis=0",
          "w -> gate, up, fused_ffn, axis=0\ngate, up -> v, axis=0", "w, w -> v, axis=1",
          "w -> v, reshape='[1, 24, 1, 4]'", "w -> v, reshape='[24, 2, 2]'",
          "w -> v, permute='[1, 0]', reshape='[2, 2, 24]'", "w -> v, resize='[*, 5]'",
          "w -> v, slice='[0:24, 1:2]', reshape='[24]'",
          "w -> a, b, c, d, e, f, g, h, axis=0\na, c, e, g, b, d, f, h -> v, axis=0",
          "w -> x, y, fused_ffn, axis=0\nx -> a, b, axis=0\ny -> c, d, axis=0\n"
          "a, c, b, d -> v, axis=0"})
        BOOST_TEST(fault(text) == "", text);
    for (char const* const text :
         {"w -> v, reshape='[2, 12, 4]'", "w -> v, resize='[30, *]'", "w, w -> v, axis=0",
          "w -> v, reshape='[96]'", "w -> v, permute='[1, 0]', reshape='[96]'",
          "w -> a, b, c, d, axis=0\nb, a, c, d -> v, axis=0",
          "w -> a, b, c, d, axis=0\na, b, c, d -> v, axis=1", "w -> v, slice='[6:18, 0:4]'",
          "w -> a, b, c, d, e, f, g, h, axis=0\na, b, c, d, e, f, g, h -> v, axis=0",
          "w -> a, b, c, d, e, f, g, h, axis=0\na, b, c, d, e, f, g, h -> v, axis=1",
          "w, w -> t, axis=1\nt -> a, b, c, d, e, f, g, h, axis=0\na, b, c, d -> x, axis=0\n"
          "e, f, g, h -> y, axis=0\nx, y -> v, axis=0"})
        BOOST_TEST(!fault(text).empty(), text);
    BOOST_TEST(
        fault("w -> v, reshape='[96]'") ==
        "'w', shape [24, 4], is interleaved in 4 parts along axis 0, but 'v' reshapes it, so "
        "its tensors can no longer be identified; take it apart with the statement  w -> gate, up, "
        "fused_ffn, axis=0  and write the plain "
        "concatenation  gate, up -> w, axis=0");
}

BOOST_AUTO_TEST_CASE(a_catalog_has_the_parts_that_a_tensor_was_made_for) {
    BOOST_TEST(catalog_of(stored({0, 3, {}})).find("w")->parts == (index_vector{3, 1}));
    BOOST_TEST(catalog_of(stored({0, 3, {}}, "v")).find("w")->parts == (index_vector{1, 1}));
    BOOST_TEST(catalog_of(stored({2, 3, {}})).find("w")->parts == (index_vector{1, 1}));
}

BOOST_AUTO_TEST_SUITE_END()
