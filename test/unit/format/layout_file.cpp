// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/layout_file.hpp>

#include "support/listed_layout.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_layout_file)

namespace {

using namespace reshard;
using namespace reshard::detail;

layout_table explicit_form(std::string const& text) {
    return std::get<layout_table>(parse_layout_file(text, "l.json"));
}

layout_table ruled(std::string const& text, std::vector<catalog_entry> tensors) {
    return table_of(parse_layout_file(text, "l.json"), catalog(std::move(tensors)));
}

template <class Call>
std::string refusal(errc code, Call call) {
    try {
        call();
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == code), thrown.what());
        return thrown.what();
    }
    return "accepted";
}

std::string refusal(std::string const& text, errc code = errc::bad_layout) {
    return refusal(code, [&] { parse_layout_file(text, "l.json"); });
}

/// `rank:box` of each shard.
std::string shards_of(layout_table const& table, std::size_t row) {
    std::string text;
    shard_table const& shards = table.rows[row].shards;
    for (std::size_t i = 0; i < shards.size(); ++i)
        text += (i ? " " : "") + std::to_string(shards.holder(i)) + ":" +
                to_string(shards.region(i)) +
                (shards.flat(i) ? "/" + to_string(*shards.flat(i)) : "");
    return text;
}

std::string const small = R"({"ranks": 6, "tensors": {"w": {"dtype": "BF16", "shape": [8, 4],
    "shards": [{"rank": 1, "offset": [4, 0], "shape": [4, 4]},
               {"rank": 0, "offset": [0, 0], "shape": [4, 4], "flat_range": [3, 9]},
               {"rank": 1, "offset": [0, 0], "shape": [0, 4]}]},
    "s": {"shape": [], "shards": [{"rank": 5, "offset": [], "shape": []}]}}})";

std::string with_shard(std::string const& shard) {
    return R"({"tensors": {"w": {"shape": [8, 4], "shards": [)" + shard + "]}}}";
}

std::string const stages = R"({"mesh": [["pp", 2], ["tp", 3]],
    "stages": {"mesh_axis": "pp", "layers": "m.layers.{layer}.", "counts": [2, 1],
               "first": ["m.embed.**"], "last": ["m.norm.**", "head.**"]},
    "rules": [{"match": "m.layers.*.up", "shard": {"tp": 1}},
              {"match": "m.layers.*.down", "shard": {"tp": {"axis": 0, "split": "even"}}},
              {"match": "m.**", "shard": {}}]})";

} // namespace

BOOST_AUTO_TEST_CASE(the_explicit_form_gives_each_shard) {
    auto const table = explicit_form(small);
    BOOST_TEST(table.ranks == 6u);
    BOOST_TEST_REQUIRE(table.rows.size() == 2u);
    BOOST_TEST(table.rows[0].key == "s");
    BOOST_TEST(!table.rows[0].dtype.has_value());
    BOOST_TEST(shards_of(table, 0) == "5:[]");
    BOOST_TEST((table.rows[1].dtype == data_type::bf16));
    BOOST_TEST((table.rows[1].shape == index_vector{8, 4}));
    BOOST_TEST(shards_of(table, 1) == "0:[0:4, 0:4]/3:9 1:[4:8, 0:4] 1:[0:0, 0:4]");
}

BOOST_AUTO_TEST_CASE(without_ranks_there_is_one_more_than_the_largest) {
    BOOST_TEST(explicit_form(with_shard(R"({"rank": 4, "offset": [0,0], "shape": [8,4]})")).ranks ==
               5u);
    BOOST_TEST(explicit_form(R"({"tensors": {}})").ranks == 1u);
}

BOOST_AUTO_TEST_CASE(a_layout_is_written_and_read_again) {
    auto const table = explicit_form(small);
    BOOST_TEST((explicit_form(to_json(table)) == table));
    BOOST_TEST(
        to_json(explicit_form(
            with_shard(R"({"rank": 1, "offset": [0,0], "shape": [8,4], "flat_range": [0,5]})"))) ==
        "{\"ranks\": 2,\n \"tensors\": {\n  \"w\": {\"shape\": [8,4], \"shards\": [\n"
        "    {\"rank\": 1, \"offset\": [0,0], \"shape\": [8,4], \"flat_range\": [0,5]}]}}}\n");
    layout const whole_layout =
        test::listed_layout(2, {{"w", data_type::f32, {2}, shard_table(1)}});
    BOOST_TEST((source_layout(explicit_form(to_json(table_of(whole_layout)))) == whole_layout));
}

BOOST_AUTO_TEST_CASE(json_errors_tell_line_and_column) {
    BOOST_TEST(
        refusal("{\"ranks\": 2,\n \"tensors\": {,}}", errc::syntax).starts_with("l.json:2:14: "));
    BOOST_TEST(refusal("{\"ranks\": 2,\n \"ranks\": 3}", errc::syntax) ==
               "l.json:2:8: the key 'ranks' occurs twice in one object");
}

BOOST_AUTO_TEST_CASE(what_is_not_a_layout_is_refused_with_its_place) {
    BOOST_TEST(refusal("[]") == "l.json: expected an object, found a list");
    BOOST_TEST(
        refusal("{}") ==
        "l.json: this is not a layout: a layout has either 'tensors', or 'mesh' and 'rules'");
    BOOST_TEST(refusal(R"({"tensors": {}, "rank": 2})") ==
               "l.json: 'rank' is unknown; it must be one of 'ranks', 'tensors'");
    BOOST_TEST(refusal(R"({"tensors": {"a.w": {"shape": [2]}}})") ==
               "l.json: tensors['a.w']: 'shards' is missing");
    BOOST_TEST(
        refusal(R"({"tensors": {"w": {"dtype": "bfloat16", "shape": [2], "shards": []}}})") ==
        "l.json: tensors['w'].dtype: unknown data type 'bfloat16'; data types are named as in "
        "safetensors, such as BF16 or F32");
    BOOST_TEST(refusal(R"({"ranks": 0, "tensors": {}})") ==
               "l.json: ranks: a layout needs at least 1 rank");
    BOOST_TEST(refusal(R"({"ranks": 2, "tensors": {"w": {"shape": [2],
                   "shards": [{"rank": 2, "offset": [0], "shape": [2]}]}}})") ==
               "l.json: 'w' has a shard on rank 2, but there are 2 ranks");
}

BOOST_AUTO_TEST_CASE(shards_that_leave_their_tensor_are_refused) {
    std::string const location = "l.json: tensors['w'].shards[0]: ";
    BOOST_TEST(refusal(with_shard(R"({"rank": 0, "offset": [4, 0], "shape": [5, 4]})")) ==
               location +
                   "'w': axis 0: a shard of 5 elements at offset 4 exceeds the global extent 8");
    BOOST_TEST(
        refusal(with_shard(R"({"rank": 0, "offset": [4], "shape": [4]})")).starts_with(location));
    BOOST_TEST(refusal(with_shard(
                   R"({"rank": 0, "offset": [0,0], "shape": [2,2], "flat_range": [2,5]})")) ==
               location + "'w': flat range 2:5 exceeds a region of 4 elements");
    BOOST_TEST(
        refusal(with_shard(R"({"rank": 0, "offset": [0,0], "shape": [2,2], "flat_range": [2]})")) ==
        "l.json: tensors['w'].shards[0].flat_range: expected a flat range of 2 numbers, found "
        "1");
    BOOST_TEST(
        refusal(with_shard(R"({"rank": -1, "offset": [0,0], "shape": [2,2]})")) ==
        "l.json: tensors['w'].shards[0].rank: expected an integer from 0 to 2^63 - 1, found -1");
    BOOST_TEST(refusal(with_shard(R"({"rank": 0, "offset": [0,0], "size": [2,2]})"))
                   .starts_with(location + "'size' is unknown"));
}

BOOST_AUTO_TEST_CASE(more_ranks_than_a_plan_can_list_are_refused) {
    auto const of_rank = [](std::string const& rank) {
        return with_shard("{\"rank\": " + rank + ", \"offset\": [0,0], \"shape\": [2,2]}");
    };
    BOOST_TEST(explicit_form(of_rank("4194303")).ranks == 4194304u);
    for (std::string const rank : {"4194304", "2147483646", "4294967296"})
        BOOST_TEST(refusal(of_rank(rank), errc::limit_exceeded) ==
                   "l.json: tensors['w'].shards[0].rank: rank " + rank +
                       " exceeds the largest rank, 4194303: ranks are counted from 0");
    BOOST_TEST(explicit_form(R"({"ranks": 4194304, "tensors": {}})").ranks == 4194304u);
    BOOST_TEST(
        refusal(R"({"ranks": 2000000000, "tensors": {}})", errc::limit_exceeded) ==
        "l.json: ranks: a layout of 2000000000 ranks is too large; at most 4194304 are supported");
    parse_layout_file(R"({"mesh": [["dp", 2048], ["tp", 2048]]})", "l.json");
    BOOST_TEST(
        refusal(R"({"mesh": [["dp", 2], ["tp", 1000000000]]})", errc::limit_exceeded) ==
        "l.json: mesh: a layout of 2000000000 ranks is too large; at most 4194304 are supported");
}

BOOST_AUTO_TEST_CASE(tensors_of_more_bits_than_64_bits_count_are_refused) {
    std::string const said = " bits; its shape must be smaller";
    BOOST_TEST(refusal(R"({"tensors": {"w": {"dtype": "F32", "shape": [2305843009213693951],
                   "shards": []}}})") ==
               "l.json: tensors['w'].shape: 'w': a tensor of shape [2305843009213693951] with 32 "
               "bits per element (float32) has more than 9223372036854775807" +
                   said);
    // Without a data type, the program's counts.
    auto const open =
        explicit_form(R"({"tensors": {"w": {"shape": [288230376151711744], "shards": []}}})");
    auto const yields = [&](data_type dtype) {
        target_layout(open, catalog({{"w", dtype, {288230376151711744}, {1}}}));
    };
    yields(data_type::u8);
    BOOST_TEST(refusal(errc::overflow, [&] { yields(data_type::f32); }) ==
               "l.json: 'w': a tensor of shape [288230376151711744] with 32 bits per element "
               "(float32) has more than 9223372036854775807" +
                   said);
}

BOOST_AUTO_TEST_CASE(a_source_needs_data_types_and_shapes) {
    BOOST_TEST(refusal(errc::bad_layout, [] { source_layout(explicit_form(small)); }) ==
               "l.json: 's' has no data type; the layout of a source needs one, as in \"dtype\": "
               "\"BF16\"");
    BOOST_TEST(needs_shapes(parse_layout_file(stages, "l.json")));
    BOOST_TEST(!needs_shapes(parse_layout_file(small, "l.json")));
}

BOOST_AUTO_TEST_CASE(a_target_takes_its_data_types_from_the_program) {
    catalog const yielded({{"s", data_type::f64, {}, {}},
                           {"w", data_type::bf16, {8, 4}, {1, 1}},
                           {"x", data_type::u8, {1}, {1}}});
    auto const completed = target_layout(explicit_form(small), yielded);
    BOOST_TEST((completed.target.tensors[0].dtype == data_type::f64));
    BOOST_TEST(completed.target.shards_of(completed.target.tensors[1]).size() == 3u);
    BOOST_TEST(completed.target.holders == 6u);
    BOOST_TEST_REQUIRE(completed.notes.size() == 1u);
    BOOST_TEST(completed.notes[0] ==
               "l.json: 1 key that the program yields is not in the layout and is "
               "not written: 'x'");
}

BOOST_AUTO_TEST_CASE(a_target_that_contradicts_the_program_is_refused) {
    auto const against = [](errc code, std::vector<catalog_entry> yielded) {
        return refusal(code,
                       [&] { target_layout(explicit_form(small), catalog(std::move(yielded))); });
    };
    catalog_entry const s{"s", data_type::f64, {}, {}};
    BOOST_TEST(against(errc::unknown_key, {s}) ==
               "l.json: 'w' is yielded by neither the program nor the source");
    BOOST_TEST(against(errc::shape_mismatch, {s, {"w", data_type::bf16, {4, 8}, {}}}) ==
               "l.json: 'w' has the shape [8, 4] in the layout, but the program yields [4, 8]");
    BOOST_TEST(
        against(errc::dtype_mismatch, {s, {"w", data_type::f32, {8, 4}, {}}}) ==
        "l.json: 'w' has the data type BF16 in the layout, but the program yields F32; to cast it, "
        "add the attribute dtype=\"bfloat16\" to the statement that yields it, as in: w -> w, "
        "dtype=\"bfloat16\"");
}

BOOST_AUTO_TEST_CASE(rules_cut_the_keys_that_they_match) {
    auto const table = ruled(R"({"mesh": [["dp", 2], ["tp", 2]], "rules": [
        {"match": "a", "shard": {"tp": 0}}, {"match": "b", "shard": {"dp": 0, "tp": {"axis": 0}}},
        {"match": "c", "shard": {"tp": {"axis": 1, "split": [1, 3]}}}, {"match": "*", "shard": {"tp": 0}}]})",
                             {{"a", data_type::f32, {3}, {1}},
                              {"b", data_type::f32, {10}, {1}},
                              {"c", data_type::u8, {2, 4}, {1, 1}}});
    BOOST_TEST(table.ranks == 4u);
    BOOST_TEST((table.rows[2].dtype == data_type::u8));
    BOOST_TEST(shards_of(table, 0) == "0:[0:2] 1:[2:3] 2:[0:2] 3:[2:3]");
    BOOST_TEST(shards_of(table, 1) == "0:[0:3] 1:[3:5] 2:[5:8] 3:[8:10]");
    BOOST_TEST(shards_of(table, 2) == "0:[0:2, 0:1] 1:[0:2, 1:4] 2:[0:2, 0:1] 3:[0:2, 1:4]");
    BOOST_TEST(table.notes.size() == 1u);
    BOOST_TEST(
        table.notes[0] ==
        "l.json: rules[3]: earlier rules take every key that matches, or no key matches '*'");
}

BOOST_AUTO_TEST_CASE(stages_keep_layers_and_ends_on_one_coordinate) {
    auto const table = ruled(stages, {{"head.w", data_type::f32, {2}, {1}},
                                      {"m.embed.w", data_type::f32, {2}, {1}},
                                      {"m.layers.1.up", data_type::f32, {2, 4}, {1, 1}},
                                      {"m.layers.2.down", data_type::f32, {3, 1}, {1, 1}},
                                      {"m.layersx", data_type::f32, {2}, {1}}});
    BOOST_TEST(table.ranks == 6u);
    BOOST_TEST(shards_of(table, 0) == "3:[0:2] 4:[0:2] 5:[0:2]");
    BOOST_TEST(shards_of(table, 1) == "0:[0:2] 1:[0:2] 2:[0:2]");
    BOOST_TEST(shards_of(table, 2) == "0:[0:2, 0:2] 1:[0:2, 2:4] 2:[0:2, 4:4]");
    BOOST_TEST(shards_of(table, 3) == "3:[0:1, 0:1] 4:[1:2, 0:1] 5:[2:3, 0:1]");
    BOOST_TEST(shards_of(table, 4) == "0:[0:2] 1:[0:2] 2:[0:2] 3:[0:2] 4:[0:2] 5:[0:2]");
    BOOST_TEST_REQUIRE(table.notes.size() == 2u);
    BOOST_TEST(table.notes[0] == "l.json: stages.last[0]: no key matches 'm.norm.**'");
    BOOST_TEST(table.notes[1] == "l.json: 1 key matches no rule and is replicated: 'head.w'");
}

BOOST_AUTO_TEST_CASE(keys_without_a_rule_are_noted_once_a_kind) {
    std::vector<catalog_entry> keys;
    for (char const* key : {"l.0.in_norm", "l.1.in_norm", "l.0.out_norm", "l.1.out_norm", "l.0.w2",
                            "l.1.w2", "0.x", "a", "b", "c", "l.12"})
        keys.push_back({key, data_type::f32, {2}, {1}});
    auto const table = ruled(R"({"mesh": [["tp", 2]], "rules": [{"match": "**.w2"}]})", keys);
    BOOST_TEST_REQUIRE(table.notes.size() == 1u);
    BOOST_TEST(table.notes[0] ==
               "l.json: 9 keys match no rule and are replicated: '0.x', 'a', 'b', 'c', "
               "'l.*.in_norm' (2) and 3 more");
}

BOOST_AUTO_TEST_CASE(stages_that_no_key_uses_are_noted) {
    auto const table = ruled(R"({"mesh": [["pp", 2]], "stages": {"mesh_axis": "pp",
        "layers": "l.{layer}.", "counts": [2, 2], "first": ["embed", "wpe"], "last": ["head"]},
        "rules": [{"match": "**"}]})",
                             {{"embed", data_type::f32, {2}, {1}},
                              {"l.0.w", data_type::f32, {2}, {1}},
                              {"l.2.w", data_type::f32, {2}, {1}}});
    std::vector<std::string> const expected{
        "l.json: stages.first[1]: no key matches 'wpe'",
        "l.json: stages.last[0]: no key matches 'head'",
        "l.json: stages.counts places 4 layers, but the keys "
        "have 3 (counted from 0): the last stages lack some of their layers"};
    BOOST_TEST(table.notes == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stages_whose_layers_no_key_has_are_refused) {
    BOOST_TEST(refusal(errc::unknown_key,
                       [] {
                           ruled(R"({"mesh": [["ep", 2]], "stages": {"mesh_axis": "ep",
                       "layers": "l.*.experts.{layer}.", "counts": [1, 1]},
                       "rules": [{"match": "**"}]})",
                                 {{"l.0.experts.0.w", data_type::f32, {2}, {1}}});
                       }) == "l.json: stages.layers: no key begins with 'l.*.experts.', a number "
                             "and '.'; a '*' is not supported there");
}

BOOST_AUTO_TEST_CASE(a_key_of_both_ends_stands_on_both) {
    auto const table = ruled(R"({"mesh": [["tp", 2], ["pp", 3]],
        "stages": {"mesh_axis": "pp", "first": ["tied"], "last": ["tied"]},
        "rules": [{"match": "tied", "shard": {"tp": 0}}]})",
                             {{"tied", data_type::f32, {2}, {1}}});
    BOOST_TEST(shards_of(table, 0) == "0:[0:1] 2:[0:1] 3:[1:2] 5:[1:2]");
}

BOOST_AUTO_TEST_CASE(blocks_are_dealt_out_from_any_coordinate_on) {
    auto const table = ruled(R"({"mesh": [["tp", 2]], "rules": [
        {"match": "w", "shard": {"tp": {"axis": 0, "block": 3, "first": 1}}}]})",
                             {{"w", data_type::f32, {6}, {1}}});
    BOOST_TEST(shards_of(table, 0) == "0:[3:6] 1:[0:3]");
}

BOOST_AUTO_TEST_CASE(each_rank_has_its_share_of_each_part) {
    auto const on_two = [](std::string const& cut, index_vector const& shape) {
        return ruled(R"({"mesh": [["tp", 2]], "rules": [{"match": "w", )" + cut + "}]}",
                     {{"w", data_type::f32, shape, {}}});
    };
    for (std::string const cut : {R"("shard": {"tp": {"axis": 0, "parts": [4, 2, 2]}})",
                                  R"("shard": {"tp": {"axis": 0, "parts": [2, 1, 1]}})",
                                  R"("shard": {"tp": 0}, "fused": [2, 1, 1])"})
        BOOST_TEST(shards_of(on_two(cut, {8}), 0) ==
                   "0:[0:2] 0:[4:5] 0:[6:7] 1:[2:4] 1:[5:6] 1:[7:8]");
    // Equal parts are one shard of blocks.
    shard_table const blocks =
        on_two(R"("shard": {"tp": {"axis": 1, "parts": 2}})", {3, 8}).rows[0].shards;
    BOOST_TEST_REQUIRE(blocks.size() == 2u);
    BOOST_TEST(to_string(blocks.region(1)) == "[0:3, 2:8]");
    BOOST_TEST_REQUIRE(blocks.cycles(1).size() == 1u);
    BOOST_TEST((blocks.cycles(1)[0] == axis_cycle{1, 2, 4}));
    // A part that cannot be cut evenly has a shorter share; a part may have no share for a rank.
    BOOST_TEST(shards_of(on_two(R"("shard": {"tp": {"axis": 0, "parts": [3, 1]}})", {4}), 0) ==
               "0:[0:2] 0:[3:4] 1:[2:3] 1:[4:4]");
}

BOOST_AUTO_TEST_CASE(ranks_that_outnumber_heads_have_copies) {
    auto const table = ruled(R"({"mesh": [["dp", 2], ["tp", 4]], "rules": [{"match": "w", "shard":
        {"dp": 1, "tp": {"axis": 0, "parts": [8, 4, 4], "heads": [4, 2, 2]}}}]})",
                             {{"w", data_type::f32, {16, 2}, {}}});
    BOOST_TEST(shards_of(table, 0) ==
               "0:[0:2, 0:1] 0:[8:10, 0:1] 0:[12:14, 0:1] 1:[2:4, 0:1] 1:[8:10, 0:1] 1:[12:14, "
               "0:1] 2:[4:6, 0:1] 2:[10:12, 0:1] 2:[14:16, 0:1] 3:[6:8, 0:1] 3:[10:12, 0:1] "
               "3:[14:16, 0:1] 4:[0:2, 1:2] 4:[8:10, 1:2] 4:[12:14, 1:2] 5:[2:4, 1:2] 5:[8:10, "
               "1:2] 5:[12:14, 1:2] 6:[4:6, 1:2] 6:[10:12, 1:2] 6:[14:16, 1:2] 7:[6:8, 1:2] "
               "7:[10:12, 1:2] 7:[14:16, 1:2]");
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_fit_are_refused) {
    auto const read = [](std::string const& cut) {
        return refusal(R"({"mesh": [["ep", 2], ["tp", 3]], "rules": [{"match": "w", )" + cut +
                       "}]}");
    };
    BOOST_TEST(read(R"("shard": {"tp": {"axis": 0, "parts": 1}})") ==
               "l.json: rules[0].shard['tp'].parts: expected the extents of 2 to 8 tensors, or "
               "their ratio, as in [4, 1, 1]; each is at most 2^40");
    BOOST_TEST(read(R"("shard": {"tp": {"axis": 0, "heads": [1, 1]}})") ==
               "l.json: rules[0].shard['tp'].heads: 'heads' needs 'parts', such as [4096, 1024, "
               "1024]");
    BOOST_TEST(read(R"("shard": {"tp": {"axis": 0, "parts": [1, 1], "heads": [1]}})") ==
               "l.json: rules[0].shard['tp'].heads: expected a number of heads, at least 1, for "
               "each of 2 parts");
    BOOST_TEST(read(R"("shard": {"tp": {"axis": 0, "parts": 2}}, "fused": [1, 1])") ==
               "l.json: rules[0].shard['tp'].parts: the rule has 'fused' or 'parts' already; state "
               "the parts once");
    auto const applied = [](std::string const& cut) {
        return refusal(errc::bad_layout, [&] {
            ruled(R"({"mesh": [["tp", 3]], "rules": [{"match": "w", "shard": {"tp": )" + cut +
                      "}}]}",
                  {{"w", data_type::f32, {12}, {}}});
        });
    };
    BOOST_TEST(applied(R"({"axis": 0, "parts": [5, 2]})") ==
               "l.json: 'w': axis 0 has 12 elements, which are not parts in the ratio [5, 2]");
    BOOST_TEST(applied(R"({"axis": 1, "parts": 2})") == "l.json: 'w' has no axis 1 to cut");
    BOOST_TEST(applied(R"({"axis": 0, "parts": 2, "heads": [2, 2]})") ==
               "l.json: 'w': a part of 6 elements along axis 0 has 2 heads, which 3 ranks of mesh "
               "axis 'tp' can neither share nor copy evenly");
    BOOST_TEST(applied(R"({"axis": 0, "parts": [1, 1], "split": "even", "heads": [3, 4]})") ==
               "l.json: 'w': a part of 6 elements along axis 0 has 4 heads, which 3 ranks of mesh "
               "axis 'tp' can neither share nor copy evenly");
}

BOOST_AUTO_TEST_CASE(rules_that_do_not_fit_are_refused) {
    auto const with_rule = [](std::string const& rule) {
        return R"({"mesh": [["pp", 2], ["tp", 3]], "rules": [)" + rule + "]}";
    };
    BOOST_TEST(refusal(with_rule(R"({"match": "a", "shard": {"ep": 0}})")) ==
               "l.json: rules[0].shard['ep']: the mesh has no axis 'ep', only 'pp', 'tp'");
    BOOST_TEST(
        refusal(with_rule(R"({"match": "a", "shard": {"tp": {"axis": 0, "split": "odd"}}})")) ==
        "l.json: rules[0].shard['tp'].split: unknown split 'odd'; it must be 'ceil', "
        "'even' or a list of extents");
    BOOST_TEST(
        refusal(with_rule(R"({"match": "a", "shard": {"tp": "x"}})")) ==
        "l.json: rules[0].shard['tp']: expected an axis, or an object with \"axis\" and \"split\"");
    BOOST_TEST(refusal(with_rule(R"({"shard": {"tp": 0}})")) ==
               "l.json: rules[0]: 'match' is missing");
    BOOST_TEST(refusal(R"({"mesh": [["pp", 0]]})") ==
               "l.json: mesh: mesh axis 'pp' has 0 ranks; at least 1 is needed");
    BOOST_TEST(
        refusal(R"({"mesh": [["pp"]]})") ==
        "l.json: mesh[0]: a mesh axis must be a name and a number of ranks, as in [\"tp\", 4]");
    BOOST_TEST(
        refusal(
            R"({"mesh": [["pp", 2]], "stages": {"mesh_axis": "pp", "layers": "l.", "counts": [1,1]}})") ==
        "l.json: stages.layers: 'l.' has no {layer}");
    BOOST_TEST(
        refusal(
            R"({"mesh": [["pp", 2]], "stages": {"mesh_axis": "pp", "layers": "l.{layer}.", "counts": [1]}})") ==
        "l.json: stages.counts: 1 counts, but mesh axis 'pp' has 2 stages");
}

BOOST_AUTO_TEST_CASE(rules_that_do_not_fit_a_tensor_name_it) {
    auto const applied = [](std::string const& shard, index_vector const& shape) {
        return refusal(errc::bad_layout, [&] {
            ruled(R"({"mesh": [["pp", 2], ["tp", 3]], "rules": [{"match": "w", "shard": )" + shard +
                      "}]}",
                  {{"w", data_type::f32, shape, {}}});
        });
    };
    BOOST_TEST(applied(R"({"tp": {"axis": 0, "split": "even"}})", {10}) ==
               "l.json: 'w': axis 0: mesh axis 'tp' cannot cut the extent 10 into 3 equal parts; "
               "use a ceil split or give sizes");
    BOOST_TEST(applied(R"({"tp": 1})", {10}) ==
               "l.json: 'w': mesh axis 'tp' cuts axis 1 of a tensor of 1 axis");
    BOOST_TEST(applied(R"({"tp": {"axis": 0, "block": 2, "first": 3}})", {10}) ==
               "l.json: 'w': mesh axis 'tp' has the coordinates 0 to 2, not 3");
    BOOST_TEST(applied(R"({"tp": {"axis": 0, "split": [5, 5]}})", {10}) ==
               "l.json: 'w': axis 0: mesh axis 'tp' has 3 ranks, but 2 sizes");
    BOOST_TEST(
        applied(R"({"tp": {"axis": 0, "split": [5, 4, 2]}})", {10}) ==
        "l.json: 'w': axis 0: mesh axis 'tp' has sizes that sum to 11, not to the extent 10");
    BOOST_TEST(
        refusal(errc::bad_layout, [] {
            ruled(stages, {{"m.layers.3.up", data_type::f32, {2}, {}}});
        }) == "l.json: 'm.layers.3.up' belongs to layer 3, but stages.counts places only 3 layers");
    BOOST_TEST(
        refusal(errc::bad_layout, [] {
            ruled(R"({"mesh": [["pp", 2]], "stages": {"mesh_axis": "pp", "first": ["w"]},
                             "rules": [{"match": "w", "shard": {"pp": 0}}]})",
                  {{"w", data_type::f32, {2}, {}}});
        }) == "l.json: 'w' is placed on stage 0 of mesh axis 'pp', so this axis cannot cut it");
}

BOOST_AUTO_TEST_SUITE_END()
