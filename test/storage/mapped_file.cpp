// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/mapped_file.hpp>

#include <reshard/group/agree.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <csignal>
#include <string>

#include <sys/resource.h>

/// \file
/// Files as memory.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// A file name of this rank alone.
class mapped_file_fixture {
public:
    std::filesystem::path file() const { return all / std::to_string(world().rank()); }

private:
    shared_directory all;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_mapped_file, mapped_file_fixture)

BOOST_AUTO_TEST_CASE(what_is_written_into_memory_stands_in_the_file) {
    mapped_output output(file(), 6);
    BOOST_TEST(output.bytes() == 6u);
    BOOST_TEST(read_file(file()) == std::string(6, '\0'));
    std::fill_n(output.data() + 1, 3, std::byte{'x'});
    output.sync();
    BOOST_TEST(read_file(file()) == std::string("\0xxx\0\0", 6));
}

BOOST_AUTO_TEST_CASE(a_file_is_read_as_memory) {
    write_file(file(), "abc");
    mapped_input input(file());
    BOOST_TEST_REQUIRE(input.bytes() == 3u);
    mapped_input const moved = std::move(input);
    BOOST_TEST((moved.data()[2] == std::byte{'c'}));
}

BOOST_AUTO_TEST_CASE(a_file_without_bytes_has_no_memory) {
    mapped_output(file(), 0).sync();
    mapped_input const input(file());
    BOOST_TEST(input.bytes() == 0u);
    BOOST_TEST(input.data() == nullptr);
}

BOOST_AUTO_TEST_CASE(a_limit_on_the_size_of_files_is_an_error_and_no_signal) {
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit const limit{4096, before.rlim_max};
    auto const handler = ::signal(SIGXFSZ, SIG_DFL);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    local_error const problem = attempt([&] { mapped_output(file(), 8192); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    BOOST_TEST_REQUIRE(problem.has_value());
    BOOST_TEST(problem->what() == file().string() + ": cannot reserve 8192 bytes: File too large");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_there_is_not_written) {
    write_file(file(), "abc");
    BOOST_CHECK_EXCEPTION(mapped_output(file(), 2), error,
                          says(errc::io, file().string() + ": cannot be created: File exists"));
    BOOST_TEST(read_file(file()) == "abc");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_not_read) {
    BOOST_CHECK_EXCEPTION(mapped_input{file()}, error,
                          says(errc::missing_file, file().string() + ": there is no such file"));
    auto const below = file() / "file";
    BOOST_CHECK_EXCEPTION(
        mapped_output(below, 1), error,
        says(errc::io, below.string() + ": cannot be created: No such file or directory"));
}

BOOST_AUTO_TEST_CASE(more_bytes_than_any_disk_has_cannot_be_reserved) {
    std::size_t const bytes = std::size_t{1} << 62;
    BOOST_CHECK_EXCEPTION(mapped_output(file(), bytes), error,
                          says(errc::io, file().string() + ": cannot reserve " +
                                             std::to_string(bytes) + " bytes: File too large"));
}

BOOST_AUTO_TEST_SUITE_END()
