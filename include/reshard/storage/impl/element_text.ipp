// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_ELEMENT_TEXT_IPP
#define RESHARD_STORAGE_IMPL_ELEMENT_TEXT_IPP

#include <reshard/storage/element_text.hpp>

#include <reshard/copy/copy_elements.hpp>

#include <array>
#include <charconv>
#include <complex>
#include <cstddef>
#include <cstdint>

namespace reshard::detail {

/// Element `place` of a tensor in memory, converted to `T`.
template <class T>
T element_as(const_tensor_view const& elements, index_t place) {
    T value{};
    data_type const wanted = data_type_of<T>;
    copy_elements({{}, place, {}, 0, {}}, {elements.dtype, then({}, elements.dtype, wanted)},
                  elements.data, &value);
    return value;
}

template <class T>
std::string number_text(T value) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

RESHARD_DECL std::string element_text(const_tensor_view const& elements, index_t place) {
    data_type const dtype = elements.dtype;
    if (dtype == data_type::c64) {
        auto const value = element_as<std::complex<float>>(elements, place);
        return "(" + number_text(value.real()) + ", " + number_text(value.imag()) + ")";
    }
    if (is_integer(dtype))
        return number_text(element_as<std::int64_t>(elements, place));
    if (dtype == data_type::u64)
        return number_text(element_as<std::uint64_t>(elements, place));
    if (dtype == data_type::f64)
        return number_text(element_as<double>(elements, place));
    return number_text(element_as<float>(elements, place));
}

RESHARD_DECL std::string element_bits_text(const_tensor_view const& elements, index_t place) {
    std::array<unsigned char, 8> element{};
    copy_elements({{}, place, {}, 0, {}}, {elements.dtype, {}}, elements.data, element.data());
    std::string text = "0x";
    for (int i = (bits(elements.dtype) + 7) / 8; i-- > 0;) {
        text += "0123456789abcdef"[element[static_cast<std::size_t>(i)] >> 4];
        text += "0123456789abcdef"[element[static_cast<std::size_t>(i)] & 15];
    }
    return text;
}

} // namespace reshard::detail

#endif
