// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_ELEMENT_TEXT_HPP
#define RESHARD_STORAGE_ELEMENT_TEXT_HPP

#include <reshard/core/config.hpp>
#include <reshard/tensor/view.hpp>

#include <string>

/// \file
/// One element of a tensor as text.

namespace reshard::detail {

constexpr bool is_integer(data_type dtype) {
    switch (dtype) {
    case data_type::boolean:
    case data_type::u8:
    case data_type::i8:
    case data_type::i16:
    case data_type::u16:
    case data_type::i32:
    case data_type::u32:
    case data_type::i64: return true;
    default: return false;
    }
}

/// The element that lies `place` elements behind the first one: the shortest digits that mean it.
///
/// \par Shape any; strides do not matter
RESHARD_DECL std::string element_text(const_tensor_view const& elements, index_t place);

/// The bits of the same element, in hexadecimal: tells two NaN apart.
RESHARD_DECL std::string element_bits_text(const_tensor_view const& elements, index_t place);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/element_text.ipp>
#endif

#endif
