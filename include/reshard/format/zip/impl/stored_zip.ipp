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

/// Reads one archive. Positions are counted from the first byte of the archive.
class zip_reader {
public:
    zip_reader(file_store::file const& file, std::string_view name, byte_run where)
        : file_(file), name_(name), where_(where) {}

    vector<zip_member> members() {
        directory const found_directory = find_directory();
        if (found_directory.entries > found_directory.bytes.size() / entry_bytes)
            refuse(found_directory.bytes.begin,
                   words("a directory of ", found_directory.bytes.size(), " bytes cannot list ",
                         counted(static_cast<index_t>(found_directory.entries), "member")));
        std::string const text = read(found_directory.bytes.begin, found_directory.bytes.size());
        vector<entry> entries;
        std::size_t index = 0;
        for (std::uint64_t i = 0; i < found_directory.entries; ++i)
            entries.push_back(entry_at(text, index, found_directory.bytes.begin));
        if (index != text.size())
            refuse(found_directory.bytes.begin + index,
                   words("the end of the archive counts ",
                         counted(static_cast<index_t>(found_directory.entries), "member"),
                         ", but its directory has ", text.size() - index,
                         " more bytes; is the file damaged?"));
        check_names_differ(entries);
        return placed(entries, found_directory.bytes.begin);
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

    /// A member, before the position of its bytes is known.
    struct entry {
        std::string name;
        zip_packing packing;
        std::uint64_t bytes = 0;  ///< the bytes in the file
        std::uint64_t header = 0; ///< the position of the header before the bytes

        bool is_stored() const {
            return packing.method == zip_packing::stored && !packing.is_encrypted;
        }
    };

    /// Refuses two members with one name, because readers disagree about the member to take.
    void check_names_differ(vector<entry> const& entries) const {
        vector<entry const*> sorted;
        sorted.reserve(entries.size());
        for (entry const& element : entries)
            sorted.push_back(&element);
        std::ranges::sort(sorted, {}, &entry::name);
        auto const twice = std::ranges::adjacent_find(sorted, {}, &entry::name);
        if (twice != sorted.end())
            refuse((*twice)->header, "the archive has the member '" + (*twice)->name +
                                         "' twice; write it again with each name once");
    }

    [[noreturn]] void refuse(std::uint64_t index, std::string const& text,
                             errc code = errc::corrupt_file) const {
        fail(code, name_, ": byte ", where_.begin + index, ": ", text);
    }

    std::string read(std::uint64_t index, std::uint64_t bytes) const {
        if (index > where_.size() || bytes > where_.size() - index)
            refuse(index,
                   words(bytes, " bytes are requested, but the archive ends at byte ", where_.end));
        std::string text(static_cast<std::size_t>(bytes), ' ');
        file_.read(where_.begin + index, std::as_writable_bytes(std::span(text)));
        return text;
    }

    /// \pre the bytes exist
    template <class Number>
    static Number number_at(std::string_view text, std::size_t index) {
        return boost::endian::endian_load<Number, sizeof(Number), boost::endian::order::little>(
            reinterpret_cast<unsigned char const*>(text.data() + index));
    }
    static std::uint32_t mark_at(std::string_view text, std::size_t index) {
        return number_at<std::uint32_t>(text, index);
    }

    /// The last record of an archive, which a comment may follow.
    std::uint64_t find_end(std::string const& tail) const {
        for (std::size_t index = tail.size() - end_bytes + 1; index-- > 0;)
            if (mark_at(tail, index) == end_mark &&
                index + end_bytes + number_at<std::uint16_t>(tail, index + 20) == tail.size())
                return where_.size() - tail.size() + index;
        refuse(where_.size(), "the archive of " + counted(where_.size(), "byte") +
                                  " has no end record at its end; was it cut short?");
    }

    directory find_directory() const {
        if (where_.size() < end_bytes)
            refuse(0, words("an archive has at least ", end_bytes, " bytes, but ",
                            counted(where_.size(), "byte"), where_.size() == 1 ? " is" : " are",
                            " present; was it cut short?"));
        // Most archives have no comment. A comment has at most 65,535 bytes.
        std::string tail = read(where_.size() - end_bytes, end_bytes);
        if (mark_at(tail, 0) != end_mark || number_at<std::uint16_t>(tail, 20) != 0) {
            std::uint64_t const most = std::min<std::uint64_t>(where_.size(), end_bytes + 65535);
            tail = read(where_.size() - most, most);
        }
        std::uint64_t const end = find_end(tail);
        std::string const record = read(end, end_bytes);
        if (number_at<std::uint16_t>(record, 4) != number_at<std::uint16_t>(record, 6))
            refuse(end, "the archive is split into several files", errc::unsupported);
        std::uint64_t const count = number_at<std::uint16_t>(record, 10);
        if (std::uint64_t const here = number_at<std::uint16_t>(record, 8); here != count)
            refuse(end,
                   words("the archive states ", count, " members, but ", here, " in this file"));
        if (end >= locator_bytes) {
            std::string const locator = read(end - locator_bytes, locator_bytes);
            if (mark_at(locator, 0) == locator_mark) {
                auto const directory64 =
                    find_directory64(number_at<std::uint64_t>(locator, 8), end - locator_bytes);
                if (count != directory64.entries && count != elsewhere16)
                    refuse(end, words("the archive states ", count, " members here, but ",
                                      directory64.entries, " before"));
                return directory64;
            }
        }
        return checked({count, run_of(number_at<std::uint32_t>(record, 16),
                                      number_at<std::uint32_t>(record, 12), end)},
                       end);
    }

    directory find_directory64(std::uint64_t index, std::uint64_t end) const {
        if (index > end || end - index < end64_bytes)
            refuse(end, words("the end record of the directory cannot begin at byte ", index));
        std::string const record = read(index, end64_bytes);
        if (mark_at(record, 0) != end64_mark)
            refuse(index, "the end of a directory should be here");
        return checked({number_at<std::uint64_t>(record, 32),
                        run_of(number_at<std::uint64_t>(record, 48),
                               number_at<std::uint64_t>(record, 40), index)},
                       index);
    }

    byte_run run_of(std::uint64_t begin, std::uint64_t bytes, std::uint64_t end) const {
        if (begin > end || bytes > end - begin)
            refuse(end, words("the directory cannot have ", bytes, " bytes from byte ", begin,
                              " onwards"));
        return {begin, begin + bytes};
    }

    directory checked(directory const& found_directory, std::uint64_t end) const {
        if (found_directory.bytes.end != end)
            refuse(found_directory.bytes.end,
                   words("the directory ends here, but should end at byte ", where_.begin + end));
        return found_directory;
    }

    /// Reads the entry at `index`, and advances `index` past the entry.
    entry entry_at(std::string const& text, std::size_t& index, std::uint64_t first) const {
        std::uint64_t const at = first + index;
        if (text.size() - index < entry_bytes || mark_at(text, index) != entry_mark)
            refuse(at, "a member of the directory should be here");
        std::size_t const name_bytes = number_at<std::uint16_t>(text, index + 28);
        std::size_t const extra_bytes = number_at<std::uint16_t>(text, index + 30);
        std::size_t const total =
            entry_bytes + name_bytes + extra_bytes + number_at<std::uint16_t>(text, index + 32);
        if (text.size() - index < total)
            refuse(at, "a member exceeds the directory");
        std::string_view const record = std::string_view(text).substr(index, total);
        entry found_entry{
            std::string(record.substr(entry_bytes, name_bytes)),
            {number_at<std::uint16_t>(record, 10), (number_at<std::uint16_t>(record, 8) & 1) != 0,
             number_at<std::uint32_t>(record, 24), number_at<std::uint32_t>(record, 16)},
            number_at<std::uint32_t>(record, 20),
            number_at<std::uint32_t>(record, 42)};
        read_extra(found_entry, record, record.substr(entry_bytes + name_bytes, extra_bytes), at);
        index += total;
        return found_entry;
    }

    /// Sizes and positions that do not fit 32 bits are in a separate field, in this order.
    void read_extra(entry& found_entry, std::string_view record, std::string_view extra,
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
                refuse(at, "the member '" + found_entry.name + "' lacks its size or its position");
            number = number_at<std::uint64_t>(numbers, 0);
            numbers.remove_prefix(8);
        };
        next(found_entry.packing.bytes, number_at<std::uint32_t>(record, 24));
        next(found_entry.bytes, number_at<std::uint32_t>(record, 20));
        next(found_entry.header, number_at<std::uint32_t>(record, 42));
        if (found_entry.is_stored() && found_entry.packing.bytes != found_entry.bytes)
            refuse(at, words("the member '", found_entry.name,
                             "' is stored, but its two sizes differ: ", found_entry.packing.bytes,
                             " and ", found_entry.bytes, " bytes"));
    }

    /// The members with the positions of their bytes. The bytes of a member follow its own header,
    /// whose fields may be longer than the fields in the directory.
    vector<zip_member> placed(vector<entry> const& entries, std::uint64_t end) const {
        vector<std::size_t> order(entries.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return entries[a].header < entries[b].header;
        });
        vector<zip_member> members(entries.size());
        std::uint64_t before = 0;
        for (std::size_t const i : order) {
            entry const& current_entry = entries[i];
            if (current_entry.header < before)
                refuse(current_entry.header,
                       "the member '" + current_entry.name + "' overlaps another member");
            check_gap(before, current_entry.header);
            std::uint64_t const begin = data_of(current_entry);
            if (begin > end || current_entry.bytes > end - begin)
                refuse(begin, words("the member '", current_entry.name, "' has ",
                                    current_entry.bytes, " bytes and overlaps the directory"));
            before = begin + current_entry.bytes;
            members[i] = {current_entry.name, {where_.begin + begin, where_.begin + before}};
            if (!current_entry.is_stored())
                members[i].packing = current_entry.packing;
        }
        check_gap(before, end);
        return members;
    }

    /// Refuses a gap that has a member, because the directory does not list the member. A record of
    /// 12 to 24 bytes with a member's size may follow the member.
    void check_gap(std::uint64_t begin, std::uint64_t end) const {
        constexpr std::uint64_t records[] = {0, 12, 16, 20, 24}, mark_bytes = 4;
        if (begin >= end)
            return;
        std::string const gap = read(begin, std::min(end - begin, records[4] + mark_bytes));
        for (std::uint64_t const record : records)
            if (record + mark_bytes <= gap.size() && mark_at(gap, record) == local_mark)
                refuse(
                    begin + record,
                    "a member begins here that the directory does not list; is the file damaged?");
    }

    std::uint64_t data_of(entry const& current_entry) const {
        std::string const header =
            read(current_entry.header, local_bytes + current_entry.name.size());
        if (mark_at(header, 0) != local_mark)
            refuse(current_entry.header,
                   "the member '" + current_entry.name + "' should begin here");
        std::uint64_t const name_bytes = number_at<std::uint16_t>(header, 26);
        if (name_bytes != current_entry.name.size() || !header.ends_with(current_entry.name))
            refuse(current_entry.header,
                   "the member '" + current_entry.name + "' has another name in its own header");
        return current_entry.header + local_bytes + name_bytes +
               number_at<std::uint16_t>(header, 28);
    }

    file_store::file const& file_;
    std::string_view name_;
    byte_run where_;
};

RESHARD_DECL vector<zip_member> read_zip(file_store::file const& file, std::string_view name,
                                         byte_run where) {
    return zip_reader(file, name, where).members();
}

RESHARD_DECL std::string why_unread(zip_packing const& packing) {
    if (packing.is_encrypted)
        return "is encrypted";
    return words("is compressed by method ", packing.method,
                 "; only stored and deflated members are supported");
}

RESHARD_DECL void check_stored(zip_member const& zip_member, std::string_view name) {
    if (!zip_member.packing)
        return;
    std::string const member =
        words(name, ": byte ", zip_member.bytes.begin, ": the member '", zip_member.name);
    if (zip_member.packing->method == zip_packing::deflated && !zip_member.packing->is_encrypted)
        fail(errc::unsupported, member,
             "' is compressed, but only stored members are supported here: write the file without "
             "compression");
    fail(errc::unsupported, member, "' ", why_unread(*zip_member.packing));
}

} // namespace reshard::detail

#endif
