// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/vector.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(lists_of_one)

BOOST_AUTO_TEST_CASE(elements_come_back_as_they_went_in) {
    short_vector<int> list;
    BOOST_TEST(list.size() == 0u);
    for (int i = 0; i < 4; ++i) {
        list.push_back(10 * i);
        for (int k = 0; k <= i; ++k)
            BOOST_TEST(list[static_cast<std::size_t>(k)] == 10 * k);
        BOOST_TEST(list.size() == static_cast<std::size_t>(i + 1));
    }
}

BOOST_AUTO_TEST_CASE(one_element_takes_no_memory) {
    short_vector<int> list;
    list.reserve(1);
    list.push_back(7);
    BOOST_TEST(list.bytes() == 0u);
    list.push_back(8);
    BOOST_TEST(list.bytes() >= 2 * sizeof(int));
}

BOOST_AUTO_TEST_CASE(lists_are_equal_when_their_elements_are) {
    short_vector<int> a, b;
    a.reserve(5);
    for (int const element : {1, 2, 3}) {
        a.push_back(element);
        BOOST_TEST((a != b));
        b.push_back(element);
        BOOST_TEST((a == b));
    }
}

BOOST_AUTO_TEST_CASE(a_few_elements_take_no_memory_where_there_is_room_for_them) {
    short_vector<int, 3> list;
    int const numbers[] = {1, 2, 3, 4};
    list.append(numbers, 3);
    BOOST_TEST(list.bytes() == 0u);
    BOOST_TEST(list[2] == 3);
    list.append(numbers + 3, 1);
    BOOST_TEST(list.bytes() >= 4 * sizeof(int));
    BOOST_TEST(std::equal(list.begin(), list.end(), numbers, numbers + 4));
    list[1] = 7;
    BOOST_TEST(list[1] == 7);
}

BOOST_AUTO_TEST_CASE(a_copy_is_its_own_list_and_what_is_moved_is_empty) {
    for (int const size : {1, 5}) {
        short_vector<int> list;
        for (int i = 0; i < size; ++i)
            list.push_back(i);
        short_vector<int> copy = list;
        copy[0] = 9;
        BOOST_TEST(list[0] == 0);
        short_vector<int> moved = std::move(copy);
        BOOST_TEST(moved[0] == 9);
        BOOST_TEST(copy.size() == 0u);
        copy = moved;
        BOOST_TEST((copy == moved));
        moved = std::move(list);
        BOOST_TEST(moved[0] == 0);
        BOOST_TEST(moved.size() == static_cast<std::size_t>(size));
        moved = *&moved;
        BOOST_TEST(moved.size() == static_cast<std::size_t>(size));
    }
}

BOOST_AUTO_TEST_CASE(a_list_is_made_longer_with_zeros_and_shorter_from_its_end) {
    short_vector<int, 2> list{4, 5, 6};
    BOOST_TEST(list.size() == 3u);
    list.resize(5);
    int const longer[] = {4, 5, 6, 0, 0};
    BOOST_TEST(std::equal(list.begin(), list.end(), longer, longer + 5));
    list.resize(1);
    list.resize(2);
    int const again[] = {4, 0};
    BOOST_TEST(std::equal(list.begin(), list.end(), again, again + 2));
    for (int& element : list)
        ++element;
    BOOST_TEST(list[1] == 1);
    list.clear();
    BOOST_TEST(list.empty());
    BOOST_TEST((list == short_vector<int, 2>{}));
}

static_assert([] {
    short_vector<int> list;
    for (int i = 0; i < 9; ++i)
        list.push_back(i);
    short_vector<int> const copy = list;
    list = short_vector<int>();
    return copy.size() == 9 && copy[8] == 8 && list.size() == 0;
}());

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(vectors)

namespace {

/// A string that counts how many of it there are, and whose copies fail on request.
struct counted {
    counted(unsigned char number = 0) : text(std::string(30, 'x') + std::to_string(number)) {
        ++alive;
    }
    counted(counted const& value) : text(value.text) {
        if (--copies_left == 0)
            throw std::runtime_error("no more copies");
        ++alive;
    }
    counted(counted&& value) noexcept : text(std::move(value.text)) { ++alive; }
    counted& operator=(counted const&) = default;
    counted& operator=(counted&&) noexcept = default;
    ~counted() { --alive; }
    bool operator==(counted const&) const = default;

    std::string text;
    static inline int alive = 0;
    static inline int copies_left = -1;
};

/// One random change of both vectors.
template <class T>
void change(vector<T>& ours, std::vector<T>& theirs, std::mt19937& random) {
    auto const below = [&](std::size_t end) { return std::size_t{random() % end}; };
    std::size_t const at = below(theirs.size() + 1), end = at + below(theirs.size() + 1 - at);
    auto const place = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
    T const value(static_cast<unsigned char>(random() % 200));
    std::vector<T> const some{value, T(7), T(8)};
    switch (below(12)) {
    case 0: ours.push_back(value), theirs.push_back(value); break;
    case 1: ours.emplace_back(T(5)), theirs.emplace_back(T(5)); break;
    case 2:
        ours.insert(ours.begin() + place(at), value),
            theirs.insert(theirs.begin() + place(at), value);
        break;
    case 3:
        ours.insert(ours.begin() + place(at), some.begin(), some.end());
        theirs.insert(theirs.begin() + place(at), some.begin(), some.end());
        break;
    case 4:
        ours.erase(ours.begin() + place(at), ours.begin() + place(end));
        theirs.erase(theirs.begin() + place(at), theirs.begin() + place(end));
        break;
    case 5: ours.resize(at), theirs.resize(at); break;
    case 6: ours.resize(at + 3, value), theirs.resize(at + 3, value); break;
    case 7: ours.reserve(at * 2), theirs.reserve(at * 2); break;
    case 8: ours.assign(at, value), theirs.assign(at, value); break;
    case 9: ours = vector<T>(ours), theirs = std::vector<T>(theirs); break;
    case 10:
        ours.append(some.begin(), some.end()),
            theirs.insert(theirs.end(), some.begin(), some.end());
        break;
    case 11:
        if (!theirs.empty()) // the element is the vector's own
            ours.push_back(ours[0]), theirs.push_back(T(theirs[0]));
        break;
    }
}

template <class T>
void check_random_changes(unsigned seed) {
    std::mt19937 random(seed);
    vector<T> ours;
    std::vector<T> theirs;
    for (int step = 0; step < 200; ++step) {
        change(ours, theirs, random);
        BOOST_REQUIRE(std::ranges::equal(ours, theirs));
        BOOST_REQUIRE_EQUAL(ours.empty(), theirs.empty());
        BOOST_REQUIRE_GE(ours.capacity(), ours.size());
    }
    BOOST_TEST(std::ranges::equal(std::vector<T>(ours), theirs));
    BOOST_TEST((vector<T>(theirs) == ours));
    BOOST_TEST(std::ranges::equal(std::views::reverse(ours), std::views::reverse(theirs)));
}

} // namespace

BOOST_AUTO_TEST_CASE(vector_does_what_std_vector_does) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        check_random_changes<int>(seed);
        check_random_changes<unsigned char>(seed);
        check_random_changes<counted>(seed);
    }
    BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(vector_destroys_what_it_has_if_a_copy_fails) {
    {
        vector<counted> const three(3, counted(1));
        for (int copies = 1; copies <= 3; ++copies) {
            counted::copies_left = copies;
            BOOST_CHECK_THROW((vector<counted>{three.begin(), three.end()}), std::runtime_error);
            counted::copies_left = copies;
            BOOST_CHECK_THROW((void)vector(three), std::runtime_error);
            counted::copies_left = copies;
            BOOST_CHECK_THROW(vector<counted>(3, three[0]), std::runtime_error);
            vector<counted> grown(2);
            counted::copies_left = copies;
            BOOST_CHECK_THROW(grown.insert(grown.begin(), three.begin(), three.end()),
                              std::runtime_error);
            counted::copies_left = copies;
            BOOST_CHECK_THROW(grown.resize(20, three[0]), std::runtime_error);
        }
        counted::copies_left = -1;
        BOOST_TEST(counted::alive == 3);
    }
    BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(vector_assigns_in_the_memory_that_it_has) {
    vector<int> numbers(100, 1);
    int const* const memory = numbers.data();
    vector<int> const others(50, 2);
    numbers.assign(others.begin(), others.end());
    BOOST_TEST(numbers.data() == memory);
    BOOST_TEST((numbers == others));
    numbers.assign(100, numbers[0]);
    BOOST_TEST(numbers.data() == memory);
    BOOST_TEST((numbers == vector<int>(100, 2)));
}

BOOST_AUTO_TEST_CASE(vector_is_moved_without_its_elements) {
    vector<vector<int>> nested{{1, 2}, {3}};
    int const* const first = nested[0].data();
    nested = std::move(nested[0]).empty() ? vector<vector<int>>() : std::move(nested);
    BOOST_TEST(nested[0].data() == first);
    vector<vector<int>> const taken = std::move(nested);
    BOOST_TEST(taken[0].data() == first);
    BOOST_TEST(nested.empty());
}

BOOST_AUTO_TEST_CASE(vector_may_take_the_place_of_its_owner) {
    struct tree {
        vector<tree> children;
        int number = 0;
    };
    vector<tree> trees(1);
    trees[0].children = {tree{{}, 4}, tree{{}, 5}};
    trees = std::move(trees[0].children);
    BOOST_TEST(trees.size() == 2u);
    BOOST_TEST(trees[1].number == 5);
}

BOOST_AUTO_TEST_CASE(vector_compares_as_std_vector) {
    BOOST_TEST((vector{1, 2} < vector{1, 3}));
    BOOST_TEST((vector{1} < vector{1, 0}));
    BOOST_TEST((vector{1, 2} == std::vector{1, 2}));
    BOOST_TEST((std::vector{1, 3} != vector{1, 2}));
    BOOST_CHECK_THROW(vector{1}.at(1), std::out_of_range);
}

constexpr int sum_in_a_constant() {
    vector<int> numbers{1, 2};
    numbers.push_back(3);
    numbers.insert(numbers.begin(), 4);
    vector<int> const copy = numbers;
    numbers.erase(numbers.begin());
    int sum = 0;
    for (int const number : copy)
        sum += number;
    return 100 * sum + numbers[0];
}

static_assert(sum_in_a_constant() == 1001);

BOOST_AUTO_TEST_SUITE_END()
