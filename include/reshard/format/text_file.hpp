// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TEXT_FILE_HPP
#define RESHARD_FORMAT_TEXT_FILE_HPP

#include <reshard/core/error.hpp>
#include <reshard/os/file_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

/// \file
/// Reads the beginning of a file, or all of a small file.

namespace reshard::detail {

constexpr unsigned byte_at(std::string_view text, std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
}

constexpr bool is_between(unsigned value, unsigned lowest, unsigned highest) {
    return lowest <= value && value <= highest;
}

/// A hint to append to an error about a file that begins with this text. Empty, unless the file is
/// a Git LFS pointer.
constexpr std::string_view pointer_hint(std::string_view first_bytes) {
    return first_bytes.starts_with("version ") ? " (this is a Git LFS pointer, not the file "
                                                 "itself; fetch the file with git lfs pull)"
                                               : "";
}

/// The number of bytes of the well-formed character at `i`; 0 if it is malformed.
constexpr std::size_t utf8_length(std::string_view text, std::size_t i) {
    unsigned const first = byte_at(text, i);
    unsigned const second = byte_at(text, i + 1);
    if (first < 0x80)
        return 1;
    if (is_between(first, 0xC2, 0xDF))
        return is_between(second, 0x80, 0xBF) ? 2 : 0;
    bool const has_third = is_between(byte_at(text, i + 2), 0x80, 0xBF);
    if (is_between(first, 0xE0, 0xEF)) {
        unsigned const lowest = first == 0xE0 ? 0xA0 : 0x80;
        unsigned const highest = first == 0xED ? 0x9F : 0xBF;
        return has_third && is_between(second, lowest, highest) ? 3 : 0;
    }
    if (!is_between(first, 0xF0, 0xF4))
        return 0;
    unsigned const lowest = first == 0xF0 ? 0x90 : 0x80;
    unsigned const highest = first == 0xF4 ? 0x8F : 0xBF;
    bool const has_fourth = is_between(byte_at(text, i + 3), 0x80, 0xBF);
    return has_third && has_fourth && is_between(second, lowest, highest) ? 4 : 0;
}

/// True if the eight bytes from `i` on are ASCII characters.
///
/// \pre `i + 8 <= text.size()`
inline bool is_plain_word(std::string_view text, std::size_t i) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    return (word & 0x8080808080808080u) == 0;
}

/// The position of the first byte that does not belong to a well-formed character. If all bytes do,
/// the size of the text.
///
/// \par Source The Unicode Standard, table 3-7: no overlong form, no surrogate, nothing above
///             U+10FFFF
constexpr std::size_t find_invalid_utf8(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        // Nearly all headers of a hundred megabytes are plain ASCII text.
        while (!std::is_constant_evaluated() && text.size() - i >= 8 && is_plain_word(text, i))
            i += 8;
        if (i == text.size())
            break;
        std::size_t const length = utf8_length(text, i);
        if (length == 0)
            break;
        i += length;
    }
    return i;
}

/// A range of a file, shown as a file. Refers to the whole file.
class file_range : public file_store::file {
public:
    file_range(file_store::file const& whole_file, byte_run where)
        : whole_(whole_file), where_(where) {}

    file_store::identity facts() const override {
        file_store::identity facts = whole_.facts();
        facts.bytes = where_.size();
        return facts;
    }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        whole_.read(where_.begin + position, target);
    }

private:
    file_store::file const& whole_;
    byte_run where_;
};

/// A file opened for reading, and its length.
struct open_file {
    std::unique_ptr<file_store::file> file;
    std::uint64_t bytes = 0;
    std::uint64_t position = 0; ///< the position of the next read
};

/// \throws error with errc::missing_file if the file does not exist, with errc::corrupt_file if it
///         is a directory or a device, with errc::io if it cannot be read
inline open_file open_to_read(file_store const& files, std::filesystem::path const& path) {
    open_file opened{files.open(path)};
    opened.bytes = opened.file->facts().bytes;
    return opened;
}

/// The next `bytes` bytes.
///
/// Memory is allocated only as bytes are read, so `bytes` may be a length from the file itself.
///
/// \throws error with errc::corrupt_file if the file is too short, errc::io if it cannot be read
inline std::string read_bytes(open_file& file, std::uint64_t bytes) {
    constexpr std::uint64_t step = 1 << 20;
    std::string text;
    // This reserves only addresses. Pages are allocated as they are filled.
    text.reserve(static_cast<std::size_t>(std::min(bytes, file.bytes - file.position)));
    while (text.size() < bytes) {
        std::size_t const before = text.size();
        text.resize(before + static_cast<std::size_t>(std::min(step, bytes - before)));
        file.file->read(file.position, std::as_writable_bytes(std::span(text).subspan(before)));
        file.position += text.size() - before;
    }
    return text;
}

/// Opens a text of at most `limit` bytes.
///
/// \throws error with errc::limit_exceeded; see also `open_to_read`
inline open_file open_text(file_store const& files, std::filesystem::path const& path,
                           std::uint64_t limit = std::uint64_t{1} << 32) {
    open_file file = open_to_read(files, path);
    if (file.bytes > limit)
        fail(errc::limit_exceeded, path.string(), ": the file has ", file.bytes, " bytes; at most ",
             limit, " are read");
    return file;
}

/// The text of a whole file.
///
/// \throws error as `open_text`
inline std::string read_text_file(file_store const& files, std::filesystem::path const& path) {
    open_file file = open_text(files, path);
    return read_bytes(file, file.bytes);
}
inline std::string read_text_file(std::filesystem::path const& path,
                                  std::uint64_t limit = std::uint64_t{1} << 32) {
    open_file file = open_text(*files_of_system(), path, limit);
    return read_bytes(file, file.bytes);
}

/// Bytes, and their position in a file.
struct placed_text {
    std::uint64_t begin = 0;
    std::string text;
};

} // namespace reshard::detail

#endif
