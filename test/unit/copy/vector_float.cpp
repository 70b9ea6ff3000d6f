// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vectors.hpp>

#include <reshard/copy/fast_convert.hpp>

#include "vector_support.hpp"

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(vector_floats)

BOOST_AUTO_TEST_CASE(every_pair_agrees_with_exact_conversion_on_every_pattern) {
    std::vector<detail::vector_set> sets;
    std::copy_if(std::begin(all_vectors), std::end(all_vectors), std::back_inserter(sets),
                 can_test);
    for (pair_of_types const& cast : casts()) {
        patterns const patterns(cast.source);
        std::vector<unsigned char> const wanted = expected(cast, patterns.data(), patterns.count());
        std::vector<unsigned char> memory(
            static_cast<std::size_t>(patterns.count() * cast.target_size() + 64));
        unsigned char* const target = skewed(memory, 0);
        for (detail::vector_set const set : sets)
            for (bool const streaming : {false, true}) {
                std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xee));
                cast.vectors(set).row(patterns.data(), target, patterns.count(), streaming);
                detail::streaming_fence();
                BOOST_TEST(std::equal(wanted.begin(), wanted.end(), target),
                           cast.text() << " with " << text(set));
            }
    }
}

BOOST_AUTO_TEST_CASE(
    programs_that_flush_subnormals_get_the_same_from_the_portable_path_and_from_vectors) {
    using namespace detail;
    std::pair<pair_of_types, block_function> const both[] = {
        {{data_type::f32, data_type::bf16},
         convert_portably<std::uint32_t, std::uint16_t, narrow<format_bf16>>},
        {{data_type::f32, data_type::f16},
         convert_portably<std::uint32_t, std::uint16_t, narrow<format_f16>>},
        {{data_type::f16, data_type::f32},
         convert_portably<std::uint16_t, std::uint32_t, widen<format_f16>>},
        {{data_type::bf16, data_type::f32},
         convert_portably<std::uint16_t, std::uint32_t, widen<format_bf16>>},
        {{data_type::f64, data_type::f32},
         convert_portably<std::uint64_t, std::uint32_t, f32_of_f64>},
        {{data_type::f32, data_type::f64},
         convert_portably<std::uint32_t, std::uint64_t, f64_of_f32>},
        {{data_type::f8_e4m3, data_type::f32}, look_up<std::uint32_t, 16>},
        {{data_type::f8_e5m2fnuz, data_type::bf16}, look_up<std::uint16_t, 0>}};
    for (detail::vector_set const set : all_vectors)
        for (auto const& [cast, loop] : both)
            for (unsigned const mode : {usual, flushing}) {
                if (!can_test(set))
                    continue;
                patterns const patterns(cast.source);
                std::vector<unsigned char> vectors(
                    static_cast<std::size_t>(patterns.count() * cast.target_size()));
                std::vector<unsigned char> portably(vectors.size());
                {
                    arithmetic const as_asked(mode);
                    cast.vectors(set).row(patterns.data(), vectors.data(), patterns.count(), false);
                    loop(find_byte_float(cast.source), patterns.data(), portably.data(),
                         patterns.count());
                }
                BOOST_TEST((vectors == portably),
                           cast.text() << " with " << text(set) << " in mode " << mode);
            }
}

BOOST_AUTO_TEST_SUITE_END()
