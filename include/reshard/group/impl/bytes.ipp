// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_BYTES_IPP
#define RESHARD_GROUP_IMPL_BYTES_IPP

#include <reshard/group/bytes.hpp>

namespace reshard::detail {

RESHARD_DECL void byte_writer::add_number(std::uint64_t number, std::size_t size) {
    char bytes[sizeof number];
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>(number >> (8 * i) & 0xff);
    bytes_.append(bytes, size);
}

RESHARD_DECL void byte_writer::add_text(std::string_view text) {
    add_number(std::uint64_t{text.size()});
    bytes_ += text;
}

RESHARD_DECL void check_mark(byte_reader& from, stored_form const& form) {
    if (from.get<std::uint32_t>() != wire_mark)
        refuse_archive("does not hold a " + std::string(form.name) + ", or is damaged");
}

RESHARD_DECL void check_head(byte_reader& from, stored_form const& form) {
    check_mark(from, form);
    if (from.get<std::uint8_t>() != form.number)
        refuse_archive("holds something other than a " + std::string(form.name));
    if (auto const version = from.get<std::uint8_t>(); version != wire_version)
        fail(errc::unsupported, "the archive holds a ", form.name, " of version ", version,
             ", but this library reads version ", wire_version);
}

} // namespace reshard::detail

#endif
