// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_TORCH_SAVE_HPP
#define RESHARD_FORMAT_TORCH_TORCH_SAVE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/torch/torch_archive.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

/// \file
/// Files of `torch.save`, and the directories of Hugging Face that have such files.

namespace reshard::detail {

/// The name of a single file, and the name of the index that lists the tensors of several files.
inline constexpr std::string_view torch_file_name = "pytorch_model.bin";
inline constexpr std::string_view torch_index_name = "pytorch_model.bin.index.json";

/// The tensors of a file. Tensors in dicts and lists have dotted names, `model.layers.0.weight`.
/// Tensors with the same view of a storage are aliases; other values are objects. Tensors within
/// objects, such as a deque, are not read, and a warning names these objects. Tensors of
/// unsupported kinds are listed as unread. Values of unknown classes, and endless or deep values,
/// are opaque.
///
/// \throws error with errc::corrupt_file for two values with one name; see also
///         `torch_file_archive`
RESHARD_DECL opened_checkpoint open_torch_file(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path);

/// A value of an archive that is not a tensor, by its key.
///
/// \param  file the file from which the archive was read
/// \throws error as `copy_of` a value
RESHARD_DECL saved_object object_of(torch_archive const& archive, pickle_value value,
                                    file_store::file const& file, std::string const& key);

/// The bytes of a file that has the values of another file, but None in place of tensors and of
/// objects of unknown classes.
///
/// \throws error as `copy_of` a value
RESHARD_DECL std::string torch_file_without_tensors(file_store const& files,
                                                    std::filesystem::path const& path);

/// The text of a value, similar to Python's. Equal values have equal texts, however they were
/// pickled. Dicts and sets are sorted by the texts of their elements. Ordered dicts are written as
/// dicts, frozen sets as sets, and bytearrays as bytes. Tensors and NumPy arrays are written
/// with their elements, regardless of the function that pickled them. Names have the form of
/// Python 3 and the newest NumPy.
///
/// \param file       names the checkpoint in messages
/// \param most_bytes the limit for generated text, including discarded text
/// \throws error with errc::unsupported for classes that are not read; errc::limit_exceeded for
///         text above the limit; otherwise as `torch_archive`
RESHARD_DECL std::string text_of(saved_object const& object, std::string const& file,
                                 std::size_t most_bytes = std::size_t{1} << 28);

/// The names of tuples with tensors in a file. Torch keeps such tuples whole; here they are split.
RESHARD_DECL vector<std::string> tuples_with_tensors(file_store const& files,
                                                     std::filesystem::path const& path);

/// True for a value that contains tensors at any depth. False if the value cannot be read.
RESHARD_DECL bool has_tensors(saved_object const& object);

/// The tensors in the files of ranks in a directory. The files have shards of DTensors. Each file
/// has a copy of every other tensor. Other values are taken from the first file.
///
/// \throws error as `open_torch_file`; with errc::corrupt_file for files that contradict each
///         other; a shard that no file has is listed in `incomplete`
RESHARD_DECL opened_checkpoint open_torch_ranks(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& directory,
                                                vector<std::filesystem::path> const& paths);

/// True for a file that has a DTensor.
RESHARD_DECL bool has_torch_parts(file_store const& files, std::filesystem::path const& path);

/// The tensors of the files that an index lists.
///
/// \param  is_strict true: a tensor in another file than the index says is an error; false: the
///                   index decides, with a warning
/// \throws error with errc::missing_file for a file that does not exist; errc::corrupt_file for a
///         tensor that its file lacks
RESHARD_DECL opened_checkpoint open_torch_index(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& index,
                                                bool is_strict = true);

inline constexpr std::string_view deepspeed_format = "deepspeed_universal";

/// Whether a directory is a Universal Checkpoint.
RESHARD_DECL bool is_deepspeed_universal(file_store const& files,
                                         std::filesystem::path const& directory);

/// Opens the 32-bit parameters, and the states of each parameter: `w`, `w.exp_avg`, `w.exp_avg_sq`,
/// `w.step`.
///
/// Other files in the directory, such as the model in its own data type, are not read, and a
/// warning says so. The tensor-parallel axis of a parameter (`cat_dim`) is not needed.
///
/// \throws error with errc::corrupt_file for a file without a tensor; see also `torch_archive`
/// \par Source ds_to_universal of DeepSpeed 0.19: a dict with `param`, or, from ZeRO stage 3, a
///             tensor of one axis
RESHARD_DECL opened_checkpoint open_deepspeed_universal(std::shared_ptr<file_store const> files,
                                                        std::filesystem::path const& directory);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/torch/impl/deepspeed.ipp>
#include <reshard/format/torch/impl/object_text.ipp>
#include <reshard/format/torch/impl/torch_save.ipp>
#endif

#endif
