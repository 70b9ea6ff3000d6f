// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_SAYS_HPP
#define RESHARD_TEST_SUPPORT_SAYS_HPP

#include <reshard/core/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

/// \file
/// The expectation of a test for an error.

namespace reshard::test {

/// A predicate for BOOST_CHECK_EXCEPTION: the error has that code and says exactly that.
inline auto says(errc code, std::string const& text) {
    return [=](error const& problem) {
        BOOST_TEST(problem.what() == text);
        BOOST_TEST(name(problem.code()) == name(code));
        return problem.code() == code && problem.what() == text;
    };
}

/// The same for one that has that code and says that among other things.
inline auto mentions(errc code, std::string const& text) {
    return [=](error const& problem) {
        BOOST_TEST(std::string_view(problem.what()).find(text) != std::string_view::npos,
                   problem.what() << " does not mention " << text);
        BOOST_TEST(name(problem.code()) == name(code));
        return problem.code() == code;
    };
}

} // namespace reshard::test

#endif
