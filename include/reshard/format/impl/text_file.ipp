// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_TEXT_FILE_IPP
#define RESHARD_FORMAT_IMPL_TEXT_FILE_IPP

#include <reshard/format/text_file.hpp>

#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <ios>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL open_file open_to_read(std::filesystem::path const& path) {
    std::error_code ec;
    if (!std::filesystem::exists(path, ec))
        fail(errc::missing_file, path.string(), ": there is no such file");
    if (!std::filesystem::is_regular_file(path, ec))
        fail(errc::io, path.string(), ": this is not a file");
    std::uint64_t const bytes = std::filesystem::file_size(path, ec);
    std::ifstream stream(path, std::ios::binary);
    if (ec || !stream)
        fail(errc::io, path.string(), ": the file cannot be opened for reading");
    return {std::move(stream), bytes};
}

RESHARD_DECL std::string read_bytes(open_file& file, std::uint64_t bytes, std::string const& path) {
    constexpr std::uint64_t step = 1 << 20;
    std::string text;
    while (text.size() < bytes) {
        std::size_t const before = text.size();
        text.resize(before + static_cast<std::size_t>(std::min(step, bytes - before)));
        file.stream.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
        if (!file.stream)
            fail(errc::io, path, ": the file cannot be read from byte ", before,
                 " on, though it has ", file.bytes, " bytes");
    }
    return text;
}

RESHARD_DECL std::string read_text_file(std::filesystem::path const& path, std::uint64_t limit) {
    open_file file = open_to_read(path);
    if (file.bytes > limit)
        fail(errc::limit_exceeded, path.string(), ": the file has ", file.bytes, " bytes; at most ",
             limit, " are read");
    return read_bytes(file, file.bytes, path.string());
}

} // namespace reshard::detail

#endif
