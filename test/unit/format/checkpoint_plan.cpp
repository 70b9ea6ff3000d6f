// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/checkpoint_plan.hpp>

#include <reshard/format/checkpoint.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/save_record.hpp>

#include "support/listed_layout.hpp"
#include "support/says.hpp"

#include "temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_checkpoint_plan)

namespace {

using namespace reshard;
using namespace reshard::detail;

test::listed_tensor tensor(std::string const& key, data_type dtype, index_vector const& shape,
                           std::vector<std::pair<holder_t, box>> const& shards) {
    test::listed_tensor result{key, dtype, shape, shard_table(shape.size())};
    for (auto const& [holder, region] : shards)
        result.shards.push_back(holder, region);
    return result;
}

/// Writes the planned files, with zeros as data, and opens them.
checkpoint_metadata written_and_opened(checkpoint_plan const& plan) {
    test::temporary_directory const directory;
    std::vector<chunk_digests> digests;
    for (auto const& shards : shards_by_file(plan.metadata)) {
        digests.emplace_back();
        for (checkpoint_shard const* const shard : shards)
            digests.back().tensors.push_back(digests_of(
                std::vector<std::byte>(shard->end - shard->begin), digests.back().chunk_bytes));
    }
    sealed_checkpoint const sealed = seal(plan, digests);
    for (std::size_t i = 0; i < sealed.headers.size(); ++i) {
        auto const& file = plan.metadata.files[i];
        BOOST_TEST(sealed.headers[i].size() == plan.headers[i].size());
        std::string const data(static_cast<std::size_t>(file.bytes) - plan.headers[i].size(), '\0');
        directory.write(file.path.string(), sealed.headers[i] + data);
    }
    if (!plan.index.empty())
        directory.write("model.safetensors.index.json", plan.index);
    directory.write(std::string(save_record_name), sealed.record);
    auto checkpoint = open_checkpoint(directory.path());
    BOOST_TEST(checkpoint.save.size() == 32u);
    checkpoint.save.clear();
    for (checkpoint_tensor& tensor : checkpoint.tensors)
        for (checkpoint_shard& shard : tensor.shards)
            shard.digests.clear();
    checkpoint.path.clear();
    for (checkpoint_file& file : checkpoint.files)
        file.path = file.path.filename();
    return checkpoint;
}

std::vector<std::string> names(checkpoint_plan const& plan) {
    std::vector<std::string> result;
    for (checkpoint_file const& file : plan.metadata.files)
        result.push_back(file.path.string());
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_rank_with_two_shards_of_a_key_has_two_files) {
    box const upper{{0, 0}, {2, 3}};
    box const lower{{2, 0}, {2, 3}};
    auto const plan = plan_sharded(test::listed_layout(
        4, {tensor("w", data_type::f32, {4, 3}, {{1, upper}, {1, lower}, {1, lower}})}));
    BOOST_TEST(names(plan) ==
                   (std::vector<std::string>{"shard-00002-model-00001-of-00002.safetensors",
                                             "shard-00002-model-00002-of-00002.safetensors"}),
               boost::test_tools::per_element());
    BOOST_TEST(plan.ranks == (std::vector<holder_t>{1, 1}), boost::test_tools::per_element());
    BOOST_TEST_REQUIRE(plan.metadata.tensors.size() == 1u);
    auto const& shards = plan.metadata.tensors[0].shards;
    BOOST_TEST_REQUIRE(shards.size() == 2u);
    BOOST_TEST((shards[0].region == upper));
    BOOST_TEST((shards[1].region == lower));
    BOOST_TEST(shards[1].end - shards[1].begin == 24u);
}

/// The rank that writes each shard of each tensor.
std::vector<std::string> writers(checkpoint_plan const& plan) {
    std::vector<std::string> result;
    for (checkpoint_tensor const& tensor : plan.metadata.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            result.push_back(tensor.key + " " + std::to_string(plan.ranks[shard.file]));
    return result;
}

BOOST_AUTO_TEST_CASE(of_replicas_the_rank_with_the_fewest_bytes_writes) {
    box const box{{0}, {4}};
    auto const plan = plan_sharded(
        test::listed_layout(3, {tensor("a", data_type::u8, {4}, {{0, box}, {1, box}, {2, box}}),
                                tensor("b", data_type::f32, {4}, {{0, box}, {1, box}}),
                                tensor("c", data_type::u8, {4}, {{0, box}, {1, box}, {2, box}}),
                                tensor("d", data_type::u8, {8}, {{2, {{0}, {8}}}}),
                                tensor("e", data_type::u8, {4}, {{2, box}, {1, box}, {0, box}})}));
    // d has no choice (8 bytes at 2); then b (16 bytes at 0), and a, c, e of 4 bytes each.
    BOOST_TEST(writers(plan) == (std::vector<std::string>{"a 1", "b 0", "c 1", "d 2", "e 1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_rank_writes_its_replica_where_that_is_asked_for) {
    box const box{{0}, {4}}, left{{0}, {2}}, right{{2}, {2}};
    auto const plan = plan_sharded(
        test::listed_layout(
            3, {tensor("a", data_type::u8, {4}, {{2, box}, {1, box}, {1, box}, {0, box}}),
                tensor("b", data_type::u8, {4}, {{0, left}, {1, right}, {2, left}}),
                tensor("c", data_type::u8, {0}, {{0, {{0}, {0}}}, {1, {{0}, {0}}}}),
                tensor("d", data_type::u8, {}, {{0, {}}, {2, {}}})}),
        {.replicas = true});
    // Rank 1 holds a twice, and has it once; of a tensor without elements one shard is enough.
    BOOST_TEST(writers(plan) == (std::vector<std::string>{"a 0", "a 1", "a 2", "b 0", "b 1", "b 2",
                                                          "c 0", "d 0", "d 2"}),
               boost::test_tools::per_element());
    BOOST_TEST(plan.metadata.files.size() == 3u);
    BOOST_TEST((written_and_opened(plan) == plan.metadata));
}

BOOST_AUTO_TEST_CASE(files_are_named_after_ranks_where_that_is_asked_for) {
    box const box{{0}, {4}};
    auto const listed_layout = test::listed_layout(
        3, {tensor("a", data_type::u8, {8}, {{0, box}, {2, box}, {2, {{4}, {4}}}})});
    auto const plan = plan_sharded(listed_layout, {.per_rank = true});
    BOOST_TEST(writers(plan) == (std::vector<std::string>{"a 0", "a 2", "a 2"}),
               boost::test_tools::per_element());
    std::vector<std::string> names;
    for (checkpoint_file const& file : plan.metadata.files)
        names.push_back(file.path.string());
    BOOST_TEST(names == (std::vector<std::string>{"rank-00000.safetensors",
                                                  "rank-00002-00001-of-00002.safetensors",
                                                  "rank-00002-00002-of-00002.safetensors"}),
               boost::test_tools::per_element());
    BOOST_TEST((written_and_opened(plan) == plan.metadata));
}

BOOST_AUTO_TEST_CASE(of_replicas_the_rank_writes_that_a_function_chooses) {
    box const box{{0}, {4}};
    auto const listed_layout =
        test::listed_layout(3, {tensor("a", data_type::u8, {4}, {{0, box}, {1, box}, {2, box}}),
                                tensor("b", data_type::f32, {4}, {{0, box}, {1, box}}),
                                tensor("d", data_type::u8, {8}, {{2, {{0}, {8}}}})});
    std::string asked;
    auto const last = [&](std::string const& key, index_t bytes,
                          std::vector<holder_t> const& ranks) {
        asked += key + " of " + std::to_string(bytes) + " bytes:";
        for (holder_t const rank : ranks)
            asked += " " + std::to_string(rank);
        asked += ";";
        return ranks.back();
    };
    auto const plan = plan_sharded(listed_layout, {.writer = last});
    BOOST_TEST(writers(plan) == (std::vector<std::string>{"a 2", "b 1", "d 2"}),
               boost::test_tools::per_element());
    BOOST_TEST(asked == "b of 16 bytes: 0 1;a of 4 bytes: 0 1 2;");
    BOOST_CHECK_EXCEPTION(
        plan_sharded(listed_layout, {.writer = [](auto&&...) { return holder_t{2}; }}), error,
        test::says(errc::usage, "write_options.writer gives rank 2 for 'b', which does not hold "
                                "this shard; rank 0 does (and 1 more)"));
}

/// The keys in each file, in the order of their data.
std::vector<std::string> contents(checkpoint_plan const& plan) {
    std::vector<std::string> result(plan.metadata.files.size());
    for (checkpoint_tensor const& tensor : plan.metadata.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            result[shard.file] += tensor.key;
    return result;
}

BOOST_AUTO_TEST_CASE(a_rank_has_as_many_files_as_it_may_and_has_shards_for) {
    auto const whole_on = [&](holder_t rank, char const* key, index_t bytes) {
        return tensor(key, data_type::u8, {bytes}, {{rank, {{0}, {bytes}}}});
    };
    auto const listed_layout =
        test::listed_layout(2, {whole_on(0, "a", 3), whole_on(0, "b", 9), whole_on(0, "c", 4),
                                whole_on(0, "d", 0), whole_on(1, "e", 2)});
    using texts = std::vector<std::string>;
    auto const of = [&](index_t count) {
        return plan_sharded(listed_layout, {.files_per_rank = count});
    };
    BOOST_TEST(contents(of(1)) == (texts{"abcd", "e"}), boost::test_tools::per_element());
    // 9 to the first; 4, 3 and 0 to the second.
    BOOST_TEST(contents(of(2)) == (texts{"b", "acd", "e"}), boost::test_tools::per_element());
    BOOST_TEST(contents(of(3)) == (texts{"b", "c", "ad", "e"}), boost::test_tools::per_element());
    BOOST_TEST(contents(of(9)) == (texts{"b", "c", "a", "d", "e"}),
               boost::test_tools::per_element());
    BOOST_TEST(names(of(2)) == (texts{"shard-00001-model-00001-of-00002.safetensors",
                                      "shard-00001-model-00002-of-00002.safetensors",
                                      "shard-00002-model-00001-of-00001.safetensors"}),
               boost::test_tools::per_element());
    for (index_t const count : {1, 2, 3, 9})
        BOOST_TEST((written_and_opened(of(count)) == of(count).metadata));
    BOOST_CHECK_EXCEPTION(
        of(0), error,
        test::says(errc::usage, "write_options.files_per_rank is 0; it must be at least 1"));
}

BOOST_AUTO_TEST_CASE(shards_of_one_key_never_share_a_file_however_many_a_rank_may_have) {
    auto const plan = plan_sharded(
        test::listed_layout(1, {tensor("v", data_type::u8, {6}, {{0, {{0}, {6}}}}),
                                tensor("w", data_type::u8, {10},
                                       {{0, {{0}, {2}}}, {0, {{2}, {3}}}, {0, {{5}, {5}}}})}),
        {.files_per_rank = 2});
    // 6 of v, then 5 and 3 of w to separate files; the 2 go to v, not to the 3.
    BOOST_TEST(contents(plan) == (std::vector<std::string>{"vw", "w", "w"}),
               boost::test_tools::per_element());
    BOOST_TEST((written_and_opened(plan) == plan.metadata));
}

BOOST_AUTO_TEST_CASE(texts_of_the_user_stand_in_each_file) {
    auto const listed_layout =
        test::listed_layout(2, {tensor("a", data_type::u8, {1}, {{0, {{0}, {1}}}}),
                                tensor("b", data_type::u8, {1}, {{1, {{0}, {1}}}})});
    std::map<std::string, std::string> const texts{{"author", "me"}, {"step", ""}};
    auto const plan = plan_sharded(listed_layout, {.texts = texts});
    for (std::string const& header : plan.headers)
        BOOST_TEST(header.find("\"author\":\"me\"") != header.npos);
    auto const opened = written_and_opened(plan);
    BOOST_TEST(opened.metadata.at("author") == "me");
    BOOST_TEST(opened.metadata.at("step") == "");
    BOOST_TEST((opened == plan.metadata));
    auto const full =
        plan_huggingface(catalog({{"a", data_type::u8, {1}, {1}}, {"b", data_type::u8, {1}, {1}}}),
                         1, {.texts = texts});
    auto expected = full.metadata;
    expected.indexes = {"model.safetensors.index.json"};
    BOOST_TEST((written_and_opened(full) == expected));
    BOOST_TEST(full.metadata.metadata.at("author") == "me");
    for (std::string const name : {"format", "DCP_VERSION", "DCP_SHARDING_INFO", "RESHARD",
                                   "RESHARD_SAVE", "RESHARD_HEADER", "RESHARD_NEW", "tied"}) {
        std::string const text =
            "write_options.texts: '" + name +
            "' is a name that the files already use; give the text another name";
        BOOST_CHECK_EXCEPTION(
            plan_sharded(listed_layout, {.aliases = {{"tied", "a"}}, .texts = {{name, "x"}}}),
            error, test::says(errc::usage, text));
    }
    BOOST_CHECK_EXCEPTION(
        plan_sharded(listed_layout, {.texts = {{"base", "b"}}}), error,
        test::says(errc::usage,
                   "write_options.texts: 'base' has the value 'b', which is the key of a tensor: "
                   "readers would take the name for an alias of this tensor"));
}

BOOST_AUTO_TEST_CASE(equal_data_is_the_same_save_and_other_data_another_one) {
    auto const plan = plan_huggingface(catalog({{"w", data_type::u8, {2}, {1}}}));
    std::vector<chunk_digests> digests{{16, {{1}}}};
    std::string const record = seal(plan, digests).record;
    BOOST_TEST(record == seal(plan, digests).record);
    std::string const save = parse_save_record(record, "r").save;
    digests[0].tensors[0][0] = 2;
    BOOST_TEST(save != parse_save_record(seal(plan, digests).record, "r").save);
}

BOOST_AUTO_TEST_CASE(what_is_planned_is_what_opening_gives) {
    test::listed_tensor flat{"f", data_type::u8, {5, 3}, shard_table(2)};
    flat.shards.push_back(0, {{0, 0}, {5, 3}}, flat_range{0, 8});
    flat.shards.push_back(1, {{0, 0}, {5, 3}}, flat_range{8, 15});
    auto const plan = plan_sharded(test::listed_layout(
        3, {tensor("e", data_type::i64, {0, 2}, {{0, {{0, 0}, {0, 2}}}, {1, {{0, 0}, {0, 2}}}}),
            flat, tensor("s", data_type::f64, {}, {{2, {{}, {}}}}),
            tensor("w", data_type::bf16, {3, 2},
                   {{0, {{0, 0}, {2, 2}}}, {1, {{2, 0}, {1, 2}}}, {2, {{3, 0}, {0, 2}}}})}));
    BOOST_TEST(plan.metadata.files.size() == 3u);
    BOOST_TEST((written_and_opened(plan) == plan.metadata));
    // The empty shard of w is omitted: the tensor has others.
    BOOST_TEST(plan.metadata.tensors[3].shards.size() == 2u);
    BOOST_TEST(plan.metadata.tensors[0].shards.size() == 1u);
    BOOST_TEST((plan.metadata.tensors[1].shards[1].flat == flat_range{8, 15}));
}

BOOST_AUTO_TEST_CASE(a_layout_without_tensors_is_still_a_checkpoint) {
    auto const plan = plan_sharded(test::listed_layout(2, {}));
    BOOST_TEST(plan.metadata.files.size() == 1u);
    BOOST_TEST((written_and_opened(plan) == plan.metadata));
    BOOST_TEST(plan_file({}).headers.size() == 1u);
    BOOST_TEST((written_and_opened(plan_huggingface({})) == plan_huggingface({}).metadata));
}

BOOST_AUTO_TEST_CASE(a_hugging_face_directory_has_an_index_where_it_has_several_files) {
    catalog const tensors({{"b", data_type::f32, {2}, {1}},
                           {"a", data_type::u8, {3}, {1}},
                           {"c", data_type::u8, {9}, {1}}});
    auto const element = plan_huggingface(tensors);
    BOOST_TEST(names(element) == (std::vector<std::string>{"model.safetensors"}),
               boost::test_tools::per_element());
    BOOST_TEST(element.index.empty());
    BOOST_TEST((written_and_opened(element) == element.metadata));
    auto const two = plan_huggingface(tensors, 12);
    BOOST_TEST(names(two) == (std::vector<std::string>{"model-00001-of-00002.safetensors",
                                                       "model-00002-of-00002.safetensors"}),
               boost::test_tools::per_element());
    BOOST_TEST(two.index ==
               "{\n  \"metadata\": {\n    \"total_size\": 20\n  },\n  \"weight_map\": {\n"
               "    \"a\": \"model-00001-of-00002.safetensors\",\n"
               "    \"b\": \"model-00001-of-00002.safetensors\",\n"
               "    \"c\": \"model-00002-of-00002.safetensors\"\n  }\n}\n");
    auto expected = two.metadata;
    expected.indexes = {"model.safetensors.index.json"};
    BOOST_TEST((written_and_opened(two) == expected));
    BOOST_TEST(two.metadata.tensors[2].shards[0].file == 1u);
}

BOOST_AUTO_TEST_CASE(a_directory_of_more_than_64_bits_of_bytes_is_refused) {
    // 16 tensors of 2^59 bytes are 2^63 bytes.
    std::vector<catalog_entry> tensors;
    for (char name = 'a'; name < 'q'; ++name)
        tensors.push_back({std::string(1, name), data_type::f32, {index_t{1} << 57}, {1}});
    BOOST_CHECK_EXCEPTION(plan_huggingface(catalog(tensors)), error, [](error const& thrown) {
        return thrown.code() == errc::overflow &&
               std::string(thrown.what()) ==
                   "the sum of the bytes of all tensors 8646911284551352320 and 576460752303423488 "
                   "does not fit in 64 bits";
    });
}

BOOST_AUTO_TEST_CASE(a_shard_that_does_not_fill_bytes_is_refused_with_its_file) {
    auto const is_named = [](error const& thrown) {
        return thrown.code() == errc::unsupported &&
               std::string(thrown.what())
                   .starts_with(
                       "shard-00001-model-00001-of-00001.safetensors: tensor 'w': shape [3] of F4");
    };
    BOOST_CHECK_EXCEPTION(
        plan_sharded(test::listed_layout(1, {tensor("w", data_type::f4, {3}, {{0, {{0}, {3}}}})})),
        error, is_named);
}

BOOST_AUTO_TEST_SUITE_END()
