// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/bridge_source.hpp>
#include <reshard/bridge/bridge_target.hpp>

#include "support/device_memory.hpp"
#include "support/says.hpp"
#include "unit/bridge/weights.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::test;

namespace {

/// Two matrices of 24 floats.
constexpr index_t matrix_bytes = 96;

/// Weights of a source, and both sets of a target, some of them on fake devices.
struct weights_on_devices {
    port_path port;
    weights<> have{{"a", "b"}, 6, 4, cut_along::rows};
    weights<> first{{"a", "b"}, 6, 4, cut_along::columns};
    weights<> second{{"a", "b"}, 6, 4, cut_along::columns};
    testing::fake_device near{std::size_t{1} << 16, 0};
    testing::fake_device far{std::size_t{1} << 16, 1};
};

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_devices)

BOOST_AUTO_TEST_CASE(either_side_may_be_on_a_device_and_sends_what_has_changed) {
    for (int const way : {1, 2, 3, 7}) { // 1: the source, 2: the target, 4: every second array only
        BOOST_TEST_CONTEXT("way " << way) {
            weights_on_devices all;
            bool const mixes = (way & 4) != 0;
            std::vector<testing::fake_device*> const none;
            std::vector<testing::fake_device*> const at_source{&all.near}, at_target{&all.far};
            device_memory<const_tensor_view> const have(const_state_dict(all.have.views()),
                                                        way & 1 ? at_source : none, mixes, 0);
            device_memory<tensor_view> const first(all.first.views(), way & 2 ? at_target : none,
                                                   mixes, 0),
                second(all.second.views(), way & 2 ? at_target : none, mixes, 1);
            bridge_source source(solo(), have.shards(), all.port,
                                 {.devices = listed(way & 1 ? at_source : none)});
            bridge_target target(solo(), first.shards(), second.shards(), all.port,
                                 {.devices = listed(way & 2 ? at_target : none)});
            auto const step = [&](index_t bytes) {
                have.store();
                std::uint64_t const version = source.publish();
                BOOST_TEST(target.update() == version);
                first.fetch();
                second.fetch();
                BOOST_TEST(target.stats().bytes == bytes);
                return target.front() == 0 ? all.first : all.second;
            };
            all.have.set(1);
            BOOST_TEST(step(2 * matrix_bytes).version().value() == 1);
            BOOST_TEST(step(2 * matrix_bytes).version().value() == 1);
            all.have.set("b", 2);
            BOOST_TEST(step(matrix_bytes).version_of("b").value() == 2);
            BOOST_TEST(step(matrix_bytes).version_of("a").value() == 1);
            BOOST_TEST(step(0).version_of("b").value() == 2);
        }
    }
}

BOOST_AUTO_TEST_CASE(patterns_say_which_weights_on_a_device_have_changed) {
    weights_on_devices all;
    device_memory<const_tensor_view> const have(const_state_dict(all.have.views()), {&all.near},
                                                false, 0);
    bridge_source source(solo(), have.shards(), all.port, {.devices = listed({&all.near})});
    bridge_target target(solo(), all.first.views(), all.port);
    all.have.set(1);
    have.store();
    source.publish({"a"}); // the first version has everything
    target.update();
    BOOST_TEST(all.first.version().value() == 1);
    all.have.set(2);
    have.store();
    source.publish({"b"});
    target.update();
    BOOST_TEST(all.first.version_of("a").value() == 1);
    BOOST_TEST(all.first.version_of("b").value() == 2);
    source.publish({"a"});
    target.update();
    BOOST_TEST(all.first.version().value() == 2);
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_leaves_the_last_version) {
    weights_on_devices all;
    failing_device failing(all.near);
    device_list const list{std::shared_ptr<device>(std::shared_ptr<void>(), &failing)};
    device_memory<const_tensor_view> const have(const_state_dict(all.have.views()), {&all.near},
                                                false, 0);
    device_memory<tensor_view> const want(all.first.views(), {&all.near}, false, 0);
    bridge_source source(solo(), have.shards(), all.port, {.devices = list});
    bridge_target target(solo(), want.shards(), all.port, {.devices = list});
    all.have.set(1);
    have.store();
    BOOST_TEST(source.publish() == 1u);
    BOOST_TEST(target.update() == 1u);
    all.have.set(2);
    have.store();
    failing.fails = true;
    BOOST_CHECK_EXCEPTION(source.publish(), error, mentions(errc::io, "the device has failed"));
    BOOST_TEST(target.latest_complete_version() == 1u);
    BOOST_TEST(source.stats().version == 1u);
    failing.fails = false;
    BOOST_TEST(source.publish() == 2u);
    failing.fails = true;
    BOOST_CHECK_EXCEPTION(target.update(), error, mentions(errc::io, "the device has failed"));
    BOOST_TEST(target.version() == 1u);
    failing.fails = false;
    BOOST_TEST(target.update() == 2u);
    want.fetch();
    BOOST_TEST(all.first.version().value() == 2);
}

BOOST_AUTO_TEST_CASE(a_version_that_failed_leaves_no_element_in_later_versions) {
    weights_on_devices all;
    failing_device failing(all.near);
    device_memory<const_tensor_view> const have(const_state_dict(all.have.views()), {&all.near},
                                                false, 0);
    bridge_source source(solo(), have.shards(), all.port,
                         {.devices = {std::shared_ptr<device>(std::shared_ptr<void>(), &failing)}});
    bridge_target target(solo(), all.first.views(), all.port);
    all.have.set(1);
    have.store();
    source.publish();
    source.publish(); // both buffers have the same elements
    BOOST_TEST(target.update() == 2u);
    all.have.set("a", 2);
    have.store();
    failing.fails = true;
    BOOST_CHECK_EXCEPTION(source.publish(), error, mentions(errc::io, "the device has failed"));
    failing.fails = false;
    BOOST_TEST(source.publish({"b"}) == 3u);
    BOOST_TEST(target.update() == 3u);
    BOOST_TEST(all.first.version().value() == 1);
    BOOST_TEST(target.stats().bytes == 2 * matrix_bytes); // a late reader may have the failed 'a'
    BOOST_TEST(source.publish() == 4u);
    BOOST_TEST(target.update() == 4u);
    BOOST_TEST(all.first.version_of("a").value() == 2);
}

BOOST_AUTO_TEST_CASE(a_side_without_the_device_is_refused) {
    weights_on_devices all;
    device_memory<const_tensor_view> const have(const_state_dict(all.have.views()), {&all.near},
                                                false, 0);
    device_memory<tensor_view> const want(all.first.views(), {&all.near}, false, 0);
    BOOST_CHECK_EXCEPTION(
        bridge_source(solo(), have.shards(), all.port), error,
        mentions(errc::unsupported, "'a': 12 elements in the memory of device:0"));
    bridge_source source(solo(), all.have.views(), all.port);
    BOOST_CHECK_EXCEPTION(bridge_target(solo(), want.shards(), all.port), error,
                          mentions(errc::unsupported, "give the call its device"));
}

BOOST_AUTO_TEST_SUITE_END()
