// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/checkpoint.hpp>
#include <reshard/format/paddle/unified.hpp>

#include "support/says.hpp"
#include "temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// The messages about a Unified Checkpoint; its elements are compared in other_formats.cpp.

BOOST_AUTO_TEST_SUITE(format_unified)

namespace {

using namespace reshard;
using namespace reshard::detail;

using texts = std::vector<std::string>;

/// A copy of a case of test/data/formats/unified, to be changed.
class changed_checkpoint {
public:
    explicit changed_checkpoint(std::string const& name) {
        std::filesystem::copy(std::filesystem::path(RESHARD_TEST_DATA) / "formats/unified" / name,
                              directory_.path(), std::filesystem::copy_options::recursive);
    }

    void write(std::string const& name, std::string const& bytes = "") const {
        directory_.write(name, bytes);
    }

    void remove(std::string const& name) const {
        BOOST_TEST_REQUIRE(std::filesystem::remove(directory_.path() / name));
    }

    checkpoint_metadata open(std::string const& from = "") const {
        return open_checkpoint(directory_.path(), {.from = from});
    }

    std::filesystem::path path() const { return directory_.path(); }

    /// The warnings, without the directory's name.
    texts warnings() const {
        texts all_texts = open().warnings;
        for (std::string& all_text : all_texts) {
            BOOST_TEST(all_text.starts_with(directory_.path().string() + ": "));
            all_text.erase(0, directory_.path().string().size() + 2);
        }
        return all_texts;
    }

private:
    test::temporary_directory directory_;
};

} // namespace

BOOST_AUTO_TEST_CASE(three_indexes_are_one_checkpoint) {
    changed_checkpoint const there("all_three");
    checkpoint_metadata const opened = there.open();
    BOOST_TEST(opened.format == "unified_checkpoint");
    BOOST_TEST(opened.files.size() == 9u);
    BOOST_TEST(opened.warnings == texts(), boost::test_tools::per_element());
    BOOST_TEST(opened.unread == texts(), boost::test_tools::per_element());
    BOOST_TEST(opened.indexes ==
                   (texts{"model.safetensors.index.json", "master_weights.safetensors.index.json",
                          "optimizer.safetensors.index.json"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(weights_that_are_there_once_are_reported) {
    for (std::string const name : {"skip_save_model_weight", "masters_alone"})
        BOOST_TEST(changed_checkpoint(name).warnings() ==
                       texts{"model and master weights are stored once: 'emb.weight.w_0' is "
                             "another name for 'emb.weight', and likewise for 2 more weights"},
                   boost::test_tools::per_element());
    BOOST_TEST(changed_checkpoint("lost_masters").warnings() ==
                   (texts{"model and master weights are stored once: 'norm.weight.w_0' is another "
                          "name for 'norm.weight'",
                          "the optimizer's index states master weights, but there are none for "
                          "'emb.weight' and 1 more"}),
               boost::test_tools::per_element());
    BOOST_TEST(changed_checkpoint("no_masters").warnings() == texts(),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(older_files_beside_do_not_count_and_are_reported) {
    changed_checkpoint const there("all_three");
    auto const before = there.open().tensors;
    for (auto const* const name : {"model_state.tp00.pdparams", "optimizer.tp00.pdopt",
                                   "pytorch_model.bin", "scheduler.pdparams", "rng_state_0.pth"})
        there.write(name);
    BOOST_TEST(there.warnings() ==
                   texts{"not read, because the Unified Checkpoint in the directory is used: "
                         "model_state.tp00.pdparams and 2 more"},
               boost::test_tools::per_element());
    BOOST_TEST((there.open().tensors == before));
}

BOOST_AUTO_TEST_CASE(files_of_one_rank_each_are_not_read_and_reported) {
    changed_checkpoint const there("masters_alone");
    there.write("optimizer.tp00_pp00.safetensors");
    there.write("master_weights-00001-of-00009.safetensors");
    BOOST_TEST(there.open().unread == (texts{"master_weights-00001-of-00009.safetensors",
                                             "optimizer.tp00_pp00.safetensors"}),
               boost::test_tools::per_element());
    BOOST_TEST(there.warnings().back() ==
               "master_weights-00001-of-00009.safetensors and 1 more cannot be read and would be "
               "lost: optimizer state or master weights of one rank, or of another save; to "
               "convert only the rest, put its files in a separate directory");
}

BOOST_AUTO_TEST_CASE(an_index_of_no_optimizer_state_is_none) {
    changed_checkpoint const there("paddlenlp-3.0/ignore_merge_optimizer");
    BOOST_TEST(there.open().tensors.size() == 3u);
    BOOST_TEST(there.open().unread ==
                   (texts{"master_weights.tp00.safetensors", "master_weights.tp01.safetensors",
                          "optimizer.tp00.safetensors", "optimizer.tp01.safetensors"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_index_of_no_model_is_refused) {
    for (std::string const part : {"model", "master_weights"}) {
        std::string const name = part + ".safetensors.index.json";
        changed_checkpoint const changed("all_three");
        changed.write(name, R"({"quant_ckpt_resume_times": 0})");
        BOOST_CHECK_EXCEPTION(
            changed.open(), error,
            test::mentions(errc::corrupt_file, name + ": 'weight_map' is missing"));
    }
}

BOOST_AUTO_TEST_CASE(quantised_optimizer_state_is_refused) {
    BOOST_CHECK_EXCEPTION(changed_checkpoint("paddlenlp-3.0/quantised").open(), error,
                          test::mentions(errc::unsupported, "optimizer.safetensors.index.json: the "
                                                            "optimizer state is quantised "
                                                            "(ckpt_quant_stage O1)"));
}

BOOST_AUTO_TEST_CASE(elements_that_numpy_has_no_name_for_are_bfloat16) {
    changed_checkpoint const there("paddlenlp-3.0/one_process");
    auto const type_of_weight = [&](std::string const& from) {
        auto const tensors = there.open(from).tensors;
        auto const weight = std::find_if(tensors.begin(), tensors.end(), [](auto const& tensor) {
            return tensor.key == "emb.weight";
        });
        return code(weight->dtype);
    };
    BOOST_TEST(type_of_weight("") == "BF16");
    BOOST_TEST(type_of_weight("huggingface") == "BF16");
    for (auto const* const part : {"master_weights", "optimizer"})
        for (auto const* const end : {"-00001-of-00001.safetensors", ".safetensors.index.json"})
            there.remove(std::string(part) + end);
    BOOST_TEST(type_of_weight("") == "BF16"); // the model alone
    checkpoint_metadata const file =
        open_checkpoint(there.path() / "model-00001-of-00001.safetensors");
    BOOST_TEST(code(file.tensors.front().dtype) == "U16"); // it may be anybody's
    BOOST_TEST(file.warnings.back().ends_with(
        "'emb.weight' and other U16 tensors are bfloat16 if PaddleNLP wrote them; open the model's "
        "directory to read them as bfloat16"));
}

BOOST_AUTO_TEST_CASE(a_part_without_one_of_its_files_is_refused) {
    changed_checkpoint const there("all_three");
    there.remove("optimizer-00003-of-00004.safetensors");
    BOOST_CHECK_EXCEPTION(
        there.open(), error,
        test::mentions(errc::missing_file, "optimizer.safetensors.index.json: 'mlp.weight/"));
}

BOOST_AUTO_TEST_CASE(an_index_that_contradicts_its_file_is_refused) {
    changed_checkpoint const there("masters_alone");
    there.write("master_weights.safetensors.index.json",
                R"({"weight_map": {"v": "master_weights-00001-of-00001.safetensors"}})");
    BOOST_CHECK_EXCEPTION(
        there.open(), error,
        test::mentions(errc::corrupt_file,
                       "'emb.weight' is in master_weights-00001-of-00001.safetensors, but the "
                       "index does not list it"));
}

BOOST_AUTO_TEST_CASE(a_weight_with_the_name_of_a_state_is_refused) {
    test::temporary_directory const directory;
    auto const entry = [](std::string const& key, int begin) {
        return "\"" + key + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
               std::to_string(begin) + "," + std::to_string(begin + 1) + "]}";
    };
    auto const file_of = [](std::string const& entries, std::string const& data) {
        std::string const json = "{" + entries + "}";
        return std::string(1, static_cast<char>(json.size())) + std::string(7, '\0') + json + data;
    };
    directory.write("model.safetensors", file_of(entry("w", 0) + "," + entry("w.w_0", 1), "xy"));
    directory.write("master_weights.safetensors", file_of(entry("w", 0), "x"));
    BOOST_CHECK_EXCEPTION(open_checkpoint(directory.path()), error,
                          test::mentions(errc::corrupt_file, "tensor 'w.w_0': it is in both"));
}

BOOST_AUTO_TEST_CASE(keys_are_those_that_programs_take_for_states) {
    BOOST_TEST(key_in_part(unified_part::model, "a/b") == "a/b");
    BOOST_TEST(key_in_part(unified_part::master_weights, "a.b") == "a.b.w_0");
    BOOST_TEST(key_in_part(unified_part::optimizer, "a/b/moment1_0") == "a/b.moment1_0");
    BOOST_TEST(key_in_part(unified_part::optimizer, "step") == "step");
}

BOOST_AUTO_TEST_SUITE_END()
