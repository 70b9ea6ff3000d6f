// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/source_indices.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_equal_classes)

namespace {

using numbers = std::vector<std::uint32_t>;

equal_classes classes(std::vector<std::string> const& things, std::uint64_t digest_mask) {
    std::vector<std::uint64_t> digests;
    for (std::string const& thing : things)
        digests.push_back(static_cast<std::uint64_t>(thing[0]) & digest_mask);
    return classify(digests,
                    [&](std::uint32_t a, std::uint32_t b) { return things[a] == things[b]; });
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_things_have_one_number) {
    for (std::uint64_t const mask : {~0ull, 0ull}) { // good digests, and one for all
        auto const match = classes({"b", "a", "b", "c", "a", "b"}, mask);
        BOOST_TEST(match.representative.size() == 3u);
        BOOST_TEST(match.class_of[0] == match.class_of[2]);
        BOOST_TEST(match.class_of[0] == match.class_of[5]);
        BOOST_TEST(match.class_of[1] == match.class_of[4]);
        BOOST_TEST(match.class_of[0] != match.class_of[1]);
        BOOST_TEST(match.class_of[3] != match.class_of[0]);
        BOOST_TEST(match.class_of[3] != match.class_of[1]);
        for (std::uint32_t i = 0; i < 3; ++i)
            BOOST_TEST(match.class_of[match.representative[i]] == i);
    }
}

BOOST_AUTO_TEST_CASE(equal_digests_are_not_enough) {
    auto const match = classes({"ax", "ay", "ax"}, ~0ull);
    BOOST_TEST(match.representative.size() == 2u);
    BOOST_TEST(match.class_of[0] == match.class_of[2]);
    BOOST_TEST(match.class_of[0] != match.class_of[1]);
}

BOOST_AUTO_TEST_CASE(classes_are_numbered_as_they_come) {
    auto const match = classes({"b", "a", "b", "c"}, ~0ull);
    BOOST_TEST(match.class_of == numbers({0, 1, 0, 2}), boost::test_tools::per_element());
    BOOST_TEST(match.representative == numbers({0, 1, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(many_classes_keep_their_numbers) {
    std::vector<std::uint64_t> digests; // 1,000 things of 500 kinds, of which pairs share a digest
    for (std::uint64_t i = 0; i < 1000; ++i)
        digests.push_back(i % 500 / 2);
    auto const match =
        classify(digests, [](std::uint32_t a, std::uint32_t b) { return a % 500 == b % 500; });
    BOOST_TEST(match.representative.size() == 500u);
    for (std::uint32_t i = 0; i < 1000; ++i)
        BOOST_TEST(match.class_of[i] == i % 500);
}

BOOST_AUTO_TEST_CASE(no_things_are_no_classes) {
    auto const match = classes({}, 0);
    BOOST_TEST(match.class_of.empty());
    BOOST_TEST(match.representative.empty());
}

BOOST_AUTO_TEST_SUITE_END()
