// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vector_float512.hpp>

#include "vector_support.hpp"

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(vector_floats512)

/// A pattern that masks treat apart, and its cast.
struct special_pattern {
    pair_of_types cast;
    std::uint64_t source;
    std::uint64_t target;
};

std::vector<special_pattern> special_patterns() {
    using enum data_type;
    return {
        {{f32, bf16}, 0x7f800001, 0x7fc0},            // the payload would be lost
        {{f32, bf16}, 0xffa12345, 0xffa1},            // signalling
        {{f32, bf16}, 0x7fffffff, 0x7fff},            // would carry
        {{f32, bf16}, 0x3f808000, 0x3f80},            // a tie
        {{f32, bf16}, 0x3f818000, 0x3f82},            // the other tie
        {{f32, bf16}, 0x00000001, 0x0000},            // subnormal
        {{f32, bf16}, 0x00018000, 0x0002},            // a tie of subnormals
        {{bf16, f32}, 0xff81, 0xff810000},            // signalling
        {{f32, f16}, 0x7fa02000, 0x7d01},             // signalling
        {{f32, f16}, 0xff800001, 0xfe00},             // the payload would be lost
        {{f16, f32}, 0x7d01, 0x7fa02000},             // signalling
        {{f16, f32}, 0xfe00, 0xffc00000},             // quiet
        {{f16, f32}, 0x0001, 0x33800000},             // subnormal
        {{f64, f32}, 0x7ff4000020000000, 0x7fa00001}, // signalling
        {{f64, f32}, 0xfff0000000000001, 0xffc00000}, // the payload would be lost
        {{f64, f32}, 0x7fefffffffffffff, 0x7f800000}, // too large
        {{f32, f64}, 0x7fa00001, 0x7ff4000020000000}, // signalling
        {{f32, f64}, 0xffc00000, 0xfff8000000000000}, // quiet
        {{f8_e4m3, f32}, 0xff, 0xffc00000},
        {{f8_e4m3, f32}, 0x7e, 0x43e00000}, // 448
        {{f8_e4m3, f32}, 0x01, 0x3b000000}, // 2 to the -9
        {{f8_e4m3, bf16}, 0xfe, 0xc3e0},
        {{f8_e5m2, f32}, 0xfc, 0xff800000},     // infinity
        {{f8_e5m2, bf16}, 0x7d, 0x7fa0},        // signalling
        {{f8_e4m3fnuz, f32}, 0x80, 0xffc00000}, // the only NaN
        {{f8_e5m2fnuz, bf16}, 0x80, 0xffc0},
    };
}

BOOST_AUTO_TEST_CASE(a_special_pattern_is_cast_in_every_lane_and_leaves_the_others_alone) {
    constexpr index_t count = 80;
    if (can_test(detail::vector_set::avx512))
        for (auto const& [cast, source, target] : special_patterns()) {
            index_t wrong = 0;
            for (index_t lane = 0; lane < count; ++lane) {
                std::vector<unsigned char> given(
                    static_cast<std::size_t>(count * cast.source_size()));
                std::vector<unsigned char> made(
                    static_cast<std::size_t>(count * cast.target_size()), 0xee);
                std::memcpy(given.data() + lane * cast.source_size(), &source,
                            static_cast<std::size_t>(cast.source_size()));
                cast.vectors(detail::vector_set::avx512)
                    .row(given.data(), made.data(), count, false);
                for (index_t i = 0; i < count; ++i)
                    wrong +=
                        element(made.data(), i, cast.target_size()) != (i == lane ? target : 0);
            }
            BOOST_TEST(wrong == 0, cast.text() << " of " << source);
        }
}

BOOST_AUTO_TEST_SUITE_END()
