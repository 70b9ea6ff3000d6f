// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/digest.hpp>

#include <boost/test/unit_test.hpp>

#include <set>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(hashing)

namespace {

template <class... Things>
std::uint64_t hash_of(Things const&... things) {
    hasher hash;
    (hash.add(things), ...);
    return hash.value();
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_things_have_equal_hashes) {
    std::string_view const key = "model.embed_tokens.weight";
    BOOST_TEST(hash_of(key, std::uint64_t{3}) == hash_of(key, std::uint64_t{3}));
}

BOOST_AUTO_TEST_CASE(order_and_every_word_matter) {
    using word = std::uint64_t;
    BOOST_TEST(hash_of(word{1}, word{2}) != hash_of(word{2}, word{1}));
    BOOST_TEST(hash_of(word{0}) != hash_of());
    BOOST_TEST(hash_of(word{0}) != hash_of(word{0}, word{0}));
}

BOOST_AUTO_TEST_CASE(texts_do_not_run_into_each_other) {
    using text = std::string_view;
    BOOST_TEST(hash_of(text("ab"), text("c")) != hash_of(text("a"), text("bc")));
    BOOST_TEST(hash_of(text("")) != hash_of());
    BOOST_TEST(hash_of(text("12345678")) != hash_of(text("123456789")));
    BOOST_TEST(hash_of(text("12345678")) != hash_of(text("02345678")));
    BOOST_TEST(hash_of(text("a")) != hash_of(text("\0a", 2)));
}

BOOST_AUTO_TEST_CASE(numbers_do_not_run_into_each_other) {
    auto const shape = [](index_vector const& numbers) {
        return std::span<index_t const>(numbers);
    };
    index_vector const two{2, 3}, values{2}, three{3}, swapped{3, 2};
    BOOST_TEST(hash_of(shape(two)) != hash_of(shape(swapped)));
    BOOST_TEST(hash_of(shape(two)) != hash_of(shape(values), shape(three)));
}

BOOST_AUTO_TEST_CASE(small_numbers_have_different_hashes) {
    std::set<std::uint64_t> visited;
    for (std::uint64_t word = 0; word < 10000; ++word)
        visited.insert(hash_of(word));
    BOOST_TEST(visited.size() == 10000u);
}

BOOST_AUTO_TEST_SUITE_END()
