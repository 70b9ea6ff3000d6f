// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/file.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(os_file)

namespace {

/// A file that no directory shows, of the bytes "reshard".
detail::file_descriptor word_in_a_file() {
    detail::file_descriptor file(::memfd_create("word", MFD_CLOEXEC));
    BOOST_REQUIRE(file.is_open());
    BOOST_REQUIRE_EQUAL(::write(file.number(), "reshard", 7), 7);
    return file;
}

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

} // namespace

BOOST_AUTO_TEST_CASE(a_file_is_closed_by_the_last_that_has_it) {
    int number = -1;
    {
        detail::file_descriptor first = word_in_a_file();
        number = first.number();
        detail::file_descriptor const second = std::move(first);
        BOOST_TEST(!first.is_open());
        BOOST_TEST(second.number() == number);
        BOOST_TEST(is_open(number));
    }
    BOOST_TEST(!is_open(number));
}

BOOST_AUTO_TEST_CASE(a_mapping_outlives_its_file_and_is_what_the_file_holds) {
    detail::mapping_handle memory;
    BOOST_TEST(memory.data() == nullptr);
    {
        detail::file_descriptor const file = word_in_a_file();
        memory = detail::mapping_handle(file, 7, PROT_READ, "a word");
    }
    BOOST_TEST(memory.bytes() == 7);
    BOOST_TEST(std::string(reinterpret_cast<char const*>(memory.data()), 7) == "reshard");
}

BOOST_AUTO_TEST_CASE(no_bytes_have_no_memory) {
    BOOST_TEST(detail::mapping_handle(word_in_a_file(), 0, PROT_READ, "a word").data() == nullptr);
}

BOOST_AUTO_TEST_CASE(what_the_system_refuses_is_an_error_that_names_the_file) {
    BOOST_CHECK_EXCEPTION(detail::file_descriptor::open("/no/such/file", O_RDONLY), error,
                          says(errc::missing_file, "/no/such/file: no such file"));
    BOOST_CHECK_EXCEPTION(
        detail::file_descriptor::open("/no/such/file", O_RDWR | O_CREAT), error,
        says(errc::io, "/no/such/file: cannot be created: No such file or directory"));
    BOOST_CHECK_EXCEPTION(
        detail::mapping_handle(detail::file_descriptor(), 7, PROT_READ, "a word"), error,
        says(errc::io, "a word: cannot be mapped into memory: Bad file descriptor"));
}

BOOST_AUTO_TEST_SUITE_END()
