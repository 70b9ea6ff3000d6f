// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_PORT_FILE_HPP
#define RESHARD_BRIDGE_PORT_FILE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/os/process.hpp>
#include <reshard/os/shared_segment.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

/// \file
/// The port file, in which a source describes itself to targets.

namespace reshard::detail {

/// The number of the port file format. It rises with every change to the file, or to the shared
/// memory that the file describes. Files and memory of another format are refused.
inline constexpr std::uint64_t port_format = 1;

/// A segment of a source, and the process that made it.
struct port_segment {
    segment_address address;
    index_t bytes = 0;
    process_mark maker;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.address, self.bytes, self.maker);
    }

    bool operator==(port_segment const&) const = default;
};

/// The content of a port file.
struct port_content {
    std::string layout;  ///< as bytes; `ranks` has a segment for each of its holders
    std::string program; ///< the mapping as bytes; empty: none
    port_segment control;
    vector<port_segment> ranks;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.layout, self.program, self.control, self.ranks);
    }

    bool operator==(port_content const&) const = default;
};

/// The head of a port file, before its content.
struct port_head {
    std::uint64_t token = 0; ///< from `new_token`; 0: a block without a source
    std::uint64_t begun = 0; ///< the last version that the source has begun; it changes
    std::uint64_t bytes = 0; ///< of the content
    std::uint64_t digest = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.token, self.begun, self.bytes, self.digest);
    }
};

/// The name of a port file in the messages of `check_meeting_path`.
inline constexpr std::string_view name_of_port = "a bridge's port file";

/// The head of a port file; std::nullopt if the file does not exist.
///
/// \throws error with errc::corrupt_file for another kind of file; errc::unsupported for another
///         format; errc::io if the system does not allow reading it
RESHARD_DECL std::optional<port_head> read_port_head(std::filesystem::path const& path);

/// A head, and the bytes after it.
struct port_bytes {
    port_head head;
    std::string content;
};

/// A whole port file, with its bytes as written; std::nullopt if the file does not exist.
///
/// \throws error as `read_port_head`; errc::corrupt_file for a file that was cut short or damaged
RESHARD_DECL std::optional<port_bytes> read_port(std::filesystem::path const& path);

/// The content of a port file.
///
/// \throws error with errc::corrupt_file
RESHARD_DECL port_content read_content(port_bytes const& port);

/// The path of a port file without content, which keeps the number of the last version after the
/// port file itself is removed.
RESHARD_DECL std::filesystem::path count_path(std::filesystem::path const& port);

/// A port file that this process has written. The destructor removes it, unless another port file
/// has replaced it.
class written_port {
public:
    written_port() = default;

    /// Writes the file atomically. If it replaces a file of a killed source, removes the remains of
    /// that source.
    ///
    /// \param begun the last version that was begun before; the old file or the file at
    ///              `count_path` may have a higher number
    /// \throws error with errc::already_exists if another kind of file is at either path; as
    ///         `check_meeting_path`; errc::io
    written_port(std::filesystem::path path, port_content const& content, std::uint64_t token,
                 std::uint64_t begun);
    written_port(written_port&& port) noexcept = default;
    written_port& operator=(written_port&& port) noexcept = default;
    ~written_port();

    /// The last version that any source at this path has begun.
    std::uint64_t begun() const { return begun_; }

    /// Records that a version is begun, before it is written.
    void set_begun(std::uint64_t version);

    /// Makes the destructor write the number of the last version, if any, to `count_path`. The
    /// destructor also does so if that file already exists.
    void keep_count() { keeps_count_ = true; }

private:
    void leave_count() const;

    std::filesystem::path path_;
    output_file file_;
    std::uint64_t token_ = 0;
    std::uint64_t begun_ = 0;
    bool keeps_count_ = false;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bridge/impl/port_file.ipp>
#endif

#endif
