// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_BYTE_READER_IPP
#define RESHARD_GROUP_IMPL_BYTE_READER_IPP

#include <reshard/group/byte_reader.hpp>

#include <reshard/core/config.hpp>

namespace reshard::detail {

RESHARD_DECL void byte_reader::end() const {
    if (!rest_.empty())
        refuse_archive("of a " + std::string(name_) + " has " + std::to_string(rest_.size()) +
                       " bytes after its end");
}

RESHARD_DECL std::uint64_t byte_reader::get_number(std::size_t size) {
    std::string_view const bytes = take(size);
    std::uint64_t number = 0;
    for (std::size_t i = size; i-- > 0;)
        number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return number;
}

RESHARD_DECL std::string_view byte_reader::get_text() { return take(get_count()); }

RESHARD_DECL std::size_t byte_reader::get_count() {
    auto const count = get_number<std::uint64_t>();
    if (count > rest_.size())
        end_too_early(count);
    return static_cast<std::size_t>(count);
}

RESHARD_DECL std::size_t byte_reader::get_below(std::size_t limit, std::string_view noun) {
    auto const number = get_number<std::uint8_t>();
    if (number >= limit)
        refuse_archive("has " + std::string(noun) + " " + std::to_string(number) +
                       ", which must be less than " + std::to_string(limit));
    return number;
}

RESHARD_DECL std::string_view byte_reader::take(std::size_t bytes) {
    if (bytes > rest_.size())
        end_too_early(bytes);
    std::string_view const taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
}

RESHARD_DECL void byte_reader::end_too_early(std::uint64_t needed) const {
    refuse_archive("of a " + std::string(name_) +
                   " cannot be read to its end: " + std::to_string(rest_.size()) +
                   " bytes are left, but " + std::to_string(needed) + " or more are needed");
}

} // namespace reshard::detail

#endif
