// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/data_loss.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_downstream)

namespace {

constexpr std::uint32_t nowhere = aoa::detail::downstream::none;

/// The first statement after a source tensor that has an attribute.
std::uint32_t first_behind(char const* text, char const* key) {
    aoa::program const code = parsed(text);
    aoa::detail::name_chain const chain(code, code.statements());
    auto const has_attribute = [&](aoa::statement const& statement) {
        return statement.attributes != 0;
    };
    return aoa::detail::downstream(code, chain, has_attribute).of(key);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_statement_may_be_behind_others) {
    BOOST_TEST(first_behind("a -> b\nb -> c\nc -> d, dtype='float16'", "a") == 2u);
    BOOST_TEST(first_behind("a -> b, dtype='float16'\nb -> c, dtype='float32'", "a") == 0u);
}

BOOST_AUTO_TEST_CASE(of_several_ways_the_one_with_the_first_statement_counts) {
    BOOST_TEST(first_behind("a -> b\na -> c, axis=0\nb -> d, axis=0", "a") == 1u);
    BOOST_TEST(first_behind("a, x -> c, axis=0\nx -> d", "x") == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_not_behind_a_tensor_is_not_found) {
    BOOST_TEST(first_behind("a -> b\nx -> c, axis=0", "a") == nowhere);
    BOOST_TEST(first_behind("a -> b, axis=0", "b") == nowhere); // the source's b is not read
    BOOST_TEST(first_behind("a -> b, axis=0", "zz") == nowhere);
    BOOST_TEST(first_behind("", "a") == nowhere);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_bound_again_is_another_tensor) {
    BOOST_TEST(first_behind("a -> b\nx -> b\nb -> c, axis=0", "a") == nowhere);
    BOOST_TEST(first_behind("a -> b\nx -> b\nb -> c, axis=0", "x") == 2u);
    BOOST_TEST(first_behind("x -> a\na -> c, axis=0", "a") == nowhere);
}

BOOST_AUTO_TEST_SUITE_END()
