// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/agree.hpp>

#include "support/says.hpp"

#include <reshard/group/solo.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(group_agree_digest)

namespace {

/// The first of several ranks; the others repeat its message.
struct digest_group {
    std::vector<std::string> others;

    int rank() const { return 0; }
    int size() const { return static_cast<int>(others.size()) + 1; }
    std::vector<std::string> all_gather(std::string const& bytes) const {
        std::vector<std::string> all{bytes};
        all.insert(all.end(), others.begin(), others.end());
        return all;
    }
};

std::string digest_text(std::string const& digits) { return std::string(1, '\0') + digits; }

} // namespace

BOOST_AUTO_TEST_CASE(equal_digests_pass) {
    agree_on_digest(solo(), "a structure", 7);
    agree_on_digest(digest_group{{digest_text("7"), digest_text("7")}}, "a structure", 7);
}

BOOST_AUTO_TEST_CASE(digests_that_differ_are_named_with_their_ranks) {
    BOOST_CHECK_EXCEPTION(
        agree_on_digest(digest_group{{digest_text("7"), digest_text("8")}}, "a structure", 7),
        error,
        says(errc::ranks_disagree, "rank 0 has a structure with digest 7, but rank 2 has digest 8; "
                                   "it must be equal on every rank"));
}

BOOST_AUTO_TEST_CASE(an_error_of_a_rank_comes_first) {
    error const problem(errc::corrupt_file, "it is cut off");
    BOOST_CHECK_EXCEPTION(agree_on_digest(solo(), "a structure", 7, problem), error,
                          says(errc::corrupt_file, "it is cut off"));
    BOOST_CHECK_EXCEPTION(agree_on_digest(digest_group{{digest_text("8"), detail::encode(problem)}},
                                          "a structure", 7),
                          error, says(errc::corrupt_file, "it is cut off"));
}

BOOST_AUTO_TEST_SUITE_END()
