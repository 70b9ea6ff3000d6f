// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/key_index.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_key_index)

namespace {

/// A list of keys with its index, which counts the keys that are looked at.
struct indexed_list {
    std::vector<std::string> keys;
    key_index places;
    std::size_t looked_at = 0;

    void append(std::string const& key) {
        places.append(key, static_cast<std::uint32_t>(keys.size()));
        keys.push_back(key);
    }

    std::optional<std::uint32_t> find(std::string_view key) {
        return places.find(key, [this](std::uint32_t index) {
            ++looked_at;
            return std::string_view(keys[index]);
        });
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(keys_are_found_where_they_stand) {
    indexed_list list;
    BOOST_TEST(!list.find("w").has_value());
    for (std::string const key : {"w", "", "b", "model.layers.10.w", "model.layers.1.w"})
        list.append(key);
    for (std::uint32_t index = 0; index < 5; ++index)
        BOOST_TEST(list.find(list.keys[index]).value() == index);
    BOOST_TEST(!list.find("v").has_value());
    BOOST_TEST(!list.find("model.layers.11.w").has_value());
}

BOOST_AUTO_TEST_CASE(a_key_is_compared_with_few_others_however_many_there_are) {
    indexed_list list;
    constexpr std::uint32_t count = 20'000;
    for (std::uint32_t i = 0; i < count; ++i) {
        BOOST_TEST_REQUIRE(!list.find("layer." + std::to_string(i) + ".weight").has_value());
        list.append("layer." + std::to_string(i) + ".weight");
    }
    for (std::uint32_t i = 0; i < count; ++i)
        BOOST_TEST_REQUIRE(list.find("layer." + std::to_string(i) + ".weight").value() == i);
    BOOST_TEST(list.looked_at >= count);
    BOOST_TEST(list.looked_at < count + count / 10);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_new_is_added_and_one_that_is_not_is_found) {
    indexed_list list;
    auto const find_or_append = [&](std::string const& key) {
        auto const key_at = [&](std::uint32_t index) { return std::string_view(list.keys[index]); };
        return list.places.find_or_append(key, key_at, [&] {
            list.keys.push_back(key);
            return static_cast<std::uint32_t>(list.keys.size() - 1);
        });
    };
    for (int round = 0; round < 2; ++round)
        for (std::uint32_t i = 0; i < 200; ++i)
            BOOST_TEST_REQUIRE(find_or_append(std::to_string(i)) == i);
    BOOST_TEST(list.keys.size() == 200u);
    BOOST_TEST(list.find("17").value() == 17u);
    BOOST_TEST(!list.find("200").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
