// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SAFETENSORS_HPP
#define RESHARD_SAFETENSORS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

/// \file
/// safetensors files in one include: opens, lists and writes them, without MPI and without layouts.

namespace reshard::safetensors {

/// A tensor of an open file, or a tensor to write. It does not own its bytes.
struct tensor {
    std::string name;
    data_type dtype{};
    vector<std::uint64_t> shape;      ///< in elements; empty for a scalar
    std::span<std::byte const> bytes; ///< row-major, little-endian, without gaps
    std::string_view file = {}; ///< the path of the file, for messages; empty if there is none

    /// The elements as values of a C++ type, without a copy.
    ///
    /// `T` is any type with `data_type_traits`: `float`, `bfloat16`, `std::int64_t`, `bool`, ...
    /// Types without a C++ type, such as 4-bit types, are in `bytes` only.
    ///
    /// \throws error with errc::dtype_mismatch if the tensor has another data type;
    ///         errc::unsupported if the bytes are not aligned for `T`; errc::corrupt_file if a
    ///         `bool` is neither 0 nor 1. It names file and tensor
    template <class T>
    std::span<T const> as() const {
        static_assert(8 * sizeof(T) == bits(data_type_of<T>));
        check_elements(data_type_of<T>, alignof(T));
        return {reinterpret_cast<T const*>(bytes.data()), bytes.size() / sizeof(T)};
    }

private:
    RESHARD_DECL void check_elements(data_type wanted, std::size_t alignment) const;
};

/// The contents of a file, or of all files that an index lists.
struct file {
    std::string path;
    vector<tensor> tensors;                      ///< sorted by name
    std::map<std::string, std::string> metadata; ///< of several files: the members that all have
    vector<std::string> warnings;                ///< what `open_options::compatible` accepted
    std::shared_ptr<void const> memory;          ///< the mapped bytes; copies of `file` share them

    /// The tensor with that name; null if there is none. Refers to this object.
    RESHARD_DECL tensor const* find(std::string_view name) const&;

    /// \throws error with errc::unknown_key that names the file, the name and a similar name
    RESHARD_DECL tensor const& at(std::string_view name) const&;

    /// Deleted for a temporary, because its tensors would be destroyed with it.
    tensor const* find(std::string_view name) const&& = delete;
    tensor const& at(std::string_view name) const&& = delete;
};

/// How a file is opened.
struct open_options {
    /// Accepts what the format forbids and the reader of Hugging Face accepts; see
    /// `file::warnings`.
    bool compatible = false;
};

/// Maps a file to memory and checks its header. Or does so for all files of a model, if `path` is
/// its index, such as `model.safetensors.index.json`.
///
/// The system reads bytes when the program touches them. The file must not become shorter as long
/// as it is mapped: then the signal SIGBUS would end the process. It may be replaced, as `write`
/// does.
///
/// \param  path a string or a `std::filesystem::path`
/// \throws error with errc::missing_file, errc::io, or errc::corrupt_file if the file contradicts
///         the format; it names file, tensor and numbers
RESHARD_DECL file open(std::string const& path, open_options const& options = {});

/// The same for a file in memory, which must live as long as its tensors are used.
///
/// \param  name the name of the file in messages
/// \throws error with errc::corrupt_file
RESHARD_DECL file parse(std::span<std::byte const> bytes, std::string const& name,
                        open_options const& options = {});

/// The metadata to write, and whether a file may be replaced.
struct write_options {
    std::map<std::string, std::string> metadata = {};
    bool replace = false; ///< if true, replaces an existing file
};

/// Writes a file. It appears when it is complete and on the disk; an error leaves nothing behind.
///
/// The tensors may come from the file that is replaced. Their order does not matter: the file has
/// the order of Hugging Face's writer, by alignment and name.
///
/// \throws error with errc::already_exists if the file exists and `replace` is false;
///         errc::shape_mismatch if the bytes of a tensor do not match its shape;
///         errc::bad_layout for a name that occurs twice; errc::unsupported, errc::overflow,
///         errc::limit_exceeded or errc::io. It names file and tensor
RESHARD_DECL void write(std::string const& path, std::span<tensor const> tensors,
                        write_options const& options = {});

} // namespace reshard::safetensors

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/mapped_safetensors.ipp>
#endif

#endif
