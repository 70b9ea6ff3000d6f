// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Any bytes as a file of another library's: its tensors are read, or there is a message. How the
/// bytes begin says which formats they are tried as, so that real files are seeds.

#include "memory_files.hpp"

#include <reshard/format/checkpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace reshard;
using namespace reshard::detail;

constexpr std::size_t most_read_bytes = std::size_t{1} << 16;

/// The beginning and the end of each shard.
void read_shards(opened_checkpoint const& opened) {
    for (checkpoint_tensor const& tensor : opened.metadata.tensors)
        for (checkpoint_shard const& shard : tensor.shards) {
            auto const file = opened.files->open(opened.metadata.files[shard.file].path);
            std::uint64_t const count =
                std::min<std::uint64_t>(most_read_bytes, shard.end - shard.begin);
            std::vector<std::byte> bytes(static_cast<std::size_t>(count));
            file->read(shard.begin, bytes);
            file->read(shard.end - count, bytes);
        }
}

/// Opens a path at which `text` is the bytes of `name`; files that metadata may speak of have
/// zeros.
void open_as(std::string_view text, std::string const& name, std::string const& path) try {
    auto const files = std::make_shared<fuzz::memory_files>();
    files->files[name] = text;
    if (name != path)
        for (char const* const other : {"run/__0_0.distcp", "run/__1_0.distcp", "run/0_0.distcp",
                                        "run/0_0.safetensors", "run/1_0.distcp"})
            files->files[other] = std::string(most_read_bytes, '\0');
    read_shards(open_files(files, path, {}));
} catch (error const& problem) {
    if (*problem.what() == '\0')
        std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    if (text.starts_with("\x93"))
        open_as(text, "run/a.npy", "run/a.npy");
    else if (text.starts_with("GGUF"))
        open_as(text, "run/a.gguf", "run/a.gguf");
    else if (text.starts_with("PK")) {
        open_as(text, "run/a.npz", "run/a.npz");
        open_as(text, "run/a.pt", "run/a.pt");
    } else if (text.starts_with("\x80")) {
        open_as(text, "run/a.pdparams", "run/a.pdparams");
        open_as(text, "run/.metadata", "run");
        open_as(text, "run/0.metadata", "run");
    }
    return 0;
}
