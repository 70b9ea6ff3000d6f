// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/copy_elements.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(conversions)

namespace {

template <class Target, class Source>
std::vector<Target> converted(std::vector<Source> const& values, data_type source,
                              std::vector<data_type> const& chain) {
    std::vector<Target> result(values.size());
    step_chain steps;
    for (data_type const next : chain)
        steps = appended(steps, source, {next});
    detail::conversion const convert(source, steps);
    convert(reinterpret_cast<unsigned char const*>(values.data()),
            reinterpret_cast<unsigned char*>(result.data()), static_cast<index_t>(values.size()));
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_chain_runs_in_order) {
    auto const result = converted<float>(std::vector<float>{1.001f, 300.7f, -5.0f}, data_type::f32,
                                         {data_type::bf16, data_type::u8, data_type::f32});
    BOOST_TEST((result == std::vector<float>{1, 255, 0}));
}

BOOST_AUTO_TEST_CASE(narrow_floats_pass_through_f32_unharmed) {
    auto const result =
        converted<std::uint16_t>(std::vector<std::uint16_t>{0x3c00, 0x7bff, 0x0001, 0xfe00},
                                 data_type::f16, {data_type::bf16});
    BOOST_TEST((result == std::vector<std::uint16_t>{0x3f80, 0x4780, 0x3380, 0xffc0}));
}

BOOST_AUTO_TEST_CASE(f64_is_rounded_once) {
    auto const result = converted<std::uint16_t>(
        std::vector<double>{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11}, data_type::f64, {data_type::f16});
    BOOST_TEST((result == std::vector<std::uint16_t>{0x3c01, 0x3c00}));
}

BOOST_AUTO_TEST_CASE(integers_of_64_bits_keep_every_bit) {
    std::vector<std::int64_t> const values{9007199254740993, -9223372036854775807};
    auto const same =
        converted<std::int64_t>(values, data_type::i64, {data_type::u64, data_type::i64});
    BOOST_TEST((same == std::vector<std::int64_t>{9007199254740993, 0}));
}

BOOST_AUTO_TEST_CASE(fifteen_casts_are_not_too_many) {
    std::vector<data_type> chain;
    while (chain.size() < 15)
        chain.push_back(chain.size() % 2 ? data_type::f16 : data_type::bf16);
    auto const result =
        converted<std::uint16_t>(std::vector<std::uint16_t>{0x3c01}, data_type::f16, chain);
    BOOST_TEST((result == std::vector<std::uint16_t>{0x3f80}));
}

BOOST_AUTO_TEST_CASE(complex_numbers_are_refused_before_anything_runs) {
    step_chain const chain = appended({}, data_type::c64, {data_type::bf16});
    BOOST_CHECK_EXCEPTION(
        detail::conversion(data_type::c64, chain), error,
        [](error const& problem) { return problem.code() == errc::dtype_mismatch; });
}

BOOST_AUTO_TEST_SUITE_END()
