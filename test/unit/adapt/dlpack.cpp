// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/dlpack.hpp>

#include "support/says.hpp"

#include <reshard/adapt/span.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/testing/check_adapter.hpp>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using adapt::dlpack_tensor;
using adapt::to_dlpack;
using reshard::test::says;
namespace dlpack = reshard::adapt::dlpack;

namespace {

int deleted = 0;

/// A tensor that a framework lends: it counts how often its deleter is called.
template <class Managed>
struct lent_tensor {
    Managed managed{};
    std::vector<std::int64_t> shape, strides;
    std::vector<float> elements = std::vector<float>(64);

    lent_tensor(std::vector<std::int64_t> of_shape, std::vector<std::int64_t> of_strides)
        : shape(std::move(of_shape)), strides(std::move(of_strides)) {
        managed.manager_ctx = this;
        managed.deleter = [](Managed* self) {
            ++deleted;
            delete static_cast<lent_tensor*>(self->manager_ctx);
        };
        managed.dl_tensor.data = elements.data();
        managed.dl_tensor.device.device_type = decltype(managed.dl_tensor.device.device_type)(1);
        managed.dl_tensor.ndim = static_cast<std::int32_t>(shape.size());
        managed.dl_tensor.dtype = {2, 32, 1};
        managed.dl_tensor.shape = shape.data();
        managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
        if constexpr (dlpack::any_versioned<Managed>)
            managed.version = {1, 0};
    }
};

template <class Managed = dlpack::managed_versioned>
Managed* lend(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
    return &(new lent_tensor<Managed>(std::move(shape), std::move(strides)))->managed;
}

void check_refused(dlpack::managed_versioned* managed_versioned, errc code,
                   std::string const& sentence) {
    deleted = 0;
    BOOST_CHECK_EXCEPTION(dlpack_tensor{managed_versioned}, error, says(code, sentence));
    BOOST_TEST(deleted == 1);
}

/// The offsets of members, of ours and of a header's structures.
template <class Ours, class Theirs>
constexpr bool has_same_members =
    sizeof(Ours) == sizeof(Theirs) && offsetof(Ours, dl_tensor) == offsetof(Theirs, dl_tensor) &&
    offsetof(Ours, manager_ctx) == offsetof(Theirs, manager_ctx) &&
    offsetof(Ours, deleter) == offsetof(Theirs, deleter);

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_dlpack)

BOOST_AUTO_TEST_CASE(structures_lie_as_the_specification_says) {
    // On 64 bits: pointer 8, device 4 + 4, ndim 4, type 1 + 1 + 2, two pointers, 8.
    static_assert(sizeof(dlpack::tensor) == 48 && offsetof(dlpack::tensor, device) == 8);
    static_assert(offsetof(dlpack::tensor, ndim) == 16 && offsetof(dlpack::tensor, dtype) == 20);
    static_assert(offsetof(dlpack::tensor, shape) == 24 && offsetof(dlpack::tensor, strides) == 32);
    static_assert(offsetof(dlpack::tensor, byte_offset) == 40);
    static_assert(sizeof(dlpack::managed) == 64 && offsetof(dlpack::managed, manager_ctx) == 48);
    using versioned = dlpack::managed_versioned;
    static_assert(sizeof(versioned) == 80 && offsetof(versioned, manager_ctx) == 8);
    static_assert(offsetof(versioned, deleter) == 16 && offsetof(versioned, flags) == 24);
    static_assert(offsetof(versioned, dl_tensor) == 32);
#if __has_include(<dlpack/dlpack.h>)
    static_assert(has_same_members<dlpack::managed, DLManagedTensor>);
    static_assert(sizeof(dlpack::tensor) == sizeof(DLTensor));
    static_assert(offsetof(dlpack::tensor, dtype) == offsetof(DLTensor, dtype));
    static_assert(offsetof(dlpack::tensor, byte_offset) == offsetof(DLTensor, byte_offset));
#endif
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(a_lent_tensor_keeps_the_laws) {
    auto const element = [](dlpack_tensor const& t, index_vector const& i) {
        return static_cast<float*>(const_cast<void*>(t.elements().data)) +
               linear_offset(i, t.elements().strides);
    };
    testing::check_adapter<dlpack_tensor>(
        {.make =
             [](index_vector const& shape, data_type) {
                 return dlpack_tensor(lend({shape.begin(), shape.end()}));
             },
         .write = [=](dlpack_tensor& t, index_vector const& i,
                      int number) { *element(t, i) = static_cast<float>(number); },
         .read = [=](dlpack_tensor const& t,
                     index_vector const& i) { return static_cast<int>(*element(t, i)); },
         .dtypes = {data_type::f32}});
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(the_deleter_is_called_once_when_the_last_copy_is_gone) {
    deleted = 0;
    {
        state_dict want;
        {
            dlpack_tensor const first(lend({2, 3}, {1, 2}));
            dlpack_tensor copy = first;
            want.add(replicated("w", data_type::f32, {2, 3}), copy);
        }
        want.check();
        BOOST_TEST((want[0].tensor.strides == index_vector{1, 2}));
        BOOST_TEST(deleted == 0);
    }
    BOOST_TEST(deleted == 1);
    dlpack_tensor{lend<dlpack::managed>({2})};
    BOOST_TEST(deleted == 2);
    auto* const forever = lend<dlpack::managed>({2});
    forever->deleter = nullptr; // legal: nothing is to be ended
    dlpack_tensor{forever};
    delete static_cast<lent_tensor<dlpack::managed>*>(forever->manager_ctx);
}

BOOST_AUTO_TEST_CASE(null_strides_are_row_major_and_a_byte_offset_is_added) {
    auto* const source = lend<dlpack::managed>({2, 3});
    source->dl_tensor.byte_offset = 8;
    dlpack_tensor const t(source);
    BOOST_TEST((t.elements().strides == index_vector{3, 1}));
    BOOST_TEST(t.elements().data == static_cast<float*>(source->dl_tensor.data) + 2);
    auto* const scalar = lend<dlpack::managed>({});
    scalar->dl_tensor.shape = nullptr;
    BOOST_TEST(dlpack_tensor(scalar).elements().ndim() == 0u);
    auto* const empty = lend<dlpack::managed>({0, 3});
    empty->dl_tensor.data = nullptr;
    BOOST_TEST(dlpack_tensor(empty).elements().data == nullptr);
}

BOOST_AUTO_TEST_CASE(other_versions_and_tensors_are_refused_and_given_back) {
    auto* source = lend({2});
    source->version = {2, 0};
    check_refused(source, errc::unsupported,
                  "a DLPack tensor has version 2.0, but only versions 1.x are supported");
    source = lend({2});
    source->version = {0, 9};
    check_refused(source, errc::unsupported,
                  "a DLPack tensor has version 0.9, but only versions 1.x are supported");
    source = lend({2});
    source->dl_tensor.dtype = {2, 32, 4};
    check_refused(source, errc::unsupported,
                  "a DLPack tensor of type code 2 with 32 bits and 4 lanes matches no data type "
                  "of this library");
    source = lend({2});
    source->dl_tensor.dtype = {17, 4, 1};
    check_refused(source, errc::unsupported,
                  "a DLPack tensor of type code 17 with 4 bits and 1 lane matches no data type of "
                  "this library");
    check_refused(lend({2, -1}), errc::unsupported,
                  "a DLPack tensor has the extent -1 along axis 1");
    source = lend({2});
    source->dl_tensor.ndim = -1;
    check_refused(source, errc::unsupported, "a DLPack tensor has -1 axes");
    source = lend({2});
    source->dl_tensor.shape = nullptr;
    check_refused(source, errc::unsupported,
                  "a DLPack tensor has 1 axes, but its shape is a null pointer");
    BOOST_CHECK_EXCEPTION(dlpack_tensor(static_cast<dlpack::managed*>(nullptr)), error,
                          says(errc::usage, "the DLPack tensor is a null pointer"));
}

BOOST_AUTO_TEST_CASE(a_minor_version_that_is_newer_is_read) {
    auto* const source = lend({2});
    source->version = {1, 99};
    BOOST_TEST((dlpack_tensor(source).elements().shape == index_vector{2}));
}

BOOST_AUTO_TEST_CASE(a_read_only_tensor_is_a_source_and_no_target) {
    auto* const source = lend({2});
    source->flags = 1;
    dlpack_tensor t(source);
    BOOST_TEST(t.is_read_only());
    const_state_dict have;
    have.add(replicated("w", data_type::f32, {2}), t);
    have.check();
    state_dict want;
    want.add(replicated("w", data_type::f32, {2}), t);
    BOOST_CHECK_EXCEPTION(want.check(), error,
                          says(errc::usage, "'w': a DLPack tensor of float32 [2] is read-only; add "
                                            "it to a const_state_dict"));
}

BOOST_AUTO_TEST_CASE(memory_of_a_device_is_not_touched) {
    for (std::int32_t const device : {1, 2, 3, 10, 11, 13}) {
        auto* const source = lend({2});
        source->dl_tensor.device.device_type = device;
        bool const is_host = device == 1 || device == 3 || device == 11;
        BOOST_TEST((dlpack_tensor(source).elements().memory == memory_space::host) == is_host);
    }
}

BOOST_AUTO_TEST_CASE(types_have_the_codes_of_the_specification) {
    using type = dlpack::element_type;
    static_assert(dlpack::dtype_of(type{0, 64, 1}) == data_type::i64);
    static_assert(dlpack::dtype_of(type{1, 8, 1}) == data_type::u8);
    static_assert(dlpack::dtype_of(type{2, 16, 1}) == data_type::f16);
    static_assert(dlpack::dtype_of(type{4, 16, 1}) == data_type::bf16);
    static_assert(dlpack::dtype_of(type{5, 64, 1}) == data_type::c64);
    static_assert(dlpack::dtype_of(type{5, 128, 1}) == data_type::c128);
    static_assert(dlpack::dtype_of(type{6, 8, 1}) == data_type::boolean);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(every_type_of_whole_bytes_goes_there_and_back) {
    for (dlpack::type_row const& row : dlpack::types) {
        auto const type = dlpack::type_of(row.dtype);
        BOOST_TEST((dlpack::dtype_of(type) == row.dtype));
        BOOST_TEST(int{type.bits} == bits(row.dtype));
    }
    BOOST_CHECK_EXCEPTION(
        dlpack::type_of(data_type::f4), error,
        says(errc::unsupported, "elements of float4_e2m1 cannot be exported to DLPack"));
}

BOOST_AUTO_TEST_CASE(an_exported_tensor_owns_what_was_moved_into_it) {
    std::vector<float> elements{0, 1, 2};
    float* const address = elements.data();
    dlpack::managed_versioned* const lent = to_dlpack(std::move(elements));
    BOOST_TEST(lent->version.major == 1u);
    BOOST_TEST(lent->flags == 0u);
    BOOST_TEST(lent->dl_tensor.data == address);
    BOOST_TEST(lent->dl_tensor.ndim == 1);
    BOOST_TEST(lent->dl_tensor.shape[0] == 3);
    BOOST_TEST(lent->dl_tensor.strides[0] == 1);
    BOOST_TEST(lent->dl_tensor.device.device_type == 1);
    BOOST_TEST(int{lent->dl_tensor.dtype.code} == 2);
    dlpack_tensor back(lent); // its deleter frees the vector
    BOOST_TEST(static_cast<float*>(view(back).data)[2] == 2);
}

BOOST_AUTO_TEST_CASE(a_handle_is_shared_with_its_exports) {
    deleted = 0;
    dlpack::managed* lent = nullptr;
    {
        dlpack_tensor const first(lend({4}));
        lent = to_dlpack<dlpack::managed>(first);
    }
    BOOST_TEST(deleted == 0);
    lent->deleter(lent);
    BOOST_TEST(deleted == 1);
}

BOOST_AUTO_TEST_CASE(const_elements_are_exported_as_read_only) {
    std::vector<float> const elements(2);
    dlpack_tensor const back(to_dlpack(std::span(elements)));
    BOOST_TEST(back.is_read_only());
    BOOST_TEST(back.elements().data == elements.data());
    std::vector<float> none;
    auto* const lent = to_dlpack(std::move(none));
    BOOST_TEST(lent->dl_tensor.data == nullptr);
    lent->deleter(lent);
}

BOOST_AUTO_TEST_CASE(memory_of_a_device_is_exported_with_its_number) {
    for (std::int32_t const type : {2, 10, 14}) {
        auto* const source = lend({2});
        source->dl_tensor.device = {type, 3};
        dlpack_tensor const seen(source);
        BOOST_TEST(seen.elements().memory.number == 3);
        auto* const lent = to_dlpack(seen);
        BOOST_TEST(static_cast<std::int32_t>(lent->dl_tensor.device.device_type) == type);
        BOOST_TEST(lent->dl_tensor.device.device_id == 3);
        lent->deleter(lent);
    }
    auto* const source = lend({2});
    source->dl_tensor.device.device_type = 8; // Metal
    BOOST_CHECK_EXCEPTION(to_dlpack(dlpack_tensor(source)), error,
                          says(errc::unsupported,
                               "a tensor of float32 [2] on device:0 cannot be exported: DLPack has "
                               "no name for this device"));
}

#if __has_include(<dlpack/dlpack.h>)
BOOST_AUTO_TEST_CASE(structures_of_another_header_are_taken_and_made) {
    deleted = 0;
    DLManagedTensor* lent = nullptr;
    {
        dlpack_tensor const t(lend<DLManagedTensor>({2, 3}));
        BOOST_TEST((t.elements().shape == index_vector{2, 3}));
        lent = to_dlpack<DLManagedTensor>(t);
    }
    BOOST_TEST((lent->dl_tensor.device.device_type == kDLCPU));
    BOOST_TEST(lent->dl_tensor.shape[1] == 3);
    lent->deleter(lent);
    BOOST_TEST(deleted == 1);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
