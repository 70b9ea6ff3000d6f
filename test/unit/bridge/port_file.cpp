// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/port_file.hpp>

#include "support/child_process.hpp"
#include "support/says.hpp"
#include "unit/bridge/weights.hpp"
#include "unit/format/temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

namespace {

port_content some_content() {
    port_segment const memory{{segment_kind::unnamed, "/proc/7/fd/3", 5, 6}, 4096, {7, 8, 9}};
    return {"the layout", "", memory, {memory, memory}};
}

std::string bytes_of(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_port_file)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_and_goes_with_its_writer) {
    port_path const path;
    BOOST_TEST(!read_port(path));
    BOOST_TEST(!read_port_head(path));
    {
        written_port const written(path, some_content(), 77, 0);
        auto const read = read_port(path);
        BOOST_TEST_REQUIRE(read.has_value());
        BOOST_TEST(read->head.token == 77u);
        BOOST_TEST((read_content(*read) == some_content()));
        BOOST_TEST(read_port_head(path)->token == 77u);
        BOOST_TEST(!std::filesystem::exists(path->string() + ".new"));
    }
    BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_AUTO_TEST_CASE(versions_that_were_begun_are_told_to_the_next_writer) {
    port_path const path;
    written_port first(path, some_content(), 1, 10);
    BOOST_TEST(first.begun() == 10u);
    first.set_begun(12);
    BOOST_TEST(read_port(path)->head.begun == 12u);
    written_port const second(path, some_content(), 2, 3);
    BOOST_TEST(second.begun() == 12u);
    first.set_begun(13); // of a file that has no name any more
    first = {};
    BOOST_TEST(read_port(path)->head.token == 2u);
    BOOST_TEST(read_port(path)->head.begun == 12u);
}

BOOST_AUTO_TEST_CASE(a_count_that_is_kept_outlives_files_that_go_until_it_is_removed) {
    port_path const path;
    std::filesystem::path const count = count_path(path);
    BOOST_TEST(count == path->string() + ".versions");
    written_port(path, some_content(), 1, 10);
    BOOST_TEST(!std::filesystem::exists(count)); // nobody has asked for it
    {
        written_port nothing(path, some_content(), 2, 0);
        nothing.keep_count();
    }
    BOOST_TEST(!std::filesystem::exists(count)); // no number yet
    {
        written_port first(path, some_content(), 3, 0);
        first.keep_count();
        first.set_begun(12);
        BOOST_TEST(!std::filesystem::exists(count));
    }
    BOOST_TEST(!std::filesystem::exists(path));
    BOOST_TEST(std::filesystem::exists(count));
    BOOST_TEST(!std::filesystem::exists(count.string() + ".new"));
    {
        written_port second(path, some_content(), 4, 3);
        BOOST_TEST(second.begun() == 12u);
        BOOST_TEST(read_port(path)->head.begun == 12u);
        second.set_begun(13); // and leaves that, without being asked
    }
    {
        written_port third(path, some_content(), 5, 20);
        BOOST_TEST(third.begun() == 20u);
        written_port fourth(path, some_content(), 6, 0); // takes the place of the third
        BOOST_TEST(fourth.begun() == 20u);
        fourth.set_begun(21);
    } // the third goes last, and leaves nothing
    BOOST_TEST(written_port(path, some_content(), 7, 0).begun() == 21u);
    std::filesystem::remove(count);
    BOOST_TEST(written_port(path, some_content(), 8, 0).begun() == 0u);
    BOOST_TEST(!std::filesystem::exists(count));
}

BOOST_AUTO_TEST_CASE(another_file_in_the_place_of_the_count_is_refused_and_stays) {
    port_path const path;
    std::filesystem::path const count = count_path(path);
    std::ofstream(count) << "version 7 was the best";
    BOOST_CHECK_EXCEPTION(
        written_port(path, some_content(), 1, 0), error,
        says(errc::already_exists,
             count.string() +
                 ": the existing file is not a port file; remove it, or give another path"));
    BOOST_TEST(bytes_of(count) == "version 7 was the best");
    BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_AUTO_TEST_CASE(what_a_writer_that_was_killed_has_left_does_not_matter) {
    port_path const path;
    std::ofstream(path->string() + ".new") << "half a";
    written_port const written(path, some_content(), 1, 0);
    BOOST_TEST((read_content(*read_port(path)) == some_content()));
    BOOST_TEST(!std::filesystem::exists(path->string() + ".new"));
}

BOOST_AUTO_TEST_CASE(names_of_memory_go_where_their_maker_has_ended) {
    port_path const path;
    shared_segment const segment = shared_segment::create(4096, segment_kind::named);
    shared_segment const left = shared_segment::create(4096, segment_kind::named);
    process_mark ended = this_process();
    ++ended.started;
    port_content content = some_content();
    content.ranks[0] = {segment.address(), 4096, this_process()};
    content.ranks[1] = {left.address(), 4096, ended};
    written_port first(path, content, 1, 0);
    written_port const second(path, some_content(), 2, 0);
    shared_segment::open(segment.address(), 4096);
    BOOST_CHECK_THROW(shared_segment::open(left.address(), 4096), error);
}

BOOST_AUTO_TEST_CASE(other_files_are_refused_and_stay) {
    port_path const path;
    std::ofstream(*path.operator->()) << "the weights of a week";
    BOOST_CHECK_EXCEPTION(
        read_port(path), error,
        says(errc::corrupt_file,
             path->string() +
                 ": this is not a bridge's port file; give the path that the source was given"));
    BOOST_CHECK_EXCEPTION(
        written_port(path, some_content(), 1, 0), error,
        says(errc::already_exists,
             path->string() +
                 ": the existing file is not a port file; remove it, or give another path"));
    BOOST_TEST(bytes_of(path) == "the weights of a week");
}

BOOST_AUTO_TEST_CASE(a_file_that_was_cut_or_damaged_is_refused_and_replaced) {
    port_path const path;
    written_port const written(path, some_content(), 1, 0);
    std::string const text = bytes_of(path);
    for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
        std::ofstream(*path.operator->()) << text.substr(0, bytes);
        BOOST_CHECK_EXCEPTION(read_port(path), error,
                              mentions(errc::corrupt_file, bytes < 8 ? "not a bridge's port file"
                                                                     : "is truncated: it has "));
    }
    for (std::size_t index = 48; index < text.size(); ++index) {
        std::string damaged = text;
        damaged[index] = static_cast<char>(damaged[index] ^ 1);
        std::ofstream(*path.operator->()) << damaged;
        BOOST_CHECK_EXCEPTION(read_port(path), error, mentions(errc::corrupt_file, "is damaged"));
    }
    written_port const next(path, some_content(), 2, 0);
    BOOST_TEST(read_port(path)->head.token == 2u);
}

BOOST_AUTO_TEST_CASE(another_format_is_refused_by_number) {
    port_path const path;
    written_port const written(path, some_content(), 1, 0);
    std::string other = bytes_of(path);
    other[8] = 9;
    std::ofstream(*path.operator->()) << other;
    BOOST_CHECK_EXCEPTION(
        read_port(path), error,
        says(errc::unsupported,
             path->string() + ": the port file has format 9, but this library supports format 1; "
                              "build both programs with the same version of the library"));
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_refused_and_not_waited_for) {
    port_path const path;
    BOOST_TEST_REQUIRE(::mkfifo(path->c_str(), 0600) == 0);
    auto const is_refused = says(errc::corrupt_file, path->string() + ": this is not a file");
    BOOST_CHECK_EXCEPTION(read_port(path), error, is_refused);
    BOOST_CHECK_EXCEPTION(written_port(path, some_content(), 1, 0), error, is_refused);
    BOOST_TEST(std::filesystem::is_fifo(*path.operator->()));
    std::filesystem::remove(*path.operator->());
    BOOST_TEST(!read_port(path));
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_not_there_is_named) {
    BOOST_CHECK_EXCEPTION(written_port("/nowhere/port", some_content(), 1, 0), error,
                          says(errc::io, "/nowhere/port: /nowhere, its parent directory, does not "
                                         "exist"));
}

BOOST_AUTO_TEST_CASE(a_path_that_is_empty_is_said_so) {
    BOOST_CHECK_EXCEPTION(
        written_port("", some_content(), 1, 0), error,
        says(errc::usage,
             "the path of a bridge's port file is empty; give both programs the same file path"));
}

BOOST_AUTO_TEST_SUITE_END()
