// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(bind_plan_cache)

BOOST_AUTO_TEST_CASE(what_is_kept_is_found) {
    digest_cache<std::string> kept;
    BOOST_TEST(!kept.find(7));
    kept.add(7, std::string("plan"));
    BOOST_REQUIRE(kept.find(7));
    BOOST_TEST(*kept.find(7) == "plan");
    BOOST_TEST(kept.misses() == 1u);
    BOOST_TEST(kept.hits() == 2u);
    BOOST_TEST(!kept.find(8));
    BOOST_TEST(kept.misses() == 2u);
    kept.forget(7);
    BOOST_TEST(kept.size() == 0u);
}

BOOST_AUTO_TEST_CASE(what_was_used_longest_ago_goes_first) {
    digest_cache<int> kept(2);
    kept.add(1, 10);
    kept.add(2, 20);
    BOOST_TEST(*kept.find(1) == 10);
    kept.add(3, 30);
    BOOST_TEST(!kept.find(2));
    BOOST_TEST(*kept.find(1) == 10);
    BOOST_TEST(*kept.find(3) == 30);
    kept.add(3, 31);
    BOOST_TEST(*kept.find(3) == 31);
    BOOST_TEST(kept.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_value_outlives_its_place) {
    digest_cache<int> kept(1);
    auto const first = kept.add(1, 10);
    kept.add(2, 20);
    BOOST_TEST(*first == 10);
}

BOOST_AUTO_TEST_SUITE_END()
