// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/quantiser.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(copy_quantiser)

namespace {

char const* const all_schemes[] = {"fp8_block",  "fp8_channel", "fp8_tensor", "int8_channel",
                                   "int4_group", "mxfp8",       "mxfp4",      "nvfp4",
                                   "nf4",        "q8_0",        "q4_0",       "q4_1",
                                   "q5_0",       "q5_1",        "gguf_mxfp4"};

using byte_lists = std::vector<std::vector<std::byte>>;

struct stored {
    data_type dtype{};
    index_vector shape;
    std::vector<std::byte> bytes;

    std::vector<float> floats() const {
        std::vector<float> values(bytes.size() / 4);
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }
};

struct golden {
    std::string scheme;
    stored values;
    std::map<std::string, stored> tensors;
};

/// The records of encoded.bin; make_encoded.py beside it explains them.
std::vector<golden> goldens() {
    std::ifstream file(RESHARD_TEST_DATA "/quantised/encoded.bin", std::ios::binary);
    std::map<std::string, stored> tensors;
    std::vector<golden> cases;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind, name, code;
        words >> kind >> name >> code;
        if (kind == "case") {
            cases.push_back({name, tensors.at(code), {}});
            continue;
        }
        stored& tensor =
            kind == "values" ? tensors[name] : cases.back().tensors[name == "-" ? "" : name];
        tensor.dtype = *data_type_from_code(code);
        for (index_t extent; words >> extent;)
            tensor.shape.push_back(extent);
        auto const bits_in_all = element_count(tensor.shape) * bits(tensor.dtype);
        tensor.bytes.resize(static_cast<std::size_t>(bits_in_all / 8));
        file.read(reinterpret_cast<char*>(tensor.bytes.data()), std::ssize(tensor.bytes));
    }
    return cases;
}

/// Quantises the units from `first` to `end - 1`, with the given bytes of tensors, if any.
byte_lists run(quantiser const& quantiser, std::vector<float> const& values, index_t first,
               index_t end, byte_lists const& kept = {}) {
    byte_lists result;
    std::vector<std::span<std::byte>> spans;
    for (std::size_t which = 0; which < quantiser.tensors().size(); ++which)
        result.emplace_back(quantiser.first_byte(which, end) - quantiser.first_byte(which, first));
    for (auto& bytes : result)
        spans.emplace_back(bytes);
    std::vector<std::span<std::byte const>> const spans_kept(kept.begin(), kept.end());
    index_t const begin = quantiser.first_element(first);
    quantiser.run(
        first,
        std::span(values).subspan(static_cast<std::size_t>(begin),
                                  static_cast<std::size_t>(quantiser.first_element(end) - begin)),
        largest_of(values), spans, spans_kept);
    return result;
}

byte_lists run(quantiser const& quantiser, std::vector<float> const& values) {
    return run(quantiser, values, 0, quantiser.units());
}

std::vector<float> random_values(index_t count, unsigned seed = 5) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values)
        value = normal(random);
    return values;
}

/// Shapes that fit a scheme.
std::vector<index_vector> shapes_of(std::string const& scheme) {
    if (scheme == "int4_group" || scheme == "nvfp4")
        return {{5, 256}, {1, 128}};
    if (scheme == "fp8_block")
        return {{300, 270}, {2, 130, 129}, {3, 1, 1}, {2, 700}};
    if (scheme == "nf4" || scheme == "fp8_tensor")
        return {{7, 96}, {8, 8, 24}, {5, 13, 11}, {9000}, {}};
    return {{4, 96}, {2, 3, 64}, {3, 32}, {2, 1024}};
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_have_the_bytes_of_the_real_libraries) {
    std::map<std::string, int> cases;
    for (golden const& golden : goldens()) {
        ++cases[golden.scheme];
        quantiser const quantiser(golden.scheme, golden.values.shape);
        byte_lists const computed = run(quantiser, golden.values.floats());
        BOOST_TEST(quantiser.tensors().size() == golden.tensors.size(), golden.scheme);
        for (std::size_t i = 0; i < computed.size(); ++i) {
            quantised_tensor const& which = quantiser.tensors()[i];
            std::string const name = golden.scheme + " '" + which.suffix + "'";
            auto const match = golden.tensors.find(which.suffix);
            BOOST_REQUIRE_MESSAGE(match != golden.tensors.end(), name);
            stored const& wanted = match->second;
            BOOST_TEST((which.dtype == wanted.dtype), name);
            BOOST_TEST(to_string(which.shape) == to_string(wanted.shape), name);
            BOOST_REQUIRE_MESSAGE(computed[i].size() == wanted.bytes.size(), name);
            std::size_t different = 0;
            for (std::size_t k = 0; k < computed[i].size(); ++k)
                different += computed[i][k] != wanted.bytes[k];
            BOOST_TEST(different == 0u, name << ' ' << to_string(golden.values.shape) << ": "
                                             << different << " bytes differ");
        }
    }
    for (std::string const scheme : all_schemes)
        BOOST_TEST(cases[scheme] >= 2, scheme);
}

BOOST_AUTO_TEST_CASE(units_are_quantised_alone) {
    for (std::string const scheme : all_schemes)
        for (index_vector const& shape : shapes_of(scheme)) {
            quantiser const quantiser(scheme, shape);
            auto const values = random_values(element_count(shape));
            byte_lists const whole = run(quantiser, values);
            for (index_t const step : {1, 3}) {
                byte_lists joined(whole.size());
                for (index_t unit = 0; unit < quantiser.units(); unit += step) {
                    byte_lists const some =
                        run(quantiser, values, unit, std::min(unit + step, quantiser.units()));
                    for (std::size_t which = 0; which < some.size(); ++which)
                        joined[which].insert(joined[which].end(), some[which].begin(),
                                             some[which].end());
                }
                BOOST_TEST((joined == whole), scheme << ' ' << to_string(shape));
            }
        }
}

// The halves of a tensor, cut along each axis at a multiple of the block, have the numbers of the tensor:
// as many of each as the tensor has, since only their order differs.
BOOST_AUTO_TEST_CASE(boxes_of_whole_blocks_are_quantised_alone) {
    for (std::string const scheme : all_schemes)
        for (index_vector const& shape : shapes_of(scheme)) {
            quantiser const whole(scheme, shape);
            if (whole.needs_maximum())
                continue;
            auto const values = random_values(element_count(shape));
            byte_lists const wanted = run(whole, values);
            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                index_t const block = whole.block()[axis];
                if (block == 0 || block >= shape[axis])
                    continue;
                index_t const cut = shape[axis] / 2 / block * block;
                index_t const at = cut > 0 ? cut : block;
                index_vector before = shape, after = shape;
                before[axis] = at;
                after[axis] = shape[axis] - at;
                std::vector<float> first, second;
                for (index_t i = 0; i < element_count(shape); ++i)
                    (unravel_index(i, shape)[axis] < at ? first : second)
                        .push_back(values[static_cast<std::size_t>(i)]);
                auto const computed = std::pair(run(quantiser(scheme, before), first),
                                                run(quantiser(scheme, after), second));
                for (std::size_t which = 0; which < wanted.size(); ++which) {
                    if (whole.tensors()[which].is_constant)
                        continue;
                    std::vector<std::byte> joined = computed.first[which], sorted = wanted[which];
                    joined.insert(joined.end(), computed.second[which].begin(),
                                  computed.second[which].end());
                    std::ranges::sort(joined);
                    std::ranges::sort(sorted);
                    BOOST_TEST((joined == sorted),
                               scheme << ' ' << to_string(shape) << " axis " << axis);
                }
            }
        }
}

BOOST_AUTO_TEST_CASE(given_scales_are_used) {
    for (std::string const scheme : {"fp8_block", "fp8_channel", "fp8_tensor", "int8_channel",
                                     "int4_group", "mxfp8", "mxfp4", "nvfp4", "nf4"})
        for (index_vector const& shape : shapes_of(scheme)) {
            quantiser const quantiser(scheme, shape);
            auto const values = random_values(element_count(shape));
            byte_lists const wanted = run(quantiser, values);
            // The largest values become zeros, so that other scales would be chosen.
            auto smaller = values;
            for (float& value : smaller)
                value = std::abs(value) > 2 ? 0 : value;
            byte_lists kept = wanted;
            kept[0].clear();
            byte_lists const computed = run(quantiser, smaller, 0, quantiser.units(), kept);
            for (std::size_t which = 1; which < computed.size(); ++which)
                BOOST_TEST((computed[which] == wanted[which]), scheme << ' ' << to_string(shape));
            BOOST_TEST((run(quantiser, values, 0, quantiser.units(), kept)[0] == wanted[0]),
                       scheme << ' ' << to_string(shape));
        }
}

BOOST_AUTO_TEST_CASE(an_infinity_or_a_nan_is_refused_with_its_index) {
    for (std::string const scheme : all_schemes) {
        quantiser const quantiser(scheme, {2, 128});
        for (float const special :
             {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
            auto values = random_values(256);
            float const maximum = largest_of(values);
            values[201] = special;
            byte_lists bytes;
            std::vector<std::span<std::byte>> spans;
            for (std::size_t which = 0; which < quantiser.tensors().size(); ++which)
                bytes.emplace_back(quantiser.first_byte(which, quantiser.units()));
            for (auto& list : bytes)
                spans.emplace_back(list);
            std::string const state = special != special ? "NaN" : "infinite";
            BOOST_CHECK_EXCEPTION(
                quantiser.run(0, values, maximum, spans), error, [&](error const& problem) {
                    return problem.code() == errc::unsupported &&
                           problem.what() == "element 201 is " + state + "; it cannot be quantised";
                });
            if (quantiser.needs_maximum())
                BOOST_CHECK_EXCEPTION(
                    quantiser.run(0, values, largest_of(values), spans), error,
                    [&](error const& problem) { return problem.code() == errc::unsupported; });
        }
    }
}

// The libraries have no result that can be read again: see the comment in quantiser.ipp.
BOOST_AUTO_TEST_CASE(numbers_near_the_limits_stay_numbers) {
    constexpr float most = std::numeric_limits<float>::max();
    std::vector<float> values(128, 0.F);
    values[0] = 1e-38F;
    byte_lists const tiny = run(quantiser("fp8_block", {1, 128}), values);
    BOOST_TEST((tiny[0][0] == std::byte{0x7e}));
    BOOST_TEST((tiny[0][1] == std::byte{0}));
    values[0] = most;
    BOOST_TEST((run(quantiser("mxfp4", {1, 128}), values)[1][0] == std::byte{252}));
    BOOST_TEST((run(quantiser("mxfp4", {1, 128}), values)[0][0] == std::byte{7}));
    BOOST_TEST((run(quantiser("mxfp8", {1, 128}), values)[1][0] == std::byte{246}));
    BOOST_TEST((run(quantiser("mxfp8", {1, 128}), values)[0][0] == std::byte{0x7e}));
    for (std::string const scheme : {"q8_0", "q4_0", "q4_1", "q5_0", "q5_1"})
        BOOST_CHECK_EXCEPTION(
            run(quantiser(scheme, {1, 128}), values), error,
            [](error const& problem) { return problem.code() == errc::unsupported; });
    values[0] = 1e-42F;
    values[1] = -1e-42F;
    byte_lists const block = run(quantiser("q8_0", {1, 128}), values);
    BOOST_TEST((block[0] == std::vector<std::byte>(4 * 34)));
}

BOOST_AUTO_TEST_CASE(a_given_scale_that_is_not_finite_is_refused) {
    quantiser const quantiser("fp8_channel", {1, 4});
    float const scale = std::numeric_limits<float>::infinity();
    byte_lists kept(2);
    kept[1].resize(4);
    std::memcpy(kept[1].data(), &scale, sizeof scale);
    BOOST_CHECK_EXCEPTION(
        run(quantiser, random_values(4), 0, 1, kept), error,
        [](error const& problem) { return problem.code() == errc::corrupt_file; });
}

BOOST_AUTO_TEST_CASE(a_given_scale_of_zero_is_refused_unless_its_values_are_zeros) {
    for (std::string const scheme :
         {"fp8_block", "fp8_channel", "fp8_tensor", "int8_channel", "int4_group", "nvfp4", "nf4"}) {
        quantiser const quantiser(scheme, {1, 128});
        for (float const value : {0.F, 1e-30F}) {
            std::vector<float> values(128, 0.F);
            byte_lists kept = run(quantiser, values);
            kept[0].clear();
            std::ranges::fill(kept[1], std::byte{0});
            values[5] = value;
            if (value == 0)
                run(quantiser, values, 0, quantiser.units(), kept);
            else
                BOOST_CHECK_EXCEPTION(
                    run(quantiser, values, 0, quantiser.units(), kept), error,
                    [](error const& problem) { return problem.code() == errc::corrupt_file; });
        }
    }
}

BOOST_AUTO_TEST_CASE(tensors_without_elements_have_parts_without_numbers) {
    for (std::string const scheme : all_schemes)
        for (index_vector const& shape : {index_vector{0, 256}, index_vector{3, 0}}) {
            quantiser const quantiser(scheme, shape);
            BOOST_TEST(quantiser.units() >= 1);
            BOOST_TEST(quantiser.first_element(quantiser.units()) == 0);
            byte_lists const computed = run(quantiser, {});
            BOOST_TEST(computed[0].empty(), scheme << ' ' << to_string(shape));
        }
}

BOOST_AUTO_TEST_CASE(schemes_and_shapes_that_do_not_fit_are_refused) {
    auto const message = [](std::string const& scheme, index_vector const& shape, errc code) {
        try {
            quantiser const result(scheme, shape);
        } catch (error const& problem) {
            BOOST_TEST((problem.code() == code));
            return std::string(problem.what());
        }
        return std::string();
    };
    BOOST_TEST(message("fp9", {2, 2}, errc::usage) ==
               "unknown quantisation scheme 'fp9'; choose one of " + quantisation_schemes());
    BOOST_TEST(message("int4_group", {2, 100}, errc::shape_mismatch) ==
               "the scheme 'int4_group' needs a multiple of 128 along axis 1, but the extent is "
               "100");
    BOOST_TEST(message("nvfp4", {2, 2, 16}, errc::shape_mismatch) ==
               "the scheme 'nvfp4' needs 2 axes, but the shape [2, 2, 16] has 3 axes");
    BOOST_TEST(message("q8_0", {}, errc::shape_mismatch) ==
               "the scheme 'q8_0' needs at least 1 axis, but the shape [] has 0 axes");
}

BOOST_AUTO_TEST_CASE(the_largest_magnitude_is_found_anywhere) {
    for (std::size_t size = 0; size < 200; ++size)
        for (std::size_t at = 0; at < size; at += 7) {
            std::vector<float> values(size, -.5F);
            values[at] = -3;
            BOOST_TEST(largest_of(values) == 3);
        }
    BOOST_TEST(largest_of({}) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
