// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/atomic_replace.hpp>

#include <reshard/format/text_file.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// A directory replaces the existing one, in one step or in several.

namespace {

using namespace reshard;
using namespace reshard::test;

using names = std::vector<std::string>;

/// Each rank has its own directory, with `fresh` and `old` in it.
class atomic_replace_fixture {
public:
    atomic_replace_fixture() {
        std::filesystem::create_directories(path("fresh"));
        std::filesystem::create_directories(path("old"));
        write_file(path("fresh") / "new", "new");
        write_file(path("old") / "old", "old");
    }

    std::filesystem::path path(std::string const& name) const { return own() / name; }

    names names_in(std::string const& name) const { return all.names(own_name() + "/" + name); }

private:
    std::string own_name() const { return std::to_string(world().rank()); }
    std::filesystem::path own() const { return all / own_name(); }

    shared_directory all;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_atomic_replace, atomic_replace_fixture)

BOOST_AUTO_TEST_CASE(a_name_that_is_free_is_taken) {
    detail::atomic_replace(path("fresh"), path("free"), false);
    BOOST_TEST((names_in("") == names{"free", "old"}));
    BOOST_TEST((names_in("free") == names{"new"}));
}

BOOST_AUTO_TEST_CASE(what_is_replaced_gets_the_other_name) {
    detail::atomic_replace(path("fresh"), path("old"), true);
    BOOST_TEST((names_in("old") == names{"new"}));
    BOOST_TEST((names_in("fresh") == names{"old"}));
}

BOOST_AUTO_TEST_CASE(a_file_system_that_cannot_exchange_does_it_in_steps) {
    detail::exchange_in_steps(path("fresh"), path("old"));
    BOOST_TEST((names_in("") == names{"fresh", "old"}));
    BOOST_TEST((names_in("old") == names{"new"}));
    BOOST_TEST((names_in("fresh") == names{"old"}));
}

BOOST_AUTO_TEST_CASE(steps_that_fail_are_taken_back) {
    std::filesystem::remove_all(path("fresh"));
    BOOST_CHECK_EXCEPTION(
        detail::exchange_in_steps(path("fresh"), path("old")), error,
        says(errc::io, path("old").string() + ": cannot be replaced: No such file or directory"));
    BOOST_TEST((names_in("") == names{"old"}));
    BOOST_TEST((names_in("old") == names{"old"}));
}

BOOST_AUTO_TEST_CASE(what_is_there_keeps_its_place_unless_it_may_be_replaced) {
    BOOST_CHECK_EXCEPTION(
        detail::atomic_replace(path("fresh"), path("old"), false), error,
        says(errc::already_exists,
             path("old").string() +
                 ": another process has created it meanwhile; give another target"));
    BOOST_TEST((names_in("old") == names{"old"}));
    BOOST_TEST((names_in("fresh") == names{"new"}));
}

BOOST_AUTO_TEST_CASE(files_appear_all_or_none) {
    write_file(path("a"), "was here");
    std::vector<detail::whole_file> files{{path("a"), "new a"}, {path("b"), "new b"}};
    files.push_back({path("none") / "c", "new c"});
    BOOST_CHECK_EXCEPTION(detail::write_whole_files(files), error,
                          says(errc::io, files[2].target.string() + ": " + path("none").string() +
                                             ", its parent directory, does not exist"));
    BOOST_TEST((names_in("") == names{"a", "fresh", "old"}));
    BOOST_TEST(detail::read_text_file(path("a")) == "was here");
    files.back().target = path("old");
    BOOST_CHECK_EXCEPTION(
        detail::write_whole_files(files), error,
        says(errc::io, path("old").string() + ": cannot be written, because it is a directory"));
    BOOST_TEST((names_in("") == names{"a", "fresh", "old"}));
    files.pop_back();
    detail::write_whole_files(files);
    BOOST_TEST((names_in("") == names{"a", "b", "fresh", "old"}));
    BOOST_TEST(detail::read_text_file(path("a")) == "new a");
    BOOST_TEST(detail::read_text_file(path("b")) == "new b");
}

BOOST_AUTO_TEST_CASE(files_in_place_are_taken_back) {
    write_file(path("a"), "was here");
    {
        detail::complete_file a(path("a"), "new a"), b(path("b"), "new b");
        a.put_for_now();
        b.put_for_now();
        BOOST_TEST(detail::read_text_file(path("a")) == "new a");
        BOOST_TEST(detail::read_text_file(path("b")) == "new b");
        b.take_back();
        a.take_back();
    }
    BOOST_TEST((names_in("") == names{"a", "fresh", "old"}));
    BOOST_TEST(detail::read_text_file(path("a")) == "was here");
}

BOOST_AUTO_TEST_CASE(files_before_one_that_cannot_be_put_are_taken_back) {
    write_file(path("a"), "was here");
    std::deque<detail::complete_file> files;
    for (char const* const name : {"a", "b", "c"})
        files.emplace_back(path(name), "new");
    std::filesystem::create_directory(path("c"));
    BOOST_CHECK_EXCEPTION(
        detail::put_all(files), error,
        says(errc::io, path("c").string() + ": cannot be put in place: Is a directory"));
    files.clear();
    BOOST_TEST((names_in("") == names{"a", "c", "fresh", "old"}));
    BOOST_TEST(detail::read_text_file(path("a")) == "was here");
}

BOOST_AUTO_TEST_CASE(two_writers_of_a_file_leave_one_another_theirs) {
    write_file(path("a"), "was here");
    {
        detail::complete_file first(path("a"), "first");
        detail::complete_file second(path("a"), "second");
        first.put_for_now();
        detail::complete_file third(path("a"), "third"); // removes what dead ones have left
        BOOST_TEST(detail::read_text_file(path("a")) == "first");
        first.take_back();
        BOOST_TEST(detail::read_text_file(path("a")) == "was here");
        second.put();
        third.put();
    }
    BOOST_TEST((names_in("") == names{"a", "fresh", "old"}));
    BOOST_TEST(detail::read_text_file(path("a")) == "third");
}

BOOST_AUTO_TEST_CASE(links_are_followed_and_what_is_no_file_stays) {
    write_file(path("a"), "was here");
    std::filesystem::permissions(path("a"), std::filesystem::perms::owner_read |
                                                std::filesystem::perms::owner_write);
    std::filesystem::create_symlink("a", path("link"));
    std::filesystem::create_symlink("later", path("dangling"));
    std::filesystem::create_symlink("round", path("round"));
    detail::write_whole_file(path("link"), "new");
    detail::write_whole_file(path("dangling"), "new");
    BOOST_TEST(std::filesystem::is_symlink(path("link")));
    BOOST_TEST(detail::read_text_file(path("a")) == "new");
    BOOST_TEST(detail::read_text_file(path("later")) == "new");
    auto const mode = std::filesystem::status(path("a")).permissions();
    BOOST_TEST(static_cast<unsigned>(mode) == 0600u);
    BOOST_CHECK_EXCEPTION(detail::write_whole_file(path("round"), "new"), error,
                          says(errc::io, path("round").string() +
                                             ": cannot be written, because its symbolic links "
                                             "form a cycle, or a chain of more than 40"));
    BOOST_CHECK_EXCEPTION(
        detail::write_whole_file("/dev/null", "new"), error,
        says(errc::io,
             "/dev/null: cannot be written, because it exists and is not a regular file"));
}

BOOST_AUTO_TEST_SUITE_END()
