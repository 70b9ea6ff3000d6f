// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/checkpoint.hpp>

#include "safetensors_cases.hpp"
#include "temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

BOOST_AUTO_TEST_SUITE(format_checkpoint)

namespace {

using namespace reshard;
using namespace reshard::detail;

/// A safetensors file of that JSON and its data.
std::string file_of(std::string const& json, std::size_t data_bytes) {
    return test::eight_bytes(json.size()) + json + std::string(data_bytes, '\0');
}

/// One tensor of 16 bit integers, and the metadata given.
std::string tensor_file(std::string const& key, std::string const& shape, std::size_t bytes,
                        std::string const& metadata = {}) {
    return file_of("{" + metadata + "\"" + key + R"(":{"dtype":"I16","shape":)" + shape +
                       R"(,"data_offsets":[0,)" + std::to_string(bytes) + "]}}",
                   bytes);
}

/// The metadata of a file with one shard.
std::string sharding(std::string const& key, std::string const& offsets,
                     std::string const& shape = {}) {
    std::string text = R"("__metadata__":{"format":"pt","DCP_SHARDING_INFO":"{\")" + key +
                       R"(\":{\"saved_offsets\":)" + offsets + "}}\"";
    if (!shape.empty())
        text += R"(,"RESHARD":"{\")" + key + R"(\":{\"shape\":)" + shape + "}}\"";
    return text + "},";
}

/// The refusal of a path, without the directory.
std::string refusal(test::temporary_directory const& directory, errc code,
                    std::string const& name = {},
                    safetensors_mode mode = safetensors_mode::strict) {
    try {
        safetensors_options options;
        options.mode = mode;
        open_checkpoint(name.empty() ? directory.path() : directory.path() / name, options);
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == code), thrown.what());
        std::string text = thrown.what();
        std::string const prefix = directory.path().string() + "/";
        for (auto position = text.find(prefix); position != text.npos; position = text.find(prefix))
            text.erase(position, prefix.size());
        return text;
    }
    return "accepted";
}

std::string const index_name = "model.safetensors.index.json";

} // namespace

BOOST_AUTO_TEST_CASE(one_safetensors_file_is_a_checkpoint) {
    test::temporary_directory const directory;
    auto const path = directory.write(
        "x.safetensors",
        file_of(R"({"__metadata__":{"k":"v"},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                R"("a":{"dtype":"U8","shape":[0,3],"data_offsets":[4,4]}})",
                4));
    auto const checkpoint = open_checkpoint(path);
    BOOST_TEST(checkpoint.format == "safetensors");
    BOOST_TEST((checkpoint.path == path));
    BOOST_TEST((checkpoint.metadata == std::map<std::string, std::string>{{"k", "v"}}));
    BOOST_TEST_REQUIRE(checkpoint.warnings.size() == 1u);
    BOOST_TEST(checkpoint.warnings[0].find("'a' has no elements (shape [0, 3])") !=
               std::string::npos);
    BOOST_TEST((checkpoint.files == std::vector<checkpoint_file>{{path, 144}}));
    BOOST_TEST((checkpoint.tensors ==
                std::vector<checkpoint_tensor>{
                    {"a", data_type::u8, {0, 3}, {{0, {{0, 0}, {0, 3}}, {}, 144, 144}}},
                    {"b", data_type::f32, {}, {{0, {{}, {}}, {}, 140, 144}}}}));
}

BOOST_AUTO_TEST_CASE(a_directory_with_model_safetensors_is_a_hugging_face_model) {
    test::temporary_directory const directory;
    directory.write("model.safetensors", tensor_file("w", "[2]", 4));
    directory.write("config.json", "{}");
    auto const checkpoint = open_checkpoint(directory.path());
    BOOST_TEST(checkpoint.format == "huggingface");
    BOOST_TEST(checkpoint.tensors.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_index_gathers_the_tensors_of_its_files) {
    test::temporary_directory const directory;
    directory.write("model-00001-of-00002.safetensors", tensor_file("b", "[2]", 4));
    directory.write("model-00002-of-00002.safetensors", tensor_file("a", "[3]", 6));
    directory.write("model.safetensors", "not looked at");
    directory.write(index_name, R"({"metadata":{"total_size":10},"weight_map":{
        "a":"model-00002-of-00002.safetensors","b":"model-00001-of-00002.safetensors"}})");
    auto const checkpoint = open_checkpoint(directory.path());
    BOOST_TEST(checkpoint.format == "huggingface");
    BOOST_TEST_REQUIRE(checkpoint.warnings.size() == 1u);
    BOOST_TEST(checkpoint.warnings[0] ==
               directory.path().string() + ": 'model.safetensors' may have other tensors, but is "
                                           "not read: this checkpoint has the format huggingface");
    BOOST_TEST_REQUIRE(checkpoint.files.size() == 2u);
    BOOST_TEST(checkpoint.files[1].path.filename().string() == "model-00002-of-00002.safetensors");
    auto const files = layout_of(checkpoint);
    BOOST_TEST(files.holders == 2u);
    BOOST_TEST_REQUIRE(files.tensors.size() == 2u);
    BOOST_TEST(files.tensors[0].key == "a");
    BOOST_TEST((files.shape_of(files.tensors[0]) == index_vector{3}));
    BOOST_TEST(files.shards_of(files.tensors[0]).holder(0) == 1u);
    BOOST_TEST((files.shards_of(files.tensors[1]).region(0) == box{{0}, {2}}));
    BOOST_TEST(files.shards_of(files.tensors[1]).holder(0) == 0u);
}

BOOST_AUTO_TEST_CASE(each_file_says_how_its_tensors_were_fused) {
    test::temporary_directory const directory;
    auto const fused = [](std::string const& key, std::string const& blocks) {
        return R"("__metadata__":{"RESHARD_FUSED":"[{\"axis\":0,\"blocks\":)" + blocks +
               R"(,\"macro\":\"fused_ffn, axis=0\",\"keys\":[\")" + key + R"(\"]}]"},)";
    };
    directory.write("a.safetensors", tensor_file("a", "[2]", 4, fused("a", "2")));
    directory.write("b.safetensors", tensor_file("b", "[3]", 6, fused("b", "3")));
    directory.write("c.safetensors", tensor_file("c", "[3]", 6, fused("b", "3")));
    directory.write(index_name, R"({"metadata":{"total_size":16},"weight_map":{)"
                                R"("a":"a.safetensors","b":"b.safetensors","c":"c.safetensors"}})");
    BOOST_TEST(
        (open_checkpoint(directory.path()).fused ==
         fused_tensors{{"a", {0, 2, "fused_ffn, axis=0"}}, {"b", {0, 3, "fused_ffn, axis=0"}}}));
}

BOOST_AUTO_TEST_CASE(a_wrong_total_is_a_warning) {
    test::temporary_directory const directory;
    directory.write("f.safetensors", tensor_file("b", "[2]", 4));
    directory.write(index_name,
                    R"({"metadata":{"total_size":10},"weight_map":{"b":"f.safetensors"}})");
    auto const checkpoint = open_checkpoint(directory.path());
    BOOST_TEST_REQUIRE(checkpoint.warnings.size() == 1u);
    BOOST_TEST(checkpoint.warnings[0] == (directory.path() / index_name).string() +
                                             ": total_size is 10, but the tensors have 4 bytes");
}

BOOST_AUTO_TEST_CASE(an_index_that_contradicts_its_files_is_refused) {
    test::temporary_directory const directory;
    directory.write("f.safetensors", tensor_file("b", "[2]", 4));
    directory.write(
        index_name,
        R"({"weight_map":{"b":"f.safetensors","c":"g.safetensors","d":"g.safetensors"}})");
    BOOST_TEST(refusal(directory, errc::missing_file) ==
               index_name +
                   ": 'c' and 1 more tensor are listed in g.safetensors, but that file is missing");
    directory.write(index_name, R"({"weight_map":{"b":"f.safetensors","c":"f.safetensors"}})");
    BOOST_TEST(refusal(directory, errc::corrupt_file) ==
               index_name + ": 'c' should be in f.safetensors, but is not");
    directory.write(index_name, R"({"weight_map":{"c":"f.safetensors"}})");
    BOOST_TEST(refusal(directory, errc::corrupt_file) ==
               index_name + ": 'b' is in f.safetensors, but the index does not list it there; "
                            "--compatible reads it");
    directory.write("g.safetensors", tensor_file("b", "[2]", 4));
    directory.write(index_name, R"({"weight_map":{"b":"f.safetensors"}})");
    BOOST_TEST(refusal(directory, errc::corrupt_file) == "accepted");
    directory.write(index_name, "{");
    BOOST_TEST(refusal(directory, errc::corrupt_file) ==
               index_name + ":1:2: the JSON text ends too early");
}

BOOST_AUTO_TEST_CASE(
    in_compatible_mode_the_index_decides_and_a_tensor_beside_it_is_a_warning_unless_it_is_twice) {
    test::temporary_directory const directory;
    directory.write("f.safetensors", tensor_file("b", "[2]", 4));
    directory.write("g.safetensors",
                    file_of(R"({"c":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},)"
                            R"("d":{"dtype":"I16","shape":[2],"data_offsets":[4,8]}})",
                            8));
    directory.write(index_name, R"({"weight_map":{"b":"f.safetensors","c":"g.safetensors"}})");
    safetensors_options options;
    options.mode = safetensors_mode::compatible;
    auto const checkpoint = open_checkpoint(directory.path(), options);
    BOOST_TEST(checkpoint.tensors.size() == 3u);
    BOOST_TEST(checkpoint.warnings.size() == 1u);
    directory.write("f.safetensors",
                    file_of(R"({"b":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},)"
                            R"("c":{"dtype":"I16","shape":[2],"data_offsets":[4,8]}})",
                            8));
    auto const decided = open_checkpoint(directory.path(), options);
    BOOST_TEST_REQUIRE(decided.tensors.size() == 3u);
    BOOST_TEST(decided.files[decided.tensors[1].shards.front().file].path.filename() ==
               "g.safetensors");
    BOOST_TEST((decided.warnings.front() ==
                (directory.path() / index_name).string() +
                    ": 'c' is in f.safetensors too; the file that the index lists is read"));
    BOOST_TEST(refusal(directory, errc::corrupt_file) ==
               index_name + ": 'c' is in f.safetensors, but the index lists it in another file; "
                            "--compatible lets the index decide");
    directory.write("f.safetensors",
                    file_of(R"({"b":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},)"
                            R"("d":{"dtype":"I16","shape":[2],"data_offsets":[4,8]}})",
                            8));
    BOOST_TEST(refusal(directory, errc::corrupt_file, {}, safetensors_mode::compatible) ==
               "g.safetensors and f.safetensors: tensor 'd': it is in both, but no metadata says "
               "that these are shards");
}

BOOST_AUTO_TEST_CASE(sharded_files_are_put_together) {
    test::temporary_directory const directory;
    directory.write("shard-00001-model-00001-of-00001.safetensors",
                    tensor_file("w", "[2,3]", 12, sharding("w", "[0,0]")));
    directory.write("shard-00002-model-00001-of-00001.safetensors",
                    tensor_file("w", "[1,3]", 6, sharding("w", "[2,0]")));
    auto const checkpoint = open_checkpoint(directory.path());
    BOOST_TEST(checkpoint.format == "sharded_safetensors");
    BOOST_TEST((checkpoint.metadata == std::map<std::string, std::string>{{"format", "pt"}}));
    BOOST_TEST_REQUIRE(checkpoint.tensors.size() == 1u);
    auto const& tensor = checkpoint.tensors[0];
    BOOST_TEST((tensor.shape == index_vector{3, 3}));
    BOOST_TEST_REQUIRE(tensor.shards.size() == 2u);
    BOOST_TEST(tensor.shards[1].file == 1u);
    BOOST_TEST((tensor.shards[1].region == box{{2, 0}, {1, 3}}));
    BOOST_TEST(tensor.shards[1].end - tensor.shards[1].begin == 6u);
    BOOST_TEST(tensor.shards[1].end == checkpoint.files[1].bytes);
}

BOOST_AUTO_TEST_CASE(a_global_shape_that_is_stated_counts_more_than_the_parts) {
    test::temporary_directory const directory;
    directory.write("shard-1.safetensors", tensor_file("w", "[2,3]", 12, sharding("w", "[0,0]")));
    directory.write("shard-2.safetensors",
                    tensor_file("w", "[1,3]", 6, sharding("w", "[2,0]", "[9,3]")));
    BOOST_TEST((open_checkpoint(directory.path()).tensors[0].shape == index_vector{9, 3}));
}

BOOST_AUTO_TEST_CASE(one_shard_alone_is_still_a_shard) {
    test::temporary_directory const directory;
    directory.write("x.safetensors", tensor_file("w", "[1,3]", 6, sharding("w", "[2,0]", "[9,3]")));
    auto const checkpoint = open_checkpoint(directory.path() / "x.safetensors");
    BOOST_TEST(checkpoint.format == "sharded_safetensors");
    BOOST_TEST((checkpoint.tensors[0].shape == index_vector{9, 3}));
}

BOOST_AUTO_TEST_CASE(files_that_contradict_one_another_are_both_named) {
    test::temporary_directory const directory;
    directory.write("s1.safetensors",
                    tensor_file("w", "[2,3]", 12, sharding("w", "[0,0]", "[3,3]")));
    auto const with_second = [&](std::string const& bytes) {
        directory.write("s2.safetensors", bytes);
        return refusal(directory, errc::corrupt_file);
    };
    std::string const both = "s2.safetensors and s1.safetensors: tensor 'w': ";
    BOOST_TEST(with_second(tensor_file("w", "[1,3]", 6, sharding("w", "[2,0]", "[4,3]"))) ==
               both + "the global shape is [4, 3] in the former and [3, 3] in the latter");
    BOOST_TEST(with_second(tensor_file("w", "[1]", 2, sharding("w", "[2]"))) ==
               both + "it has 1 axis in the former and 2 in the latter");
    BOOST_TEST(
        with_second(tensor_file("w", "[2,3]", 12, sharding("w", "[2,0]"))) ==
        both +
            "axis 0: a shard of the former ends at 4, beyond the global extent 3 that the latter "
            "states");
    BOOST_TEST(with_second(file_of("{" + sharding("w", "[2,0]") +
                                       R"("w":{"dtype":"U8","shape":[1,3],"data_offsets":[0,3]}})",
                                   3)) ==
               both + "the data type is U8 in the former and I16 in the latter");
    BOOST_TEST(
        with_second(tensor_file("w", "[1,3]", 6)) ==
        "s2.safetensors: the file has no DCP_SHARDING_INFO, so the positions of its tensors are "
        "unknown; there are 2 safetensors files and no model.safetensors.index.json; give one of "
        "them itself, if each is a separate model");
}

BOOST_AUTO_TEST_CASE(a_global_shape_of_too_many_elements_is_refused) {
    test::temporary_directory const directory;
    directory.write(
        "s1.safetensors",
        tensor_file("w", "[0,3]", 0, sharding("w", "[0,0]", "[9223372036854775807,3]")));
    BOOST_TEST(
        refusal(directory, errc::corrupt_file).starts_with("tensor 'w' in s1.safetensors: "));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_more_axes_than_we_have_is_listed) {
    test::temporary_directory const directory;
    directory.write("1.safetensors", tensor_file("w", "[1,1,1,1,1,1,1,1,1]", 2));
    auto const tensors = open_checkpoint(directory.path() / "1.safetensors").tensors;
    BOOST_TEST_REQUIRE(tensors.size() == 1u);
    BOOST_TEST(tensors[0].unread == "it has 9 axes; at most 8 are supported");
    BOOST_TEST(tensors[0].shards.empty());
}

BOOST_AUTO_TEST_CASE(all_that_the_reference_reader_accepts_can_be_opened) {
    test::temporary_directory const directory;
    safetensors_options options;
    options.mode = safetensors_mode::compatible;
    for (auto const& safetensors_case : test::safetensors_cases())
        BOOST_TEST_CONTEXT(safetensors_case.name) {
            auto const path = directory.write("x.safetensors", safetensors_case.file);
            if (safetensors_case.is_ok)
                BOOST_CHECK_NO_THROW(open_checkpoint(path, options));
            else
                BOOST_CHECK_THROW(open_checkpoint(path, options), error);
        }
}

BOOST_AUTO_TEST_CASE(anything_else_is_refused_with_what_was_found) {
    test::temporary_directory const directory;
    BOOST_TEST(refusal(directory, errc::missing_file, "nothing") ==
               "nothing: no such file or directory");
    BOOST_TEST(refusal(directory, errc::unsupported)
                   .ends_with(": this is an empty directory, not a checkpoint: it has no files "
                              "that can be read"));
    for (char const* const name : {"d", "a", "b", "c"})
        directory.write(name, "");
    BOOST_TEST(refusal(directory, errc::unsupported)
                   .ends_with(": this is a directory with 'a', 'b', 'c' and 1 more, not a "
                              "checkpoint: it has no files that can be read"));
    BOOST_TEST(
        refusal(directory, errc::unsupported, "a") ==
        "a: the format cannot be detected: the name of the file does not end in .safetensors (or "
        ".pt, .pth, .bin, .ckpt, "
        ".npy, .npz, .gguf, .pdparams, .pdopt); give the format with --from");
}

BOOST_AUTO_TEST_CASE(a_format_that_is_asked_for_is_one_that_there_is) {
    test::temporary_directory const directory;
    directory.write("x.safetensors", tensor_file("w", "[2]", 4));
    safetensors_options options;
    options.from = "safetensors";
    BOOST_CHECK_NO_THROW(open_checkpoint(directory.path() / "x.safetensors", options));
    options.from = "nonsense";
    auto const says = [](error const& thrown) {
        return thrown.code() == errc::usage &&
               std::string(thrown.what())
                   .starts_with(
                       "cannot read format 'nonsense'; choose deepspeed_universal, gguf, ");
    };
    BOOST_CHECK_EXCEPTION(open_checkpoint(directory.path() / "x.safetensors", options), error,
                          says);
}

BOOST_AUTO_TEST_CASE(a_file_of_a_checkpoint_is_not_taken_for_one_of_no_format) {
    test::temporary_directory const directory;
    directory.write("model.safetensors.index.json", "{}");
    directory.write(".metadata", "");
    BOOST_TEST(refusal(directory, errc::corrupt_file, "model.safetensors.index.json") ==
               "model.safetensors.index.json: 'weight_map' is missing"); // the path of an index
    BOOST_TEST(refusal(directory, errc::unsupported, ".metadata")
                   .starts_with(".metadata: the format cannot be detected"));
}

namespace {

/// A file with tensors of `extent` bytes each, in this order.
std::string file_with(std::vector<std::string> const& keys, std::size_t extent = 1) {
    std::string json = "{";
    for (std::size_t i = 0; i < keys.size(); ++i)
        json += (i ? ",\"" : "\"") + keys[i] + R"(":{"dtype":"U8","shape":[)" +
                std::to_string(extent) + R"(],"data_offsets":[)" + std::to_string(i * extent) +
                "," + std::to_string((i + 1) * extent) + "]}";
    return file_of(json + "}", keys.size() * extent);
}

/// The place of `i` when `count` things are dealt out in steps of 37.
std::string dealt_key(std::size_t i, std::size_t count) {
    return "key." + std::to_string(i * 37 % count);
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_are_sorted_by_key_and_keep_their_bytes) {
    constexpr std::size_t count = 100; // 37 does not divide it
    test::temporary_directory const directory;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < count; ++i)
        keys.push_back(dealt_key(i, count));
    std::string const bytes = file_with(keys);
    auto const checkpoint = open_checkpoint(directory.write("x.safetensors", bytes));
    BOOST_TEST_REQUIRE(checkpoint.tensors.size() == count);
    std::vector<std::string> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < count; ++i) {
        BOOST_TEST(checkpoint.tensors[i].key == sorted[i]);
        auto const position = std::find(keys.begin(), keys.end(), sorted[i]) - keys.begin();
        BOOST_TEST_REQUIRE(checkpoint.tensors[i].shards.size() == 1u);
        BOOST_TEST(checkpoint.tensors[i].shards[0].begin ==
                   bytes.size() - count + static_cast<std::size_t>(position));
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_stands_twice_is_found_however_names_are_ordered) {
    test::temporary_directory const directory;
    for (std::vector<std::string> const& keys : {std::vector<std::string>{"a", "a"},
                                                 {"a", "b", "a"},
                                                 {"b", "a", "c", "c"},
                                                 {"c", "b", "c"}}) {
        directory.write("x.safetensors", file_with(keys, 0));
        BOOST_TEST(refusal(directory, errc::corrupt_file, "x.safetensors").find("occurs twice") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(keys_of_two_indexed_files_may_alternate) {
    test::temporary_directory const directory;
    directory.write("f.safetensors", file_with({"d", "b"}));
    directory.write("g.safetensors", file_with({"a", "e", "c"}));
    directory.write(index_name,
                    R"({"weight_map":{"e":"g.safetensors","b":"f.safetensors","a":"g.safetensors",)"
                    R"("d":"f.safetensors","c":"g.safetensors"}})");
    auto const checkpoint = open_checkpoint(directory.path());
    std::string text;
    for (checkpoint_tensor const& tensor : checkpoint.tensors)
        text += tensor.key + std::to_string(tensor.shards[0].file) + " ";
    BOOST_TEST(text == "a1 b0 c1 d0 e1 ");
}

BOOST_AUTO_TEST_CASE(a_packed_box_is_the_box) {
    box const region{{2, 0, 7}, {1, 3, 5}};
    packed_box const packed = region;
    BOOST_TEST((box(packed) == region));
    BOOST_TEST((packed == region));
    BOOST_TEST((packed == packed_box{{2, 0, 7}, {1, 3, 5}}));
    BOOST_TEST(!(packed == box{{2, 0, 7}, {1, 3, 6}}));
    BOOST_TEST(packed.ndim() == 3u);
    BOOST_TEST(packed.end(2) == 12);
    BOOST_TEST((box(packed_box{}) == box{}));
}

BOOST_AUTO_TEST_SUITE_END()
