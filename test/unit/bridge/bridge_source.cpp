// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/bridge_source.hpp>

#include "support/says.hpp"
#include "unit/bridge/weights.hpp"

#include <reshard/bridge/bridge_target.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

using namespace reshard;
using namespace reshard::test;

namespace {

/// Two matrices of 24 floats.
constexpr index_t bytes_each = 96;

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_source_suite)

BOOST_AUTO_TEST_CASE(only_what_differs_is_copied_into_both_buffers) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port);
    have.set(1);
    source.publish();
    BOOST_TEST(source.stats().bytes == 2 * bytes_each);
    have.set("b", 2);
    source.publish(); // the other buffer has nothing yet
    BOOST_TEST(source.stats().bytes == 2 * bytes_each);
    source.publish(); // 'b' of the first buffer is of version 1
    BOOST_TEST(source.stats().bytes == bytes_each);
    source.publish();
    BOOST_TEST(source.stats().bytes == 0);
    have.elements(3)[11] += 1; // the last element
    source.publish();
    BOOST_TEST(source.stats().bytes == bytes_each / 2); // one shard of two
    BOOST_TEST(source.stats().bytes_of_all == 2 * bytes_each * 2 + bytes_each + bytes_each / 2);
    BOOST_TEST(source.stats().version == 5u);
}

BOOST_AUTO_TEST_CASE(readers_copy_only_what_has_changed_since_their_set_was_filled) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    weights first({"a", "b"}, 6, 4, cut_along::columns),
        second({"a", "b"}, 6, 4, cut_along::columns);
    bridge_source source(solo(), have.views(), port);
    bridge_target target(solo(), first.views(), second.views(), port);
    std::vector<index_t> bytes;
    auto const step = [&] {
        source.publish();
        target.update();
        bytes.push_back(target.stats().bytes);
        weights<> const& front = target.front() == 0 ? first : second;
        return std::pair(front.version_of("a").value(), front.version_of("b").value());
    };
    have.set(1);
    BOOST_TEST((step() == std::pair(1, 1)));
    BOOST_TEST((step() == std::pair(1, 1)));
    have.set("b", 2);
    BOOST_TEST((step() == std::pair(1, 2)));
    have.set("b", 1); // the version of the buffer that is written, and not the newest one
    BOOST_TEST((step() == std::pair(1, 1)));
    have.set("a", 3);
    BOOST_TEST((step() == std::pair(3, 1)));
    BOOST_TEST((step() == std::pair(3, 1)));
    BOOST_TEST((step() == std::pair(3, 1)));
    std::vector<index_t> const expected{192, 192, 96, 96, 192, 96, 0};
    BOOST_TEST(bytes == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keys_that_are_named_have_changed_and_others_have_not_whatever_they_are) {
    port_path const port;
    weights have({"layer.0.a", "layer.1.a", "norm"}, 6, 4, cut_along::rows);
    weights want({"layer.0.a", "layer.1.a", "norm"}, 6, 4, cut_along::columns);
    bridge_source source(solo(), have.views(), port);
    bridge_target target(solo(), want.views(), port);
    have.set(1);
    source.publish({}); // there is nothing yet that could have stayed
    have.set(2);
    source.publish({"layer.*.a"});
    BOOST_TEST(target.update() == 2u);
    BOOST_TEST(want.version_of("layer.0.a").value() == 2);
    BOOST_TEST(want.version_of("layer.1.a").value() == 2);
    BOOST_TEST(want.version_of("norm").value() == 1);
    for (int version = 3; version < 6; ++version) {
        source.publish({});
        BOOST_TEST(target.update() == static_cast<std::uint64_t>(version));
        BOOST_TEST(want.version_of("norm").value() == 1);
        BOOST_TEST(target.stats().bytes == 0);
    }
    source.publish();
    BOOST_TEST(target.update() == 6u);
    BOOST_TEST(want.version().value() == 2);
    BOOST_TEST(target.stats().bytes == bytes_each);
}

BOOST_AUTO_TEST_CASE(a_pattern_that_no_key_matches_publishes_nothing) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port);
    source.publish();
    BOOST_CHECK_EXCEPTION(
        source.publish({"a", "c*"}), error,
        says(errc::unknown_key,
             "the changed-key pattern 'c*' matches no key of the source, which has 2 keys"));
    BOOST_TEST(source.stats().version == 1u);
    BOOST_TEST(source.publish() == 2u);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_near_to_one_that_is_not_there_is_asked_for) {
    port_path const port;
    weights have({"model.layers.0.weight"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port);
    BOOST_CHECK_EXCEPTION(
        source.publish({"model.layer.0.weight"}), error,
        says(errc::unknown_key,
             "the changed-key pattern 'model.layer.0.weight' matches no key of the source, which "
             "has 1 key (did you mean 'model.layers.0.weight'?)"));
}

BOOST_AUTO_TEST_CASE(tensors_with_strides_are_compared_and_copied) {
    port_path const port;
    std::vector<float> memory(24);
    for (std::size_t i = 0; i < 24; ++i)
        memory[i] = static_cast<float>(i);
    state_dict have; // a transposed view
    have.add({"a", data_type::f32, {4, 6}, whole({4, 6})},
             tensor_view{memory.data(), data_type::f32, {4, 6}, {1, 4}});
    std::vector<float> want(24);
    state_dict wanted;
    wanted.add({"a", data_type::f32, {4, 6}, whole({4, 6})},
               adapt::raw_tensor(want.data(), {4, 6}));
    bridge_source source(solo(), have, port);
    bridge_target target(solo(), wanted, port);
    source.publish();
    target.update();
    BOOST_TEST(want[1] == 4.0f);
    BOOST_TEST(want[6] == 1.0f);
    source.publish();
    source.publish();
    BOOST_TEST(source.stats().bytes == 0);
    memory[23] = 100; // the last element
    source.publish();
    target.update();
    BOOST_TEST(want[23] == 100.0f);
    BOOST_TEST(target.stats().bytes == 96);
}

BOOST_AUTO_TEST_CASE(it_knows_its_readers) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), want({"a"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port);
    BOOST_TEST(source.stats().others == 0u);
    BOOST_TEST(!source.wait_for_readers(1, 0.0));
    BOOST_TEST(source.wait_for_readers(0, 0.0));
    source.publish();
    {
        bridge_target target(solo(), want.views(), port);
        BOOST_TEST(source.stats().others == 1u);
        BOOST_TEST(source.stats().lag == 1u);
        BOOST_TEST(!source.wait_for_readers(1, 0.0));
        target.update();
        BOOST_TEST(source.wait_for_readers(1, 0.0));
        source.publish();
        source.publish();
        BOOST_TEST(source.stats().lag == 2u);
        BOOST_TEST(target.stats().lag == 2u);
        BOOST_TEST(target.stats().version == 1u);
        target.update();
    }
    BOOST_TEST(source.stats().others == 0u);
    BOOST_TEST(source.stats().lag == 0u);
    BOOST_TEST(source.wait_for_readers(1, 0.0)); // one has left with it
    BOOST_TEST(!source.wait_for_readers(2, 0.0));
}

BOOST_AUTO_TEST_CASE(its_versions_are_numbered_behind_what_it_is_told) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port, {.versions_before = 41});
    BOOST_TEST(source.publish() == 42u);
    bridge_source moved = std::move(source);
    BOOST_TEST(moved.publish() == 43u);
    BOOST_CHECK_EXCEPTION(source.publish(), error,
                          mentions(errc::usage, "this source has been moved from"));
}

BOOST_AUTO_TEST_CASE(its_numbers_end_in_an_error_and_never_begin_anew) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), want({"a"}, 6, 4, cut_along::rows);
    constexpr std::uint64_t last = 281474976710655; // 2^48 - 1
    std::string const limit = "no version can follow version ";
    std::string const advice =
        ", because the largest version number is 281474976710655; give a lower versions_before, or "
        "another path if a source there has come that far";
    for (std::uint64_t const before : {std::numeric_limits<std::uint64_t>::max(), last})
        BOOST_CHECK_EXCEPTION(
            bridge_source(solo(), have.views(), port, {.versions_before = before}), error,
            says(errc::usage, limit + std::to_string(before) + advice));
    BOOST_TEST(!std::filesystem::exists(port));
    bridge_source source(solo(), have.views(), port, {.versions_before = last - 1});
    {
        bridge_target target(solo(), want.views(), port);
        BOOST_TEST(source.publish() == last);
        BOOST_TEST(target.update() == last);
    }
    BOOST_TEST(source.wait_for_readers(1, 0.0)); // it has left with that one
    BOOST_CHECK_EXCEPTION(source.publish(), error,
                          says(errc::usage, limit + std::to_string(last) + advice));
    BOOST_TEST(source.stats().version == last);
}

BOOST_AUTO_TEST_CASE(mistakes_are_said_before_there_is_a_port_file) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows);
    layout const other_layout = layout_of({{{"a", data_type::f32, {6, 4}, whole({6, 4})}}});
    BOOST_CHECK_EXCEPTION(bridge_source(solo(), {have.views(), other_layout}, port), error,
                          mentions(errc::bad_layout, "rank 0 holds"));
    layout const wider = layout_of({{{"a", data_type::f32, {6, 4}, whole({6, 4})}}, {}, {}});
    BOOST_CHECK_EXCEPTION(bridge_source(solo(), {have.views(), wider}, port), error,
                          says(errc::bad_layout, "the layout of the source is for 3 ranks, and the "
                                                 "group has 1"));
    BOOST_TEST(!std::filesystem::exists(port));
}

BOOST_AUTO_TEST_SUITE_END()
