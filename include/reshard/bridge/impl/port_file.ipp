// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_IMPL_PORT_FILE_IPP
#define RESHARD_BRIDGE_IMPL_PORT_FILE_IPP

#include <reshard/bridge/port_file.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace reshard::detail {

/// The first bytes of every port file. Its format and its head follow.
inline constexpr std::string_view port_magic = "reshport";
inline constexpr std::size_t port_head_bytes = 6 * 8;
/// The byte offset of the number of the last version.
inline constexpr std::uint64_t begun_place = 3 * 8;

inline std::uint64_t digest_of_bytes(std::string_view bytes) {
    hasher digest;
    digest.add(bytes);
    return digest.value();
}

/// Reads a head from the first bytes of a file, which may be too short.
inline port_head head_in(std::filesystem::path const& path, std::string_view bytes) {
    if (bytes.substr(0, port_magic.size()) != port_magic)
        fail(errc::corrupt_file, path.string(),
             ": this is not a bridge's port file; give the path that the source was given");
    byte_reader from(bytes.substr(port_magic.size()), "port file");
    if (bytes.size() < port_head_bytes)
        fail(errc::corrupt_file, path.string(), ": the port file is truncated: it has ",
             bytes.size(), " bytes, but its head alone needs ", port_head_bytes);
    if (auto const format = from.get<std::uint64_t>(); format != port_format)
        fail(errc::unsupported, path.string(), ": the port file has format ", format,
             ", but this library supports format ", port_format,
             "; build both programs with the same version of the library");
    return from.get<port_head>();
}

inline std::string bytes_from(input_file const& file, std::uint64_t first, std::uint64_t count) {
    std::string bytes(static_cast<std::size_t>(count), '\0');
    file.read(first, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

inline port_head head_of(std::filesystem::path const& path, input_file const& file) {
    return head_in(
        path, bytes_from(file, 0, std::min<std::uint64_t>(file.facts().bytes, port_head_bytes)));
}

RESHARD_DECL std::optional<port_head> read_port_head(std::filesystem::path const& path) {
    auto const file = open_if_there(path);
    return file ? std::optional(head_of(path, *file)) : std::nullopt;
}

RESHARD_DECL std::optional<port_bytes> read_port(std::filesystem::path const& path) {
    auto const file = open_if_there(path);
    if (!file)
        return std::nullopt;
    port_head const head = head_of(path, *file);
    if (std::uint64_t const there = file->facts().bytes - port_head_bytes; there != head.bytes)
        fail(errc::corrupt_file, path.string(), ": the port file is truncated: it has ", there,
             " of ", head.bytes, " bytes after its head");
    port_bytes read{head, bytes_from(*file, port_head_bytes, head.bytes)};
    if (digest_of_bytes(read.content) != head.digest)
        fail(errc::corrupt_file, path.string(),
             ": the port file is damaged: its bytes do not match its digest");
    return read;
}

RESHARD_DECL port_content read_content(port_bytes const& port) {
    return content_from<port_content>(port.content, "port file");
}

/// Removes the remains of a killed source: the names of its memory, if any.
inline void remove_segments(port_content const& old) {
    for (port_segment const& segment : old.ranks)
        if (has_ended(segment.maker))
            shared_segment::remove(segment.address);
    if (has_ended(old.control.maker))
        shared_segment::remove(old.control.address);
}

/// The last version that an older source at this path has begun, or 0. Removes the remains of that
/// source.
///
/// \throws error with errc::already_exists for another kind of file
inline std::uint64_t take_over(std::filesystem::path const& path) {
    auto const file = open_if_there(path);
    if (!file)
        return 0;
    std::uint64_t const candidate = std::min<std::uint64_t>(file->facts().bytes, port_magic.size());
    if (bytes_from(*file, 0, candidate) != port_magic)
        fail(errc::already_exists, path.string(),
             ": the existing file is not a port file; remove it, or give another path");
    std::uint64_t begun = 0;
    attempt([&] { // a damaged file is replaced
        begun = head_of(path, *file).begun;
        if (auto const port = read_port(path))
            remove_segments(read_content(*port));
    });
    return begun;
}

RESHARD_DECL std::filesystem::path count_path(std::filesystem::path const& port) {
    std::filesystem::path path = port;
    return path += ".versions";
}

inline std::string port_text(std::uint64_t token, std::uint64_t begun, std::string const& content) {
    byte_writer head;
    head.add(port_format);
    head.add(port_head{token, begun, content.size(), digest_of_bytes(content)});
    return std::string(port_magic) + head.take() + content;
}

RESHARD_DECL written_port::written_port(std::filesystem::path path, port_content const& content,
                                        std::uint64_t token, std::uint64_t begun)
    : token_(token) {
    check_meeting_path(path, name_of_port);
    begun_ = std::max({begun, take_over(path), take_over(count_path(path))});
    keeps_count_ = std::filesystem::exists(count_path(path));
    file_ = put_file(path, port_text(token, begun_, content_bytes(content)));
    path_ = std::move(path);
}

RESHARD_DECL void written_port::leave_count() const {
    if (keeps_count_ && begun_ > 0)
        put_file(count_path(path_), port_text(token_, begun_, {}));
}

RESHARD_DECL written_port::~written_port() {
    attempt([&] {
        std::error_code ignored;
        auto const head = file_.is_open() ? read_port_head(path_) : std::nullopt;
        if (!head || head->token != token_)
            return;
        leave_count(); // if this fails, the port file stays, because it has the number, too
        std::filesystem::remove(path_, ignored);
    });
}

RESHARD_DECL void written_port::set_begun(std::uint64_t version) {
    byte_writer number;
    number.add(version);
    std::string const bytes = number.take();
    file_.write(begun_place, std::as_bytes(std::span(bytes)));
    begun_ = version;
}

} // namespace reshard::detail

#endif
