// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAFETENSORS_FAULT_IPP
#define RESHARD_FORMAT_IMPL_SAFETENSORS_FAULT_IPP

#include <reshard/format/safetensors_fault.hpp>

namespace reshard {

namespace detail {

/// The text with `\0` for each zero byte, behind which what() would show nothing.
inline std::string without_zero_bytes(std::string_view text) {
    std::string result;
    for (char const character : text)
        result += character == '\0' ? std::string("\\0") : std::string(1, character);
    return result;
}

} // namespace detail

RESHARD_DECL void fail(detail::safetensors_fault fault, std::string_view file,
                       std::string const& text) {
    fail(errc::corrupt_file, std::string(file) + ": " + detail::without_zero_bytes(text) + " [" +
                                 std::string(name(fault)) + "]");
}

namespace detail {

RESHARD_DECL std::optional<safetensors_fault> safetensors_fault_of(error const& thrown) {
    std::string_view const text = thrown.what();
    for (int i = 0; i <= static_cast<int>(safetensors_fault::not_strict); ++i) {
        auto const fault = static_cast<safetensors_fault>(i);
        if (text.ends_with("[" + std::string(name(fault)) + "]"))
            return fault;
    }
    return std::nullopt;
}

} // namespace detail

} // namespace reshard

#endif
