// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NUMPY_IMPL_NPY_IPP
#define RESHARD_FORMAT_NUMPY_IMPL_NPY_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/numpy/npy.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/numpy/impl/npy_array.ipp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_archive.hpp>
#include <reshard/format/zip/stored_zip.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::optional<data_type> npy_data_type(std::string_view descr) {
    char const order = descr.empty() ? ' ' : descr[0];
    bool const is_ours = order == '<' || order == '|' || order == '=';
    for (auto const& [short_name, dtype] : npy_types)
        if ((is_ours || (order == '>' && bits(dtype) == 8)) &&
            (descr.substr(1) == short_name || descr.substr(1) == name(dtype)))
            return dtype;
    return std::nullopt;
}

/// Advice for elements whose size is stated in the file, but not their type.
inline std::string_view untyped_advice(std::string_view descr) {
    std::string_view const kind = descr.substr(std::min<std::size_t>(1, descr.size()));
    return kind == "V2" ? ": NumPy writes bfloat16 this way, without its name; save it as float32 "
                          "(`array.astype('float32')`), or as safetensors"
           : kind == "V1"
               ? ": NumPy writes 8-bit floating-point types this way, without their names; save "
                 "them as float32 (`array.astype('float32')`), or as safetensors"
               : "";
}

/// The positions of an array's elements.
///
/// \throws error with errc::unsupported for unsupported elements: structures, dates, elements in
///         another byte order; errc::corrupt_file for elements beyond the range
inline file_tensor tensor_of(npy_array const& array, std::string const& noun) {
    auto const dtype = npy_data_type(array.descr);
    if (!dtype && array.descr.starts_with('['))
        fail(errc::unsupported, noun, ": structured elements are not supported");
    if (!dtype)
        fail(errc::unsupported, noun, ": elements of type '", array.descr, "' are not supported",
             untyped_advice(array.descr));
    std::uint64_t const bytes = byte_count_of(array.shape, *dtype, [&] { return noun + ": "; });
    check_npy_bytes(array, bytes, std::string(name(*dtype)), noun);
    bool const is_column_major = array.is_fortran && bytes > 0;
    return {*dtype,
            array.shape,
            {array.elements.begin,
             is_column_major ? column_major_strides(array.shape) : row_major_strides(array.shape)}};
}

/// An array of texts in a file.
struct npy_texts {
    npy_array array;
    std::string noun; ///< the subject of messages
    bool is_unicode = false;
    bool is_big_endian = false;
    std::uint64_t characters = 0; ///< per text
};

/// The texts of an array of type `<U5` or `|S3`; std::nullopt for any other array.
///
/// \throws error with errc::corrupt_file if its shape needs another number of bytes
inline std::optional<npy_texts> texts_of(npy_array const& array, std::string const& noun) {
    std::string_view const descr = array.descr;
    if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == descr.npos ||
        (descr[1] != 'U' && descr[1] != 'S'))
        return std::nullopt;
    npy_texts npy_texts{array, noun, descr[1] == 'U', descr[0] == '>', 0};
    auto const end =
        std::from_chars(descr.data() + 2, descr.data() + descr.size(), npy_texts.characters);
    constexpr std::uint64_t most = 1 << 30;
    if (end.ec != std::errc{} || end.ptr != descr.data() + descr.size() ||
        npy_texts.characters > most)
        return std::nullopt;
    auto const count =
        static_cast<std::uint64_t>(element_count_of(array.shape, [&] { return noun + ": "; }));
    std::uint64_t const each = npy_texts.characters * (npy_texts.is_unicode ? 4 : 1);
    if (each != 0 && count > array.elements.size() / each)
        check_npy_bytes(array, array.elements.size() + 1, array.descr, noun);
    check_npy_bytes(array, count * each, array.descr, noun);
    return npy_texts;
}

/// Why an array of empty texts is not written as lists: a short file may declare any number of
/// empty texts. The result is empty for any other array.
inline std::string why_too_empty(npy_texts const& texts) {
    constexpr index_t most = 1 << 16;
    if (texts.array.elements.size() > 0)
        return {};
    index_t lists = 1, total = 0;
    for (index_t const extent : texts.array.shape)
        if (lists > 0 && (extent > most || (lists *= extent) > most || (total += lists) > most))
            return words("has the shape ", texts.array.shape,
                         " and no characters; as lists it would have more than ", most, " items");
    return {};
}

/// Appends a character as UTF-8.
inline void put_character(std::string& text, std::uint32_t number) {
    auto const put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (number < 0x80)
        return put(number);
    if (number < 0x800)
        put(0xc0 | number >> 6);
    else if (number < 0x10000)
        put(0xe0 | number >> 12), put(0x80 | (number >> 6 & 0x3f));
    else
        put(0xf0 | number >> 18), put(0x80 | (number >> 12 & 0x3f)),
            put(0x80 | (number >> 6 & 0x3f));
    put(0x80 | (number & 0x3f));
}

/// Writes an array of texts as Python lists, which can be read without NumPy.
class npy_text_writer {
public:
    npy_text_writer(npy_texts const& texts, file_store::file const& file) : texts_(texts) {
        constexpr std::uint64_t most = std::uint64_t{1} << 28;
        if (texts.array.elements.size() > most)
            fail(errc::limit_exceeded, texts.noun, ": ", texts.array.elements.size(),
                 " bytes of strings, but at most ", most, " are supported");
        bytes_.resize(static_cast<std::size_t>(texts.array.elements.size()));
        file.read(texts.array.elements.begin, std::as_writable_bytes(std::span(bytes_)));
        strides_ = texts.array.is_fortran ? column_major_strides(texts.array.shape)
                                          : row_major_strides(texts.array.shape);
    }

    std::string pickle() {
        put(0, 0);
        return out_.take();
    }

private:
    void put(std::size_t axis, index_t index) {
        index_vector const& shape = texts_.array.shape;
        if (axis == shape.size())
            return put_text(static_cast<std::size_t>(index));
        out_.empty_list();
        out_.begin();
        for (index_t i = 0; i < shape[axis]; ++i)
            put(axis + 1, index + i * strides_[axis]);
        out_.append_all();
    }

    /// Writes a text without the zero characters at its end.
    void put_text(std::size_t number) {
        auto const count = static_cast<std::size_t>(texts_.characters);
        std::size_t const size = texts_.is_unicode ? 4 : 1;
        vector<std::uint32_t> characters;
        for (std::size_t i = 0; i < count; ++i)
            characters.push_back(character((number * count + i) * size, size));
        while (!characters.empty() && characters.back() == 0)
            characters.pop_back();
        std::string text;
        for (std::uint32_t const character : characters)
            put_character(text, character);
        if (texts_.is_unicode)
            return out_.text(text);
        out_.call("_codecs", "encode", [&] { // Python writes bytes in this way in protocol 2
            out_.text(text);
            out_.text("latin1");
        });
    }

    std::uint32_t character(std::size_t index, std::size_t size) const {
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < size; ++i)
            number |= std::uint32_t{static_cast<unsigned char>(bytes_[index + i])}
                      << 8 * (texts_.is_big_endian ? size - 1 - i : i);
        if (number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
            fail(errc::corrupt_file, texts_.noun, ": the string at byte ",
                 texts_.array.elements.begin + index, " has the code point ", number,
                 ", which is not a Unicode character");
        return number;
    }

    npy_texts const& texts_;
    std::string bytes_;
    index_vector strides_;
    pickle_writer out_;
};

/// Assembles the NumPy arrays in a file.
class npy_checkpoint {
public:
    npy_checkpoint(std::shared_ptr<file_store const> files, std::string_view format,
                   std::filesystem::path const& path)
        : files_(files),
          path_(path),
          file_(files->open(path)),
          all_(std::move(files), format, path) {
        all_.begin_file(path);
    }

    file_store::file const& file() const { return *file_; }

    /// Adds an array as a tensor, as texts, or as an entry that is only listed.
    void add(std::string const& key, std::string const& noun, byte_run where) {
        if (!noun.ends_with(".npy") && !begins_as_npy(*file_, where))
            return all_.add_opaque(key, "is not a NumPy array");
        npy_array const array = read_npy(*file_, noun, where);
        if (array.is_of_objects())
            return all_.add_opaque(
                key, "is an array of Python objects, stored as a pickle; nothing was executed");
        if (array.axes > max_ndim)
            return all_.add_unread(key, {}, why_too_many_axes(array.axes));
        if (auto const texts = texts_of(array, noun)) {
            if (std::string why = why_too_empty(*texts); !why.empty())
                return all_.add_opaque(key, std::move(why));
            all_.add_object(key);
            texts_.emplace(key, *texts);
        } else if (auto const tensor =
                       all_.readable(key, noun, [&] { return tensor_of(array, noun); })) {
            all_.add(key, *tensor);
        }
    }

    whole_tensors& all() { return all_; }

    opened_checkpoint take() {
        opened_checkpoint opened = all_.take();
        opened.read_objects = [files = files_, path = path_,
                               texts = std::move(texts_)](key_set const& keys) {
            vector<saved_object> objects;
            auto const file = files->open(path);
            for (auto const& [key, text] : texts)
                if (keys.contains(key))
                    objects.push_back({key, torch_file_of(npy_text_writer(text, *file).pickle())});
            return objects;
        };
        return opened;
    }

private:
    std::shared_ptr<file_store const> files_;
    std::filesystem::path path_;
    std::unique_ptr<file_store::file> file_;
    whole_tensors all_;
    std::map<std::string, npy_texts> texts_;
};

RESHARD_DECL opened_checkpoint open_npy(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& path) {
    npy_checkpoint checkpoint(std::move(files), "npy", path);
    checkpoint.add(path.stem().string(), path.string(), {0, checkpoint.file().facts().bytes});
    return checkpoint.take();
}

RESHARD_DECL opened_checkpoint open_npz(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& path) {
    auto const members = shown_members(*files->open(path), path.string());
    if (std::ranges::any_of(members, &shown_member::is_inflated))
        files = std::make_shared<files_with_inflated>(std::move(files));
    npy_checkpoint checkpoint(std::move(files), "npz", path);
    for (shown_member const& member : members) {
        std::string_view key = member.member.name;
        if (key.ends_with(".npy"))
            key.remove_suffix(4);
        if (member.bytes)
            checkpoint.add(std::string(key), path.string() + ": " + member.member.name,
                           *member.bytes);
        else
            checkpoint.all().add_unread(std::string(key), {},
                                        "the member " + why_unread(*member.member.packing));
    }
    return checkpoint.take();
}

} // namespace reshard::detail

#endif
