// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/device/device.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/bind/rounds.hpp>
#include <reshard/expr/algebra.hpp>

#include "support.hpp"
#include "support/device_memory.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using test::fake_device;

BOOST_AUTO_TEST_SUITE(device_device)

namespace {

constexpr std::size_t capacity = std::size_t{1} << 20;

device_list of(std::initializer_list<fake_device*> devices) { return test::listed(devices); }

/// A matrix of floats 0, 1, 2, ... on a device.
struct device_matrix {
    device_matrix(fake_device& where, index_vector const& extents)
        : device(where),
          shape(extents),
          data(where.allocate(static_cast<std::size_t>(4 * element_count(extents)))) {
        std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
        std::iota(values.begin(), values.end(), 0.0F);
        device.write(data, values.data(), 4 * values.size());
    }

    tensor_view view() const {
        return {data, data_type::f32, shape, row_major_strides(shape), device.space()};
    }
    std::vector<float> values() const {
        std::vector<float> result(static_cast<std::size_t>(element_count(shape)));
        device.read(result.data(), data, 4 * result.size());
        return result;
    }

    fake_device& device;
    index_vector shape;
    void* data;
};

shard_descriptor whole_of(std::string const& key, index_vector const& shape) {
    return {key, data_type::f32, shape, whole(shape)};
}

/// A state dict of one whole tensor.
state_dict only(std::string const& key, tensor_view const& tensor) {
    state_dict state;
    state.add(whole_of(key, tensor.shape), tensor);
    return state;
}

tensor_view view_of(std::vector<float>& values, index_vector const& shape) {
    return {values.data(), data_type::f32, shape, row_major_strides(shape)};
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_on_a_device_are_refused_without_the_device) {
    fake_device device(capacity, 2);
    device_matrix const matrix(device, {2, 3});
    state_dict const state = only("w", matrix.view());
    BOOST_TEST(!state.first_error());
    auto const refused = test::says(
        errc::unsupported, "'w': 6 elements in the memory of device:2; give the call its device "
                           "(options.devices, see doc/devices.md), or copy them to the host");
    BOOST_CHECK_EXCEPTION(state.check(), error, refused);
    std::vector<float> values(6);
    BOOST_CHECK_EXCEPTION(redistribute(solo(), state, only("w", view_of(values, {2, 3}))), error,
                          refused);
    fake_device other(capacity, 0);
    BOOST_CHECK_EXCEPTION(
        redistribute(solo(), state, only("w", view_of(values, {2, 3})), {.devices = of({&other})}),
        error,
        test::says(
            errc::unsupported,
            "'w': 6 elements in the memory of device:2; give the call its device "
            "(options.devices, which has only device:0, see doc/devices.md), or copy them to "
            "the host"));
    state_dict const joined = state.joined();
    BOOST_CHECK_EXCEPTION(joined.check(), error, refused);
}

BOOST_AUTO_TEST_CASE(devices_that_contradict_each_other_are_refused) {
    fake_device device(capacity), twin(capacity);
    std::vector<float> values(6), copy(6);
    auto const move = [&](device_list const& devices) {
        redistribute(solo(), only("w", view_of(values, {6})), only("w", view_of(copy, {6})),
                     {.devices = devices});
    };
    BOOST_CHECK_EXCEPTION(move(of({&device, &twin})), error,
                          test::says(errc::usage, "options.devices has two devices for the memory "
                                                  "of device:0; remove it"));
    BOOST_CHECK_EXCEPTION(
        move({nullptr}), error,
        test::says(errc::usage, "options.devices has a null pointer at index 0; remove it"));
    BOOST_CHECK_EXCEPTION(
        staged_device(
            {}, [](auto&&...) {}, [](auto&&...) {}),
        error,
        test::says(errc::usage, "a staged device of host needs memory that is not the host's, and "
                                "two functions that read and write it"));
}

BOOST_AUTO_TEST_CASE(elements_move_between_host_and_devices) {
    fake_device device(capacity, 0), second(capacity, 1);
    device_matrix const source(device, {2, 3});
    device_matrix const target(second, {3, 2});
    index_vector const shape{2, 3};
    mapping program;
    program.define("t", transpose(program.source("w", shape, data_type::f32)));
    redistribute(solo(), only("w", source.view()), only("t", target.view()),
                 {.program = program, .devices = of({&device, &second})});
    std::vector<float> const expected{0, 3, 1, 4, 2, 5};
    BOOST_TEST(target.values() == expected, boost::test_tools::per_element());
    std::vector<float> host(6);
    redistribute(solo(), only("t", target.view()), only("t", view_of(host, {3, 2})),
                 {.devices = of({&second})});
    BOOST_TEST(host == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_prepared_job_is_recorded_once) {
    fake_device device(capacity, 0);
    device_matrix const source(device, {2, 3}), target(device, {3, 2});
    std::vector<float> host(6);
    mapping program;
    program.define("t", transpose(program.source("w", source.shape, data_type::f32)));
    auto const recording = std::make_shared<test::recording_device>(device);
    job moving = prepare(solo(), only("w", source.view()), only("t", target.view()),
                         {.program = program, .devices = {recording}});
    job fetching = prepare(solo(), only("t", target.view()), only("t", view_of(host, {3, 2})),
                           {.devices = {recording}});
    for (float first = 1; first <= 4; ++first) {
        std::vector<float> const values{first, 1, 2, 3, 4, 5}, expected{first, 3, 1, 4, 2, 5};
        device.write(source.data, values.data(), 4 * values.size());
        run(moving);
        run(fetching);
        BOOST_TEST(host == expected, boost::test_tools::per_element());
    }
    BOOST_TEST(recording->recordings == 2);
}

BOOST_AUTO_TEST_CASE(equal_addresses_on_different_devices_are_different_memory) {
    // Only addresses are compared: the elements are not moved.
    void* const address = reinterpret_cast<void*>(std::uintptr_t{4096});
    tensor_view const on_first{address, data_type::f32, {4}, {1}, {memory_space::device, 0}};
    tensor_view on_second = on_first;
    on_second.memory.number = 1;
    fake_device first(capacity, 0), second(capacity, 1);
    const_state_dict const have = only("w", on_first);
    state_dict const apart = only("w", on_second), same = only("w", on_first);
    device_list const devices = of({&first, &second});
    BOOST_CHECK_NO_THROW(
        reshard::detail::check_memory(std::span(&have, 1), std::span(&apart, 1), devices));
    BOOST_CHECK_EXCEPTION(
        reshard::detail::check_memory(std::span(&have, 1), std::span(&same, 1), devices), error,
        test::mentions(errc::memory_overlap, "share memory"));
}

BOOST_AUTO_TEST_CASE(tensors_added_twice_are_compared_on_their_devices) {
    fake_device device(capacity);
    device_matrix const source(device, {2, 3}), twin(device, {2, 3});
    std::vector<float> host(6);
    state_dict have = only("w", source.view());
    have.add(whole_of("w", {2, 3}), twin.view());
    auto const move = [&] {
        redistribute(solo(), have, only("w", view_of(host, {2, 3})), {.devices = of({&device})});
    };
    move();
    BOOST_TEST(host[5] == 5.0F);
    float const seven = 7;
    device.write(static_cast<std::byte*>(twin.data) + 20, &seven, sizeof seven);
    BOOST_CHECK_EXCEPTION(move(), error, test::mentions(errc::overlap, "was added twice"));
}

BOOST_AUTO_TEST_CASE(rounds_allocate_targets_on_devices) {
    fake_device device(capacity);
    device_matrix const first(device, {2, 3}), second(device, {4});
    state_dict have = only("a", first.view());
    have.add(whole_of("b", {4}), second.view());
    std::vector<std::unique_ptr<device_matrix>> made;
    layout const wanted = layout_of({have.descriptors()});
    redistribute(
        solo(), have, {{}, wanted},
        {.memory = rounds(
             1000,
             [&](vector<std::string> const& keys) {
                 state_dict want;
                 for (std::string const& key : keys) {
                     index_vector const shape = key == "a" ? index_vector{2, 3} : index_vector{4};
                     made.push_back(std::make_unique<device_matrix>(device, shape));
                     want.add(whole_of(key, shape), made.back()->view());
                 }
                 return want;
             }),
         .devices = of({&device})});
    BOOST_TEST(made.size() == 2u);
    for (auto const& matrix : made)
        BOOST_TEST(matrix->values().back() == (matrix->shape.size() == 2 ? 5.0F : 3.0F));
}

namespace {

/// A device that fails once, in the copy or in the wait with that number.
class failing_device final : public device {
public:
    failing_device(fake_device& reached, int copies, int waits)
        : reached_(reached), copies_(copies), waits_(waits) {}

    memory_space space() const override { return reached_.space(); }
    void copy(device_copy const& work) override {
        if (copies_-- == 0)
            fail(errc::io, "the copy failed");
        reached_.copy(work);
    }
    void wait() override {
        reached_.wait();
        if (waits_-- == 0)
            fail(errc::io, "the wait failed");
    }

private:
    fake_device& reached_;
    int copies_;
    int waits_;
};

} // namespace

BOOST_AUTO_TEST_CASE(after_an_error_no_copy_is_pending) {
    for (auto const& [copies, waits] : {std::pair(1, 9), std::pair(9, 0)}) {
        fake_device device(capacity);
        device_matrix const first(device, {2, 3}), second(device, {4});
        state_dict have = only("a", first.view());
        have.add(whole_of("b", {4}), second.view());
        auto const failing = std::make_shared<failing_device>(device, copies, waits);
        for (bool const fails : {true, false}) {
            std::vector<float> a(6), b(4);
            state_dict want = only("a", view_of(a, {2, 3}));
            want.add(whole_of("b", {4}), view_of(b, {4}));
            options const options{.devices = {failing}};
            if (fails)
                BOOST_CHECK_EXCEPTION(redistribute(solo(), have, want, options), error,
                                      test::mentions(errc::io, " failed"));
            else
                redistribute(solo(), have, want, options);
            BOOST_TEST(device.pending() == 0u);
            BOOST_TEST((fails || (a[5] == 5.0F && b[3] == 3.0F)));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
