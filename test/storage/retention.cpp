// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/retention.hpp>

#include <reshard/format/chunk_digests.hpp>
#include <reshard/storage/checkpoint_listing.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/delta_base.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

#include <fcntl.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <span>
#include <string>
#include <vector>

/// \file
/// The saves of a directory on disk: which is the newest, which go, and which stay.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

using names = std::vector<std::string>;

/// A directory of saves that differ in their elements and in the times of their records.
class saves_fixture {
public:
    /// A save that says that it was completed `completed` seconds after 1970.
    void save_at(std::string const& name, std::int64_t completed,
                 std::map<std::string, double> const& numbers = {}) {
        held tensors({whole_of("w", data_type::u8, {5000 + completed})});
        save(world(), tensors.tensors(), all / name, {.writing = {.numbers = numbers}});
        on_first_rank([&] { set_time(all / name / "reshard.json", completed); });
    }

    /// The number of the newest save: tensor `w` has that many elements and 5000.
    index_t newest() const {
        checkpoint const opened = open_checkpoint(world(), all.path(), latest{});
        warnings = opened.metadata().warnings;
        return opened.metadata().tensors.front().shape[0] - 5000;
    }

    /// The names that go, or went.
    names gone(retention const& rules, bool do_delete) const {
        names found_names;
        for (retained_save const& save : retain(world(), all.path(), rules, do_delete))
            if (save.goes)
                found_names.push_back(save.name);
        return found_names;
    }

    shared_directory all;
    mutable names warnings;

private:
    /// Writes a record again with another time, and the digest that it has then.
    static void set_time(std::filesystem::path const& path, std::int64_t completed) {
        std::string text = read_file(path);
        std::size_t const begin = text.find("\"completed\": ") + 13;
        text.replace(begin, text.find(',', begin) - begin, std::to_string(completed));
        std::size_t const end = text.rfind(",\n  \"digest\"");
        std::uint64_t const digest = digest_of_bytes(std::as_bytes(std::span(text.data(), end)));
        write_file(path,
                   text.substr(0, end) + ",\n  \"digest\": \"" + hex_text(digest) + "\"\n}\n");
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_retention, saves_fixture)

BOOST_AUTO_TEST_CASE(a_record_says_when_its_save_was_complete) {
    std::int64_t const before = std::time(nullptr);
    held tensors({whole_of("w", data_type::u8, {5})});
    save(world(), tensors.tensors(), all / "a");
    auto const completed = saves_in(all.path()).front().record.facts.completed;
    BOOST_TEST(completed >= before);
    BOOST_TEST(completed <= std::time(nullptr));
}

BOOST_AUTO_TEST_CASE(the_numbers_of_the_first_rank_are_in_the_record) {
    held tensors({whole_of("w", data_type::u8, {5})});
    std::map<std::string, double> const numbers{{"loss", 1.5}, {"rank", world().rank()}};
    save(world(), tensors.tensors(), all / "a", {.writing = {.numbers = numbers}});
    async_saver saver;
    save_async(world(), tensors.tensors(), all / "b", saver, {.writing = {.numbers = numbers}})
        .get();
    meet();
    for (listed_save const& save : saves_in(all.path()))
        BOOST_TEST((save.record.facts.numbers ==
                    std::map<std::string, double>{{"loss", 1.5}, {"rank", 0}}));
}

BOOST_AUTO_TEST_CASE(a_number_whose_name_no_record_can_have_is_refused) {
    held tensors({whole_of("w", data_type::u8, {5})});
    save_options const options{.writing = {.numbers = {{"\xff", 1}}}};
    BOOST_CHECK_EXCEPTION(save(world(), tensors.tensors(), all / "a", options), error,
                          mentions(errc::usage, "UTF-8"));
    async_saver saver;
    BOOST_CHECK_EXCEPTION(save_async(world(), tensors.tensors(), all / "a", saver, options), error,
                          mentions(errc::usage, "UTF-8"));
    BOOST_TEST(all.names().empty());
}

BOOST_AUTO_TEST_CASE(the_newest_is_by_time_and_not_by_name) {
    save_at("b", 1);
    save_at("c", 3);
    save_at("a", 2);
    BOOST_TEST(newest() == 3);
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(the_base_of_a_save_in_progress_stays) {
    save_at("a", 1);
    save_at("b", 2);
    on_first_rank([&] {
        retention const retention{.last = 1};
        std::vector<retained_save> saves;
        convert_options const options{.writing = {.base = all / "a"},
                                      .progress = [&](index_t, index_t) {
                                          saves = retain_here(all.path(), retention, true);
                                      }};
        convert(solo(), open_checkpoint(solo(), all / "a"), all / "c", options);
        BOOST_TEST_REQUIRE(saves.size() == 3u); // one of them is the directory of the save
        BOOST_TEST(saves[1].name == "a");
        BOOST_TEST(saves[1].why == "a save in progress is a delta of it");
        BOOST_TEST(verify(solo(), open_checkpoint(solo(), all / "c")).ok());
        // Now the delta exists, and is the newest.
        retain_here(all.path(), retention, true);
    });
    BOOST_TEST(all.names() == (names{"a", "c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_base_that_was_held_goes_later) {
    save_at("a", 1);
    save_at("b", 2);
    on_first_rank([&] {
        delta_base base(files_of_system(), all / "a", all / "c");
        base.hold();
        retain_here(all.path(), {.last = 1}, true);
    });
    BOOST_TEST(all.names() == (names{"a", "b"}), boost::test_tools::per_element());
    BOOST_TEST(gone({.last = 1}, true) == names{"a"}, boost::test_tools::per_element());
    on_first_rank([&] {
        BOOST_CHECK_EXCEPTION(delta_base(files_of_system(), all / "a", all / "c"), error,
                              mentions(errc::missing_file, "a"));
    });
}

BOOST_AUTO_TEST_CASE(what_cannot_be_opened_is_passed_over_with_the_reason) {
    save_at("a", 1);
    save_at("b", 2);
    save_at("c", 3);
    on_first_rank([&] {
        std::filesystem::remove(all / "c" / "reshard.json");
        for (auto const& entry : std::filesystem::directory_iterator(all / "b"))
            if (entry.path().extension() == ".safetensors")
                std::filesystem::resize_file(entry.path(), 100);
        std::filesystem::create_directory(all / "logs");
        std::filesystem::create_directory(all / "theirs");
        write_safetensors(all / "theirs" / "model.safetensors", {{"w", "U8", "[1]", "x"}});
        std::filesystem::create_directory(all / temporary_name(all / "d"));
    });
    BOOST_TEST(newest() == 1);
    BOOST_TEST_REQUIRE(warnings.size() == 4u);
    BOOST_TEST(warnings[0].find("a writer of 'd' died") != std::string::npos);
    BOOST_TEST(warnings[1].starts_with((all / "b").string() + " is passed over: "));
    BOOST_TEST(warnings[2].find("not finished") != std::string::npos);
    BOOST_TEST(warnings[3].find("theirs is passed over: it has no reshard.json") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(where_none_is_complete_the_error_says_what_is_there) {
    auto const refuses = [&](std::string const& sentence) {
        meet();
        BOOST_CHECK_EXCEPTION(open_checkpoint(world(), all.path(), latest{}), error,
                              mentions(errc::missing_file, sentence));
    };
    refuses("this directory contains no complete checkpoint, and no incomplete one");
    save_at("a", 1);
    on_first_rank([&] { std::filesystem::remove(all / "a" / "reshard.json"); });
    refuses("not finished");
    save_at("b", 1);
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), all / "b", latest{}), error,
                          mentions(errc::missing_file, "it is a checkpoint itself"));
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), all / "none", latest{}), error,
                          mentions(errc::missing_file, "none: no such directory"));
}

BOOST_AUTO_TEST_CASE(the_newest_may_be_one_whose_replacement_was_interrupted) {
    save_at("a", 1);
    save_at("b", 2);
    std::string const name = world().all_gather(temporary_name(all / "b")).front();
    on_first_rank([&] {
        std::filesystem::rename(all / "b", all / name);
        std::filesystem::create_directory(all / (name + ".old"));
    });
    BOOST_TEST(gone({.last = 1}, false).empty()); // they are left as they are
    BOOST_TEST(newest() == 2);
    BOOST_TEST((all.names() == names{name + ".old", "a", "b"}));
}

BOOST_AUTO_TEST_CASE(what_goes_is_deleted_when_it_is_asked_for) {
    save_at("a", 1, {{"loss", 1}});
    save_at("b", 2, {{"loss", 3}});
    save_at("c", 3, {{"loss", 2}});
    on_first_rank([&] { write_file(all / "b" / "config.json", "{}"); });
    retention const rules{.last = 1, .best = 1, .by = "loss"};
    BOOST_TEST((gone(rules, false) == names{"b"}));
    BOOST_TEST((all.names() == names{"a", "b", "c"}));
    BOOST_TEST((gone(rules, true) == names{"b"}));
    BOOST_TEST((all.names() == names{"a", "c"}));
    BOOST_TEST(newest() == 3);
}

BOOST_AUTO_TEST_CASE(what_is_not_of_a_save_is_never_deleted) {
    for (int i = 1; i <= 5; ++i)
        save_at(std::string(1, static_cast<char>('a' + i - 1)), i);
    on_first_rank([&] {
        write_file(all / "a" / "optimizer.pt", "precious");
        std::filesystem::create_directory(all / "b" / "notes");
        write_file(all / "c" / "reshard.pinned", "");
        std::filesystem::create_directory_symlink("d", all / "link");
        std::filesystem::create_directory(all / "logs");
        write_file(all / "file", "");
    });
    BOOST_TEST((gone({.last = 1}, true) == names{"d"}));
    BOOST_TEST((all.names() == names{"a", "b", "c", "e", "file", "link", "logs"}));
    BOOST_TEST((all.names("a").size() == 3u));
}

BOOST_AUTO_TEST_CASE(what_living_writers_fill_stays_and_what_dead_ones_left_goes) {
    save_at("a", 1);
    std::string const dead = world().all_gather(temporary_name(all / "b")).front();
    std::string const living = world().all_gather(temporary_name(all / "c")).front();
    on_first_rank([&] {
        std::filesystem::create_directory(all / dead);
        std::filesystem::create_directory(all / living);
    });
    {
        auto const writer = file_descriptor::open((all / living).string(), O_RDONLY | O_DIRECTORY);
        BOOST_TEST(writer.try_share());
        meet();
        BOOST_TEST((gone({.last = 0}, true) == names{dead}));
        names expected{living, "a"};
        BOOST_TEST((all.names() == expected));
    }
    meet();
    BOOST_TEST((gone({}, true) == names{living}));
    BOOST_TEST((all.names() == names{"a"}));
}

BOOST_AUTO_TEST_CASE(a_save_that_was_replaced_meanwhile_is_not_deleted) {
    save_at("a", 1);
    save_at("b", 2);
    on_first_rank([&] {
        listed_save const before = saves_in(all.path()).front();
        std::filesystem::remove_all(all / "a");
        std::filesystem::copy(all / "b", all / "a");
        BOOST_CHECK_EXCEPTION(delete_save(all.path(), before), error,
                              mentions(errc::already_exists, "was replaced"));
    });
    BOOST_TEST((all.names() == names{"a", "b"}));
    BOOST_TEST(open_checkpoint(world(), all / "a").metadata().tensors.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_deletion_that_died_has_left_is_no_checkpoint) {
    save_at("a", 1);
    save_at("b", 2);
    std::string const name = world().all_gather(temporary_name(all / "a")).front();
    on_first_rank([&] {
        std::filesystem::rename(all / "a", all / name);
        std::filesystem::remove(all / name / "reshard.json");
    });
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), all / name), error,
                          mentions(errc::corrupt_file, "not finished"));
    BOOST_TEST((gone({}, true) == names{name}));
    BOOST_TEST((all.names() == names{"b"}));
}

BOOST_AUTO_TEST_SUITE_END()
