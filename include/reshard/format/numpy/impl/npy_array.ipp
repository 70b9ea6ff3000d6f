// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NUMPY_IMPL_NPY_ARRAY_IPP
#define RESHARD_FORMAT_NUMPY_IMPL_NPY_ARRAY_IPP

#include <reshard/format/numpy/npy.hpp>

#include <reshard/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Reads the dict of a header: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
class npy_header_parser {
public:
    npy_header_parser(std::string_view text, std::string const& noun) : rest_(text), what_(noun) {}

    void parse() {
        expect('{');
        while (!take('}')) {
            std::string const name = text();
            expect(':');
            if (name == "descr")
                descr = element_type();
            else if (name == "fortran_order")
                is_fortran = boolean();
            else if (name == "shape")
                shape = extents();
            else
                refuse("has the unknown member '" + name + "'");
            if (!take(','))
                break_at('}');
        }
        skip_blanks();
        if (!rest_.empty())
            refuse("continues after its dict");
        if (!descr || !is_fortran || !shape)
            refuse("lacks descr, fortran_order or shape");
    }

    std::optional<std::string> descr;
    std::optional<bool> is_fortran;
    std::optional<index_vector> shape; ///< the first `max_ndim` extents
    std::size_t axes = 0;

private:
    [[noreturn]] void refuse(std::string const& text) const {
        fail(errc::corrupt_file, what_, ": the header ", text);
    }

    void skip_blanks() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
    }

    bool take(char next) {
        skip_blanks();
        if (rest_.empty() || rest_.front() != next)
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char next) {
        if (!take(next))
            refuse(std::string("should have a '") + next + "' before '" +
                   std::string(rest_.substr(0, 20)) + "'");
    }

    /// Refuses a header unless `end` is next, and does not consume `end`.
    void break_at(char end) {
        skip_blanks();
        if (rest_.empty() || rest_.front() != end)
            refuse("lacks a comma before '" + std::string(rest_.substr(0, 20)) + "'");
    }

    std::string text() {
        skip_blanks();
        char const quote = rest_.empty() ? ' ' : rest_.front();
        if (quote == '[')
            return structure();
        auto const end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
        if (end == rest_.npos || rest_.substr(0, end).find('\\') != rest_.npos)
            refuse("should have a string before '" + std::string(rest_.substr(0, 20)) + "'");
        std::string const match(rest_.substr(1, end - 1));
        rest_.remove_prefix(end + 1);
        return match;
    }

    /// The element type with a byte order. If the header omits the byte order, the order is this
    /// machine's.
    std::string element_type() {
        std::string match = text();
        auto const is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
        return !match.empty() && is_letter(match.front()) ? "=" + match : match;
    }

    /// A list of members, as text.
    std::string structure() {
        std::size_t depth = 0, end = 0;
        do {
            depth += rest_[end] == '[' ? 1u : 0u;
            depth -= rest_[end] == ']' ? 1u : 0u;
            ++end;
        } while (depth > 0 && end < rest_.size());
        if (depth > 0)
            refuse("has an unterminated list");
        std::string const match(rest_.substr(0, end));
        rest_.remove_prefix(end);
        return match;
    }

    bool boolean() {
        skip_blanks();
        for (auto const& [word, value] :
             {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
            if (rest_.starts_with(word)) {
                rest_.remove_prefix(word.size());
                return value;
            }
        refuse("should have True or False before '" + std::string(rest_.substr(0, 20)) + "'");
    }

    index_vector extents() {
        index_vector values;
        expect('(');
        while (!take(')')) {
            skip_blanks();
            index_t extent = 0;
            auto const end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
            if (end.ec != std::errc{} || extent < 0)
                refuse("should have an extent before '" + std::string(rest_.substr(0, 20)) + "'");
            rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
            take('L'); // Python 2 writes it
            if (++axes <= max_ndim)
                values.push_back(extent);
            if (!take(','))
                break_at(')');
        }
        return values;
    }

    std::string_view rest_;
    std::string const& what_;
};

/// An array whose element type is not interpreted yet.
struct npy_array {
    std::string descr;
    bool is_fortran = false;
    index_vector shape; ///< the first `max_ndim` extents
    std::size_t axes = 0;
    byte_run elements; ///< their range in the file

    bool is_of_objects() const { return descr.ends_with('O') && descr.size() <= 2; }
};

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// True if a range of a file begins with the first bytes of a NumPy array.
inline bool begins_as_npy(file_store::file const& file, byte_run where) {
    std::string start(std::min<std::uint64_t>(where.size(), npy_magic.size()), ' ');
    file.read(where.begin, std::as_writable_bytes(std::span(start)));
    return start == npy_magic;
}

/// The position and the length of the header of an array whose first bytes are `start`.
///
/// \throws error with errc::corrupt_file, or errc::unsupported for another version
inline byte_run npy_header_run(std::span<unsigned char const> start, std::uint64_t bytes,
                               std::string const& noun) {
    constexpr std::size_t least = 10;
    std::string_view const begins(reinterpret_cast<char const*>(start.data()),
                                  std::min(start.size(), npy_magic.size()));
    if (start.size() < least && npy_magic.starts_with(begins))
        fail(errc::corrupt_file, noun, ": a NumPy array has at least ", least, " bytes, but ",
             start.size(), start.size() == 1 ? " is" : " are", " present; was it cut short?");
    if (begins != npy_magic)
        fail(errc::corrupt_file, noun, ": does not begin like a NumPy array");
    unsigned const version = start[6];
    if (version < 1 || version > 3)
        fail(errc::unsupported, noun, ": has version ", version,
             "; only versions 1 to 3 are supported");
    std::uint64_t const length_bytes = version == 1 ? 2 : 4;
    std::uint64_t header = 0;
    for (std::uint64_t i = 0; i < length_bytes && 8 + i < start.size(); ++i)
        header |= std::uint64_t{start[8 + i]} << 8 * i;
    std::uint64_t const begin = 8 + length_bytes;
    constexpr std::uint64_t most = 1 << 20; // enough for the text of a few extents
    if (header > most || header > bytes - std::min(begin, bytes))
        fail(errc::corrupt_file, noun, ": the header states ", header, " bytes, but the file has ",
             bytes, "; was it cut short?");
    return {begin, begin + header};
}

/// Reads the array in a range of a file.
///
/// \param  noun names the array in messages: the file, and the member of an archive
/// \throws error with errc::corrupt_file for an invalid header; it names `noun` and the numbers
/// \par Source numpy.lib.format, versions 1.0 to 3.0; there `descr` may be any Python literal; here
///             it may be a text, or a list that is not read
inline npy_array read_npy(file_store::file const& file, std::string const& noun, byte_run where) {
    unsigned char start[12] = {};
    auto const first = std::span(start).first(std::min<std::size_t>(where.size(), sizeof start));
    file.read(where.begin, std::as_writable_bytes(first));
    byte_run const header = npy_header_run(first, where.size(), noun);
    std::string text(static_cast<std::size_t>(header.size()), ' ');
    file.read(where.begin + header.begin, std::as_writable_bytes(std::span(text)));
    npy_header_parser parsed(text, noun);
    parsed.parse();
    return {*parsed.descr,
            *parsed.is_fortran,
            *parsed.shape,
            parsed.axes,
            {where.begin + header.end, where.end}};
}

/// Refuses an array that has more or fewer bytes than its shape needs.
inline void check_npy_bytes(npy_array const& array, std::uint64_t bytes, std::string const& kind,
                            std::string const& noun) {
    if (std::uint64_t const there = array.elements.size(); there != bytes)
        fail(errc::corrupt_file, noun, ": ", kind, " ", array.shape, " needs ", bytes,
             " bytes, but ", there, " are present", there < bytes ? "; was it cut short?" : "");
}

} // namespace reshard::detail

#endif
