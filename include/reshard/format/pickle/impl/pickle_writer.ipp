// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_PICKLE_WRITER_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_PICKLE_WRITER_IPP

#include <reshard/format/pickle/pickle_writer.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL pickle_writer::pickle_writer() {
    code(pickle_code::proto);
    number(2, 1);
}

RESHARD_DECL void pickle_writer::number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
        text_ += static_cast<char>(value >> 8 * i & 0xff);
}

RESHARD_DECL void pickle_writer::integer(std::int64_t value) {
    auto const bits = static_cast<std::uint64_t>(value);
    if (bits < 1 << 8) {
        code(pickle_code::binint1);
        number(bits, 1);
    } else if (value == static_cast<std::int32_t>(value)) {
        code(pickle_code::binint);
        number(bits, 4);
    } else {
        code(pickle_code::long1);
        number(8, 1);
        number(bits, 8);
    }
}

RESHARD_DECL void pickle_writer::long_integer(std::string_view bytes) {
    code(pickle_code::long1);
    number(bytes.size(), 1);
    text_ += bytes;
}

RESHARD_DECL void pickle_writer::real(double value) {
    auto const bits = std::bit_cast<std::uint64_t>(value);
    code(pickle_code::binfloat);
    for (int i = 7; i >= 0; --i) // only this number is written highest byte first
        number(bits >> 8 * i & 0xff, 1);
}

RESHARD_DECL bool pickle_writer::repeat(std::string const& value) {
    auto const [position, is_new] =
        known_.emplace(value, static_cast<std::uint32_t>(known_.size()));
    if (is_new)
        return false;
    code(position->second < 1 << 8 ? pickle_code::binget : pickle_code::long_binget);
    number(position->second, position->second < 1 << 8 ? 1 : 4);
    return true;
}

RESHARD_DECL void pickle_writer::remember() {
    std::size_t const last = known_.size() - 1;
    code(last < 1 << 8 ? pickle_code::binput : pickle_code::long_binput);
    number(last, last < 1 << 8 ? 1 : 4);
}

RESHARD_DECL void pickle_writer::text(std::string_view value) {
    if (repeat("'" + std::string(value)))
        return;
    code(pickle_code::binunicode);
    number(value.size(), 4);
    text_ += value;
    remember();
}

RESHARD_DECL void pickle_writer::global(std::string_view module, std::string_view name) {
    std::string const value = std::string(module) + "\n" + std::string(name) + "\n";
    if (repeat(value))
        return;
    code(pickle_code::global);
    text_ += value;
    remember();
}

RESHARD_DECL void pickle_writer::integers(index_vector const& values) {
    begin();
    for (index_t const value : values)
        integer(value);
    tuple();
}

RESHARD_DECL std::string pickle_writer::take() {
    code(pickle_code::stop);
    return std::move(text_);
}

} // namespace reshard::detail

#endif
