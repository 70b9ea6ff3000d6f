// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_GGUF_HPP
#define RESHARD_FORMAT_GGUF_GGUF_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>

/// \file
/// GGUF, the file format of llama.cpp: a header lists values and tensors, and the data follows.

namespace reshard::detail {

/// The tensors of a `.gguf` file. Shapes are in our order, slowest axis first; the file has the
/// opposite order.
///
/// Quantised tensors have their values, in f32. Tensors of a type whose values are unknown are
/// listed as unread, and the values of the header as objects.
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

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/gguf/impl/gguf.ipp>
#include <reshard/format/gguf/impl/gguf_parts.ipp>
#endif

#endif
