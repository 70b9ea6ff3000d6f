// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DELTA_FILES_HPP
#define RESHARD_FORMAT_DELTA_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A delta: a save that has only the chunks that changed, and refers to earlier saves for the rest.

namespace reshard::detail {

/// The key in `__metadata__` that marks a file with the changed chunks of a save. Such a save can
/// only be read through its record.
inline constexpr std::string_view delta_name = "RESHARD_DELTA";

/// The offset of the data in a file of changed chunks.
inline constexpr std::uint64_t delta_data_offset = 4096;

/// The name of the file with the chunks that process `process` wrote.
RESHARD_DECL std::string delta_file_name(std::size_t process);

/// The first `delta_data_offset` bytes of a file of changed chunks, which is a safetensors file
/// with one tensor.
///
/// \param save the id of the save that the file belongs to
RESHARD_DECL std::string delta_header(std::string_view save, std::uint64_t data_bytes);

/// Shows the files of a delta as the files of a whole save. Each file is assembled while it is
/// read, from the delta and its bases. Other files are the files of the store below.
class delta_files : public file_store {
public:
    /// \pre `record.delta`
    RESHARD_DECL delta_files(std::shared_ptr<file_store const> below,
                             std::filesystem::path directory, save_record record);

    RESHARD_DECL kind find(std::filesystem::path const& path) const override;
    RESHARD_DECL vector<std::filesystem::path>
    list(std::filesystem::path const& directory) const override;

    /// \pre    the file does not outlive this
    /// \throws error with errc::missing_file or errc::corrupt_file, naming the save, and the file
    ///         that is missing or belongs to another save
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;

    /// A file of the delta or of one of its bases, by its number in `delta_run::source`.
    RESHARD_DECL std::shared_ptr<file const> source(std::uint32_t number) const;

    /// The files of the delta and its bases that have the bytes `[begin, end)` of a file of the
    /// record.
    RESHARD_DECL std::set<std::string> files_with(std::filesystem::path const& path,
                                                  std::uint64_t begin, std::uint64_t end) const;

private:
    /// The number of a file of the record, if the path names one.
    std::optional<std::size_t> number_of(std::filesystem::path const& path) const;
    bool has_changes(std::filesystem::path const& path) const;
    std::shared_ptr<file const> open_source(std::uint32_t number) const;
    std::string name_of_source(std::uint32_t number) const;

    std::shared_ptr<file_store const> below_;
    std::filesystem::path directory_; ///< ends with a slash
    save_record record_;
    std::map<std::filesystem::path, std::size_t> numbers_; ///< numbers of the files of the record
    mutable std::mutex mutex_;
    /// The sources that were used last, the latest first. They are few, because the number of open
    /// files is limited.
    mutable std::list<std::pair<std::uint32_t, std::shared_ptr<file const>>> open_;
};

/// The path in the store of a file, whose name is relative to a directory and may have `..`. The
/// file system resolves `..`; if no file exists at that path, `..` is resolved in the text alone.
RESHARD_DECL std::filesystem::path path_in(file_store const& files,
                                           std::filesystem::path const& directory,
                                           std::filesystem::path const& path);

/// The store through which the checkpoint at `path` is read: `files`, unless the checkpoint is a
/// delta.
///
/// \throws error as `read_record_head`
RESHARD_DECL std::shared_ptr<file_store const>
store_of_checkpoint(std::shared_ptr<file_store const> files, std::filesystem::path const& path);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/delta_files.ipp>
#endif

#endif
