// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/checkpoint_writer.hpp>

#include <reshard/storage/compare.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>
#include <reshard/storage/verify.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// One file of whole tensors, which is a checkpoint without a directory.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

using names = std::vector<std::string>;

/// A sharded source: `w`, 4 x 3 bytes, in columns; a scalar; a tensor without elements.
class single_file_fixture {
public:
    single_file_fixture() {
        on_first_rank([&] {
            std::filesystem::create_directory(path("source"));
            write_safetensors(path("source") / "0.safetensors",
                              {{"w", "U8", "[4,1]", "adgj", "[0,0]", "[4,3]"},
                               {"z", "F32", "[0,4]", "", "[0,0]", "[0,4]"}});
            write_safetensors(path("source") / "1.safetensors",
                              {{"w", "U8", "[4,2]", "bcefhikl", "[0,1]", "[4,3]"},
                               {"s", "U8", "[]", "7", "[]", "[]"}});
            write_safetensors(path("whole.safetensors"), {{"w", "U8", "[4,3]", "abcdefghijkl"},
                                                          {"s", "U8", "[]", "7"},
                                                          {"z", "F32", "[0,4]", ""}});
        });
        source.emplace(open_checkpoint(world(), path("source")));
    }

    std::filesystem::path path(std::string const& name) const { return directory / name; }
    std::string text(std::string const& name) const { return path(name).string(); }
    checkpoint opened(std::string const& name) const {
        return open_checkpoint(world(), path(name));
    }

    void merge(std::string const& name, write_options writing = {}) const {
        writing.single_file = true;
        convert(world(), *source, path(name), {.writing = writing});
    }

    void refuses(std::string const& name, write_options const& writing, errc code,
                 std::string const& complaint) const {
        BOOST_CHECK_EXCEPTION(merge(name, writing), error, says(code, complaint));
    }

    shared_directory directory;
    std::optional<checkpoint> source;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_single_file, single_file_fixture)

BOOST_AUTO_TEST_CASE(a_file_holds_all_tensors_and_is_checked_by_its_own_digests) {
    merge("one.safetensors");
    BOOST_TEST((directory.names() == names{"one.safetensors", "source", "whole.safetensors"}));
    checkpoint const checkpoint = opened("one.safetensors");
    BOOST_TEST(checkpoint.metadata().format == "safetensors");
    BOOST_TEST(checkpoint.metadata().save == "");
    comparison const comparison = compare(world(), checkpoint, opened("whole.safetensors"));
    BOOST_TEST(comparison.equal());
    verification const good = verify(world(), checkpoint);
    BOOST_TEST(good.ok());
    BOOST_TEST(good.bytes == 13);
    BOOST_TEST(good.unverified.empty());
    std::string const bytes = read_file(path("one.safetensors"));
    BOOST_TEST(bytes.find("RESHARD_DIGESTS") != bytes.npos);
    BOOST_TEST(bytes.find("RESHARD_SAVE") == bytes.npos);
}

BOOST_AUTO_TEST_CASE(a_file_that_was_changed_is_found_out) {
    merge("one.safetensors");
    std::string const bytes = read_file(path("one.safetensors"));
    meet();
    on_first_rank([&] {
        std::string changed = bytes;
        changed.back() = static_cast<char>(changed.back() ^ 1);
        write_file(path("data.safetensors"), changed);
        changed = bytes;
        changed[bytes.find("[4,3]") + 1] = '3';
        changed[bytes.find("[4,3]") + 3] = '4';
        write_file(path("header.safetensors"), changed);
    });
    BOOST_TEST(!verify(world(), opened("data.safetensors")).ok());
    BOOST_CHECK_EXCEPTION(
        opened("header.safetensors"), error,
        mentions(errc::corrupt_file, text("header.safetensors") + ": the header was changed"));
}

BOOST_AUTO_TEST_CASE(a_file_makes_no_directory_unreadable) {
    on_first_rank([&] { std::filesystem::create_directory(path("directory")); });
    merge("directory/model.safetensors");
    checkpoint const directory_of_one = opened("directory");
    BOOST_TEST(directory_of_one.metadata().format == "huggingface");
    BOOST_TEST(compare(world(), directory_of_one, *source).equal());
    // Beside an index or a single file another one does no harm; among shards it would be one more.
    merge("directory/other.safetensors");
    BOOST_TEST(compare(world(), opened("directory"), *source).equal());
    refuses("source/one.safetensors", {}, errc::already_exists,
            text("source/one.safetensors") + ": would be taken for a file of the checkpoint " +
                text("source") + ", which could no longer be opened; give another directory");
    BOOST_TEST(compare(world(), opened("source"), *source).equal());
}

BOOST_AUTO_TEST_CASE(what_is_there_gives_way_only_where_that_is_asked_for) {
    merge("one.safetensors");
    std::string const bytes = read_file(path("one.safetensors"));
    refuses("one.safetensors", {}, errc::already_exists,
            text("one.safetensors") +
                ": already exists; give another target, or allow it to be replaced");
    on_first_rank([&] { write_file(path("one.safetensors"), "old"); });
    merge("one.safetensors", {.replace = true});
    BOOST_TEST(read_file(path("one.safetensors")) == bytes);
    BOOST_TEST((directory.names() == names{"one.safetensors", "source", "whole.safetensors"}));
    on_first_rank([&] { std::filesystem::create_directory(path("d.safetensors")); });
    refuses("d.safetensors", {.replace = true}, errc::usage,
            text("d.safetensors") +
                ": is a directory, and a file cannot replace it; give the name of a file");
    refuses("one.bin", {}, errc::usage,
            text("one.bin") +
                ": does not end with .safetensors; add the ending, which readers need");
    refuses("nowhere/one.safetensors", {}, errc::io,
            text("nowhere/one.safetensors") + ": " + text("nowhere") +
                ", its parent directory, does not exist");
}

BOOST_AUTO_TEST_CASE(a_file_of_a_checkpoint_is_not_replaced_by_one_that_stands_for_itself) {
    refuses("source/1.safetensors", {.replace = true}, errc::already_exists,
            text("source/1.safetensors") + ": is a file of the checkpoint " + text("source") +
                "; give that directory as the target, or another name");
    BOOST_TEST(compare(world(), opened("source"), *source).equal());
    on_first_rank([&] { std::filesystem::create_directory(path("d")); });
    merge("d/alone.safetensors");
    merge("d/alone.safetensors", {.replace = true});
    BOOST_TEST(compare(world(), opened("d/alone.safetensors"), *source).equal());
}

BOOST_AUTO_TEST_CASE(a_file_is_known_to_be_of_a_checkpoint_from_within_its_directory) {
    auto const before = std::filesystem::current_path();
    std::filesystem::current_path(path("source"));
    BOOST_CHECK_EXCEPTION(check_replaced_file("0.safetensors"), error,
                          says(errc::already_exists,
                               "0.safetensors: is a file of the checkpoint .; give that "
                               "directory as the target, or another name"));
    std::filesystem::current_path(before);
}

BOOST_AUTO_TEST_CASE(a_file_that_appears_meanwhile_is_not_overwritten) {
    convert_options options{.writing = {.single_file = true}};
    options.progress = [&](index_t, index_t) {
        if (world().rank() == 0)
            write_file(path("one.safetensors"), "precious");
    };
    auto const run = [&] { convert(world(), *source, path("one.safetensors"), options); };
    BOOST_CHECK_EXCEPTION(
        run(), error,
        says(errc::already_exists,
             text("one.safetensors") +
                 ": another process has created it meanwhile; give another target"));
    BOOST_TEST(read_file(path("one.safetensors")) == "precious");
    BOOST_TEST((directory.names() == names{"one.safetensors", "source", "whole.safetensors"}));
}

BOOST_AUTO_TEST_CASE(tensors_are_saved_as_one_file_too) {
    auto const size = static_cast<index_t>(world().size());
    auto const rank = static_cast<index_t>(world().rank());
    std::vector<std::uint8_t> row{static_cast<std::uint8_t>(2 * rank),
                                  static_cast<std::uint8_t>(2 * rank + 1)};
    state_dict tensors;
    tensors.add({"v", data_type::u8, {size, 2}, {{rank, 0}, {1, 2}}},
                tensor_view{row.data(), data_type::u8, {1, 2}, {2, 1}});
    save_options options{
        .form = save_form::huggingface, .writing = {.single_file = true}, .aliases = {{"u", "v"}}};
    save_report const report = save(world(), tensors, path("saved.safetensors"), options);
    BOOST_TEST(report.save == "");
    BOOST_TEST(report.bytes == 2 * size);
    checkpoint const saved = opened("saved.safetensors");
    BOOST_TEST((saved.metadata().aliases == options.aliases));
    std::string const bytes = read_file(path("saved.safetensors"));
    for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(size); ++i)
        BOOST_TEST(bytes[bytes.size() - 2 * static_cast<std::size_t>(size) + i] ==
                   static_cast<char>(i));

    options.form = save_form::sharded;
    BOOST_CHECK_EXCEPTION(
        save(world(), tensors, path("no.safetensors"), options), error,
        says(errc::usage, text("no.safetensors") +
                              ": one file holds whole tensors, but a layout of shards was "
                              "requested; omit the layout, or write a directory"));
    options.form = save_form::huggingface;
    async_saver saver;
    BOOST_CHECK_EXCEPTION(
        save_async(world(), tensors, path("no.safetensors"), saver, options), error,
        says(errc::usage,
             text("no.safetensors") +
                 ": a background save writes a directory; omit single_file, or use save"));
    options.writing.numbers = {{"loss", 1.0}};
    BOOST_CHECK_EXCEPTION(save(world(), tensors, path("no.safetensors"), options), error,
                          says(errc::usage, text("no.safetensors") +
                                                ": a single file cannot store the number 'loss'; "
                                                "omit the numbers, or write a directory"));
}

BOOST_AUTO_TEST_CASE(a_file_without_digests_and_one_without_tensors_are_files_too) {
    merge("bare.safetensors", {.digests = false});
    BOOST_TEST(compare(world(), opened("bare.safetensors"), *source).equal());
    BOOST_TEST(verify(world(), opened("bare.safetensors")).unverified.size() == 1u);
    save(world(), const_state_dict(), path("none.safetensors"),
         {.form = save_form::huggingface, .writing = {.single_file = true}});
    BOOST_TEST(opened("none.safetensors").metadata().tensors.empty());
}

BOOST_AUTO_TEST_SUITE_END()
