// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_GGUF_HPP
#define RESHARD_FORMAT_GGUF_GGUF_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>

/// \file
/// GGUF: the files of llama.cpp, a header of values and tensors before their data.

namespace reshard::detail {

/// The tensors of a `.gguf` file. Shapes are in our order, the slowest axis first: the file has them
/// the other way round.
///
/// Tensors of quantised types are listed as unread. The values of the header are texts of the
/// metadata where they are texts or numbers; of lists, only how long they are.
///
/// \throws error with errc::corrupt_file for a file that ends early, for lengths and positions
///         beyond it, and for a name that stands twice; errc::unsupported for other versions than 2
///         and 3; it names the file and the position
/// \par Source the specification of GGUF in the repository ggml, version 3
RESHARD_DECL opened_checkpoint open_gguf(std::shared_ptr<file_store const> files,
                                         std::filesystem::path const& path);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/gguf/impl/gguf.ipp>
#endif

#endif
