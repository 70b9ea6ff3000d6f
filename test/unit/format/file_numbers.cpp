// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/hf_index.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(file_numbers)

namespace {

std::map<std::string, std::string> says(std::string const& text) {
    return {{"RESHARD_FILES", text}};
}

auto with(errc code, std::string const& text) {
    return [=](error const& thrown) {
        BOOST_TEST(thrown.what() == text);
        return thrown.code() == code;
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(a_file_says_which_of_how_many_it_is) {
    BOOST_TEST(file_number_text(2, 6) == "3 of 6");
}

BOOST_AUTO_TEST_CASE(all_files_are_complete_in_any_order) {
    file_counter counter;
    counter.add(says("2 of 2"), "b");
    counter.add(says("1 of 2"), "a");
    BOOST_CHECK_NO_THROW(counter.check_complete("dir"));
}

BOOST_AUTO_TEST_CASE(files_of_others_do_not_count) {
    file_counter counter;
    counter.add({{"format", "pt"}}, "a");
    BOOST_CHECK_NO_THROW(counter.check_complete("dir"));
}

BOOST_AUTO_TEST_CASE(a_lost_file_is_missed) {
    file_counter counter;
    counter.add(says("1 of 3"), "a");
    counter.add(says("3 of 3"), "c");
    BOOST_CHECK_EXCEPTION(counter.check_complete("dir"), error,
                          with(errc::missing_file, "dir: file 2 of 3 is missing: found 2, and "
                                                   "a says how many there were"));
}

BOOST_AUTO_TEST_CASE(files_that_count_differently_are_refused) {
    file_counter counter;
    counter.add(says("1 of 3"), "a");
    BOOST_CHECK_EXCEPTION(
        counter.add(says("2 of 4"), "b"), error,
        with(errc::corrupt_file,
             "b: its metadata says that it is one of 4 files, but a is one of 3"));
    BOOST_CHECK_EXCEPTION(counter.add(says("1 of 3"), "c"), error,
                          with(errc::corrupt_file, "c: its metadata says that it is number 1 of 3 "
                                                   "files, but another file has the same number"));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_is_refused) {
    for (std::string const text :
         {"", "1", "0 of 2", "3 of 2", "1 of", "1 of 2x", "a of b", "1of2"}) {
        file_counter counter;
        BOOST_CHECK_EXCEPTION(counter.add(says(text), "f"), error,
                              with(errc::corrupt_file, "f: RESHARD_FILES is '" + text +
                                                           "', but should look like '1 of 2'"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
