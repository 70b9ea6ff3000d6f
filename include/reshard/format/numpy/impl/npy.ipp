// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NUMPY_IMPL_NPY_IPP
#define RESHARD_FORMAT_NUMPY_IMPL_NPY_IPP

#include <reshard/format/numpy/npy.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/zip/stored_zip.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::optional<data_type> npy_data_type(std::string_view descr) {
    bool const has_order = !descr.empty() && (descr[0] == '<' || descr[0] == '|');
    for (auto const& [name, dtype] : npy_types)
        if (has_order && descr.substr(1) == name)
            return dtype;
    return std::nullopt;
}

/// What to do about elements of which a file says how long they are, and not what.
inline std::string_view untyped_advice(std::string_view descr) {
    return descr.substr(std::min<std::size_t>(1, descr.size())) == "V2"
               ? ": so NumPy writes bfloat16, and does not say that it is; save it as float32 "
                 "(`array.astype('float32')`), or in safetensors"
           : descr.substr(std::min<std::size_t>(1, descr.size())) == "V1"
               ? ": so NumPy writes floating-point numbers of 8 bits, and does not say which; save "
                 "them as float32 (`array.astype('float32')`), or in safetensors"
               : "";
}

/// Reads the dict of a header: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
class npy_header_parser {
public:
    npy_header_parser(std::string_view text, std::string const& what) : rest_(text), what_(what) {}

    void parse() {
        expect('{');
        while (!take('}')) {
            std::string const name = text();
            expect(':');
            if (name == "descr")
                descr = text();
            else if (name == "fortran_order")
                is_fortran = boolean();
            else if (name == "shape")
                shape = extents();
            else
                refuse("has the member '" + name + "'");
            if (!take(','))
                break_at('}');
        }
        skip_blanks();
        if (!rest_.empty())
            refuse("goes on behind its dict");
        if (!descr || !is_fortran || !shape)
            refuse("lacks descr, fortran_order or shape");
    }

    std::optional<std::string> descr;
    std::optional<bool> is_fortran;
    std::optional<index_vector> shape;

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

    /// The end has to follow, and is not taken.
    void break_at(char end) {
        skip_blanks();
        if (rest_.empty() || rest_.front() != end)
            refuse("lacks a comma before '" + std::string(rest_.substr(0, 20)) + "'");
    }

    std::string text() {
        skip_blanks();
        char const quote = rest_.empty() ? ' ' : rest_.front();
        if (quote == '[')
            fail(errc::unsupported, what_, ": elements that are structures are not read");
        auto const end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
        if (end == rest_.npos || rest_.substr(0, end).find('\\') != rest_.npos)
            refuse("should have a text before '" + std::string(rest_.substr(0, 20)) + "'");
        std::string const found(rest_.substr(1, end - 1));
        rest_.remove_prefix(end + 1);
        return found;
    }

    bool boolean() {
        skip_blanks();
        for (auto const& [word, value] :
             {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
            if (rest_.starts_with(word)) {
                rest_.remove_prefix(word.size());
                return value;
            }
        refuse("should say True or False before '" + std::string(rest_.substr(0, 20)) + "'");
    }

    index_vector extents() {
        index_vector found;
        expect('(');
        while (!take(')')) {
            skip_blanks();
            index_t extent = 0;
            auto const end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
            if (end.ec != std::errc{} || extent < 0)
                refuse("should have an extent before '" + std::string(rest_.substr(0, 20)) + "'");
            rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
            if (found.size() == max_ndim)
                fail(errc::limit_exceeded, what_, ": the array has more than ", max_ndim, " axes");
            found.push_back(extent);
            if (!take(','))
                break_at(')');
        }
        return found;
    }

    std::string_view rest_;
    std::string const& what_;
};

/// The array that a range of a file is.
///
/// \param  what names it in messages: the file, and the member of an archive
/// \throws error with errc::unsupported for elements that we do not have: of another order of
///         bytes than ours, structures, objects, texts; errc::corrupt_file for a header that is
///         none, or elements beyond the range; it names `what` and the numbers
/// \par Source numpy.lib.format, versions 1.0 to 3.0; there `descr` is any Python literal, here a
///             text
inline file_tensor read_npy(file_store::file const& file, std::string const& what, byte_run where) {
    constexpr std::string_view magic = "\x93NUMPY";
    unsigned char start[12] = {};
    std::size_t const count = std::min<std::size_t>(where.size(), sizeof start);
    file.read(where.begin, std::as_writable_bytes(std::span(start).first(count)));
    constexpr std::size_t least = 10;
    std::string_view const begins(reinterpret_cast<char const*>(start),
                                  std::min(count, magic.size()));
    if (count < least && magic.starts_with(begins))
        fail(errc::corrupt_file, what, ": an array of NumPy has ", least, " bytes at least, and ",
             count, count == 1 ? " is" : " are", " there; was it cut short?");
    if (begins != magic)
        fail(errc::corrupt_file, what, ": does not begin as an array of NumPy does");
    unsigned const version = start[6];
    if (version < 1 || version > 3)
        fail(errc::unsupported, what, ": is of version ", version,
             ", and those of 1 to 3 are read");
    std::uint64_t const length_bytes = version == 1 ? 2 : 4;
    std::uint64_t header = 0;
    for (std::uint64_t i = 0; i < length_bytes; ++i)
        header |= std::uint64_t{start[8 + i]} << 8 * i;
    std::uint64_t const begin = 8 + length_bytes;
    constexpr std::uint64_t most = 1 << 20; // a text of a few extents
    if (header > most || header > where.size() - std::min(begin, where.size()))
        fail(errc::corrupt_file, what, ": the header is said to have ", header, " bytes, of ",
             where.size(), " of the file; was it cut short?");
    std::string text(static_cast<std::size_t>(header), ' ');
    file.read(where.begin + begin, std::as_writable_bytes(std::span(text)));
    npy_header_parser parsed(text, what);
    parsed.parse();
    auto const dtype = npy_data_type(*parsed.descr);
    if (!dtype)
        fail(errc::unsupported, what, ": elements of '", *parsed.descr, "' are not read",
             untyped_advice(*parsed.descr));
    index_vector const& shape = *parsed.shape;
    index_t const elements = element_count_of(shape, [&] { return what + ": "; });
    std::uint64_t const bytes = static_cast<std::uint64_t>(byte_count(elements, *dtype));
    if (std::uint64_t const there = where.size() - begin - header; there != bytes)
        fail(errc::corrupt_file, what, ": ", *dtype, " ", shape, " has ", bytes, " bytes, and ",
             there, " are there", there < bytes ? "; was it cut short?" : "");
    bool const is_fortran = *parsed.is_fortran && elements > 0;
    return {*dtype,
            shape,
            {where.begin + begin + header,
             is_fortran ? column_major_strides(shape) : row_major_strides(shape)}};
}

RESHARD_DECL opened_checkpoint open_npy(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& path) {
    auto const file = files->open(path);
    whole_tensors all(std::move(files), "npy", path);
    all.begin_file(path);
    all.add(path.stem().string(), read_npy(*file, path.string(), {0, file->facts().bytes}));
    return all.take();
}

RESHARD_DECL opened_checkpoint open_npz(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& path) {
    auto const file = files->open(path);
    whole_tensors all(std::move(files), "npz", path);
    all.begin_file(path);
    for (zip_member const& one : read_zip(*file, path.string(), {0, file->facts().bytes})) {
        std::string_view key = one.name;
        if (key.ends_with(".npy"))
            key.remove_suffix(4);
        all.add(std::string(key), read_npy(*file, path.string() + ": " + one.name, one.bytes));
    }
    return all.take();
}

} // namespace reshard::detail

#endif
