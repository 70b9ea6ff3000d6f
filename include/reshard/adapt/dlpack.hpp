// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_DLPACK_HPP
#define RESHARD_ADAPT_DLPACK_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

/// \file
/// Imports and exports tensors through DLPack. Supports both managed forms: version 1, and the
/// older form without a version.

namespace reshard::adapt::dlpack {

/// \name The binary interface of DLPack 1, for programs without a DLPack header
///
/// All functions here also take the structures of `dlpack/dlpack.h`, since these have the same
/// member names.
/// \par Source the specification of DLPack 1.0, "C API"
/// \{
struct device {
    std::int32_t device_type = 1; ///< 1: the processor
    std::int32_t device_id = 0;
};
struct element_type {
    std::uint8_t code = 0;
    std::uint8_t bits = 0;
    std::uint16_t lanes = 1;
};
struct tensor {
    void* data = nullptr;
    dlpack::device device;
    std::int32_t ndim = 0;
    element_type dtype;
    std::int64_t* shape = nullptr;
    std::int64_t* strides = nullptr; ///< in elements; null: row-major
    std::uint64_t byte_offset = 0;
};
struct managed {
    tensor dl_tensor;
    void* manager_ctx = nullptr;
    void (*deleter)(managed* self) = nullptr;
};
struct version {
    std::uint32_t major = 1;
    std::uint32_t minor = 0;
};
struct managed_versioned {
    dlpack::version version;
    void* manager_ctx = nullptr;
    void (*deleter)(managed_versioned* self) = nullptr;
    std::uint64_t flags = 0; ///< bit 0: read-only
    tensor dl_tensor;
};
/// \}

/// `DLManagedTensor` of any header.
template <class T>
concept any_managed = requires(T& t) {
    t.dl_tensor.byte_offset;
    t.manager_ctx;
    t.deleter(&t);
};
/// `DLManagedTensorVersioned` of any header.
template <class T>
concept any_versioned = any_managed<T> && requires(T& t) {
    t.version.major;
    t.flags;
};

inline constexpr std::uint64_t read_only_flag = 1;

/// DLPack's type codes and widths in bits, and the equal data types of this library. Types of less
/// than a byte are omitted, since the exporter chooses their packing.
struct type_row {
    std::uint8_t code;
    std::uint8_t bits;
    data_type dtype;
};
inline constexpr type_row types[] = {
    {0, 8, data_type::i8},           {0, 16, data_type::i16},     {0, 32, data_type::i32},
    {0, 64, data_type::i64},         {1, 8, data_type::u8},       {1, 16, data_type::u16},
    {1, 32, data_type::u32},         {1, 64, data_type::u64},     {2, 16, data_type::f16},
    {2, 32, data_type::f32},         {2, 64, data_type::f64},     {4, 16, data_type::bf16},
    {5, 64, data_type::c64},         {6, 8, data_type::boolean},  {10, 8, data_type::f8_e4m3},
    {11, 8, data_type::f8_e4m3fnuz}, {12, 8, data_type::f8_e5m2}, {13, 8, data_type::f8_e5m2fnuz},
    {14, 8, data_type::f8_e8m0},     {5, 128, data_type::c128},
};

/// \throws error with errc::unsupported
constexpr data_type dtype_of(auto const& source) {
    for (type_row const& row : types)
        if (row.code == source.code && row.bits == source.bits && source.lanes == 1)
            return row.dtype;
    fail(errc::unsupported, "a DLPack tensor of type code ", int{source.code}, " with ",
         int{source.bits}, " bits and ", detail::counted(int{source.lanes}, "lane"),
         " matches no data type of this library");
}

/// \throws error with errc::unsupported
constexpr element_type type_of(data_type dtype) {
    for (type_row const& row : types)
        if (row.dtype == dtype)
            return {row.code, row.bits, 1};
    fail(errc::unsupported, "elements of ", dtype, " cannot be exported to DLPack");
}

/// The memory of a DLPack device. CPU, CUDA host and ROCm host have host memory. Managed memory
/// counts as device memory, since a kernel may be using it.
constexpr memory_space memory_of_device(std::int32_t type, std::int32_t number = 0) {
    switch (type) {
    case 1:
    case 3:
    case 11: return {};
    case 2:
    case 13: return {memory_space::cuda, number};
    case 10: return {memory_space::rocm, number};
    case 14: return {memory_space::sycl, number};
    default: return {memory_space::device, number};
    }
}

/// The device of a tensor's elements. The host's memory, pinned or not, is that of the processor.
///
/// \throws error with errc::unsupported for a device that DLPack does not name
inline device device_of(const_tensor_view const& t) {
    switch (t.memory.kind) {
    case memory_space::host: return {1, 0};
    case memory_space::cuda: return {2, t.memory.number};
    case memory_space::rocm: return {10, t.memory.number};
    case memory_space::sycl: return {14, t.memory.number};
    default:
        fail(errc::unsupported, "a tensor of ", t.dtype, " ", t.shape, " on ", to_string(t.memory),
             " cannot be exported: DLPack has no name for this device");
    }
}

} // namespace reshard::adapt::dlpack

namespace reshard::adapt {

/// A tensor that another framework has lent. Copies share the tensor; its deleter is called once,
/// after the last copy is destroyed.
class dlpack_tensor {
public:
    /// Takes ownership of a managed tensor. If the tensor is refused, its deleter is called at
    /// once.
    ///
    /// \throws error with errc::usage for null; errc::unsupported for a major version other than 1,
    ///         a data type that this library lacks, or negative extents; errc::limit_exceeded for
    ///         more than `max_ndim` axes
    template <dlpack::any_managed Managed>
    explicit dlpack_tensor(Managed* value) {
        if (!value)
            fail(errc::usage, "the DLPack tensor is a null pointer");
        owner_ = std::shared_ptr<void>(value, [](void* held) {
            auto* const lent = static_cast<Managed*>(held);
            if (lent->deleter)
                lent->deleter(lent);
        });
        if constexpr (dlpack::any_versioned<Managed>) {
            if (value->version.major != 1)
                fail(errc::unsupported, "a DLPack tensor has version ", value->version.major, ".",
                     value->version.minor, ", but only versions 1.x are supported");
            is_read_only_ = (value->flags & dlpack::read_only_flag) != 0;
        }
        look_at(value->dl_tensor);
    }

    /// True if the elements may not be written. Such a tensor is refused as a target.
    bool is_read_only() const { return is_read_only_; }
    /// The elements, for reading.
    const_tensor_view const& elements() const { return elements_; }

private:
    void look_at(auto const& t) {
        if (t.ndim < 0 || (t.ndim > 0 && !t.shape))
            fail(errc::unsupported, "a DLPack tensor has ", t.ndim, " axes",
                 t.ndim < 0 ? "" : ", but its shape is a null pointer");
        elements_.dtype = dlpack::dtype_of(t.dtype);
        elements_.memory = dlpack::memory_of_device(static_cast<std::int32_t>(t.device.device_type),
                                                    t.device.device_id);
        elements_.shape = index_vector(t.shape, t.shape + t.ndim);
        for (std::size_t axis = 0; axis < elements_.ndim(); ++axis)
            if (elements_.shape[axis] < 0)
                fail(errc::unsupported, "a DLPack tensor has the extent ", elements_.shape[axis],
                     " along axis ", axis);
        elements_.strides = t.strides || t.ndim == 0 ? index_vector(t.strides, t.strides + t.ndim)
                                                     : row_major_strides(elements_.shape);
        if (t.data)
            elements_.data = static_cast<std::byte const*>(t.data) + t.byte_offset;
    }

    std::shared_ptr<void> owner_;
    const_tensor_view elements_;
    bool is_read_only_ = false;
};

} // namespace reshard::adapt

namespace reshard::detail {

/// The data of an exported tensor. The deleter destroys it.
template <class Managed>
struct dlpack_export {
    Managed lent{};
    index_vector shape;
    index_vector strides;
    std::shared_ptr<void const> owner;
};

/// A managed tensor with the elements of `t`. It keeps `owner` alive.
///
/// \throws error with errc::unsupported for a device or a type that DLPack lacks
template <class Managed>
Managed* dlpack_lend(const_tensor_view const& t, std::shared_ptr<void const> owner,
                     bool is_read_only) {
    auto const device = adapt::dlpack::device_of(t);
    auto unique = std::make_unique<dlpack_export<Managed>>();
    unique->shape = t.shape;
    unique->strides = t.strides;
    unique->owner = std::move(owner);
    auto& dl_tensor = unique->lent.dl_tensor;
    auto const type = adapt::dlpack::type_of(t.dtype);
    dl_tensor.data = element_count(t.shape) == 0 ? nullptr : const_cast<void*>(t.data);
    dl_tensor.device = {static_cast<decltype(dl_tensor.device.device_type)>(device.device_type),
                        device.device_id};
    dl_tensor.ndim = static_cast<std::int32_t>(t.ndim());
    dl_tensor.dtype = {type.code, type.bits, type.lanes};
    dl_tensor.shape = unique->shape.begin();
    dl_tensor.strides = unique->strides.begin();
    dl_tensor.byte_offset = 0;
    if constexpr (adapt::dlpack::any_versioned<Managed>) {
        unique->lent.version = {1, 1};
        unique->lent.flags = is_read_only ? adapt::dlpack::read_only_flag : 0;
    }
    unique->lent.manager_ctx = unique.get();
    unique->lent.deleter = [](Managed* self) {
        delete static_cast<dlpack_export<Managed>*>(self->manager_ctx);
    };
    return &unique.release()->lent;
}

} // namespace reshard::detail

namespace reshard::adapt {

/// Exports a tensor to another framework, which calls the deleter when it no longer needs the
/// tensor.
///
/// Takes ownership of `t`: pass a tensor that owns its elements with `std::move`. A handle is
/// shared. The elements of a borrowed tensor must exist until the deleter is called. Const elements
/// are exported with the read-only flag. The form without a version lacks this flag, so it refuses
/// const elements.
///
/// \tparam Managed `DLManagedTensorVersioned` or `DLManagedTensor` of any header, or the structures
///                 in this header
/// \throws error with errc::unsupported for a device or a type that DLPack lacks
template <dlpack::any_managed Managed = dlpack::managed_versioned, tensor T>
Managed* to_dlpack(T t) {
    auto const kept = std::make_shared<T>(std::move(t));
    auto const view = reshard::view(*kept);
    constexpr bool is_const = std::same_as<decltype(view), const_tensor_view const>;
    static_assert(
        !is_const || dlpack::any_versioned<Managed>,
        "to_dlpack: const elements need DLManagedTensorVersioned, which can be read-only");
    return detail::dlpack_lend<Managed>(view, kept, is_const);
}

} // namespace reshard::adapt

namespace reshard {

template <>
struct tensor_traits<adapt::dlpack_tensor> {
    using element_type = std::byte;
    static constexpr bool is_handle = true;

    static index_vector shape(adapt::dlpack_tensor const& t) { return t.elements().shape; }
    static index_vector strides(adapt::dlpack_tensor const& t) { return t.elements().strides; }
    static data_type dtype(adapt::dlpack_tensor const& t) { return t.elements().dtype; }
    static memory_space memory(adapt::dlpack_tensor const& t) { return t.elements().memory; }
    /// \throws error with errc::usage if the elements are read-only
    static std::byte* data(adapt::dlpack_tensor& t) {
        if (t.is_read_only())
            fail(errc::usage, "a DLPack tensor of ", t.elements().dtype, " ", t.elements().shape,
                 " is read-only; add it to a const_state_dict");
        return const_cast<std::byte*>(data(std::as_const(t)));
    }
    static std::byte const* data(adapt::dlpack_tensor const& t) {
        return static_cast<std::byte const*>(t.elements().data);
    }
};

} // namespace reshard

#endif
