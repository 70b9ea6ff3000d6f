// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/atomic_replace.hpp>

#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "shared_directory.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <vector>

/// \file
/// Files of dead writers are removed, or put in place; files that others may need are kept.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

using names = std::vector<std::string>;

/// A name that ends with machine, start of it and random part; these two may be others.
std::string renamed(std::string const& name, std::string const& host, std::string const& boot) {
    std::size_t const last = name.rfind('-'), middle = name.rfind('-', last - 1);
    std::string const begin = ".target.partial-";
    std::string const own_host = name.substr(begin.size(), middle - begin.size());
    std::string const own_boot = name.substr(middle + 1, last - middle - 1);
    return begin + (host.empty() ? own_host : host) + "-" + (boot.empty() ? own_boot : boot) +
           name.substr(last);
}

/// A directory in which each rank has its own directory.
class stale_files_fixture {
public:
    stale_files_fixture() { std::filesystem::create_directory(own()); }

    std::filesystem::path own() const { return all / std::to_string(world().rank()); }
    std::filesystem::path target() const { return own() / "target"; }
    names found() const { return all.names(std::to_string(world().rank())); }

    /// Leaves a directory with a file, as a writer that dies does.
    std::string leave(std::string const& name) const {
        std::filesystem::create_directory(own() / name);
        write_file(own() / name / "file", name);
        return name;
    }

    std::string content() const { return read_file(target() / "file"); }

private:
    shared_directory all;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_stale_files, stale_files_fixture)

BOOST_AUTO_TEST_CASE(temporary_names_are_told_apart) {
    std::string const name = temporary_name(target());
    BOOST_TEST(name.starts_with(".target.partial-"));
    BOOST_TEST(name != temporary_name(target()));
}

BOOST_AUTO_TEST_CASE(what_a_dead_writer_has_left_is_removed) {
    std::string const first = leave(temporary_name(target()));
    std::string const earlier = leave(renamed(temporary_name(target()), "", "00000000"));
    names expected{(own() / first).string(), (own() / earlier).string()};
    std::sort(expected.begin(), expected.end());
    BOOST_TEST(remove_stale_files(target()) == expected, boost::test_tools::per_element());
    BOOST_TEST(found().empty());
}

BOOST_AUTO_TEST_CASE(what_a_living_writer_fills_is_kept) {
    std::string const name = leave(temporary_name(target()));
    {
        auto const writer = file_descriptor::open((own() / name).string(), O_RDONLY | O_DIRECTORY);
        BOOST_TEST(writer.try_lock());
        BOOST_TEST(remove_stale_files(target()).empty());
    }
    BOOST_TEST(remove_stale_files(target()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_of_others_is_kept) {
    names kept{leave(renamed(temporary_name(target()), "elsewhere", "00000000")),
               leave(".target.partial-123"), leave(".target.partial"),
               leave(".target2.partial-a-b-c"), leave("target.partial-a-b-c")};
    std::sort(kept.begin(), kept.end());
    BOOST_TEST(remove_stale_files(target()).empty());
    BOOST_TEST(found() == kept, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_replacement_that_was_interrupted_is_brought_to_its_end) {
    std::string const fresh = leave(temporary_name(target()));
    leave(fresh + ".old");
    BOOST_TEST(finish_replacement(target()));
    BOOST_TEST(content() == fresh);
    BOOST_TEST((found() == names{fresh + ".old", "target"}));
    BOOST_TEST(remove_stale_files(target()).size() == 1u);
    BOOST_TEST((found() == names{"target"}));
}

BOOST_AUTO_TEST_CASE(without_a_new_one_the_old_one_gets_its_name_back) {
    std::string const old = leave(temporary_name(target()) + ".old");
    BOOST_TEST(remove_stale_files(target()).empty()); // it may be the only one
    BOOST_TEST(finish_replacement(target()));
    BOOST_TEST(content() == old);
    BOOST_TEST((found() == names{"target"}));
}

BOOST_AUTO_TEST_CASE(a_replacement_of_a_living_writer_is_left_to_it) {
    std::string const fresh = leave(temporary_name(target()));
    leave(fresh + ".old");
    auto const writer = file_descriptor::open((own() / fresh).string(), O_RDONLY | O_DIRECTORY);
    BOOST_TEST(writer.try_lock());
    BOOST_TEST(!finish_replacement(target()));
}

BOOST_AUTO_TEST_CASE(nothing_takes_the_place_of_a_target) {
    leave("target");
    std::string const fresh = leave(temporary_name(target()));
    leave(fresh + ".old");
    BOOST_TEST(!finish_replacement(target()));
    BOOST_TEST(content() == "target");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(storage_stale_files_of_saves)

BOOST_AUTO_TEST_CASE(a_save_removes_what_one_that_died_has_left_and_says_so) {
    shared_directory const directory;
    std::string const name = world().all_gather(temporary_name(directory / "target")).front();
    on_first_rank([&] { std::filesystem::create_directory(directory / name); });
    held tensors({whole_of("w", data_type::u8, {5000})});
    save_report const report = save(world(), tensors.tensors(), directory / "target");
    BOOST_TEST((report.removed == names{(directory / name).string()}));
    BOOST_TEST(report.bytes == 5000);
    BOOST_TEST(report.save == open_checkpoint(world(), directory / "target").metadata().save);
    BOOST_TEST((directory.names() == names{"target"}));
}

BOOST_AUTO_TEST_CASE(opening_a_checkpoint_ends_a_replacement_of_it) {
    shared_directory const directory;
    held tensors({whole_of("w", data_type::u8, {5000})});
    save(world(), tensors.tensors(), directory / "target");
    std::string const name = world().all_gather(temporary_name(directory / "target")).front();
    on_first_rank([&] {
        std::filesystem::rename(directory / "target", directory / name);
        std::filesystem::create_directory(directory / (name + ".old"));
    });
    load(world(), open_checkpoint(world(), directory / "target"), tensors.cleared().tensors());
    BOOST_TEST(tensors.wrong() == "");
}

BOOST_AUTO_TEST_SUITE_END()
