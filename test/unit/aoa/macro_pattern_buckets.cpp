// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/pattern_index.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(aoa_macro_pattern_buckets)

namespace {

/// The candidates for a key, form by form.
std::vector<std::vector<std::size_t>> candidates(aoa::detail::pattern_buckets& buckets,
                                                 std::string const& key) {
    std::vector<std::vector<std::size_t>> found;
    buckets.for_each_form(key, [&](std::span<std::size_t const> patterns) {
        found.emplace_back(patterns.begin(), patterns.end());
        return true;
    });
    return found;
}

using lists = std::vector<std::vector<std::size_t>>;

} // namespace

BOOST_AUTO_TEST_CASE(a_key_is_its_outline_and_its_runs_of_digits) {
    aoa::detail::outlined_key key;
    key.assign("l.12.w3x");
    BOOST_TEST(key.outline == "l.0.w0x");
    BOOST_TEST((key.runs == std::vector<std::string_view>{"12", "3"}));
    std::string fixed;
    key.append_fixed(fixed, "*0");
    BOOST_TEST(fixed == "3 ");
    key.assign("none");
    BOOST_TEST(key.runs.empty());
}

BOOST_AUTO_TEST_CASE(patterns_of_one_form_are_told_apart_by_their_fixed_numbers) {
    aoa::detail::pattern_buckets buckets;
    buckets.add({{{"l.3.e.", true, 0}, {".w", false, {}}}, 1}, 0);
    buckets.add({{{"l.4.e.", true, 0}, {".w", false, {}}}, 1}, 1);
    buckets.add({{{"l.3.e.", true, {}}, {".w", false, {}}}, 0}, 2);
    BOOST_TEST((candidates(buckets, "l.3.e.17.w") == lists{{0, 2}}));
    BOOST_TEST((candidates(buckets, "l.4.e.17.w") == lists{{1}}));
    BOOST_TEST((candidates(buckets, "l.5.e.17.w") == lists{{}}));
    BOOST_TEST(candidates(buckets, "l.3.f.17.w").empty());
}

BOOST_AUTO_TEST_CASE(each_form_of_an_outline_is_looked_at) {
    aoa::detail::pattern_buckets buckets;
    buckets.add({{{"l.", true, 0}, {".e.2", false, {}}}, 1}, 0);
    buckets.add({{{"l.1.e.", true, 0}}, 1}, 1);
    BOOST_TEST((candidates(buckets, "l.1.e.2") == lists{{0}, {1}}));
    BOOST_TEST((candidates(buckets, "l.9.e.2") == lists{{0}, {}}));
    BOOST_TEST((candidates(buckets, "l.1.e.9") == lists{{}, {1}}));
}

BOOST_AUTO_TEST_CASE(a_run_with_an_open_number_is_open_with_the_digits_next_to_it) {
    aoa::detail::pattern_buckets buckets;
    buckets.add({{{"w1", true, 0}, {"2.x", false, {}}}, 1}, 0);
    buckets.add({{{"w3", true, 0}, {".x", false, {}}}, 1}, 1);
    BOOST_TEST((candidates(buckets, "w102.x") == lists{{0, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()
