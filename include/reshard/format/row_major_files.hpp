// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_ROW_MAJOR_FILES_HPP
#define RESHARD_FORMAT_ROW_MAJOR_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

/// \file
/// Files that have shards among other data, with elements in any order. They are shown as files of
/// the shards alone, row-major and one after the other.

namespace reshard::detail {

/// The positions of a tensor's elements in a file, by a stride for each axis.
///
/// \par Units `begin` in bytes of the file; strides in elements: none is negative, and 0 repeats an
///            element
struct strided_bytes {
    std::uint64_t begin = 0; ///< the position of the first element
    index_vector strides;

    bool operator==(strided_bytes const&) const = default;
};

/// A tensor in a file.
struct file_tensor {
    data_type dtype{};
    index_vector shape;
    strided_bytes elements;

    bool operator==(file_tensor const&) const = default;
};

/// A shard in a shown file.
struct shown_shard {
    std::uint64_t begin = 0; ///< the position in the shown file
    data_type dtype{};
    packed_vector shape;
};

/// Finds the real positions of a shard's elements, when they are needed.
///
/// \param file   the real file
/// \param shard  the shard in the shown file
/// \param number the index of the shard in the file
using shard_finder = std::function<strided_bytes(file_store::file const& file,
                                                 shown_shard const& shard, std::size_t number)>;

/// A file as it is shown: its shards alone.
struct shown_file {
    vector<shown_shard> shards; ///< each begins at the end of the shard before it
    std::uint64_t bytes = 0;    ///< the bytes of all shards
    shard_finder find;
    std::shared_ptr<file_store const> below{}; ///< the file's store; null: the common store
};

/// Shows some files of a store with their shards alone. Other files are unchanged.
///
/// Row-major shards are read in place. Other shards are gathered some rows at a time, with at most
/// `gathered_bytes` of extra memory.
class row_major_files : public file_store {
public:
    static constexpr std::uint64_t gathered_bytes = 8 << 20;

    RESHARD_DECL row_major_files(std::shared_ptr<file_store const> below,
                                 std::map<std::filesystem::path, shown_file> files);

    RESHARD_DECL kind find(std::filesystem::path const& path) const override;
    RESHARD_DECL vector<std::filesystem::path>
    list(std::filesystem::path const& directory) const override;

    /// Also shows the files that `files` shows.
    RESHARD_DECL void add(row_major_files const& files);

    /// \pre the file does not outlive this
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;

    /// Looks up the empty shards in their files. Nothing else reads these shards, and a file may
    /// contradict metadata that says that a shard is empty.
    ///
    /// \throws error as `shard_finder`
    RESHARD_DECL void check_empty_shards() const;

    /// The store of the real files, below all stores that show other files.
    RESHARD_DECL std::shared_ptr<file_store const> const& lowest() const;

    /// The bytes of a shard in the real file, if they are contiguous; std::nullopt if its elements
    /// are in another order.
    ///
    /// \param begin the beginning of the shard in the shown file
    /// \throws error as `shard_finder`, and with errc::corrupt_file if the real file is too short
    RESHARD_DECL std::optional<byte_run> real_bytes(std::filesystem::path const& path,
                                                    std::uint64_t begin) const;

private:
    row_major_files const* next() const {
        return dynamic_cast<row_major_files const*>(below_.get());
    }

    file_store const& below(shown_file const& shown) const {
        return shown.below ? *shown.below : *below_;
    }

    std::shared_ptr<file_store const> below_;
    std::map<std::filesystem::path, shown_file> files_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/row_major_files.ipp>
#endif

#endif
