// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/digest.hpp>

#include <reshard/core/box.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_digest)

namespace {

/// One member of each kind.
struct sample {
    bool flag = false;
    std::string text;
    std::optional<int> number;
    std::variant<int, std::string> either;
    std::vector<std::string> list;
    std::map<std::string, int> table;
    box region;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.flag, self.text, self.number, self.either, self.list, self.table, self.region);
    }
};

} // namespace

static_assert(digest_of(box{{1}, {2}}) == digest_of(box{{1}, {2}}));
static_assert(digest_of(box{{1}, {2}}) != digest_of(box{{2}, {1}}));

BOOST_AUTO_TEST_CASE(every_member_counts) {
    std::vector<sample> samples(9);
    samples[1].flag = true;
    samples[2].text = "a";
    samples[3].number = 0;
    samples[4].either = 1;
    samples[5].either = "";
    samples[6].list = {""};
    samples[7].table = {{"", 0}};
    samples[8].region = {{0}, {0}};
    std::set<std::uint64_t> digests;
    for (sample const& sample : samples)
        digests.insert(digest_of(sample));
    BOOST_TEST(digests.size() == samples.size());
}

BOOST_AUTO_TEST_CASE(a_digest_is_that_of_the_members_one_behind_the_other) {
    hasher by_hand;
    by_hand.add(std::uint64_t{1}); // one number
    by_hand.add(std::uint64_t{5});
    by_hand.add(std::uint64_t{0}); // a scalar's shape
    BOOST_TEST(digest_of(box{{5}, {}}) == by_hand.value());
}

BOOST_AUTO_TEST_SUITE_END()
