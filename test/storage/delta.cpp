// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/delta_base.hpp>

#include <reshard/format/checkpoint.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/retention.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Saves that have only what changed since another one.

namespace {

using namespace reshard;
using namespace reshard::test;

using names = std::vector<std::string>;

constexpr index_t one_chunk = index_t{1} << 20;

/// Of each rank: its own 3 chunks and a byte, and its row of `rows`; and the common tensors, each
/// written by one rank.
held state() {
    int const rank = world().rank(), size = world().size();
    // Copied: to hash megabytes element by element takes longer than all else that is done with them.
    static held const once(
        {whole_of("own." + std::to_string(rank), data_type::u8, {3 * one_chunk + 1}),
         shard_of("rows", data_type::f32, {size, 5}, {rank, 0}, {1, 5}),
         whole_of("scalar", data_type::f64, {}), whole_of("empty", data_type::f32, {0, 3}),
         shard_of("bits", data_type::boolean, {size, 3}, {rank, 0}, {1, 3})});
    return once;
}

/// Changes a byte of this rank's second chunk.
void change_a_byte(held& tensors) { tensors.memory(0)[one_chunk + 7] ^= std::byte{1}; }

/// The content of all tensors of this rank, to compare with.
std::vector<std::vector<std::byte>> content(held& tensors) {
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t i = 0; i < 5; ++i)
        bytes.push_back(tensors.memory(i));
    return bytes;
}

/// True if a checkpoint gives the saved values, and all its digests match its bytes.
bool gives(std::filesystem::path const& path, std::vector<std::vector<std::byte>> const& saved) {
    held tensors = state();
    checkpoint const opened = open_checkpoint(world(), path);
    load(world(), opened, tensors.cleared().tensors());
    bool const is_whole = verify(world(), opened).ok();
    return content(tensors) == saved && is_whole;
}

save_options delta_of(std::filesystem::path const& base, save_form form = save_form::sharded) {
    return {.form = form, .writing = {.base = base.string()}};
}

/// A state, and then a delta of it: `a` and `b`, which has what is returned.
held save_twice(shared_directory const& directory) {
    held tensors = state();
    save(world(), tensors.tensors(), directory / "a");
    change_a_byte(tensors);
    save(world(), tensors.tensors(), directory / "b", delta_of(directory / "a"));
    return tensors;
}

std::uint64_t bytes_of(std::filesystem::path const& directory) {
    std::uint64_t bytes = 0;
    for (auto const& entry : std::filesystem::directory_iterator(directory))
        if (entry.path().extension() == ".safetensors")
            bytes += entry.file_size();
    return bytes;
}

/// The sentence about opening a checkpoint, if any.
std::string problem_of_opening(std::filesystem::path const& path) {
    try {
        open_checkpoint(world(), path);
    } catch (error const& problem) {
        return problem.what();
    }
    return {};
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

} // namespace

BOOST_AUTO_TEST_SUITE(storage_delta)

BOOST_AUTO_TEST_CASE(only_chunks_that_changed_are_written) {
    shared_directory const directory;
    auto const size = static_cast<index_t>(world().size());
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        std::string const name = form == save_form::sharded ? "sharded" : "huggingface";
        held tensors = state();
        auto const first = content(tensors);
        save_report const report =
            save(world(), tensors.tensors(), directory / name, {.form = form});
        BOOST_TEST(report.reused == 0);
        change_a_byte(tensors);
        auto const second = content(tensors);
        save_report const changed = save(world(), tensors.tensors(), directory / (name + "2"),
                                         delta_of(directory / name, form));
        BOOST_TEST(changed.bytes == report.bytes);
        // All but the one chunk of each rank; headers are written again.
        BOOST_TEST(changed.reused == report.bytes - size * one_chunk);
        BOOST_TEST(bytes_of(directory / (name + "2")) <
                   static_cast<std::uint64_t>(size * (one_chunk + 16 * 4096)));
        BOOST_TEST(gives(directory / name, first));
        BOOST_TEST(gives(directory / (name + "2"), second));
    }
}

BOOST_AUTO_TEST_CASE(what_did_not_change_at_all_is_a_delta_too) {
    shared_directory const directory;
    held tensors = state();
    auto const first = content(tensors);
    save_report const report = save(world(), tensors.tensors(), directory / "a");
    save_report const none =
        save(world(), tensors.tensors(), directory / "b", delta_of(directory / "a"));
    BOOST_TEST(none.reused == none.bytes);
    BOOST_TEST(none.save != report.save);
    BOOST_TEST(gives(directory / "b", first));
    BOOST_TEST((directory.names("b") == names{"delta-00001.safetensors", "reshard.json"}));
}

BOOST_AUTO_TEST_CASE(a_delta_of_a_delta_needs_only_saves_that_have_its_bytes) {
    shared_directory const directory;
    held tensors = save_twice(directory);
    tensors.memory(0)[5] ^= std::byte{1}; // another chunk
    auto const third = content(tensors);
    save(world(), tensors.tensors(), directory / "c", delta_of(directory / "b"));
    change_a_byte(tensors); // as it was, which b does not have
    save(world(), tensors.tensors(), directory / "d", delta_of(directory / "b"));
    BOOST_TEST(gives(directory / "c", third));
    on_first_rank([&] { std::filesystem::remove_all(directory / "b"); });
    BOOST_TEST(has(problem_of_opening(directory / "c"),
                   (directory / "b").string() + "/delta-00001.safetensors is missing"));
    meet();
}

BOOST_AUTO_TEST_CASE(chunks_may_have_another_size) {
    shared_directory const directory;
    auto const size = static_cast<index_t>(world().size());
    for (index_t const bytes : {index_t{512}, index_t{1000}, index_t{5} << 20}) {
        std::string const name = std::to_string(bytes);
        held tensors = state();
        save_report const report =
            save(world(), tensors.tensors(), directory / name, {.writing = {.chunk_bytes = bytes}});
        change_a_byte(tensors);
        auto const second = content(tensors);
        save_options options = delta_of(directory / name);
        options.writing.chunk_bytes = bytes;
        save_report const changed =
            save(world(), tensors.tensors(), directory / (name + "b"), options);
        BOOST_TEST(changed.reused == report.bytes - size * std::min(bytes, 3 * one_chunk + 1));
        BOOST_TEST(gives(directory / (name + "b"), second));
        // Digests of other chunks say nothing of these.
        options.writing.chunk_bytes = 2 * bytes;
        BOOST_TEST(save(world(), tensors.tensors(), directory / (name + "c"), options).reused == 0);
        BOOST_TEST(gives(directory / (name + "c"), second));
    }
    held tensors = state();
    BOOST_CHECK_EXCEPTION(
        save(world(), tensors.tensors(), directory / "small", {.writing = {.chunk_bytes = 511}}),
        error, mentions(errc::usage, "write_options.chunk_bytes is 511"));
}

BOOST_AUTO_TEST_CASE(a_record_lists_the_files_of_a_base_in_any_order) {
    shared_directory const directory;
    held tensors = state();
    save(world(), tensors.tensors(), directory / "a", {.writing = {.files_per_rank = 2}});
    on_first_rank([&] {
        auto const path = directory / "a" / "reshard.json";
        detail::save_record record = detail::read_save_record(*detail::files_of_system(), path);
        checkpoint_metadata written = open_checkpoint(directory / "a");
        BOOST_TEST(record.files.size() > 1u);
        std::ranges::reverse(record.files);
        std::ranges::reverse(written.files);
        write_file(path, to_json(record, written));
    });
    change_a_byte(tensors);
    auto const second = content(tensors);
    save(world(), tensors.tensors(), directory / "b",
         {.writing = {.base = (directory / "a").string(), .files_per_rank = 2}});
    BOOST_TEST(gives(directory / "b", second));
}

BOOST_AUTO_TEST_CASE(another_layout_is_written_whole) {
    shared_directory const directory;
    held tensors = state();
    save(world(), tensors.tensors(), directory / "a");
    auto const size = static_cast<index_t>(world().size());
    held columns({shard_of("rows", data_type::f32, {size, 5}, {0, world().rank()}, {size, 1})});
    held rows({shard_of("rows", data_type::f32, {size, 5}, {world().rank(), 0}, {1, 5})});
    if (size > 1 && size <= 5) {
        save_options options = delta_of(directory / "a");
        options.writing.partial = true; // not all columns have a rank
        BOOST_TEST(save(world(), columns.tensors(), directory / "b", options).reused == 0);
        load(world(), open_checkpoint(world(), directory / "b"), columns.cleared().tensors(), {});
        BOOST_TEST(columns.wrong() == "");
    }
    BOOST_TEST(save(world(), rows.tensors(), directory / "c", delta_of(directory / "a")).reused ==
               20 * size);
}

BOOST_AUTO_TEST_CASE(a_save_in_the_background_can_be_a_delta) {
    shared_directory const directory;
    held tensors = state();
    async_saver saver;
    save_async(world(), tensors.tensors(), directory / "a", saver).wait();
    meet();
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        std::string const name = form == save_form::sharded ? "b" : "c";
        change_a_byte(tensors);
        auto const second = content(tensors);
        auto done = save_async(world(), tensors.tensors(), directory / name, saver,
                               delta_of(directory / "a", form));
        tensors.cleared();
        save_report const report = done.get();
        meet();
        BOOST_TEST(gives(directory / name, second));
        if (form == save_form::sharded)
            BOOST_TEST(report.reused == report.bytes - world().size() * one_chunk);
        tensors = state();
        change_a_byte(tensors);
    }
}

BOOST_AUTO_TEST_CASE(converting_makes_a_delta_whole_and_can_write_one) {
    shared_directory const directory;
    held tensors = save_twice(directory);
    auto const second = content(tensors);
    checkpoint const delta = open_checkpoint(world(), directory / "b");
    convert_options options{.wanted = delta.files_layout()};
    convert(world(), delta, directory / "whole", options);
    options.writing.base = (directory / "a").string();
    convert_report const report = convert(world(), delta, directory / "again", options);
    BOOST_TEST(gives(directory / "again", second));
    on_first_rank([&] { std::filesystem::remove_all(directory / "a"); });
    BOOST_TEST(gives(directory / "whole", second));
    BOOST_TEST(report.reused <= report.bytes);
}

BOOST_AUTO_TEST_CASE(a_base_that_is_gone_or_another_one_is_named) {
    shared_directory const directory;
    held tensors = state();
    std::string const base = save(world(), tensors.tensors(), directory / "a").save;
    change_a_byte(tensors);
    save(world(), tensors.tensors(), directory / "b", delta_of(directory / "a"));
    on_first_rank([&] { std::filesystem::rename(directory / "a", directory / "moved"); });
    std::string const gone = problem_of_opening(directory / "b");
    BOOST_TEST(has(gone, "b/reshard.json: the delta needs the save " + base + ", whose file " +
                             (directory / "a").string() + "/shard-00001"));
    BOOST_TEST(has(gone, "is missing; put it back, or load another checkpoint"));
    save(world(), tensors.tensors(), directory / "a");
    std::string const other = problem_of_opening(directory / "b");
    BOOST_TEST(has(other, "was replaced: its header has the digest"));
    on_first_rank([&] {
        std::filesystem::remove_all(directory / "a");
        std::filesystem::rename(directory / "moved", directory / "a");
    });
    BOOST_TEST(problem_of_opening(directory / "b") == "");
}

BOOST_AUTO_TEST_CASE(a_changed_byte_of_the_base_is_found) {
    shared_directory const directory;
    save_twice(directory);
    auto const file = directory / "a" / "shard-00001-model-00001-of-00001.safetensors";
    on_first_rank([&] {
        std::string bytes = read_file(file);
        bytes[bytes.size() - static_cast<std::size_t>(one_chunk)] ^= 1; // unchanged since
        write_file(file, bytes);
    });
    held wanted = state();
    BOOST_CHECK_EXCEPTION(
        load(world(), open_checkpoint(world(), directory / "b"), wanted.cleared().tensors()), error,
        mentions(errc::corrupt_file, " of the file, which are in " + file.string() +
                                         ", were changed: their digest is"));
    verification const verification = verify(world(), open_checkpoint(world(), directory / "b"));
    BOOST_TEST_REQUIRE(verification.bad.size() == 1u);
    BOOST_TEST(verification.bad[0].stored_in == file.string());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_base_is_refused) {
    shared_directory const directory;
    held tensors = state();
    auto const refused = [&](save_options const& options, std::filesystem::path const& target,
                             errc code, std::string const& sentence) {
        BOOST_CHECK_EXCEPTION(save(world(), tensors.tensors(), target, options), error,
                              mentions(code, sentence));
    };
    refused(delta_of(directory / "none"), directory / "b", errc::missing_file,
            "no such file or directory");
    save(world(), tensors.tensors(), directory / "bare", {.writing = {.digests = false}});
    refused(delta_of(directory / "bare"), directory / "b", errc::unsupported,
            "saved without digests");
    on_first_rank([&] {
        std::filesystem::create_directory(directory / "foreign");
        write_safetensors(directory / "foreign" / "model.safetensors", {{"w", "U8", "[1]", "x"}});
    });
    refused(delta_of(directory / "foreign"), directory / "b", errc::unsupported,
            "has no reshard.json");
    save(world(), tensors.tensors(), directory / "a");
    save_options without = delta_of(directory / "a");
    without.writing.digests = false;
    refused(without, directory / "b", errc::usage, "needs digests");
    save_options onto_itself = delta_of(directory / "a");
    onto_itself.writing.replace = true;
    refused(onto_itself, directory / "a", errc::usage, "is to be replaced, but the delta needs");
    save(world(), tensors.tensors(), directory / "caf\xe9");
    refused(delta_of(directory / "caf\xe9"), directory / "b", errc::usage,
            "cannot be the base of a delta: its path is not UTF-8");
    BOOST_TEST((directory.names() == names{"a", "bare", "caf\xe9", "foreign"}));
}

BOOST_AUTO_TEST_CASE(a_base_is_not_replaced_or_deleted_while_a_delta_needs_it) {
    shared_directory const directory;
    held tensors = save_twice(directory);
    auto const second = content(tensors);
    save_options const replacing{.writing = {.replace = true}};
    BOOST_CHECK_EXCEPTION(save(world(), tensors.tensors(), directory / "a", replacing), error,
                          mentions(errc::already_exists, "/b is a delta that needs it"));
    for (auto const& judged : retain(world(), directory.path(), {.last = 1}))
        BOOST_TEST(!judged.goes);
    BOOST_TEST(gives(directory / "b", second));
    save(world(), tensors.tensors(), directory / "b", replacing); // whole again
    save(world(), tensors.tensors(), directory / "a", replacing);
    BOOST_TEST(gives(directory / "b", second));
    BOOST_TEST(gives(directory / "a", second));
    BOOST_TEST(!has(directory.names("b").front(), "delta"));
}

BOOST_AUTO_TEST_CASE(a_base_that_goes_while_a_delta_is_written_is_noticed) {
    shared_directory const directory;
    held tensors = save_twice(directory);
    detail::delta_base const base(detail::files_of_system(), directory / "b", directory / "c");
    detail::record_delta const needed{{}, base.sources(), {}};
    base.check_there(needed);
    meet();
    on_first_rank([&] { std::filesystem::rename(directory / "a", directory / "moved"); });
    BOOST_CHECK_EXCEPTION(base.check_there(needed), error,
                          mentions(errc::missing_file, "/a: the save "));
    change_a_byte(tensors); // else it would be the same save
    tensors.memory(0)[0] ^= std::byte{1};
    save(world(), tensors.tensors(), directory / "a");
    BOOST_CHECK_EXCEPTION(base.check_there(needed), error,
                          mentions(errc::corrupt_file, "was replaced by the save "));
    meet();
}

BOOST_AUTO_TEST_CASE(a_file_of_changes_alone_is_no_checkpoint) {
    shared_directory const directory;
    save_twice(directory);
    std::string const alone = problem_of_opening(directory / "b" / "delta-00001.safetensors");
    BOOST_TEST(has(alone, "contains only the changes of the save"));
    on_first_rank([&] { std::filesystem::remove(directory / "b" / "reshard.json"); });
    BOOST_TEST(has(problem_of_opening(directory / "b"), "contains only the changes of the save"));
    meet();
}

BOOST_AUTO_TEST_SUITE_END()
