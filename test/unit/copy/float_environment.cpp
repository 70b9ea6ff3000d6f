// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_convert.hpp>

#include <reshard/copy/conversions.hpp>
#include <reshard/copy/copy_elements.hpp>

#include "vector_support.hpp"

#include <cfenv>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(float_environments)

BOOST_AUTO_TEST_CASE(casts_do_not_depend_on_what_the_program_asked_of_arithmetic) {
    patterns const patterns(data_type::f64);
    pair_of_types const cast{data_type::f64, data_type::f32};
    std::vector<unsigned char> const wanted = expected(cast, patterns.data(), patterns.count());
    std::vector<unsigned char> target(wanted.size());
    element_conversion const conversion =
        casting(data_type::f64, then({}, data_type::f64, data_type::f32));
    index_t const rows = 128, columns = patterns.count() / rows;
    for (unsigned const mode : {usual, flushing, flushing | 0x4000u}) // the last one rounds upwards
        for (bool const transposes : {false, true}) {
            affine_copy copy{{columns * rows}, 0, {1}, 0, {1}};
            if (transposes)
                copy = {{columns, rows}, 0, {1, columns}, 0, {rows, 1}};
            {
                arithmetic const set(mode);
                copy_elements(copy, conversion, patterns.data(), target.data());
            }
            index_t wrong = 0;
            for (index_t i = 0; i < patterns.count(); ++i) {
                index_t const index = transposes ? i % columns * rows + i / columns : i;
                wrong += element(target.data(), index, 4) != element(wanted.data(), i, 4);
            }
            BOOST_TEST(wrong == 0, "mode " << mode << (transposes ? ", transposed" : ""));
        }
}

BOOST_AUTO_TEST_CASE(what_was_asked_is_as_before_afterwards) {
    std::feclearexcept(FE_ALL_EXCEPT);
    double const huge = 1e300; // becomes an infinity, which arithmetic would record
    float target = 0;
    element_conversion const conversion =
        casting(data_type::f64, then({}, data_type::f64, data_type::f32));
#if defined(__SSE2__)
    {
        arithmetic const set(flushing);
        copy_elements({{1}, 0, {1}, 0, {1}}, conversion, &huge, &target);
        BOOST_TEST(__builtin_ia32_stmxcsr() == flushing);
    }
    BOOST_TEST(std::fetestexcept(FE_OVERFLOW) == 0);
#endif
}

BOOST_AUTO_TEST_SUITE_END()
