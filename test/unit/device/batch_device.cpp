// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/device/batch_device.hpp>

#include "support/run_kernel.hpp"

#include <reshard/bind/options.hpp>
#include <reshard/testing/check_device.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

/// The kernels of devices, run by the processor thread by thread, beside the processor's own.
BOOST_AUTO_TEST_SUITE(device_batch_device)

namespace {

/// Threads that are loops of the processor. Its device memory is ordinary memory.
struct loop_backend {
    bool is_pinned = false; ///< whether kernels can use any memory
    std::size_t* launches = nullptr;

    memory_space space() const { return memory_space::device; }
    void read(void* host, void const* memory, std::size_t bytes) const {
        std::memcpy(host, memory, bytes);
    }
    void write(void* memory, void const* host, std::size_t bytes) const {
        std::memcpy(memory, host, bytes);
    }
    std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) const {
        return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
    }
    bool can_use(void const*) const { return is_pinned; }
    std::shared_ptr<std::byte[]> message_memory(std::size_t, bool) const { return nullptr; }
    void wait() const {}
    bool is_captured() const { return false; }
    unit_batch keep(unit_batch const& batch) const { return batch; }
    void start(unit_batch const& batch) const { run(batch); }

    void run(unit_batch const& batch) const {
        for (std::size_t number = unit_kernel::count; number-- > 0;) {
            auto const& pieces = batch.pieces(number);
            if (launches)
                *launches += !pieces.empty();
            for (unit_piece const& piece : pieces)
                if (test::is_misaligned(batch.boxes()[piece.box],
                                        unit_kernel::of(number).word_bytes))
                    fail(errc::io, "misaligned address");
            test::run_kernel(number, pieces.size(), batch.boxes().data(), batch.programs().data(),
                             pieces.data());
        }
    }
};

testing::device_case heap_functions() {
    return {
        [](std::size_t bytes) { return std::malloc(bytes); },
        [](void* memory) { std::free(memory); },
        [](void* to, void const* host, std::size_t bytes) { std::memcpy(to, host, bytes); },
        [](void* host, void const* from, std::size_t bytes) { std::memcpy(host, from, bytes); }};
}

} // namespace

BOOST_AUTO_TEST_CASE(kernels_copy_as_the_processor_does) {
    for (bool const is_pinned : {false, true})
        for (std::size_t const buffer : {std::size_t{1} << 23, std::size_t{1} << 12}) {
            batch_device<loop_backend> device(loop_backend{is_pinned}, buffer);
            testing::check_device(device, heap_functions());
        }
}

BOOST_AUTO_TEST_CASE(every_cast_of_every_pair_of_types_is_the_processors) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < data_type_count; ++i)
        for (std::size_t j = 0; j < data_type_count; ++j) {
            auto const from = static_cast<data_type>(i), to = static_cast<data_type>(j);
            if (is_complex(from) || is_complex(to) || from == to)
                continue;
            int const width = bits(from);
            for (int k = 0; k < 4096; ++k) {
                std::uint64_t const element =
                    (width <= 12 ? static_cast<std::uint64_t>(k) : random()) & low_mask(width);
                std::uint64_t const cast = cast_bits(from, to, element);
                if (cast != convert(from, to, element))
                    BOOST_ERROR(name(from) << " " << element << " became " << name(to) << " "
                                           << cast << ", not " << convert(from, to, element));
            }
        }
    // All patterns of 16 bits, and those near the bounds of f32.
    for (data_type const from : {data_type::f16, data_type::bf16})
        for (std::uint64_t element = 0; element < 65536; ++element)
            for (data_type const to : {data_type::f32, data_type::bf16, data_type::f16,
                                       data_type::f8_e4m3, data_type::f8_e5m2, data_type::f64})
                if (cast_bits(from, to, element) != convert(from, to, element))
                    BOOST_ERROR(name(from) << " " << element << " to " << name(to));
}

BOOST_AUTO_TEST_CASE(numbers_are_multiplied_and_added_as_the_processor_does) {
    using operation = chain_step::operation;
    std::mt19937_64 random(2);
    for (data_type const from : {data_type::f32, data_type::bf16, data_type::f64, data_type::f16})
        for (data_type const to : {data_type::f32, data_type::bf16, data_type::f64}) {
            step_chain chain = then({}, from, chain_step{to, operation::multiply, 0.1});
            chain = then(chain, from, chain_step{to, operation::add, -3.25});
            index_t const count = 5000;
            std::vector<unsigned char> source(static_cast<std::size_t>(count * bits(from) / 8));
            for (unsigned char& byte : source)
                byte = static_cast<unsigned char>(random());
            std::vector<unsigned char> expected(static_cast<std::size_t>(count * bits(to) / 8)),
                result(expected.size());
            affine_copy const loop{{count}, 0, {1}, 0, {1}};
            element_conversion conversion = casting(from, chain);
            copy_elements(loop, conversion, source.data(), expected.data());
            batch_device<loop_backend> device{loop_backend{}};
            conversion.devices = ends_on(&device, &device);
            copy_elements(loop, conversion, source.data(), result.data());
            device.wait();
            // The processor's NaN may have another sign: IEEE 754 leaves it open.
            for (index_t i = 0; i < count; ++i) {
                auto const at = static_cast<std::size_t>(i * bits(to) / 8);
                auto const size = static_cast<std::size_t>(bits(to) / 8);
                std::uint64_t a = 0, b = 0;
                std::memcpy(&a, expected.data() + at, size);
                std::memcpy(&b, result.data() + at, size);
                bool const are_nan = decode(to, a).is_nan() && decode(to, b).is_nan();
                if (a != b && !are_nan)
                    BOOST_ERROR(name(from) << " to " << name(to) << ": element " << i << " is " << b
                                           << ", not " << a);
            }
        }
}

namespace {

/// A backend without memory for tables.
struct full_backend : loop_backend {
    unit_batch keep(unit_batch const&) const { fail(errc::limit_exceeded, "out of memory"); }
};

/// A backend whose launch fails after it has started kernels.
struct failing_backend : loop_backend {
    std::size_t* waits = nullptr;

    void wait() const { ++*waits; }
    void run(unit_batch const&) const { fail(errc::io, "a launch has failed"); }
};

} // namespace

BOOST_AUTO_TEST_CASE(no_kernel_runs_after_a_launch_that_failed) {
    std::size_t waits = 0;
    failing_backend backend;
    backend.waits = &waits;
    batch_device<failing_backend> device(backend);
    float const source = 1;
    float target = 0;
    element_conversion conversion{data_type::f32};
    conversion.devices = ends_on(&device, &device);
    copy_elements({{1}, 0, {1}, 0, {1}}, conversion, &source, &target);
    BOOST_CHECK_THROW(device.wait(), error);
    BOOST_TEST(waits == 1u);
}

BOOST_AUTO_TEST_CASE(a_device_without_room_for_tables_does_not_record) {
    batch_device<full_backend> device{full_backend{}};
    float const source = 1;
    float target = 0;
    element_conversion conversion{data_type::f32};
    conversion.devices = ends_on(&device, &device);
    auto const copy = [&] { copy_elements({{1}, 0, {1}, 0, {1}}, conversion, &source, &target); };
    BOOST_TEST(!device.record(copy));
    device.wait();
    BOOST_TEST(target == 0);
}

BOOST_AUTO_TEST_CASE(many_boxes_are_one_launch) {
    std::size_t launches = 0;
    batch_device<loop_backend> device(loop_backend{false, &launches});
    std::vector<std::uint32_t> source(64 * 1000), target(source.size());
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::uint32_t>(i);
    element_conversion conversion{data_type::u32};
    conversion.devices = ends_on(&device, &device);
    for (index_t i = 0; i < 1000; ++i)
        copy_elements({{64}, 64 * i, {1}, 64 * (999 - i), {1}}, conversion, source.data(),
                      target.data());
    BOOST_TEST(launches == 0u);
    BOOST_TEST(target[5] == 0u);
    device.wait();
    BOOST_TEST(launches == 1u);
    for (std::size_t i = 0; i < source.size(); ++i)
        if (target[i] != source[(999 - i / 64) * 64 + i % 64])
            BOOST_ERROR("element " << i);
}

BOOST_AUTO_TEST_CASE(copies_that_kernels_make_are_recorded) {
    batch_device<loop_backend> device{loop_backend{}};
    std::vector<std::uint16_t> const source{1, 2, 3, 4};
    std::vector<std::uint16_t> target(4);
    auto const copy = [&](data_type dtype, std::size_t to) {
        element_conversion conversion{dtype};
        conversion.devices = ends_on(&device, &device);
        copy_elements({{1}, 0, {1}, 0, {1}}, conversion, &source[to], &target[to]);
    };
    auto const shows = [&](std::vector<std::uint16_t> const& expected) {
        BOOST_TEST(target == expected, boost::test_tools::per_element());
    };
    copy(data_type::u16, 0); // is no part of the recording
    auto const recording = device.record([&] {
        copy(data_type::u16, 1);
        copy(data_type::u16, 2);
    });
    BOOST_TEST_REQUIRE(recording);
    BOOST_TEST(!device.record([&] { copy(data_type::f4, 3); })); // made by the processor
    shows({0, 0, 0, 0});
    device.wait();
    shows({1, 0, 0, 0});
    for (int i = 0; i < 2; ++i) {
        target = {0, 0, 0, 0};
        recording->start();
        device.wait();
        shows({0, 2, 3, 0});
    }
}

BOOST_AUTO_TEST_CASE(boxes_of_more_than_32_bits_are_found_by_64_bits) {
    // Only positions are computed: no memory is touched.
    index_t const width = (index_t{1} << 32) + 5;
    void* const memory = reinterpret_cast<void*>(std::uintptr_t{4096});
    device_copy const work{{{3, width}, 0, {width + 1, 1}, 0, {width, 1}},
                           {data_type::f32},
                           memory,
                           memory,
                           true,
                           true};
    batch_box const large = *box_of(work, 0);
    BOOST_TEST(large.units == 3 * width);
    auto const expected = [&](index_t row, index_t column) {
        unit_place const at = place_of(large.box, large.box.ndim, row * width + column);
        BOOST_TEST(at.source == 4 * (row * (width + 1) + column));
        BOOST_TEST(at.target == 4 * (row * width + column));
    };
    expected(0, 5);
    expected(1, 0);
    expected(2, width - 1);
}

BOOST_AUTO_TEST_CASE(rows_are_copied_in_the_widest_words) {
    alignas(16) unsigned char source[4096] = {}, target[4096] = {};
    auto const word_of = [&](index_t shift, index_t row, index_t pitch) {
        device_copy const work{{{4, row}, shift, {pitch, 1}, 0, {row, 1}},
                               {data_type::u8},
                               source,
                               target,
                               true,
                               true};
        return box_of(work, 0)->kernel.word_bytes;
    };
    BOOST_TEST(word_of(0, 64, 128) == 16u);
    BOOST_TEST(word_of(8, 64, 128) == 8u);
    BOOST_TEST(word_of(0, 36, 128) == 4u);
    BOOST_TEST(word_of(0, 64, 130) == 2u);
    BOOST_TEST(word_of(1, 64, 128) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
