// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_ZIP_IMPL_STORED_ZIP_IPP
#define RESHARD_FORMAT_ZIP_IMPL_STORED_ZIP_IPP

#include <reshard/format/zip/stored_zip.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

namespace reshard::detail {

/// Reads one archive; positions in it count from its first byte.
class zip_reader {
public:
    zip_reader(file_store::file const& file, std::string_view name, byte_run where)
        : file_(file), name_(name), where_(where) {}

    std::vector<zip_member> members() {
        directory const found = find_directory();
        if (found.entries > found.bytes.size() / entry_bytes)
            refuse(found.bytes.begin,
                   words("a directory of ", found.bytes.size(), " bytes is said to have ",
                         counted(static_cast<index_t>(found.entries), "member")));
        std::string const text = read(found.bytes.begin, found.bytes.size());
        std::vector<entry> entries;
        std::size_t place = 0;
        for (std::uint64_t i = 0; i < found.entries; ++i)
            entries.push_back(entry_at(text, place, found.bytes.begin));
        if (place != text.size())
            refuse(found.bytes.begin + place,
                   words("the end of the archive counts ",
                         counted(static_cast<index_t>(found.entries), "member"),
                         ", and its directory goes on for ", text.size() - place,
                         " bytes; was it damaged?"));
        check_names_differ(entries);
        return placed(entries, found.bytes.begin);
    }

private:
    static constexpr std::uint64_t end_bytes = 22, locator_bytes = 20, end64_bytes = 56,
                                   entry_bytes = 46, local_bytes = 30;
    static constexpr std::uint32_t end_mark = 0x06054b50, locator_mark = 0x07064b50,
                                   end64_mark = 0x06064b50, entry_mark = 0x02014b50,
                                   local_mark = 0x04034b50;
    static constexpr std::uint64_t elsewhere16 = 0xffff; ///< the number is in zip64

    /// The position of the list of members.
    struct directory {
        std::uint64_t entries = 0;
        byte_run bytes;
    };

    /// A member before the position of its bytes is known.
    struct entry {
        std::string name;
        zip_packing packing;
        std::uint64_t bytes = 0;  ///< in the file
        std::uint64_t header = 0; ///< position of the header before its bytes

        bool is_stored() const {
            return packing.method == zip_packing::stored && !packing.is_encrypted;
        }
    };

    /// Refuses two members of one name, of which readers take different ones.
    void check_names_differ(std::vector<entry> const& entries) const {
        std::vector<entry const*> sorted;
        sorted.reserve(entries.size());
        for (entry const& one : entries)
            sorted.push_back(&one);
        std::ranges::sort(sorted, {}, &entry::name);
        auto const twice = std::ranges::adjacent_find(sorted, {}, &entry::name);
        if (twice != sorted.end())
            refuse((*twice)->header, "the archive has the member '" + (*twice)->name +
                                         "' twice; write it again with each name once");
    }

    [[noreturn]] void refuse(std::uint64_t place, std::string const& text,
                             errc code = errc::corrupt_file) const {
        fail(code, name_, ": byte ", where_.begin + place, ": ", text);
    }

    std::string read(std::uint64_t place, std::uint64_t bytes) const {
        if (place > where_.size() || bytes > where_.size() - place)
            refuse(place, words(bytes, " bytes are asked for, beyond the archive, which ends at ",
                                where_.end));
        std::string text(static_cast<std::size_t>(bytes), ' ');
        file_.read(where_.begin + place, std::as_writable_bytes(std::span(text)));
        return text;
    }

    /// \pre the bytes exist
    template <class Number>
    static Number number_at(std::string_view text, std::size_t place) {
        return boost::endian::endian_load<Number, sizeof(Number), boost::endian::order::little>(
            reinterpret_cast<unsigned char const*>(text.data() + place));
    }
    static std::uint32_t mark_at(std::string_view text, std::size_t place) {
        return number_at<std::uint32_t>(text, place);
    }

    /// The last record of an archive, which a comment may follow.
    std::uint64_t find_end(std::string const& tail) const {
        for (std::size_t place = tail.size() - end_bytes + 1; place-- > 0;)
            if (mark_at(tail, place) == end_mark &&
                place + end_bytes + number_at<std::uint16_t>(tail, place + 20) == tail.size())
                return where_.size() - tail.size() + place;
        refuse(where_.size(), "no archive ends here, and what begins as one has these " +
                                  counted(where_.size(), "byte") + "; was it cut short?");
    }

    directory find_directory() const {
        if (where_.size() < end_bytes)
            refuse(0, words("an archive has ", end_bytes, " bytes at least, and ",
                            counted(where_.size(), "byte"), where_.size() == 1 ? " is" : " are",
                            " there; was it cut short?"));
        // Most have no comment, and of those that have one it is 65,535 bytes at most.
        std::string tail = read(where_.size() - end_bytes, end_bytes);
        if (mark_at(tail, 0) != end_mark || number_at<std::uint16_t>(tail, 20) != 0) {
            std::uint64_t const most = std::min<std::uint64_t>(where_.size(), end_bytes + 65535);
            tail = read(where_.size() - most, most);
        }
        std::uint64_t const end = find_end(tail);
        std::string const record = read(end, end_bytes);
        if (number_at<std::uint16_t>(record, 4) != number_at<std::uint16_t>(record, 6))
            refuse(end, "the archive is in several files", errc::unsupported);
        std::uint64_t const count = number_at<std::uint16_t>(record, 10);
        if (std::uint64_t const here = number_at<std::uint16_t>(record, 8); here != count)
            refuse(end, words("the archive is said to have ", count, " members, and ", here,
                              " of them in this file"));
        if (end >= locator_bytes) {
            std::string const locator = read(end - locator_bytes, locator_bytes);
            if (mark_at(locator, 0) == locator_mark) {
                auto const all =
                    find_directory64(number_at<std::uint64_t>(locator, 8), end - locator_bytes);
                if (count != all.entries && count != elsewhere16)
                    refuse(end, words("the archive is said to have ", count, " members here, and ",
                                      all.entries, " before"));
                return all;
            }
        }
        return checked({count, run_of(number_at<std::uint32_t>(record, 16),
                                      number_at<std::uint32_t>(record, 12), end)},
                       end);
    }

    directory find_directory64(std::uint64_t place, std::uint64_t end) const {
        if (place > end || end - place < end64_bytes)
            refuse(end, words("the end of the directory is said to be at ", place));
        std::string const record = read(place, end64_bytes);
        if (mark_at(record, 0) != end64_mark)
            refuse(place, "the end of a directory should be here");
        return checked({number_at<std::uint64_t>(record, 32),
                        run_of(number_at<std::uint64_t>(record, 48),
                               number_at<std::uint64_t>(record, 40), place)},
                       place);
    }

    byte_run run_of(std::uint64_t begin, std::uint64_t bytes, std::uint64_t end) const {
        if (begin > end || bytes > end - begin)
            refuse(end, words("the directory is said to have ", bytes, " bytes from ", begin));
        return {begin, begin + bytes};
    }

    directory checked(directory const& found, std::uint64_t end) const {
        if (found.bytes.end != end)
            refuse(found.bytes.end, words("the directory ends here, and the archive goes on at ",
                                          where_.begin + end));
        return found;
    }

    /// The entry at `place`, which is moved after it.
    entry entry_at(std::string const& text, std::size_t& place, std::uint64_t first) const {
        std::uint64_t const at = first + place;
        if (text.size() - place < entry_bytes || mark_at(text, place) != entry_mark)
            refuse(at, "a member of the directory should be here");
        std::size_t const name_bytes = number_at<std::uint16_t>(text, place + 28);
        std::size_t const extra_bytes = number_at<std::uint16_t>(text, place + 30);
        std::size_t const all =
            entry_bytes + name_bytes + extra_bytes + number_at<std::uint16_t>(text, place + 32);
        if (text.size() - place < all)
            refuse(at, "a member exceeds the directory");
        std::string_view const record = std::string_view(text).substr(place, all);
        entry found{std::string(record.substr(entry_bytes, name_bytes)),
                    {number_at<std::uint16_t>(record, 10),
                     (number_at<std::uint16_t>(record, 8) & 1) != 0,
                     number_at<std::uint32_t>(record, 24), number_at<std::uint32_t>(record, 16)},
                    number_at<std::uint32_t>(record, 20),
                    number_at<std::uint32_t>(record, 42)};
        read_extra(found, record, record.substr(entry_bytes + name_bytes, extra_bytes), at);
        place += all;
        return found;
    }

    /// Sizes and positions that 32 bits do not hold are in a separate field, in this order.
    void read_extra(entry& found, std::string_view record, std::string_view extra,
                    std::uint64_t at) const {
        constexpr std::uint32_t elsewhere = std::numeric_limits<std::uint32_t>::max();
        constexpr std::uint16_t zip64 = 1;
        std::string_view numbers;
        while (extra.size() >= 4) {
            std::size_t const bytes = number_at<std::uint16_t>(extra, 2);
            if (number_at<std::uint16_t>(extra, 0) == zip64)
                numbers = extra.substr(4, bytes);
            extra.remove_prefix(std::min(extra.size(), 4 + bytes));
        }
        auto const next = [&](std::uint64_t& number, std::uint32_t said) {
            if (said != elsewhere)
                return;
            if (numbers.size() < 8)
                refuse(at, "the member '" + found.name + "' lacks its size, or where it is");
            number = number_at<std::uint64_t>(numbers, 0);
            numbers.remove_prefix(8);
        };
        next(found.packing.bytes, number_at<std::uint32_t>(record, 24));
        next(found.bytes, number_at<std::uint32_t>(record, 20));
        next(found.header, number_at<std::uint32_t>(record, 42));
        if (found.is_stored() && found.packing.bytes != found.bytes)
            refuse(at, "the member '" + found.name + "' is stored, but in another size");
    }

    /// The members with the positions of their bytes: each after its own header, whose fields may
    /// be longer than the directory's.
    std::vector<zip_member> placed(std::vector<entry> const& entries, std::uint64_t end) const {
        std::vector<std::size_t> order(entries.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return entries[a].header < entries[b].header;
        });
        std::vector<zip_member> members(entries.size());
        std::uint64_t before = 0;
        for (std::size_t const i : order) {
            entry const& one = entries[i];
            if (one.header < before)
                refuse(one.header, "the member '" + one.name + "' lies in another one");
            check_gap(before, one.header);
            std::uint64_t const begin = data_of(one);
            if (begin > end || one.bytes > end - begin)
                refuse(begin, words("the member '", one.name, "' has ", one.bytes,
                                    " bytes, and exceeds what is before the directory"));
            before = begin + one.bytes;
            members[i] = {one.name, {where_.begin + begin, where_.begin + before}};
            if (!one.is_stored())
                members[i].packing = one.packing;
        }
        check_gap(before, end);
        return members;
    }

    /// Refuses a member between others that the directory does not list. Behind one there may be a
    /// record of its size, of 12 to 24 bytes.
    void check_gap(std::uint64_t begin, std::uint64_t end) const {
        constexpr std::uint64_t records[] = {0, 12, 16, 20, 24}, mark_bytes = 4;
        if (begin >= end)
            return;
        std::string const gap = read(begin, std::min(end - begin, records[4] + mark_bytes));
        for (std::uint64_t const place : records)
            if (place + mark_bytes <= gap.size() && mark_at(gap, place) == local_mark)
                refuse(begin + place,
                       "a member begins here that the directory does not list; was it damaged?");
    }

    std::uint64_t data_of(entry const& one) const {
        std::string const header = read(one.header, local_bytes + one.name.size());
        if (mark_at(header, 0) != local_mark)
            refuse(one.header, "the member '" + one.name + "' should begin here");
        std::uint64_t const name_bytes = number_at<std::uint16_t>(header, 26);
        if (name_bytes != one.name.size() || !header.ends_with(one.name))
            refuse(one.header, "the member '" + one.name + "' has another name where it lies");
        return one.header + local_bytes + name_bytes + number_at<std::uint16_t>(header, 28);
    }

    file_store::file const& file_;
    std::string_view name_;
    byte_run where_;
};

RESHARD_DECL std::vector<zip_member> read_zip(file_store::file const& file, std::string_view name,
                                              byte_run where) {
    return zip_reader(file, name, where).members();
}

RESHARD_DECL std::string why_unread(zip_packing const& packing) {
    if (packing.is_encrypted)
        return "is encrypted";
    return words("is compressed by method ", packing.method,
                 ", and stored and deflated ones are read");
}

RESHARD_DECL void check_stored(zip_member const& one, std::string_view name) {
    if (!one.packing)
        return;
    std::string const member = words(name, ": byte ", one.bytes.begin, ": the member '", one.name);
    if (one.packing->method == zip_packing::deflated && !one.packing->is_encrypted)
        fail(errc::unsupported, member,
             "' is compressed, and only stored ones are read here: write the file without "
             "compression");
    fail(errc::unsupported, member, "' ", why_unread(*one.packing));
}

} // namespace reshard::detail

#endif
