// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/options.hpp>

#include "support/archives.hpp"

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_options)

namespace {

/// The bytes of a scope, without its invariant.
struct any_scope {
    bool everybody = false;
    std::vector<holder_t> listed;
    holder_set targets;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.everybody, self.listed, self.targets);
    }
};

/// The same of options.
struct any_options {
    holder_t processes = 0;
    std::uint8_t shared_sources = 0;
    holder_t processes_per_node = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.processes, self.shared_sources, self.processes_per_node);
    }
};

std::string fault_of(any_scope const& scope) {
    return said([&] { from_bytes<plan_scope>(posing_as<plan_scope>(scope)); });
}

} // namespace

BOOST_AUTO_TEST_CASE(scopes_come_back_as_they_were) {
    BOOST_TEST(comes_back(plan_scope()));
    BOOST_TEST(comes_back(plan_scope{holder_set::nobody(), holder_set({3, 1, 70'000})}));
    BOOST_TEST(from_bytes<plan_scope>(to_bytes(plan_scope{})).sources.is_everybody());
}

BOOST_AUTO_TEST_CASE(options_come_back_as_they_were) {
    BOOST_TEST(comes_back(plan_options()));
    BOOST_TEST(comes_back(plan_options{4, true, 0}));
    BOOST_TEST(comes_back(plan_options{0, false, 8}));
}

BOOST_AUTO_TEST_CASE(archives_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(plan_scope{holder_set::nobody(), holder_set({3, 1})}) == 0);
    BOOST_TEST(cut_archives_that_pass(plan_options{4, true, 8}) == 0);
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_refused_or_read_as_others) {
    BOOST_TEST(damaged_archives_that_pass(plan_scope{holder_set::nobody(), holder_set({3})}) > 0);
    BOOST_TEST(damaged_archives_that_pass(plan_options{4, true, 8}) > 0);
}

BOOST_AUTO_TEST_CASE(a_set_is_everybody_or_a_list) {
    std::string const contradicts =
        "corrupt_file: the archive of a scope of a plan contradicts itself: it lists ";
    BOOST_TEST(fault_of({true, {7}, {}}) == contradicts + "holders although it has all holders");
    BOOST_TEST(fault_of({false, {7, 7}, {}}) == contradicts + "holders out of order");
    BOOST_TEST(fault_of({false, {6, 7}, {}}) == "nothing was thrown");
    BOOST_TEST(said([] {
                   from_bytes<plan_options>(posing_as<plan_options>(any_options{4, 2, 8}));
               }) == "corrupt_file: the archive has the truth value 2, which must be less than 2");
}

BOOST_AUTO_TEST_SUITE_END()
