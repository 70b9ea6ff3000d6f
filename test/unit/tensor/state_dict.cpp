// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/adapt/span.hpp>
#include <reshard/layout/typed.hpp>
#include <reshard/tensor/state_dict.hpp>

#include "support/counted_row.hpp"
#include "support/says.hpp"

#include <reshard/layout/layout_of.hpp>

#include <concepts>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using adapt::raw_tensor;
using reshard::test::counted_row;
using reshard::test::says;

namespace {

/// A tensor of a framework whose switch over its data types throws its own exception.
struct unknown_type {
    static constexpr char const* text = "ScalarType 44 is not known";
};

} // namespace

template <>
struct reshard::tensor_traits<unknown_type> {
    using element_type = std::byte;

    static index_vector shape(unknown_type const&) { return {2}; }
    static index_vector strides(unknown_type const&) { return {1}; }
    static data_type dtype(unknown_type const& t) { throw std::out_of_range(t.text); }
    static std::byte* data(unknown_type&) { return nullptr; }
    static std::byte const* data(unknown_type const&) { return nullptr; }
};

BOOST_AUTO_TEST_SUITE(tensor_state_dict)

namespace {

shard_descriptor left_half() { return {"w", data_type::f32, {4, 6}, {{0, 0}, {4, 3}}, {}}; }

struct elements_of_two_shards {
    std::vector<float> left = std::vector<float>(12);
    std::vector<float> right = std::vector<float>(12);
};

/// Adds a shard to a state dict, and throws its error.
template <class T>
void add_to(auto& shards, shard_descriptor const& shard, T&& tensor) {
    auto copy = shards;
    copy.add(shard, std::forward<T>(tensor));
    BOOST_TEST(copy.size() == shards.size()); // what is wrong is not kept
    copy.check();
}

} // namespace

BOOST_AUTO_TEST_CASE(shards_stand_in_the_order_in_which_they_were_added) {
    elements_of_two_shards elements_of_two_shards;
    shard_descriptor right = left_half();
    right.region.offset[1] = 3;
    state_dict shards;
    BOOST_TEST(shards.empty());
    shards.add(right, raw_tensor(elements_of_two_shards.right.data(), {4, 3}));
    shards.add(left_half(), raw_tensor(elements_of_two_shards.left.data(), {4, 3}));
    BOOST_REQUIRE(shards.size() == 2u);
    BOOST_TEST((shards[0].descriptor == right));
    BOOST_TEST(shards[0].tensor.data == elements_of_two_shards.right.data());
    BOOST_TEST((shards[1].descriptor == left_half()));
    BOOST_TEST((shards.descriptors() == std::vector{right, left_half()}));
}

BOOST_AUTO_TEST_CASE(a_flat_shard_has_a_tensor_of_one_axis) {
    std::vector<float> elements(5);
    shard_descriptor flat = left_half();
    flat.flat = flat_range{2, 7};
    state_dict shards;
    shards.add(flat, elements);
    BOOST_TEST((shards[0].tensor.shape == index_vector{5}));
    flat.flat = flat_range{2, 8};
    BOOST_CHECK_EXCEPTION(
        add_to(shards, flat, elements), error,
        says(errc::shape_mismatch,
             "'w': axis 0: a shard of extent 6 does not fit a tensor of extent 5"));
}

BOOST_AUTO_TEST_CASE(a_typed_shard_is_a_descriptor) {
    std::vector<float> elements(2);
    state_dict shards;
    shards.add(typed::shard<"b", float, index_vector{4}, box{{2}, {2}}>(), elements);
    BOOST_TEST(
        (shards[0].descriptor == shard_descriptor{"b", data_type::f32, {4}, {{2}, {2}}, {}}));
}

BOOST_AUTO_TEST_CASE(a_shard_without_elements_needs_no_address) {
    state_dict shards;
    shards.add({"w", data_type::f32, {3, 5}, {{3, 0}, {0, 5}}, {}},
               raw_tensor<float>(nullptr, {0, 5}));
    BOOST_TEST(shards.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_written_can_be_read) {
    std::vector<float> elements(12);
    state_dict shards;
    shards.add(left_half(), raw_tensor(elements.data(), {4, 3}));
    static_assert(!std::convertible_to<const_state_dict, state_dict>);
    const_state_dict const readable = shards;
    BOOST_REQUIRE(readable.size() == 1u);
    BOOST_TEST((readable[0].descriptor == left_half()));
    BOOST_TEST(readable[0].tensor.data == elements.data());
}

BOOST_AUTO_TEST_CASE(constant_elements_make_a_state_dict_for_reading) {
    std::vector<float> const elements(2);
    shard_descriptor const vector{"b", data_type::f32, {2}, {{0}, {2}}, {}};
    const_state_dict shards;
    shards.add(vector, elements);
    BOOST_TEST(shards[0].tensor.data == elements.data());
}

BOOST_AUTO_TEST_CASE(another_shape_names_key_axis_and_both_numbers) {
    std::vector<float> elements(16);
    state_dict shards;
    BOOST_CHECK_EXCEPTION(
        add_to(shards, left_half(), raw_tensor(elements.data(), {4, 4})), error,
        says(errc::shape_mismatch,
             "'w': axis 1: a shard of extent 3 does not fit a tensor of extent 4"));
    BOOST_CHECK_EXCEPTION(
        add_to(shards, left_half(), elements), error,
        says(errc::shape_mismatch,
             "'w': a shard of shape [4, 3] does not fit a tensor of shape [16] with strides [1]"));
    BOOST_CHECK_EXCEPTION(
        add_to(shards, left_half(), tensor_view{elements.data(), data_type::f32, {4, 3}, {1}}),
        error,
        says(errc::shape_mismatch,
             "'w': a shard of shape [4, 3] does not fit a tensor of shape [4, 3] with "
             "strides [1]"));
    BOOST_TEST(shards.empty());
}

BOOST_AUTO_TEST_CASE(another_data_type_names_both) {
    std::vector<double> elements(12);
    state_dict shards;
    BOOST_CHECK_EXCEPTION(
        add_to(shards, left_half(), raw_tensor(elements.data(), {4, 3})), error,
        says(errc::dtype_mismatch, "'w': a shard of float32 does not fit a tensor of float64"));
}

BOOST_AUTO_TEST_CASE(a_region_outside_the_tensor_is_refused) {
    std::vector<float> elements(12);
    shard_descriptor outside = left_half();
    outside.region.offset[1] = 4;
    state_dict shards;
    BOOST_CHECK_EXCEPTION(add_to(shards, outside, raw_tensor(elements.data(), {4, 3})), error,
                          [](error const& e) { return e.code() == errc::bad_layout; });
}

BOOST_AUTO_TEST_CASE(elements_at_no_address_are_refused) {
    state_dict shards;
    BOOST_CHECK_EXCEPTION(add_to(shards, left_half(), raw_tensor<float>(nullptr, {4, 3})), error,
                          says(errc::usage, "'w': 12 elements at a null address"));
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_device_is_kept_and_refused_without_the_device) {
    float element = 0;
    memory_space const first{memory_space::cuda, 0}, second{memory_space::cuda, 1};
    const_tensor_view there{&element, data_type::f32, {4, 3}, {0, 0}, first};
    const_state_dict shards;
    shards.add(left_half(), there);
    there.memory = second;
    shard_descriptor other = left_half();
    other.key = "v";
    shards.add(other, there);
    BOOST_TEST(shards.size() == 2u);
    BOOST_TEST(!shards.first_error());
    auto const refused = [](std::string const& key, int number, std::string const& others = {}) {
        return says(errc::unsupported,
                    "'" + key + "': 12 elements in the memory of cuda:" + std::to_string(number) +
                        "; give the call its device (options.devices" + others +
                        ", see doc/devices.md), or copy them to the host");
    };
    BOOST_CHECK_EXCEPTION(shards.check(), error, refused("w", 0));
    BOOST_CHECK_EXCEPTION(shards.check(std::vector{first}), error,
                          refused("v", 1, ", which has only cuda:0"));
    BOOST_CHECK_NO_THROW(shards.check(std::vector{second, first}));
    BOOST_CHECK_EXCEPTION(const_state_dict(shards).joined().check(), error, refused("w", 0));
    local_shard const alone{left_half(), {&element, data_type::f32, {4, 3}, {3, 1}, first}};
    BOOST_CHECK_EXCEPTION(check(alone), error, refused("w", 0));
}

BOOST_AUTO_TEST_CASE(one_address_for_many_elements_may_be_read_and_not_written) {
    float element = 0;
    raw_tensor<float> const same(&element, {4, 3}, {0, 0});
    const_state_dict readable;
    readable.add(left_half(), same);
    BOOST_TEST(readable.size() == 1u);
    raw_tensor<float> columns(&element, {4, 3}, {1, 0});
    state_dict shards;
    BOOST_CHECK_EXCEPTION(
        add_to(shards, left_half(), columns), error,
        says(errc::memory_overlap,
             "'w': axis 1: 3 elements at one address (stride 0) cannot be written"));
}

BOOST_AUTO_TEST_CASE(rows_that_share_elements_may_be_read_and_not_written) {
    std::vector<float> elements(12);
    raw_tensor<float> rows(elements.data(), {4, 3}, {2, 1});
    const_state_dict readable;
    readable.add(left_half(), rows);
    BOOST_TEST(readable.size() == 1u);
    state_dict shards;
    BOOST_CHECK_EXCEPTION(add_to(shards, left_half(), rows), error,
                          says(errc::memory_overlap,
                               "'w': axis 0: a stride of 2 elements, but the inner axes span "
                               "3: elements that share memory cannot be written"));
    BOOST_TEST(shards.empty());
    shards.add(left_half(), raw_tensor<float>(elements.data(), {4, 3}, {3, 1}));
    BOOST_TEST(shards.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_stride_of_an_axis_of_one_element_does_not_matter) {
    std::vector<float> elements(3);
    state_dict shards;
    shards.add({"w", data_type::f32, {1, 3}, {{0, 0}, {1, 3}}, {}},
               raw_tensor<float>(elements.data(), {1, 3}, {0, 1}));
    BOOST_TEST(shards.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_strides_of_a_tensor_without_elements_do_not_matter) {
    float element = 0;
    state_dict shards;
    shards.add({"w", data_type::f32, {3, 0}, {{0, 0}, {3, 0}}, {}},
               raw_tensor<float>(&element, {3, 0})); // row by row: strides 0 and 1
    BOOST_TEST(shards.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_state_dict_prints_a_line_a_shard) {
    std::vector<float> elements(12);
    state_dict shards;
    shards.add(left_half(), raw_tensor(elements.data(), {4, 3}));
    BOOST_TEST(to_string(shards) ==
               "w: float32 [4, 6] [0:4, 0:3] in float32 [4, 3] strides [3, 1]\n");
}

BOOST_AUTO_TEST_CASE(the_first_error_is_kept_in_copies_too) {
    std::vector<float> elements(12);
    state_dict shards;
    shards.add(left_half(), raw_tensor(elements.data(), {4, 3}));
    BOOST_CHECK_NO_THROW(shards.check());
    BOOST_TEST(!shards.first_error());
    shards.add(left_half(), raw_tensor<float>(nullptr, {4, 3}));
    shards.add(left_half(), raw_tensor(elements.data(), {3, 3}));
    BOOST_TEST(shards.size() == 1u);
    auto const is_first = says(errc::usage, "'w': 12 elements at a null address");
    BOOST_CHECK_EXCEPTION(shards.check(), error, is_first);
    state_dict const copy = shards;
    BOOST_CHECK_EXCEPTION(copy.check(), error, is_first);
    const_state_dict const readable = shards;
    BOOST_CHECK_EXCEPTION(readable.check(), error, is_first);
    BOOST_TEST(readable.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_error_of_a_description_is_kept_too) {
    std::vector<float> elements(12);
    state_dict shards;
    shards.add([] { return left_half(); }, raw_tensor(elements.data(), {4, 3}));
    BOOST_REQUIRE(shards.size() == 1u);
    BOOST_TEST((shards[0].descriptor == left_half()));
    shards.add([]() -> shard_descriptor { fail(errc::bad_layout, "there is no such rank"); },
               raw_tensor(elements.data(), {4, 3}));
    BOOST_TEST(shards.size() == 1u);
    BOOST_CHECK_EXCEPTION(shards.check(), error, says(errc::bad_layout, "there is no such rank"));
}

namespace {

/// A matrix of 13 x 21 in blocks of 5 x 4 on 2 x 3 ranks, and rows on two ranks.
layout blocks_and_rows() {
    return layout_of(
        {sharding_of("A", data_type::f32,
                     distribution({{"p", 2}, {"q", 3}}, {block_cyclic{0, 5}, block_cyclic{1, 4}},
                                  {13, 21})),
         sharding_of("rows", data_type::f32, distribution(mesh{{"p", 2}}, {shard{0}}, {5, 2}))});
}

/// q of 4 rows, then k of 2, each over two ranks.
layout fused() {
    auto const over = [](index_t rows) {
        return distribution(mesh{{"tp", 2}}, {shard{0}}, {rows, 3});
    };
    return layout_of({tensor_sharding{
        "qk", data_type::f32, {6, 3}, {{{0, 0}, over(4), {}}, {{4, 0}, over(2), {}}}}});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_local_array_of_blocks_is_one_shard) {
    std::vector<float> elements(8 * 5);
    state_dict shards;
    // Rank 2 is at 0, 2: rows 0 to 4 and 10 to 12, columns 8 to 11 and 20.
    shards.add("A", blocks_and_rows(), 2, raw_tensor(elements.data(), {8, 5}));
    BOOST_REQUIRE(shards.size() == 1u);
    BOOST_TEST(
        (shards[0].descriptor ==
         shard_descriptor{
             "A", data_type::f32, {13, 21}, {{0, 8}, {13, 13}}, {}, {{0, 5, 10}, {1, 4, 12}}}));
    BOOST_TEST((shards[0].tensor.shape == index_vector{8, 5}));
    shards.add("A", blocks_and_rows(), 5,
               tensor_view{elements.data(), data_type::f32, {5, 5}, {1, 5}}); // column by column
    BOOST_TEST((shards[1].tensor.strides == index_vector{1, 5}));
    const_state_dict readable;
    readable.add("rows", blocks_and_rows(), 1, raw_tensor<float const>(elements.data(), {2, 2}));
    BOOST_TEST((readable[0].descriptor ==
                shard_descriptor{"rows", data_type::f32, {5, 2}, {{3, 0}, {2, 2}}}));
}

BOOST_AUTO_TEST_CASE(a_local_array_of_another_shape_is_refused) {
    std::vector<float> elements(100);
    auto const add = [&](std::string const& key, holder_t rank, index_vector const& shape) {
        return [&elements, key, rank, shape] {
            state_dict shards;
            shards.add(key, blocks_and_rows(), rank, raw_tensor(elements.data(), shape));
            BOOST_TEST(shards.empty()); // what is wrong is not kept
            shards.check();
        };
    };
    BOOST_CHECK_EXCEPTION(
        add("A", 2, {8, 6})(), error,
        says(errc::shape_mismatch,
             "'A': axis 1: a shard of extent 5 does not fit a tensor of extent 6"));
    BOOST_CHECK_EXCEPTION(
        add("rows", 1, {3, 2})(), error,
        says(errc::shape_mismatch,
             "'rows': axis 0: a shard of extent 2 does not fit a tensor of extent 3"));
    BOOST_CHECK_EXCEPTION(
        add("row", 1, {3, 2})(), error,
        says(errc::unknown_key, "'row' is not a tensor of the layout (did you mean 'rows'?)"));
    BOOST_CHECK_EXCEPTION(add("rows", 2, {3, 2})(), error,
                          says(errc::shape_mismatch, "'rows': axis 0: a tensor of extent 3 on rank "
                                                     "2, but the layout assigns it 0 elements"));
    std::vector<double> doubles(40);
    state_dict shards;
    shards.add("A", blocks_and_rows(), 2, raw_tensor(doubles.data(), {8, 5}));
    BOOST_CHECK_EXCEPTION(
        shards.check(), error,
        says(errc::dtype_mismatch, "'A': a shard of float32 does not fit a tensor of float64"));
    BOOST_TEST(shards.empty());
    BOOST_CHECK_NO_THROW(add("rows", 2, {0, 2})()); // nothing, as it should be
}

BOOST_AUTO_TEST_CASE(several_shards_of_a_local_array_stand_one_behind_the_other) {
    std::vector<float> elements(9);
    state_dict shards;
    shards.add("qk", fused(), 1, raw_tensor(elements.data(), {3, 3}));
    BOOST_REQUIRE(shards.size() == 2u);
    BOOST_TEST((shards[0].descriptor.region == box{{2, 0}, {2, 3}}));
    BOOST_TEST(shards[0].tensor.data == elements.data());
    BOOST_TEST((shards[1].descriptor.region == box{{5, 0}, {1, 3}}));
    BOOST_TEST(shards[1].tensor.data == elements.data() + 6);
    BOOST_TEST((shards[1].tensor.shape == index_vector{1, 3}));
    shards.add("qk", fused(), 1, raw_tensor(elements.data(), {4, 2}));
    BOOST_CHECK_EXCEPTION(
        shards.check(), error,
        says(errc::shape_mismatch,
             "'qk': axis 0: 2 shards of extent 3 together do not fit a tensor of extent 4"));
    state_dict narrow;
    narrow.add("qk", fused(), 1, raw_tensor(elements.data(), {3, 2}));
    BOOST_CHECK_EXCEPTION(
        narrow.check(), error,
        says(errc::shape_mismatch,
             "'qk': axis 1: 2 shards of extent 3 together do not fit a tensor of extent 2"));
    BOOST_TEST(shards.size() == 2u);
}

namespace {

shard_descriptor row_of(index_t extent) {
    return {"row", data_type::f32, {extent}, {{0}, {extent}}, {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_handle_is_kept_also_a_temporary_one) {
    std::weak_ptr<std::vector<float>> storage;
    {
        state_dict shards;
        {
            counted_row const row({0, 1, 2, 3, 4});
            storage = row.storage;
            shards.add(row_of(3), row.narrow(1, 3));
        }
        shards.check();
        BOOST_TEST(storage.use_count() == 1);
        BOOST_TEST(static_cast<float*>(shards[0].tensor.data)[2] == 3);
    }
    BOOST_TEST(storage.expired());
}

BOOST_AUTO_TEST_CASE(a_handle_with_a_name_is_kept_too) {
    state_dict shards;
    const_state_dict read;
    {
        counted_row row({0, 1});
        shards.add(row_of(2), row);
        counted_row const constant({2, 3});
        read.add(row_of(2), constant);
    }
    BOOST_TEST(static_cast<float*>(shards[0].tensor.data)[1] == 1);
    BOOST_TEST(static_cast<float const*>(read[0].tensor.data)[1] == 3);
}

BOOST_AUTO_TEST_CASE(copies_and_conversions_of_a_state_dict_keep_handles) {
    std::weak_ptr<std::vector<float>> storage;
    const_state_dict read, tensors;
    {
        state_dict shards;
        counted_row row({0, 1});
        storage = row.storage;
        shards.add(row_of(2), std::move(row));
        read = shards;
        tensors.keep_handles(shards);
    }
    BOOST_TEST(storage.use_count() == 1);
    read = {};
    BOOST_TEST(!storage.expired());
    tensors = {};
    BOOST_TEST(storage.expired());
}

BOOST_AUTO_TEST_CASE(a_handle_is_spread_by_a_layout_too) {
    layout const layout = layout_of({{row_of(2)}});
    state_dict shards;
    shards.add("row", layout, 0, counted_row({5, 6}));
    shards.check();
    BOOST_TEST(static_cast<float*>(shards[0].tensor.data)[1] == 6);
}

BOOST_AUTO_TEST_CASE(what_traits_refuse_is_kept_as_an_error_that_names_the_key) {
    counted_row row({0, 1});
    row.is_read_only = true;
    const_state_dict read;
    read.add(row_of(2), row);
    read.check();
    state_dict written;
    written.add(row_of(2), row);
    BOOST_TEST(written.empty());
    BOOST_CHECK_EXCEPTION(written.check(), error,
                          says(errc::usage, "'row': a row of 2 elements is read-only"));
}

BOOST_AUTO_TEST_CASE(any_exception_of_traits_is_kept_as_an_error_that_names_the_key) {
    unknown_type tensor;
    state_dict shards;
    shards.add(row_of(2), tensor);
    BOOST_TEST(shards.empty());
    BOOST_CHECK_EXCEPTION(shards.check(), error,
                          says(errc::unsupported, "'row': ScalarType 44 is not known"));
    const_state_dict described;
    described.add([]() -> shard_descriptor { throw std::runtime_error("no such layer"); }, tensor);
    BOOST_CHECK_EXCEPTION(described.check(), error, says(errc::unsupported, "no such layer"));
}

BOOST_AUTO_TEST_SUITE_END()
