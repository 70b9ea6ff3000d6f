// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_TORCH_ARCHIVE_HPP
#define RESHARD_FORMAT_TORCH_TORCH_ARCHIVE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/zip/stored_zip.hpp>
#include <reshard/layout/distribution.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The files of `torch.save`: a zip archive of a pickle, and of storages with the elements of
/// tensors.

namespace reshard::detail {

/// The classes of storages in the module torch, and the data types of their elements. Newer data
/// types have no such class.
inline constexpr std::pair<std::string_view, data_type> torch_storages[] = {
    {"FloatStorage", data_type::f32},        {"DoubleStorage", data_type::f64},
    {"HalfStorage", data_type::f16},         {"BFloat16Storage", data_type::bf16},
    {"LongStorage", data_type::i64},         {"IntStorage", data_type::i32},
    {"ShortStorage", data_type::i16},        {"CharStorage", data_type::i8},
    {"ByteStorage", data_type::u8},          {"BoolStorage", data_type::boolean},
    {"ComplexFloatStorage", data_type::c64}, {"ComplexDoubleStorage", data_type::c128},
};

/// The data type with a name in the module torch, such as `float32`; std::nullopt for other types.
RESHARD_DECL std::optional<data_type> torch_data_type(std::string_view name);

/// The numbers of a `torch.Size`, a tuple or a list. Negative numbers are refused.
///
/// \param noun the name of `value` in messages
RESHARD_DECL index_vector torch_extents(pickle const& values, pickle_value value,
                                        std::string const& noun);

/// An archive in memory, as a file.
class archive_file : public file_store::file {
public:
    archive_file(std::string_view bytes, std::string const& name) : bytes_(bytes), name_(name) {}

    file_store::identity facts() const override { return {.bytes = bytes_.size()}; }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        if (position > bytes_.size() || target.size() > bytes_.size() - position)
            fail(errc::corrupt_file, name_, ": ends before byte ", position + target.size());
        std::memcpy(target.data(), bytes_.data() + position, target.size());
    }

private:
    std::string_view bytes_;
    std::string const& name_;
};

/// A rank's shard of a tensor that is distributed over a mesh: a DTensor.
struct torch_part {
    distribution spread;
    std::optional<holder_t> position; ///< on the mesh; std::nullopt for a rank outside the mesh
    pickle_value local;               ///< the rank's shard
};

/// An archive of `torch.save`.
class torch_archive {
public:
    /// Reads the pickle, and the positions of storages, but no storage.
    ///
    /// \throws error as `read_zip` and `pickle`; errc::corrupt_file also for a storage whose length
    ///         contradicts the pickle, or that no value of the pickle uses; errc::unsupported also
    ///         for a byte order other than this machine's, and for TorchScript
    RESHARD_DECL torch_archive(file_store::file const& file, std::string const& name,
                               byte_run where);

    /// The same for an archive that is the whole file. Its members may be deflated.
    ///
    /// \pre the file was opened by `files_with_inflated`
    RESHARD_DECL torch_archive(file_store::file const& file, std::string const& name);

    /// True if a member is deflated. Its tensors are then read through `files_with_inflated`.
    bool is_inflated() const { return is_inflated_; }

    pickle const& values() const { return *values_; }

    /// True for a tensor or a parameter, even of a kind that is not read.
    RESHARD_DECL bool is_tensor(pickle_value value) const;

    /// \pre    `is_tensor(value)`
    /// \param  noun names the tensor in messages: "tensor 'w'"
    /// \throws error with errc::corrupt_file for a tensor that exceeds its storage, or whose
    ///         storage is missing; errc::unsupported for an unsupported data type, and for sparse,
    ///         quantised and other tensors that do not consist of strided elements
    RESHARD_DECL file_tensor tensor(pickle_value value, std::string const& noun) const;

    /// True for a DTensor, or a parameter that is one.
    RESHARD_DECL bool is_part(pickle_value value) const;

    /// \pre    `is_part(value)`
    /// \throws error with errc::corrupt_file for a mesh and placements that do not fit the tensor;
    ///         errc::unsupported for partial sums, and for an unsupported order of cuts
    /// \par Source torch.distributed.tensor of torch 2.4 to 2.15
    RESHARD_DECL torch_part part(pickle_value value, std::string const& noun) const;

private:
    /// The members of a DTensor; std::nullopt for any other value.
    std::optional<pickle_value> members_of_part(pickle_value value) const;
    /// A function that makes a tensor, and its arguments.
    struct call {
        std::string_view function;
        std::span<pickle_value const> arguments;
    };

    /// The call that makes an object. An outer call that only sets the object's class is skipped.
    call call_in(pickle_value object) const;

    /// The tensor of a parameter, even if parameters are nested. Returns any other value unchanged.
    pickle_value without_parameter(pickle_value value) const;

    /// The call that makes a tensor. Outer calls that make a parameter from it, or an object of
    /// another known class, are skipped. std::nullopt for any other value.
    std::optional<call> call_of(pickle_value value) const;

    void read(file_store::file const& file, vector<shown_member> const& members);
    byte_run member(std::string const& name) const;
    void check_storages() const;

    std::string name_;
    bool is_inflated_ = false;
    std::map<std::string, byte_run> members_; ///< by their names in the archive
    std::optional<pickle> values_;
};

/// A file of `torch.save`, and its archive.
class torch_file_archive {
public:
    /// \throws error as `torch_archive`; errc::unsupported also for a file of torch before 1.6,
    ///         which is not an archive
    RESHARD_DECL torch_file_archive(file_store const& files, std::filesystem::path const& path);

    file_store::file const& file() const { return *file_; }
    torch_archive const& operator*() const { return archive_; }
    torch_archive const* operator->() const { return &archive_; }

private:
    files_with_inflated files_;
    std::unique_ptr<file_store::file> file_;
    torch_archive archive_;
};

/// Torch's name of a tensor's data type, such as `float32`.
///
/// \throws error with errc::unsupported for a type that torch does not have, naming the key
RESHARD_DECL std::string torch_name(data_type dtype, std::string_view key);

/// A tensor to write, row-major.
struct torch_tensor {
    std::string key;
    data_type dtype{};
    index_vector shape;
};

/// A shard as a separate tensor.
RESHARD_DECL torch_tensor torch_tensor_of(file_shard const& shard);

/// A file of `torch.save` without the elements of its tensors.
struct torch_file {
    vector<placed_text> texts;
    vector<byte_run> elements; ///< positions for each tensor
    std::uint64_t end = 0;
};

/// An archive of one tensor that begins at byte `begin` of a file.
///
/// Large tensors begin at a page of the file, others at a cache line. Checksums of elements are
/// omitted: torch does not check them, and has an option to omit them.
///
/// \pre    `begin` is a multiple of `torch_alignment` of the tensor
/// \throws error as `torch_name`
/// \par Source torch.serialization of torch 2.15: the form of protocol 2
RESHARD_DECL torch_file torch_file_of(torch_tensor const& tensor, std::uint64_t begin = 0);

/// An archive of a dict of tensors, and of values that are not tensors.
///
/// \throws error as `torch_name`, and as `copy_of` a value
RESHARD_DECL torch_file torch_file_of(std::span<torch_tensor const> tensors,
                                      std::span<saved_object const> objects = {});

/// A file of `torch.save` with the whole tensors of a layout of one rank.
///
/// \throws error as `torch_file_of`; errc::usage for a value with the key of a tensor
RESHARD_DECL checkpoint_plan plan_torch_file(layout const& target, file_choices const& choices);

/// The best alignment of a tensor of `bytes` bytes in its file, and of the tensor's archive.
RESHARD_DECL std::uint64_t torch_alignment(std::uint64_t bytes);

/// The bytes of a file of `torch.save` with the content of a pickle.
RESHARD_DECL std::string torch_file_of(std::string const& pickle);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/torch/impl/torch_archive.ipp>
#include <reshard/format/torch/impl/torch_parts.ipp>
#include <reshard/format/torch/impl/torch_tensors.ipp>
#endif

#endif
