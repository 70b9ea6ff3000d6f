// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_GGUF_HPP
#define RESHARD_FORMAT_GGUF_GGUF_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

/// \file
/// GGUF, the file format of llama.cpp: a header lists values and tensors, and the data follows.

namespace reshard::detail {

/// The tensors of a `.gguf` file. Shapes are in our order, slowest axis first; the file has the
/// opposite order.
///
/// Quantised tensors are read as their values in f32. Tensors of other types are listed as unread,
/// and the values of the header as objects, which are read in their stored form.
///
/// \throws error with errc::corrupt_file for a file that ends early, for lengths and positions
///         beyond its end, and for a name that occurs twice; errc::unsupported for versions other
///         than 2 and 3; it names the file and the position
/// \par Source the specification of GGUF in the repository ggml, version 3
RESHARD_DECL opened_checkpoint open_gguf(std::shared_ptr<file_store const> files,
                                         std::filesystem::path const& path);

/// The `.gguf` files of a directory, sorted.
RESHARD_DECL vector<std::filesystem::path> find_gguf_files(file_store const& files,
                                                           std::filesystem::path const& directory);

/// Opens the model in the `.gguf` files of a directory.
///
/// \throws error also with errc::missing_file if a file says that other files belong to the model
RESHARD_DECL opened_checkpoint open_gguf_directory(std::shared_ptr<file_store const> files,
                                                   std::filesystem::path const& directory);

/// One file, whose header has the values in `choices.objects`. `general.file_type` is corrected if
/// it does not describe the tensors. Bytes of `choices.blocks` are tensors of a quantised type.
///
/// \throws error with errc::unsupported for a data type that GGUF does not have, and for values in
///         another form
/// \par Source the specification of GGUF in the repository ggml, version 3
RESHARD_DECL checkpoint_plan plan_gguf(layout const& target, file_choices const& choices);

/// True for a value in the form of a GGUF header, as opposed to an archive of `torch.save`.
RESHARD_DECL bool is_gguf_value(saved_object const& object);

/// The text of a value of a header, with the type of its numbers: `[1, 2] (i32)`.
///
/// \throws error with errc::limit_exceeded for more than `most_bytes` bytes
RESHARD_DECL std::string gguf_text_of(saved_object const& object, std::size_t most_bytes);

/// The values of a GGUF header, and sentences for people about values that are missing.
struct gguf_metadata {
    vector<saved_object> values;
    vector<std::string> notes;
};

/// The values that llama.cpp needs for a model, from the files of Hugging Face in its directory:
/// `config.json` gives the sizes of the model, `tokenizer.json` the tokenizer.
///
/// Values are complete or missing: for a model of an unknown architecture, and for one that lacks a
/// size, the result has only a note. The same holds for the tokenizer.
///
/// \param is_written true for the names of tensors that the file gets
RESHARD_DECL gguf_metadata
gguf_metadata_of(std::filesystem::path const& directory,
                 std::function<bool(std::string const&)> const& is_written);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/gguf/impl/gguf.ipp>
#include <reshard/format/gguf/impl/gguf_model.ipp>
#include <reshard/format/gguf/impl/gguf_parts.ipp>
#include <reshard/format/gguf/impl/gguf_pieces.ipp>
#include <reshard/format/gguf/impl/gguf_plan.ipp>
#include <reshard/format/gguf/impl/gguf_tokenizer.ipp>
#endif

#endif
