// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/stored_tensor.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// Checkpoints with faults: every rank gets the same sentence, and no tensor and no target changes.

BOOST_AUTO_TEST_SUITE(storage_bad_source)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

std::string const first_file = "shard-00001-model-00001-of-00001.safetensors";
std::string const second_file = "shard-00002-model-00001-of-00001.safetensors";

/// A directory with a shard of `w`, 4 x 2 bytes, in each of two files.
class two_files {
public:
    explicit two_files(tensor_of_file first, tensor_of_file second) {
        on_first_rank([&] {
            std::filesystem::create_directory(path());
            write_safetensors(path() / first_file, {std::move(first)});
            write_safetensors(path() / second_file, {std::move(second)});
        });
    }

    std::filesystem::path path() const { return directory_ / "checkpoint"; }
    std::string name(std::string const& file) const { return (path() / file).string(); }
    shared_directory const& directory() const { return directory_; }

    checkpoint open() const { return open_checkpoint(world(), path()); }

    /// Opening says this, on every rank.
    void cannot_be_opened(errc code, std::string const& text) const {
        BOOST_CHECK_EXCEPTION(open(), error, says(code, text));
    }

    /// Loading and converting `w` say this, on every rank; nothing is written.
    void cannot_be_read(errc code, std::string const& text) const {
        auto const source = open();
        held target({whole_of("w", data_type::u8, {4, 2})});
        BOOST_CHECK_EXCEPTION(load(world(), source, target.cleared().tensors()), error,
                              says(code, text));
        BOOST_TEST(target.is_untouched());
        mapping const mapping = identity_mapping(catalog_of(source));
        BOOST_CHECK_EXCEPTION(convert(world(), source, directory_ / "target", {.program = mapping}),
                              error, says(code, text));
        BOOST_TEST((directory_.names() == std::vector<std::string>{"checkpoint"}));
    }

    /// Verifying says this, on every rank.
    void cannot_be_verified(errc code, std::string const& text) const {
        BOOST_CHECK_EXCEPTION(verify(world(), open()), error, mentions(code, text));
    }

private:
    shared_directory directory_;
};

tensor_of_file rows(std::string const& shape, std::string const& data, std::string const& offsets) {
    return {"w", "U8", shape, data, offsets, "[4,2]"};
}

void cut_last_byte(std::filesystem::path const& path) {
    on_first_rank(
        [&] { std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1); });
}

void replace_text(std::filesystem::path const& path, std::string const& before,
                  std::string const& after) {
    on_first_rank([&] {
        std::string bytes = read_file(path);
        bytes.replace(bytes.find(before), before.size(), after);
        write_file(path, bytes);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_file_that_lacks_its_last_byte_is_refused) {
    two_files const files(rows("[2,2]", "0123", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    cut_last_byte(files.path() / second_file);
    files.cannot_be_opened(errc::corrupt_file,
                           files.name(second_file) +
                               ": the tensors end at byte 4 of the data, but the file has 3 bytes "
                               "of data; was it cut short? [MetadataIncompleteBuffer]");
}

BOOST_AUTO_TEST_CASE(a_header_with_one_wrong_byte_is_refused) {
    two_files const files(rows("[2,2]", "0123", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    replace_text(files.path() / first_file, "\"shape\":[2,2]", "\"shape\":[2,3]");
    files.cannot_be_opened(errc::corrupt_file,
                           files.name(first_file) +
                               ": tensor 'w': shape [2, 3] of U8 needs 6 bytes, but its data "
                               "offsets hold 4 [TensorInvalidInfo]");
}

BOOST_AUTO_TEST_CASE(a_path_without_a_checkpoint_is_refused) {
    shared_directory const directory;
    auto const none = directory / "none";
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), none), error,
                          says(errc::missing_file, none.string() + ": no such file or directory"));
    on_first_rank([&] { std::filesystem::create_directory(none); });
    BOOST_CHECK_EXCEPTION(
        open_checkpoint(world(), none), error,
        says(errc::unsupported, none.string() + ": this is an empty directory, not a checkpoint: "
                                                "it has no files that can be read"));
}

BOOST_AUTO_TEST_CASE(an_index_that_names_what_is_not_there_is_refused) {
    shared_directory const directory;
    auto const index = directory / "model.safetensors.index.json";
    auto const write = [&](std::string const& map) {
        on_first_rank([&] {
            write_safetensors(directory / "a.safetensors", {{"x", "U8", "[1]", "1"}});
            write_file(index, R"({"metadata":{},"weight_map":)" + map + "}");
        });
    };
    auto const refused = [&](errc code, std::string const& text) {
        BOOST_CHECK_EXCEPTION(open_checkpoint(world(), directory.path()), error,
                              says(code, index.string() + text));
    };
    write(R"({"x":"a.safetensors","y":"b.safetensors"})");
    refused(errc::missing_file, ": 'y' is listed in b.safetensors, but that file is missing");
    write(R"({"x":"a.safetensors","y":"a.safetensors"})");
    refused(errc::corrupt_file, ": 'y' should be in a.safetensors, but is not");
}

BOOST_AUTO_TEST_CASE(a_gap_between_shards_is_named_by_key_and_elements) {
    two_files const files(rows("[1,2]", "01", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    files.cannot_be_read(errc::not_covered,
                         files.path().string() +
                             ": 'w' elements [1:2, 0:2] are missing from the source; "
                             "source 'w' lacks [1:2, 0:2]");
}

BOOST_AUTO_TEST_CASE(without_digests_shards_that_do_not_tile_are_not_as_they_were_saved) {
    two_files const whole(rows("[2,2]", "0123", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    BOOST_TEST(verify(world(), whole.open()).unverified.size() == 2u);
    two_files const gap(rows("[1,2]", "01", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    gap.cannot_be_verified(errc::not_covered,
                           gap.path().string() + ": 'w': elements [1:2, 0:2] are held by no file");
    two_files const overlap(rows("[3,2]", "012345", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    overlap.cannot_be_verified(errc::overlap, "held by more than one shard");
    auto const large = [](std::string const& data, std::string const& offsets) {
        return tensor_of_file{"w", "U8", "[2,2]", data, offsets, "[4000000,2]"};
    };
    two_files const too_large(large("0123", "[0,0]"), large("4567", "[2,0]"));
    too_large.cannot_be_verified(errc::not_covered,
                                 "the metadata states the shape [4000000, 2] of uint8");
}

BOOST_AUTO_TEST_CASE(with_digests_what_was_saved_need_not_be_whole) {
    shared_directory const directory;
    held part(world().rank() == 0 ? std::vector{shard_of("w", data_type::u8, {4}, {1}, {2})}
                                  : std::vector<shard_descriptor>{});
    save(world(), part.tensors(), directory / "with", {.writing = {.partial = true}});
    BOOST_TEST(verify(world(), open_checkpoint(world(), directory / "with")).ok());
    save(world(), part.tensors(), directory / "without",
         {.writing = {.partial = true, .digests = false}});
    auto const without = open_checkpoint(world(), directory / "without");
    BOOST_CHECK_EXCEPTION(verify(world(), without), error,
                          mentions(errc::not_covered, "'w': elements [0:1] are held by no file"));
}

BOOST_AUTO_TEST_CASE(a_missing_shard_file_is_a_gap) {
    two_files const files(rows("[2,2]", "0123", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    on_first_rank([&] { std::filesystem::remove(files.path() / second_file); });
    files.cannot_be_read(errc::not_covered,
                         files.path().string() +
                             ": 'w' elements [2:4, 0:2] are missing from the source; "
                             "source 'w' lacks [2:4, 0:2]");
}

BOOST_AUTO_TEST_CASE(a_lost_file_is_missed_even_where_it_held_all_of_a_tensor) {
    shared_directory const directory;
    auto const path = directory / "saved";
    bool const is_last = world().rank() + 1 == world().size();
    held tensors(is_last ? std::vector{whole_of("alone", data_type::u8, {1}),
                                       shard_of("w", data_type::u8, {2}, {0}, {1}),
                                       shard_of("w", data_type::u8, {2}, {1}, {1})}
                         : std::vector<shard_descriptor>{});
    save(world(), tensors.tensors(), path);
    std::string const lost =
        "shard-0000" + std::to_string(world().size()) + "-model-00001-of-00002.safetensors";
    on_first_rank([&] { std::filesystem::remove(path / lost); });
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), path), error,
                          says(errc::missing_file, path.string() + ": " + lost +
                                                       " is missing, but reshard.json lists it"));
}

BOOST_AUTO_TEST_CASE(a_gap_that_nobody_asks_for_does_not_matter) {
    two_files const files(rows("[1,2]", "01", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    std::string memory(4, '-');
    state_dict target;
    target.add(shard_of("w", data_type::u8, {4, 2}, {2, 0}, {2, 2}),
               tensor_view{memory.data(), data_type::u8, {2, 2}, {2, 1}});
    load(world(), files.open(), target);
    BOOST_TEST(memory == "4567");
}

BOOST_AUTO_TEST_CASE(unequal_shards_that_share_elements_are_refused_even_with_equal_data) {
    two_files const files(rows("[3,2]", "012345", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    files.cannot_be_read(
        errc::overlap,
        files.path().string() +
            ": 'w' has unequal shards that overlap in [2:3, 0:2]: " + files.name(first_file) +
            " holds [0:3, 0:2], " + files.name(second_file) + " holds [2:4, 0:2]");
}

BOOST_AUTO_TEST_CASE(equal_replicas_are_read) {
    two_files const files(rows("[4,2]", "01234567", "[0,0]"), rows("[4,2]", "01234567", "[0,0]"));
    std::string memory(8, '-');
    state_dict target;
    target.add(whole_of("w", data_type::u8, {4, 2}),
               tensor_view{memory.data(), data_type::u8, {4, 2}, {2, 1}});
    load(world(), files.open(), target);
    BOOST_TEST(memory == "01234567");
}

BOOST_AUTO_TEST_CASE(replicas_that_differ_are_refused_with_the_first_element_that_does) {
    two_files const files(rows("[4,2]", "01234567", "[0,0]"), rows("[4,2]", "012345!!", "[0,0]"));
    std::string const text = files.name(second_file) +
                             ": 'w': element [3, 0] differs from the copy in " +
                             files.name(first_file);
    files.cannot_be_read(errc::overlap, text);
}

BOOST_AUTO_TEST_CASE(replicas_that_differ_do_not_matter_where_nothing_uses_them) {
    shared_directory const directory;
    on_first_rank([&] {
        std::filesystem::create_directory(directory / "source");
        for (std::string const number : {"1", "2"})
            write_safetensors(
                directory / "source" / (number + ".safetensors"),
                {{"v", "U8", "[1]", number, "[0]", "[1]"}, {"w", "U8", "[1]", "w", "[0]", "[1]"}});
    });
    auto const source = open_checkpoint(world(), directory / "source");
    held target({whole_of("w", data_type::u8, {1})});
    BOOST_CHECK_NO_THROW(load(world(), source, target.cleared().tensors()));
    BOOST_TEST((target.memory(0)[0] == std::byte{'w'}));
    mapping program;
    program.define("w", program.source("w", {1}, data_type::u8));
    BOOST_CHECK_NO_THROW(convert(world(), source, directory / "target", {.program = program}));
    held both({whole_of("v", data_type::u8, {1})});
    BOOST_CHECK_EXCEPTION(load(world(), source, both.cleared().tensors()), error,
                          says(errc::overlap, (directory / "source/2.safetensors").string() +
                                                  ": 'v': element [0] differs from the copy in " +
                                                  (directory / "source/1.safetensors").string()));
    BOOST_TEST(both.is_untouched());
}

BOOST_AUTO_TEST_CASE(a_flat_range_and_a_box_of_the_same_elements_are_replicas) {
    auto const flat = [](std::string const& data) {
        tensor_of_file shard{"w", "U8", "[8]", data, "[0]", "[4,2]"};
        shard.more = R"(\"region\":{\"offset\":[0,0],\"shape\":[4,2]},\"flat_range\":[0,8])";
        return shard;
    };
    tensor_of_file const file = rows("[4,2]", "01234567", "[0,0]");
    std::string memory(8, '-');
    state_dict target;
    target.add(whole_of("w", data_type::u8, {4, 2}),
               tensor_view{memory.data(), data_type::u8, {4, 2}, {2, 1}});
    load(world(), two_files(file, flat("01234567")).open(), target);
    BOOST_TEST(memory == "01234567");
    two_files const files(file, flat("01234-67"));
    files.cannot_be_read(errc::overlap, files.name(second_file) +
                                            ": 'w': element [2, 1] differs from the copy in " +
                                            files.name(first_file));
}

BOOST_AUTO_TEST_CASE(a_key_with_two_global_shapes_is_refused) {
    auto second = rows("[2,2]", "4567", "[2,0]");
    second.global = "[5,2]";
    two_files const files(rows("[2,2]", "0123", "[0,0]"), second);
    files.cannot_be_opened(errc::corrupt_file,
                           files.name(second_file) + " and " + files.name(first_file) +
                               ": tensor 'w': the global shape is [5, 2] in the former and [4, 2] "
                               "in the latter");
}

BOOST_AUTO_TEST_CASE(a_key_with_two_data_types_is_refused) {
    auto second = rows("[2,2]", "4567", "[2,0]");
    second.dtype = "I8";
    two_files const files(rows("[2,2]", "0123", "[0,0]"), second);
    files.cannot_be_opened(errc::corrupt_file,
                           files.name(second_file) + " and " + files.name(first_file) +
                               ": tensor 'w': the data type is I8 in the former and U8 in the "
                               "latter");
}

BOOST_AUTO_TEST_CASE(what_a_load_wants_and_the_checkpoint_lacks_is_named) {
    two_files const files(rows("[2,2]", "0123", "[0,0]"), rows("[2,2]", "4567", "[2,0]"));
    auto const source = files.open();
    auto const refused = [&](shard_descriptor const& wanted, errc code, std::string const& text) {
        held target({wanted});
        BOOST_CHECK_EXCEPTION(load(world(), source, target.cleared().tensors()), error,
                              says(code, files.path().string() + ": " + text));
        BOOST_TEST(target.is_untouched());
    };
    refused(whole_of("v", data_type::u8, {4, 2}), errc::unknown_key,
            "'v' is wanted by rank 0, but the source does not have it");
    refused(whole_of("w", data_type::u8, {4, 3}), errc::shape_mismatch,
            "'w' has the shape [4, 3] in the target, but the source has [4, 2]");
    refused(whole_of("w", data_type::i8, {4, 2}), errc::dtype_mismatch,
            "'w' is int8 in the target, but the source has uint8; to cast it, write 'w -> w, "
            "dtype=\"int8\"'");
}

BOOST_AUTO_TEST_SUITE_END()
