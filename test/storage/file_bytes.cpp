// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/file_bytes.hpp>

#include <reshard/group/agree.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

#include <csignal>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>

/// \file
/// The bytes of files, by position and as memory.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

std::span<std::byte const> as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// A file name of this rank alone.
class file_bytes_fixture {
public:
    std::filesystem::path file() const { return all / std::to_string(world().rank()); }

private:
    shared_directory all;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_file_bytes, file_bytes_fixture)

BOOST_AUTO_TEST_CASE(what_is_written_at_a_position_stands_there) {
    output_file output = output_file::create(file(), 6);
    BOOST_TEST(read_file(file()) == std::string(6, '\0'));
    output.write(1, as_bytes("xxx"));
    output.sync();
    BOOST_TEST(read_file(file()) == std::string("\0xxx\0\0", 6));
    output_file::open(file(), 6).write(5, as_bytes("y"));
    BOOST_TEST(read_file(file()) == std::string("\0xxx\0y", 6));
}

BOOST_AUTO_TEST_CASE(bytes_are_read_from_a_position_on) {
    write_file(file(), "abcdef");
    input_file const input(file());
    BOOST_TEST(input.facts().bytes == 6u);
    std::string text(3, ' ');
    input.read(2, std::as_writable_bytes(std::span(text)));
    BOOST_TEST(text == "cde");
}

BOOST_AUTO_TEST_CASE(a_file_that_ends_too_early_is_an_error_and_no_signal) {
    write_file(file(), "abcdef");
    input_file const input(file());
    write_file(file(), "abc");
    std::string text(6, ' ');
    BOOST_CHECK_EXCEPTION(
        input.read(0, std::as_writable_bytes(std::span(text))), error,
        says(errc::corrupt_file, file().string() + ": ends at byte 3, 3 bytes too early: it became "
                                                   "shorter after it was opened"));
    BOOST_CHECK_EXCEPTION( // from after its end on
        input.read(4, std::as_writable_bytes(std::span(text).first(2))), error,
        says(errc::corrupt_file, file().string() + ": ends at byte 3, 3 bytes too early: it became "
                                                   "shorter after it was opened"));
}

BOOST_AUTO_TEST_CASE(a_file_that_was_written_to_or_replaced_is_another_one) {
    write_file(file(), "abc");
    file_identity const before = input_file(file()).facts();
    BOOST_TEST((input_file(file()).facts() == before));
    std::filesystem::last_write_time(file(), std::filesystem::file_time_type{});
    BOOST_TEST((input_file(file()).facts() != before));
    file_identity const older = input_file(file()).facts();
    std::filesystem::remove(file());
    write_file(file(), "abc");
    std::filesystem::last_write_time(file(), std::filesystem::file_time_type{});
    write_file(file().string() + "-other", "abc");
    std::filesystem::rename(file().string() + "-other", file());
    BOOST_TEST((input_file(file()).facts() != older));
}

BOOST_AUTO_TEST_CASE(a_file_is_read_as_memory) {
    write_file(file(), "abc");
    mapped_input input(file());
    BOOST_TEST_REQUIRE(input.bytes() == 3u);
    mapped_input const moved = std::move(input);
    BOOST_TEST((moved.data()[2] == std::byte{'c'}));
}

BOOST_AUTO_TEST_CASE(a_file_without_bytes_has_no_memory) {
    output_file::create(file(), 0).sync();
    mapped_input const input(file());
    BOOST_TEST(input.bytes() == 0u);
    BOOST_TEST(input.data() == nullptr);
}

BOOST_AUTO_TEST_CASE(bytes_in_memory_are_seen_until_someone_wants_to_write) {
    std::size_t const bytes = (std::size_t{9} << 20) + 100; // more than are mapped at once
    std::string text(bytes, ' ');
    for (std::size_t i = 0; i < bytes; ++i)
        text[i] = static_cast<char>('a' + (i * i / 7 + i) % 26);
    write_file(file(), text);
    input_file const input(file());
    auto const try_to_write = [&] { return ::open(file().c_str(), O_WRONLY | O_NONBLOCK); };
    {
        leased_pages pages(input);
        if (!pages.is_leased())
            return; // a file system without leases, or in memory
        for (byte_run const run :
             {byte_run{0, 1}, byte_run{4000, 9000}, byte_run{bytes - 1, bytes},
              byte_run{5000000, 8388609}, byte_run{1, bytes}, byte_run{7, 9}}) {
            std::byte const* const found = pages.find(run);
            BOOST_TEST_REQUIRE(found);
            BOOST_TEST((std::string_view(reinterpret_cast<char const*>(found), run.size()) ==
                        std::string_view(text).substr(run.begin, run.size())));
            BOOST_TEST(pages.is_in_memory(run.begin));
        }
        BOOST_TEST(!pages.find({0, bytes + 1}));
        BOOST_TEST(!pages.find({3, 3}));
        BOOST_TEST(!pages.is_in_memory(bytes));
        BOOST_TEST(pages.find({3, 4}));
        BOOST_TEST(try_to_write() < 0); // who wants to write would wait
        BOOST_TEST(!pages.is_leased());
        BOOST_TEST(!pages.find({3, 4}));
        BOOST_TEST(!pages.is_in_memory(3));
        file_descriptor const writer(try_to_write());
        BOOST_TEST(writer.is_open());
        BOOST_TEST(!leased_pages(input).is_leased());
    }
    leased_pages again(input);
    BOOST_TEST(again.is_leased());
}

BOOST_AUTO_TEST_CASE(a_limit_on_the_size_of_files_is_an_error_and_no_signal) {
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit const limit{4096, before.rlim_max};
    auto const handler = ::signal(SIGXFSZ, SIG_DFL);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    local_error const problem = attempt([&] { output_file::create(file(), 8192); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    BOOST_TEST_REQUIRE(problem.has_value());
    BOOST_TEST(problem->what() == file().string() + ": cannot reserve 8192 bytes: File too large");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_there_is_not_written) {
    write_file(file(), "abc");
    BOOST_CHECK_EXCEPTION(output_file::create(file(), 2), error,
                          says(errc::io, file().string() + ": cannot be created: File exists"));
    BOOST_TEST(read_file(file()) == "abc");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_not_read) {
    BOOST_CHECK_EXCEPTION(mapped_input{file()}, error,
                          says(errc::missing_file, file().string() + ": no such file"));
    auto const below = file() / "file";
    BOOST_CHECK_EXCEPTION(
        output_file::create(below, 1), error,
        says(errc::io, below.string() + ": cannot be created: No such file or directory"));
}

BOOST_AUTO_TEST_CASE(more_bytes_than_any_disk_has_cannot_be_reserved) {
    std::size_t const bytes = std::size_t{1} << 62;
    BOOST_CHECK_EXCEPTION(output_file::create(file(), bytes), error,
                          says(errc::io, file().string() + ": cannot reserve " +
                                             std::to_string(bytes) + " bytes: File too large"));
}

BOOST_AUTO_TEST_SUITE_END()
