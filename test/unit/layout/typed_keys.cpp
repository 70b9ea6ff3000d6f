// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed_keys.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_typed_keys)

BOOST_AUTO_TEST_CASE(hashes_are_those_of_the_published_function) {
    BOOST_TEST(hashed_key("").hash == 0xcbf29ce484222325u);
    BOOST_TEST(hashed_key("a").hash == 0xaf63dc4c8601ec8cu);
    BOOST_TEST(hashed_key("foobar").hash == 0x85944171f73967e8u);
}

BOOST_AUTO_TEST_CASE(keys_are_found_where_they_stand) {
    std::vector<std::string> texts;
    std::array<hashed_key, 300> keys;
    for (std::size_t i = 0; i < keys.size(); ++i)
        texts.push_back("model.layers." + std::to_string(i) + ".weight");
    for (std::size_t i = 0; i < keys.size(); ++i)
        keys[i] = hashed_key(texts[i]);
    typed_keys<300> const table(keys);
    for (std::size_t i = 0; i < keys.size(); ++i)
        BOOST_TEST(table.find(hashed_key(texts[i])) == i);
    BOOST_TEST(table.find(hashed_key("model.layers.300.weight")) == 300u);
    BOOST_TEST(!table.twice());
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_told) {
    typed_keys<4> const table({hashed_key("a"), hashed_key("b"), hashed_key("a"), hashed_key("b")});
    BOOST_TEST((table.twice() == std::pair<std::size_t, std::size_t>(0, 2)));
    BOOST_TEST(table.find(hashed_key("b")) == 1u);
}

BOOST_AUTO_TEST_CASE(no_keys_find_nothing) {
    typed_keys<0> const table({});
    BOOST_TEST(table.find(hashed_key("a")) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
