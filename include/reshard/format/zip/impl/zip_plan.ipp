// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_ZIP_IMPL_ZIP_PLAN_IPP
#define RESHARD_FORMAT_ZIP_IMPL_ZIP_PLAN_IPP

#include <reshard/format/zip/stored_zip.hpp>

#include <boost/crc.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reshard::detail {

RESHARD_DECL std::uint32_t zip_checksum(std::string_view text) {
    boost::crc_32_type sum;
    sum.process_bytes(text.data(), text.size());
    return sum.checksum();
}

/// A text of consecutive numbers, each lowest byte first.
class number_text {
public:
    number_text& add(std::uint64_t number, int bytes) {
        for (int i = 0; i < bytes; ++i)
            text_ += static_cast<char>(number >> 8 * i & 0xff);
        return *this;
    }
    std::string const& text() const { return text_; }

private:
    std::string text_;
};

/// Marks a number that does not fit the fields of archives without zip64.
inline constexpr std::uint64_t in_zip64 = 0xffff'ffff;

/// The first date that an archive can have. A fixed date makes archives of equal tensors equal.
inline constexpr std::uint64_t zip_date = 1 << 5 | 1;

/// The part of the header that local headers and the directory share.
inline void add_common(number_text& header, std::uint32_t checksum, std::uint64_t bytes,
                       std::size_t name, std::size_t extra) {
    std::uint64_t const stored = bytes < in_zip64 ? bytes : in_zip64;
    std::uint64_t const version = bytes < in_zip64 ? 20 : 45;
    std::uint64_t const utf8_names = 1 << 11;
    header.add(version, 2).add(utf8_names, 2).add(0, 2).add(0, 2).add(zip_date, 2);
    header.add(checksum, 4).add(stored, 4).add(stored, 4).add(name, 2).add(extra, 2);
}

RESHARD_DECL byte_run zip_plan::begin_member(std::string const& name, std::uint64_t bytes,
                                             std::uint64_t alignment, std::uint32_t checksum) {
    number_text extra;
    if (bytes >= in_zip64)
        extra.add(1, 2).add(16, 2).add(bytes, 8).add(bytes, 8);
    std::uint64_t const fixed = 30 + name.size() + extra.text().size();
    if (alignment > 1) {
        // Pads as torch does, with a field "FB" that has the missing number of bytes.
        std::uint64_t const lacking = (alignment - (end_ + fixed + 4) % alignment) % alignment;
        extra.add(0x4246, 2).add(lacking, 2);
        for (std::uint64_t i = 0; i < lacking; ++i)
            extra.add('Z', 1);
    }
    number_text header;
    header.add(0x0403'4b50, 4);
    add_common(header, checksum, bytes, name.size(), extra.text().size());
    members_.push_back({name, bytes, end_ - begin_, checksum});
    place(end_, header.text() + name + extra.text());
    byte_run const where{end_, end_ + bytes};
    end_ = where.end;
    return where;
}

RESHARD_DECL void zip_plan::place(std::uint64_t begin, std::string_view text) {
    if (!texts_.empty() && texts_.back().begin + texts_.back().text.size() == begin)
        texts_.back().text += text;
    else
        texts_.push_back({begin, std::string(text)});
    end_ = begin + text.size();
}

RESHARD_DECL std::uint64_t zip_plan::finish() {
    std::uint64_t const directory = end_ - begin_;
    for (member const& element : members_) {
        number_text extra;
        if (element.bytes >= in_zip64)
            extra.add(element.bytes, 8).add(element.bytes, 8);
        if (element.header >= in_zip64)
            extra.add(element.header, 8);
        std::size_t const large = extra.text().size();
        number_text entry;
        entry.add(0x0201'4b50, 4).add(45, 2);
        add_common(entry, element.checksum, element.bytes, element.name.size(),
                   large ? large + 4 : 0);
        entry.add(0, 2).add(0, 2).add(0, 2).add(0, 4);
        entry.add(element.header < in_zip64 ? element.header : in_zip64, 4);
        std::string text = entry.text() + element.name;
        if (large)
            text += number_text().add(1, 2).add(large, 2).text() + extra.text();
        place(end_, text);
    }
    std::uint64_t const bytes = end_ - begin_ - directory, count = members_.size();
    bool const is_large = end_ - begin_ >= in_zip64 || count >= 0xffff;
    number_text last;
    if (is_large) {
        std::uint64_t const record = end_ - begin_;
        last.add(0x0606'4b50, 4).add(44, 8).add(45, 2).add(45, 2).add(0, 4).add(0, 4);
        last.add(count, 8).add(count, 8).add(bytes, 8).add(directory, 8);
        last.add(0x0706'4b50, 4).add(0, 4).add(record, 8).add(1, 4);
    }
    last.add(0x0605'4b50, 4).add(0, 2).add(0, 2);
    last.add(is_large ? 0xffff : count, 2).add(is_large ? 0xffff : count, 2);
    last.add(is_large ? in_zip64 : bytes, 4).add(is_large ? in_zip64 : directory, 4).add(0, 2);
    place(end_, last.text());
    return end_;
}

} // namespace reshard::detail

#endif
