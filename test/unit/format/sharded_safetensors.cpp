// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/sharded_safetensors.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_sharded_safetensors)

namespace {

using namespace reshard;
using namespace reshard::detail;

safetensors_header header_of(std::vector<safetensors_entry> tensors, std::string const& offsets,
                             std::string const& own = {}) {
    safetensors_header header{std::move(tensors), {{"DCP_SHARDING_INFO", offsets}}, 100, {}};
    if (!own.empty())
        header.metadata["RESHARD"] = own;
    return header;
}

std::string refusal(safetensors_header const& header) {
    try {
        sharded_contents(header, "s");
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == errc::corrupt_file));
        return thrown.what();
    }
    return "accepted";
}

safetensors_entry const w{"w", data_type::f32, {2, 3}, 0, 24};
safetensors_entry const flat{"w", data_type::u8, {4}, 0, 4};

} // namespace

BOOST_AUTO_TEST_CASE(files_are_named_as_torch_names_them) {
    BOOST_TEST(sharded_file_name(0) == "shard-00001-model-00001-of-00001.safetensors");
    BOOST_TEST(sharded_file_name(11, 1, 2) == "shard-00012-model-00002-of-00002.safetensors");
}

BOOST_AUTO_TEST_CASE(offsets_come_from_the_metadata_and_bytes_count_from_the_file) {
    auto const shards =
        sharded_contents(header_of({w, {"s", data_type::f32, {}, 24, 28}},
                                   R"({"s":{"saved_offsets":[]},"w":{"saved_offsets":[4,0]}})"),
                         "s");
    BOOST_TEST_REQUIRE(shards.size() == 2u);
    BOOST_TEST((shards[0] == file_shard{"w", data_type::f32, {{4, 0}, {2, 3}}, {}, {}, 100, 124}));
    BOOST_TEST((shards[1] == file_shard{"s", data_type::f32, {{}, {}}, {}, {}, 124, 128}));
}

BOOST_AUTO_TEST_CASE(our_own_metadata_adds_the_global_shape_and_flat_ranges) {
    auto const shards = sharded_contents(
        header_of({w}, R"({"w":{"saved_offsets":[4,0]}})", R"({"w":{"shape":[8,3],"digest":"x"}})"),
        "s");
    BOOST_TEST((shards[0].global_shape == index_vector{8, 3}));
    auto const flattened = sharded_contents(
        header_of(
            {flat}, R"({"w":{"saved_offsets":[2]}})",
            R"({"w":{"shape":[9,3],"region":{"offset":[5,0],"shape":[3,3]},"flat_range":[2,6]}})"),
        "s");
    BOOST_TEST((
        flattened[0] ==
        file_shard{
            "w", data_type::u8, {{5, 0}, {3, 3}}, flat_range{2, 6}, index_vector{9, 3}, 100, 104}));
}

BOOST_AUTO_TEST_CASE(metadata_that_contradicts_the_header_is_refused) {
    BOOST_TEST(refusal(header_of({w}, "{}")) == "s: DCP_SHARDING_INFO: 'w' is missing");
    BOOST_TEST(
        refusal(header_of({w}, R"({"w":{"saved_offsets":[0,0]},"v":{"saved_offsets":[]}})")) ==
        "s: DCP_SHARDING_INFO: ['v']: the file has no such tensor");
    BOOST_TEST(refusal(header_of({w}, R"({"w":{"saved_offsets":[0]}})")) ==
               "s: tensor 'w': 1 offset, but a shape of 2 axes");
    BOOST_TEST(refusal(header_of({w}, R"({"w":{"saved_offsets":[0,-1]}})")) ==
               "s: DCP_SHARDING_INFO: w.saved_offsets[1]: expected an integer from 0 to 2^63 - 1, "
               "found -1");
    BOOST_TEST(refusal(header_of({w}, R"({"w":{"saved_offsets":[9223372036854775807,0]}})")) ==
               "s: tensor 'w': axis 0: 2 elements at offset 9223372036854775807 exceed the "
               "global extent "
               "9223372036854775807");
    BOOST_TEST(refusal(header_of({w}, "{")).starts_with("s: DCP_SHARDING_INFO:1:2: "));
    std::string const offsets = R"({"w":{"saved_offsets":[4,0]}})";
    BOOST_TEST(refusal(header_of({w}, offsets, R"({"w":{"shape":[5,3]}})")) ==
               "s: tensor 'w': axis 0: 2 elements at offset 4 exceed the global extent 5");
    BOOST_TEST(refusal(header_of({w}, offsets, R"({"w":{"shape":[3]}})")) ==
               "s: tensor 'w': a global shape of 1 axis, but a shard of 2 axes");
    BOOST_TEST(refusal(header_of({w}, offsets, R"({"x":{"shape":[3]}})")) ==
               "s: RESHARD: ['x']: the file has no such tensor");
    BOOST_TEST(
        refusal(header_of({w}, offsets,
                          R"({"w":{"shape":[9,3],"region":{"offset":[4,0],"shape":[3,3]}}})")) ==
        "s: tensor 'w': a region of shape [3, 3], but the tensor in the file has the shape [2, 3]");
}

BOOST_AUTO_TEST_CASE(flat_ranges_that_contradict_the_header_are_refused) {
    auto const with_range = [](std::string const& range) {
        return refusal(header_of(
            {flat}, R"({"w":{"saved_offsets":[2]}})",
            R"({"w":{"shape":[9,3],"region":{"offset":[5,0],"shape":[3,3]},"flat_range":)" + range +
                "}}"));
    };
    BOOST_TEST(with_range("[5,9]") == "accepted");
    BOOST_TEST(with_range("[6,10]") ==
               "s: tensor 'w': flat range 6:10 exceeds its region of 9 elements");
    BOOST_TEST(with_range("[2,5]") ==
               "s: tensor 'w': flat range 2:5 has 3 elements, but the tensor in the "
               "file has the shape [4]");
    BOOST_TEST(with_range("[2]") ==
               "s: RESHARD: w.flat_range: expected a flat range of 2 numbers, found 1");
}

BOOST_AUTO_TEST_CASE(blocks_are_one_array_which_torch_does_not_find) {
    std::vector<file_shard> const shards{{"w",
                                          data_type::f32,
                                          {{2, 0}, {6, 3}},
                                          {},
                                          index_vector{9, 3},
                                          100,
                                          172,
                                          {{0, 2, 4}, {1, 1, 2}}}};
    auto const metadata = sharding_metadata(shards);
    BOOST_TEST(metadata.at("DCP_SHARDING_INFO") == "{}");
    BOOST_TEST(metadata.at("RESHARD") ==
               R"({"w":{"shape":[9,3],"region":{"offset":[2,0],"shape":[6,3]}, )"
               R"("blocks": [[0,2,4], [1,1,2]]}})");
    safetensors_entry const stored{"w", data_type::f32, {4, 2}, 0, 72};
    BOOST_TEST(
        (sharded_contents(header_of({stored}, "{}", metadata.at("RESHARD")), "s") == shards));
}

BOOST_AUTO_TEST_CASE(blocks_that_contradict_the_header_are_refused) {
    auto const with = [](std::string const& more) {
        return refusal(header_of({{"w", data_type::u8, {4}, 0, 4}}, "{}",
                                 R"({"w":{"shape":[9],)" + more + "}}"));
    };
    std::string const region = R"("region":{"offset":[1],"shape":[7]},)";
    BOOST_TEST(with(region + R"("blocks":[[0,1,2]])") == "accepted");
    BOOST_TEST(with(R"("blocks":[[0,1,2]])") == "s: RESHARD: w: 'region' is missing");
    for (std::string const blocks :
         {"[0,0,2]", "[0,2,2]", "[0,1,9]", "[0,1,4]", "[1,1,2]", "[0,1,2],[0,1,2]"})
        BOOST_TEST(with(region + R"("blocks":[)" + blocks + "]")
                       .ends_with(" do not fit a region of shape [7]"),
                   blocks);
    BOOST_TEST(with(region + R"("blocks":[[0,0,2]])") ==
               "s: tensor 'w': blocks along axis 0: 0 of 2 do not fit a region of shape [7]");
    BOOST_TEST(with(region + R"("blocks":[[0,1,3]])") ==
               "s: tensor 'w': blocks along axis 0: 1 of 3 of a region of shape [7] have the shape "
               "[3], but the tensor in the file has the shape [4]");
    BOOST_TEST(with(R"("region":{"offset":[3],"shape":[7]},"blocks":[[0,1,2]])") ==
               "s: tensor 'w': axis 0: 7 elements at offset 3 exceed the global extent 9");
    BOOST_TEST(with(region + R"("flat_range":[0,4],"blocks":[[0,1,2]])") ==
               "s: tensor 'w': flat range 0:4 and blocks along axis 0: 1 of 2; a shard has one or "
               "the other");
    BOOST_TEST(with(region + R"("blocks":[[0,1]])") ==
               "s: RESHARD: w.blocks[0]: expected axis, block and period, found 2 numbers");
    BOOST_TEST(with(region + R"("blocks":[[0,1,-2]])") ==
               "s: RESHARD: w.blocks[0][2]: expected an integer from 0 to 2^63 - 1, found -2");
    BOOST_TEST(refusal(header_of({{"w", data_type::u8, {4, 0}, 0, 0}}, "{}",
                                 R"({"w":{"shape":[9,0],"region":{"offset":[1,0],"shape":[7,0]},)"
                                 R"("blocks":[[0,1,2]]}})")) ==
               "s: tensor 'w': blocks along axis 0: 1 of 2 do not fit a region of shape [7, 0]");
}

BOOST_AUTO_TEST_CASE(metadata_is_written_as_torch_reads_it) {
    std::vector<file_shard> const shards{
        {"a\"", data_type::f32, {{4, 0}, {2, 3}}, {}, index_vector{8, 3}, 0, 0},
        {"s", data_type::f32, {{}, {}}, {}, index_vector{}, 0, 0},
        {"f", data_type::f32, {{5, 0}, {3, 3}}, flat_range{2, 6}, index_vector{9, 3}, 0, 0}};
    auto const metadata = sharding_metadata(shards);
    BOOST_TEST(metadata.size() == 4u);
    BOOST_TEST(metadata.at("format") == "pt");
    BOOST_TEST(metadata.at("DCP_VERSION") == "1.0");
    BOOST_TEST(
        metadata.at("DCP_SHARDING_INFO") ==
        R"({"a\"":{"saved_offsets":[4,0]},"s":{"saved_offsets":[]},"f":{"saved_offsets":[2]}})");
    BOOST_TEST(metadata.at("RESHARD") ==
               R"({"a\"":{"shape":[8,3]},"s":{"shape":[]},"f":{"shape":[9,3],)"
               R"("region":{"offset":[5,0],"shape":[3,3]},"flat_range":[2,6]}})");
    BOOST_TEST(sharding_metadata({}).at("DCP_SHARDING_INFO") == "{}");
}

BOOST_AUTO_TEST_SUITE_END()
