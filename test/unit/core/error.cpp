// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(failing_throws_the_code_and_the_sentence) {
    try {
        fail(errc::shape_mismatch, "extent 10 into 4 parts");
    } catch (error const& problem) {
        BOOST_TEST((problem.code() == errc::shape_mismatch));
        BOOST_TEST(std::string(problem.what()) == "extent 10 into 4 parts");
        return;
    }
    BOOST_ERROR("fail returned");
}

BOOST_AUTO_TEST_CASE(an_error_is_a_runtime_error) {
    BOOST_CHECK_THROW(fail(errc::io, "disk full"), std::runtime_error);
}

std::string sentence_of(std::string const& text) {
    try {
        fail(errc::io, text);
    } catch (error const& problem) {
        return problem.what();
    }
}

BOOST_AUTO_TEST_CASE(no_terminal_obeys_a_sentence) {
    BOOST_TEST(sentence_of("key '\x1b[31m\r\x7f'\n\tnext") == "key '\\x1b[31m\\x0d\\x7f'\n\tnext");
    BOOST_TEST(sentence_of("\xc2\x9b is CSI, \xc2\xa0 and \xc3\xa9 are text") ==
               "\\x9b is CSI, \xc2\xa0 and \xc3\xa9 are text");
}

BOOST_AUTO_TEST_CASE(a_sentence_has_an_end) {
    std::string const long_text = "begin " + std::string(100'000, 'x') + " end";
    std::string const shown = sentence_of(long_text);
    BOOST_TEST(shown.size() <= 65'536u);
    BOOST_TEST(shown.starts_with("begin xxx"));
    BOOST_TEST(shown.ends_with("xxx end"));
    BOOST_TEST(shown.find("x ... (34602 bytes more) ... x") != shown.npos);
    BOOST_TEST(sentence_of(std::string(65'536, 'x')) == std::string(65'536, 'x'));
}

BOOST_AUTO_TEST_CASE(one_is_singular) {
    BOOST_TEST(detail::counted(1, "rank") == "1 rank");
    BOOST_TEST(detail::counted(0, "rank") == "0 ranks");
    BOOST_TEST(detail::counted(std::size_t{12}, "more key") == "12 more keys");
    BOOST_TEST(detail::counted(-1, "element") == "-1 elements");
    BOOST_TEST(detail::counted(1u, "axis") == "1 axis");
    BOOST_TEST(detail::counted(3u, "axis") == "3 axes");
}

BOOST_AUTO_TEST_CASE(every_code_has_its_own_name) {
    BOOST_TEST(name(errc::syntax) == "syntax");
    BOOST_TEST(name(errc::deadline) == "deadline");
    BOOST_TEST(name(errc::unknown_key) == "unknown_key");
    BOOST_TEST(name(errc::bad_macro) == "bad_macro");
    BOOST_TEST(name(errc::shape_mismatch) == "shape_mismatch");
    BOOST_TEST(name(errc::dtype_mismatch) == "dtype_mismatch");
    BOOST_TEST(name(errc::not_covered) == "not_covered");
    BOOST_TEST(name(errc::overlap) == "overlap");
    BOOST_TEST(name(errc::overflow) == "overflow");
    BOOST_TEST(name(errc::limit_exceeded) == "limit_exceeded");
    BOOST_TEST(name(errc::bad_layout) == "bad_layout");
    BOOST_TEST(name(errc::memory_overlap) == "memory_overlap");
    BOOST_TEST(name(errc::ranks_disagree) == "ranks_disagree");
    BOOST_TEST(name(errc::unsupported) == "unsupported");
    BOOST_TEST(name(errc::not_invertible) == "not_invertible");
    BOOST_TEST(name(errc::usage) == "usage");
    BOOST_TEST(name(errc::corrupt_file) == "corrupt_file");
    BOOST_TEST(name(errc::missing_file) == "missing_file");
    BOOST_TEST(name(errc::already_exists) == "already_exists");
    BOOST_TEST(name(errc::io) == "io");
}

BOOST_AUTO_TEST_SUITE_END()
