// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/verify.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// Saves that were changed, mixed or not finished: never wrong data without an error.

BOOST_AUTO_TEST_SUITE(storage_damaged_save)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// The shards of each process: its row of `w`, and all of `b`.
state_dict tensors(std::vector<std::uint8_t>& row, std::vector<std::uint8_t>& values) {
    auto const ranks = static_cast<holder_t>(world().size());
    auto const rank = static_cast<holder_t>(world().rank());
    state_dict tensors;
    tensors.add({"w", data_type::u8, {ranks, 6}, {{rank, 0}, {1, 6}}},
                tensor_view{row.data(), data_type::u8, {1, 6}, {6, 1}});
    tensors.add({"b", data_type::u8, {3}, {{0}, {3}}},
                tensor_view{values.data(), data_type::u8, {3}, {1}});
    return tensors;
}

/// A save whose bytes count from `first` on.
void save_from(std::filesystem::path const& path, std::uint8_t first,
               save_options const& options = {}) {
    std::vector<std::uint8_t> row(6), values{first, first, first};
    for (std::size_t i = 0; i < row.size(); ++i)
        row[i] =
            static_cast<std::uint8_t>(first + i + 6 * static_cast<std::size_t>(world().rank()));
    save(world(), tensors(row, values), path, options);
}

/// Whether loading gives what `save_from` saved, or an error.
enum class outcome { same, refused, wrong };

outcome loaded(std::filesystem::path const& path, std::uint8_t first) {
    std::vector<std::uint8_t> row(6), values(3);
    try {
        load(world(), open_checkpoint(world(), path), tensors(row, values));
    } catch (error const&) {
        return outcome::refused;
    }
    for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i] != first + i + 6 * static_cast<std::size_t>(world().rank()))
            return outcome::wrong;
    return values == std::vector<std::uint8_t>(3, first) ? outcome::same : outcome::wrong;
}

void cannot_be_loaded(std::filesystem::path const& path, errc code, std::string const& text) {
    std::vector<std::uint8_t> row(6), values(3);
    BOOST_CHECK_EXCEPTION(load(world(), open_checkpoint(world(), path), tensors(row, values)),
                          error, mentions(code, text));
}

std::string const first_file = "shard-00001-model-00001-of-00001.safetensors";

save_options const in_one_file{.form = save_form::huggingface};

} // namespace

BOOST_AUTO_TEST_CASE(a_save_has_a_record_and_each_file_its_id) {
    shared_directory const directory;
    auto const path = directory / "save";
    save_from(path, 1);
    auto const record =
        parse_save_record(read_file(path / save_record_name), std::string(save_record_name));
    auto const opened = open_checkpoint(world(), path);
    BOOST_TEST(opened.metadata().save == record.save);
    BOOST_TEST(record.files.size() == static_cast<std::size_t>(world().size()));
    for (checkpoint_tensor const& tensor : opened.metadata().tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            BOOST_TEST(shard.digests.size() == 1u);
    BOOST_TEST((loaded(path, 1) == outcome::same));
}

BOOST_AUTO_TEST_CASE(each_flipped_byte_is_an_error_or_changes_nothing) {
    shared_directory const directory;
    for (save_options const& options : {save_options{}, in_one_file}) {
        auto const path = directory / (options.form == save_form::huggingface ? "one" : "sharded");
        save_from(path, 1, options);
        for (std::string const& name : directory.names(path.filename().string())) {
            std::string const bytes = read_file(path / name);
            meet();
            std::size_t refused = 0;
            for (std::size_t i = 0; i < bytes.size(); i += 1 + i / 400) {
                std::string changed = bytes;
                changed[i] = static_cast<char>(changed[i] ^ 1);
                on_first_rank([&] { write_file(path / name, changed); });
                outcome const result = loaded(path, 1);
                BOOST_TEST((result != outcome::wrong), name << ", byte " << i);
                refused += result == outcome::refused;
                meet();
            }
            BOOST_TEST(refused > 0u);
            on_first_rank([&] { write_file(path / name, bytes); });
        }
        BOOST_TEST((loaded(path, 1) == outcome::same));
    }
}

BOOST_AUTO_TEST_CASE(each_length_of_each_file_is_an_error) {
    shared_directory const directory;
    auto const path = directory / "save";
    save_from(path, 1);
    for (std::string const& name : directory.names("save")) {
        std::string const bytes = read_file(path / name);
        meet();
        for (std::size_t i = 0; i < bytes.size(); i += 1 + i / 50) {
            on_first_rank([&] { write_file(path / name, bytes.substr(0, i)); });
            BOOST_TEST((loaded(path, 1) == outcome::refused), name << " of " << i << " bytes");
            meet();
        }
        on_first_rank([&] { write_file(path / name, bytes); });
    }
}

BOOST_AUTO_TEST_CASE(a_changed_byte_names_file_key_and_bytes) {
    shared_directory const directory;
    auto const path = directory / "save";
    save_from(path, 1);
    on_first_rank([&] {
        std::string bytes = read_file(path / first_file);
        bytes.back() = static_cast<char>(bytes.back() ^ 4);
        write_file(path / first_file, bytes);
    });
    cannot_be_loaded(path, errc::corrupt_file, (path / first_file).string() + ": tensor 'w'");
    auto const source = open_checkpoint(world(), path);
    mapping const everything = identity_mapping(catalog_of(source));
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "target", {.program = everything}),
                          error, mentions(errc::corrupt_file, "tensor 'w'"));
    BOOST_TEST((directory.names() == std::vector<std::string>{"save"}));
    convert(world(), source, directory / "target", {.program = everything, .verify = false});
}

BOOST_AUTO_TEST_CASE(progress_counts_the_bytes_that_a_rank_verifies) {
    shared_directory const directory;
    save_from(directory / "save", 1);
    index_t last = 0, total = 0;
    verify(world(), open_checkpoint(world(), directory / "save"), [&](index_t done, index_t of) {
        BOOST_TEST(done > last);
        last = done;
        total = of;
    });
    // The first rank has b, of 3 bytes, and the second one w, of 6 bytes a rank.
    index_t const expected[] = {3, 18, 0};
    index_t const own = world().size() == 1 ? 9 : expected[world().rank()];
    BOOST_TEST(last == own);
    BOOST_TEST(total == own);
}

BOOST_AUTO_TEST_CASE(a_copy_that_was_saved_equal_is_not_read_for_another_one) {
    shared_directory const directory;
    auto const path = directory / "save";
    save_from(path, 1, {.writing = {.replicas = true}});
    std::string const last = "shard-0000" + std::to_string(world().size()) + first_file.substr(11);
    // The bytes of b, 3 times the 1, are before the bytes of w: equal on all ranks.
    on_first_rank([&] {
        std::string bytes = read_file(path / last);
        bytes[bytes.rfind(std::string(3, '\1'))] = 7;
        write_file(path / last, bytes);
    });
    bool const is_only_copy = world().size() == 1;
    BOOST_TEST((loaded(path, 1) == (is_only_copy ? outcome::refused : outcome::same)));
    verification const verification = verify(world(), open_checkpoint(world(), path));
    BOOST_TEST_REQUIRE(verification.bad.size() == 1u);
    BOOST_TEST(verification.bad.front().key == "b");
    // Without digests, copies are compared.
    save_from(directory / "bare", 1, {.writing = {.digests = false, .replicas = true}});
    on_first_rank([&] {
        std::string bytes = read_file(directory / "bare" / last);
        bytes[bytes.rfind(std::string(3, '\1'))] = 7;
        write_file(directory / "bare" / last, bytes);
    });
    BOOST_TEST(
        (loaded(directory / "bare", 1) == (is_only_copy ? outcome::wrong : outcome::refused)));
}

BOOST_AUTO_TEST_CASE(files_of_two_saves_are_not_mixed) {
    shared_directory const directory;
    auto const path = directory / "save";
    save_from(path, 1);
    save_from(directory / "other", 101);
    on_first_rank([&] {
        std::filesystem::copy_file(directory / "other" / first_file, path / first_file,
                                   std::filesystem::copy_options::overwrite_existing);
    });
    cannot_be_loaded(path, errc::corrupt_file, first_file + " belongs to the save ");
    on_first_rank([&] {
        std::filesystem::copy_file(directory / "other" / save_record_name, path / save_record_name,
                                   std::filesystem::copy_options::overwrite_existing);
    });
    BOOST_TEST((loaded(path, 101) == (world().size() == 1 ? outcome::same : outcome::refused)));
}

BOOST_AUTO_TEST_CASE(a_save_without_its_record_is_not_finished) {
    shared_directory const directory;
    for (save_options const& options : {save_options{}, in_one_file}) {
        auto const path = directory / (options.form == save_form::huggingface ? "one" : "sharded");
        save_from(path, 1, options);
        on_first_rank([&] { std::filesystem::remove(path / save_record_name); });
        cannot_be_loaded(path, errc::corrupt_file, "not finished");
    }
}

BOOST_AUTO_TEST_CASE(a_save_that_is_under_way_cannot_be_opened) {
    shared_directory const directory;
    auto const plan = plan_huggingface(catalog({{"w", data_type::u8, {2}, {1}}}));
    checkpoint_writer const writer(world(), directory / "save", plan, {});
    std::string const partial = directory.names().front();
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), directory / partial), error,
                          mentions(errc::corrupt_file, "not finished"));
    auto const file = directory / partial / plan.metadata.files[0].path.string();
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), file), error,
                          mentions(errc::corrupt_file, "not finished"));
    meet();
}

BOOST_AUTO_TEST_CASE(one_file_of_a_save_is_read_by_itself) {
    shared_directory const directory;
    auto const path = directory / "save";
    save_from(path, 1);
    std::vector<std::uint8_t> values(3);
    state_dict want;
    want.add({"b", data_type::u8, {3}, {{0}, {3}}},
             tensor_view{values.data(), data_type::u8, {3}, {1}});
    load(world(), open_checkpoint(world(), path / first_file), std::move(want));
    BOOST_TEST((values == std::vector<std::uint8_t>{1, 1, 1}));
}

BOOST_AUTO_TEST_SUITE_END()
