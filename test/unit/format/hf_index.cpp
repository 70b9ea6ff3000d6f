// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/hf_index.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_hf_index)

namespace {

using namespace reshard;
using namespace reshard::detail;
using groups = reshard::vector<reshard::vector<std::size_t>>;

groups split(reshard::vector<index_t> const& bytes, index_t most) {
    return split_into_files(bytes, most);
}

std::string refusal(std::string const& text) {
    try {
        parse_hf_index(text, "i.json");
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == errc::corrupt_file));
        return thrown.what();
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_CASE(an_index_is_read) {
    auto const index = parse_hf_index(R"({"metadata": {"total_parameters": 3, "total_size": 12},
        "weight_map": {"b": "model-00002-of-00002.safetensors", "a": "model-00001-of-00002.safetensors"},
        "other": []})",
                                      "i.json");
    BOOST_TEST(index.weight_map.size() == 2u);
    BOOST_TEST(index.weight_map.at("a") == "model-00001-of-00002.safetensors");
    BOOST_TEST((index.total_bytes == 12));
}

BOOST_AUTO_TEST_CASE(an_index_is_known_by_its_name_whatever_its_stem_and_variant) {
    struct row {
        char const* name;
        char const* ending;
    };
    for (row const& element : {row{"model.safetensors.index.json", ".safetensors"},
                               {"diffusion_pytorch_model.safetensors.index.json", ".safetensors"},
                               {"model.safetensors.index.fp16.json", ".safetensors"},
                               {"model.safetensors.fp16.index.json", ".safetensors"},
                               {"model.fp16.safetensors.index.json", ".safetensors"},
                               {"pytorch_model.bin.index.json", ".bin"},
                               {"x.bin.index.fp16.json", ".bin"},
                               {"model.safetensors", ""},
                               {"model.index.json", ""},
                               {"model.safetensors.json", ""},
                               {"model.safetensors.index.json.bak", ""},
                               {"._model.safetensors.index.json", ""},
                               {"config.json", ""}})
        BOOST_TEST(ending_in_index(element.name) == element.ending, element.name);
}

BOOST_AUTO_TEST_CASE(a_file_is_compared_with_its_index) {
    auto const index =
        parse_hf_index(R"({"weight_map": {"a": "x", "b": "y", "c": "y"}})", "i.json");
    auto const keys = keys_by_file(index);
    auto const same = compare_with_index(index, keys.at("y"), {"c", "b"});
    BOOST_TEST((same.elsewhere.empty() && same.unlisted.empty() && same.lacking.empty()));
    auto const compare = compare_with_index(index, keys.at("y"), {"d", "c", "a"});
    BOOST_TEST((compare.elsewhere == std::set<std::string, std::less<>>{"a"}));
    BOOST_TEST((compare.unlisted == reshard::vector<std::string>{"d"}));
    BOOST_TEST(compare.lacking == "b");
}

BOOST_AUTO_TEST_CASE(metadata_need_not_be_there_nor_be_a_whole_number) {
    for (char const* const text : {R"({"weight_map": {}})", R"({"metadata": {}, "weight_map": {}})",
                                   R"({"metadata": null, "weight_map": {}})",
                                   R"({"metadata": {"total_size": 12.5}, "weight_map": {}})"})
        BOOST_TEST(!parse_hf_index(text, "i.json").total_bytes.has_value());
}

BOOST_AUTO_TEST_CASE(an_index_of_optimizer_state_that_counts_resumptions_may_have_no_map) {
    std::string const counts = R"({"quant_ckpt_resume_times": 0})";
    BOOST_TEST(parse_hf_index(counts, "i.json", true).weight_map.empty());
    BOOST_TEST(refusal(counts) == "i.json: 'weight_map' is missing"); // of a model
    BOOST_TEST(parse_hf_index(R"({"ckpt_quant_stage": "O0", "quant_ckpt_resume_times": 0,
                                  "weight_map": {"w": "f"}})",
                              "i.json")
                   .weight_map.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_bad_index_is_refused) {
    BOOST_TEST(refusal("{}") == "i.json: 'weight_map' is missing");
    BOOST_TEST(refusal(R"({"weight_map": {"w": 1}})") ==
               "i.json: weight_map['w']: expected a string, found 1");
    BOOST_TEST(refusal(R"({"weight_map": {"w": "a", "w": "b"}})").starts_with("i.json:1:"));
    for (char const* const name : {"../x.safetensors", "/etc/x", "", "..", "a\\\\b", "a\\u0000",
                                   "w/../x", "./", "w/", "w/..", "."})
        BOOST_TEST(
            refusal(R"({"weight_map": {"w": ")" + std::string(name) + "\"}}")
                .ends_with("is not the name of a file in the directory of the index or below it"),
            name);
    for (char const* const name : {"./f", ".//f", "f"})
        BOOST_TEST(
            parse_hf_index(R"({"weight_map": {"w": ")" + std::string(name) + "\"}}", "i.json")
                .weight_map.at("w") == "f");
}

BOOST_AUTO_TEST_CASE(an_index_is_written_and_read_again) {
    hf_index const index{{{"b", "f2"}, {"a\"", "f1"}}, 7};
    BOOST_TEST(to_json(index) ==
               "{\n  \"metadata\": {\n    \"total_size\": 7\n  },\n"
               "  \"weight_map\": {\n    \"a\\\"\": \"f1\",\n    \"b\": \"f2\"\n  }\n}\n");
    BOOST_TEST((parse_hf_index(to_json(index), "i.json") == index));
    BOOST_TEST((parse_hf_index(to_json({}), "i.json") == hf_index{}));
}

BOOST_AUTO_TEST_CASE(files_are_named_as_hugging_face_names_them) {
    BOOST_TEST(hf_file_name(0, 1) == "model.safetensors");
    BOOST_TEST(hf_file_name(0, 3) == "model-00001-of-00003.safetensors");
    BOOST_TEST(hf_file_name(122, 123456) == "model-00123-of-123456.safetensors");
}

BOOST_AUTO_TEST_CASE(tensors_fill_files_in_order_up_to_the_limit) {
    BOOST_TEST((split({4, 4, 2, 5, 5, 1}, 10) == groups{{0, 1, 2}, {3, 4}, {5}}));
    BOOST_TEST((split({}, 10) == groups{{}}));
    BOOST_TEST((split({10}, 10) == groups{{0}}));
}

BOOST_AUTO_TEST_CASE(a_tensor_beyond_the_limit_stands_alone) {
    BOOST_TEST((split({1, 11, 0, 3}, 10) == groups{{0}, {1}, {2, 3}}));
    BOOST_TEST((split({11, 12}, 10) == groups{{0}, {1}}));
    BOOST_TEST((split({1, 1}, 0) == groups{{0}, {1}}));
}

BOOST_AUTO_TEST_CASE(a_config_says_of_the_model_and_of_its_text_part_whether_they_are_tied) {
    using flags = reshard::vector<tie_flag>;
    BOOST_TEST((tie_flags_in(R"({"tie_word_embeddings" : true})") == flags{{25, true}}));
    BOOST_TEST((tie_flags_in(R"({"text_config":{"tie_word_embeddings":false,"a":{}},)"
                             R"("tie_word_embeddings":true})") == flags{{38, false}, {74, true}}));
    for (char const* const text :
         {"", "{}", R"({"a":"tie_word_embeddings","b":true})", R"({"tie_word_embeddings":null})",
          R"({"tie_word_embeddings":"true"})", R"({"vision_config":{"tie_word_embeddings":true}})",
          R"({"text_config":[{"tie_word_embeddings":true}]})", R"({"tie_word_embeddings":true)",
          R"({"tie_word_embeddings":[true]})", R"([{"tie_word_embeddings":true}])"})
        BOOST_TEST((tie_flags_in(text) == flags{}), text);
}

BOOST_AUTO_TEST_SUITE_END()
