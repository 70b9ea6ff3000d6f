// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_AGREED_ERROR_HPP
#define RESHARD_TEST_SUPPORT_AGREED_ERROR_HPP

#include <reshard/core/error.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/serialization/string.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

/// \file
/// What fails on one rank fails on all.

namespace reshard::test {

/// What `work` throws, code and words; it has to be the same on every rank.
template <class Work>
std::string agreed_error(boost::mpi::communicator const& world, Work&& work) {
    std::string text = "nothing was thrown";
    try {
        work();
    } catch (error const& problem) {
        text = std::string(name(problem.code())) + ": " + problem.what();
    }
    std::vector<std::string> all;
    boost::mpi::all_gather(world, text, all);
    for (std::string const& other : all)
        BOOST_TEST(other == text);
    return text;
}

} // namespace reshard::test

#endif
