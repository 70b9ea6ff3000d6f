// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_ZIP_STORED_ZIP_HPP
#define RESHARD_FORMAT_ZIP_STORED_ZIP_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/file_store.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Zip archives. Stored members are read in place, and written separately from the rest. Deflated
/// members are read through windows.

namespace reshard::detail {

/// How a compressed or encrypted member is packed.
struct zip_packing {
    static constexpr std::uint16_t stored = 0, deflated = 8;

    std::uint16_t method = stored;
    bool is_encrypted = false;
    std::uint64_t bytes = 0;    ///< the unpacked bytes, as the directory states them
    std::uint32_t checksum = 0; ///< the checksum of the unpacked bytes

    bool operator==(zip_packing const&) const = default;
};

/// A member of an archive, and the position of its bytes in the file.
struct zip_member {
    std::string name;
    byte_run bytes;
    std::optional<zip_packing> packing{}; ///< std::nullopt for a member that is stored as it is

    bool operator==(zip_member const&) const = default;
};

/// The members of the archive in a range of a file, in the order of its directory. Does not read
/// their bytes, and does not compare their checksums.
///
/// \throws error with errc::unsupported for an archive in several files; errc::corrupt_file if it
///         is not an archive, and for a member that lies outside the archive, in its directory, or
///         in another member; it names `name`, the member, and the position in the file
/// \par Source APPNOTE.TXT 6.3.10 of PKWARE
RESHARD_DECL vector<zip_member> read_zip(file_store::file const& file, std::string_view name,
                                         byte_run where);

/// Why a member cannot be read: "is encrypted".
RESHARD_DECL std::string why_unread(zip_packing const& packing);

/// \throws error with errc::unsupported for a member that is compressed or encrypted
RESHARD_DECL void check_stored(zip_member const& member, std::string_view name);

/// A member of an archive, and the position of its bytes in `files_with_inflated`.
struct shown_member {
    zip_member member;
    std::optional<byte_run> bytes; ///< std::nullopt if it is neither stored nor deflated

    bool is_inflated() const { return member.packing && bytes; }
};

/// The members of a file that is an archive. Deflated members are shown after the end of the file.
///
/// \throws error as `read_zip`; errc::corrupt_file also for a size that a deflated member cannot
///         have
RESHARD_DECL vector<shown_member> shown_members(file_store::file const& file,
                                                std::string_view name);

class inflated_member;

/// The files of a store. Archives are extended after their ends by the contents of their deflated
/// members (`shown_members`). Members are inflated when they are read, from the last saved state
/// before the position, so the memory does not grow with the members. Stored members are read
/// directly from the file.
class files_with_inflated : public file_store {
public:
    explicit files_with_inflated(std::shared_ptr<file_store const> below)
        : below_(std::move(below)) {}

    kind find(std::filesystem::path const& path) const override { return below_->find(path); }

    vector<std::filesystem::path> list(std::filesystem::path const& directory) const override {
        return below_->list(directory);
    }

    /// Opens a file. Reading from it throws an error with errc::corrupt_file if the size or the
    /// checksum of a member contradicts the directory.
    ///
    /// \pre the file does not outlive this
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;

private:
    friend class file_with_inflated;

    /// The inflated members, by their shown positions.
    using members_by_place = std::map<std::uint64_t, shown_member>;

    members_by_place const& members_of(std::filesystem::path const& path,
                                       file_store::file const& real) const;

    std::shared_ptr<file_store const> below_;
    mutable std::mutex mutex_;
    mutable std::map<std::filesystem::path, members_by_place> members_; ///< the files read so far
};

/// The checksum of a member. \par Source ISO 3309, the CRC of 32 bits
RESHARD_DECL std::uint32_t zip_checksum(std::string_view text);

/// Plans an archive in a file, from byte `begin` on: texts, and room for members whose bytes the
/// caller writes. All members are stored as they are.
///
/// \par Source APPNOTE.TXT 6.3.10 of PKWARE
class zip_plan {
public:
    explicit zip_plan(std::uint64_t begin = 0) : begin_(begin), end_(begin) {}

    /// Adds a member with the bytes of `text`.
    void add(std::string const& name, std::string const& text) {
        place(begin_member(name, text.size(), 1, zip_checksum(text)).begin, text);
    }

    /// Adds a member of `bytes` bytes, and returns their position in the file, which is a multiple
    /// of `alignment`.
    ///
    /// \param checksum the checksum of these bytes; torch also reads members without a checksum
    byte_run add_room(std::string const& name, std::uint64_t bytes, std::uint64_t alignment,
                      std::uint32_t checksum = 0) {
        return begin_member(name, bytes, alignment, checksum);
    }

    /// Adds the directory. Nothing may follow it.
    ///
    /// \return the end of the archive in the file
    RESHARD_DECL std::uint64_t finish();

    /// The texts to write, apart from the members that the caller writes.
    vector<placed_text> const& texts() const { return texts_; }

private:
    struct member {
        std::string name;
        std::uint64_t bytes = 0;
        std::uint64_t header = 0; ///< counted from the beginning of the archive
        std::uint32_t checksum = 0;
    };

    RESHARD_DECL byte_run begin_member(std::string const& name, std::uint64_t bytes,
                                       std::uint64_t alignment, std::uint32_t checksum);

    /// Adds a text. Appends it to the last text if possible.
    RESHARD_DECL void place(std::uint64_t begin, std::string_view text);

    std::uint64_t begin_;
    std::uint64_t end_; ///< the end of everything that was added
    vector<member> members_;
    vector<placed_text> texts_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/zip/impl/inflated_files.ipp>
#include <reshard/format/zip/impl/stored_zip.ipp>
#include <reshard/format/zip/impl/zip_plan.ipp>
#endif

#endif
