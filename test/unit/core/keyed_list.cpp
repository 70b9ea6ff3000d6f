// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/keyed_list.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

using reshard::detail::keyed_list;

BOOST_AUTO_TEST_SUITE(core_keyed_list)

namespace {

struct thing {
    std::string key;
    int value = 0;

    bool operator==(thing const&) const = default;
};

using thing_list = keyed_list<thing>;

/// Whether a list has what a map has, in its order, forwards and backwards.
bool has_all(thing_list const& list, std::map<std::string, int> const& expected) {
    auto at = list.begin();
    for (auto const& [key, value] : expected)
        if (at == list.end() || *at++ != thing{key, value} || list.find(key)->value != value)
            return false;
    if (at != list.end() || list.size() != expected.size())
        return false;
    for (auto entry = expected.rbegin(); entry != expected.rend(); ++entry)
        if ((--at)->key != entry->first)
            return false;
    return at == list.begin();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_new_list_is_empty) {
    thing_list const list;
    BOOST_TEST(list.empty());
    BOOST_TEST((list.begin() == list.end()));
    BOOST_TEST((list.find("a") == list.end()));
}

BOOST_AUTO_TEST_CASE(a_list_is_a_sorted_map) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        std::mt19937 random(seed);
        unsigned const keys = seed % 2 == 0 ? 100 : 5000;
        thing_list list;
        std::map<std::string, int> expected;
        for (int i = 0; i < 2000; ++i) {
            std::string const key = "layer" + std::to_string(random() % keys);
            list.put({key, i});
            expected[key] = i;
        }
        BOOST_TEST(has_all(list, expected));
        for (unsigned number = 0; number < keys + 10; ++number) {
            std::string const key = "layer" + std::to_string(number);
            BOOST_TEST((list.find(key) != list.end()) == expected.contains(key));
        }
    }
}

BOOST_AUTO_TEST_CASE(things_in_order_reversed_or_between_others_are_sorted) {
    for (auto const& number_of :
         std::vector<int (*)(int)>{[](int i) { return i; }, [](int i) { return 3000 - i; },
                                   [](int i) { return i < 1000 ? 2 * i : 2 * (i - 1000) + 1; }}) {
        thing_list list;
        std::map<std::string, int> expected;
        for (int i = 0; i < 2000; ++i) {
            std::string const key = std::to_string(10000 + number_of(i));
            list.put({key, i});
            expected[key] = i;
        }
        BOOST_TEST(has_all(list, expected));
    }
}

BOOST_AUTO_TEST_CASE(a_thing_stays_where_it_is) {
    thing_list list;
    std::vector<thing const*> addresses;
    for (int i = 2000; i-- > 1000;) {
        list.put({std::to_string(i), i});
        addresses.push_back(&*list.begin());
    }
    for (thing const& present : list)
        BOOST_TEST(&present == addresses[static_cast<std::size_t>(1999 - present.value)]);
    thing_list const moved = std::move(list);
    BOOST_TEST(&*moved.find("1500") == addresses[499]);
    BOOST_TEST(list.empty());
    BOOST_TEST(list.size() == 0u);
    BOOST_TEST((list.find("1500") == list.end()));
    list.put({"1", 1});
    BOOST_TEST(list.find("1")->value == 1);
}

BOOST_AUTO_TEST_CASE(a_change_of_a_copy_does_not_reach_the_other) {
    thing_list list;
    for (int i = 100; i < 900; ++i)
        list.put({std::to_string(i), i});
    thing_list copy = list;
    BOOST_TEST((copy == list));
    copy.put({"500", 1});
    BOOST_TEST(copy.size() == list.size());
    BOOST_TEST((copy != list));
    BOOST_TEST(list.find("500")->value == 500);
    copy.put({"500", 500});
    BOOST_TEST((copy == list));
    copy.put({"5000", 2});
    BOOST_TEST((copy != list));
    BOOST_TEST((list.find("5000") == list.end()));
}

BOOST_AUTO_TEST_CASE(the_order_is_that_of_the_keys) {
    BOOST_TEST(thing_list::value_comp()({"a", 2}, {"b", 1}));
    BOOST_TEST(!thing_list::value_comp()({"a", 1}, {"a", 2}));
    thing_list list;
    list.push_back({"a", 1});
    list.push_back({"b", 2});
    BOOST_TEST(std::prev(list.end())->key == "b");
    BOOST_TEST(std::next(list.begin())->value == 2);
}

BOOST_AUTO_TEST_SUITE_END()
