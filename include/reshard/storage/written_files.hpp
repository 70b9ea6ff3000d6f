// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_WRITTEN_FILES_HPP
#define RESHARD_STORAGE_WRITTEN_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/os/file_store.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/delta_base.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Writes one process's share of the files of a checkpoint.

namespace reshard::detail {

/// The number of bytes of all shards.
RESHARD_DECL index_t data_bytes(checkpoint_metadata const& written);

/// Marks a chunk that a delta does not write, since its base has it.
inline constexpr std::uint64_t unchanged_chunk = static_cast<std::uint64_t>(-1);

/// The digests of consecutive chunks that a process has written.
struct written_run {
    std::uint32_t tensor = 0;
    std::uint32_t shard = 0;
    std::uint64_t first_chunk = 0;
    vector<std::uint64_t> digests;
    vector<std::uint64_t> positions{}; ///< for a delta: in the file of the process

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.tensor, self.shard, self.first_chunk, self.digests, self.positions);
    }
};

/// The files of a checkpoint that is being written. Nothing here communicates.
///
/// For a delta, each process writes the changed chunks into its own file. The first process's file
/// has all headers.
class written_files {
public:
    /// \param base    the base of a delta; null: all chunks are written
    /// \param process the number of this process
    /// \pre   `plan`, `target` and `base` outlive this object
    RESHARD_DECL written_files(checkpoint_plan const& plan, file_store::unfinished& target,
                               delta_base const* base = nullptr, int process = 0);

    /// Creates a file, if it does not exist, with its final size and a header that marks it as
    /// unfinished. Several processes may call this.
    ///
    /// \throws error with errc::io
    RESHARD_DECL void open(holder_t number);

    /// Writes bytes of a shard, from its byte `begin` on, and takes their digests.
    ///
    /// \pre    if the file has digests, `begin` is a multiple of its `chunk_bytes`, and `bytes`
    ///         ends at such a multiple or at the end of the shard; one process writes each chunk,
    ///         once
    /// \throws error with errc::io
    RESHARD_DECL void put(shard_place shard_place, std::uint64_t begin,
                          std::span<std::byte const> bytes);

    /// The chunks that this process has written.
    vector<written_run> const& runs() const { return runs_; }

    /// Writes the parts of a file that depend on all chunks: in this library's format, the header.
    ///
    /// \throws error with errc::io
    RESHARD_DECL void finish(holder_t number, sealed_checkpoint const& sealed);

    /// Writes the header of a file of a delta.
    RESHARD_DECL void put_delta_header(std::string const& file, std::string_view header);

    /// The name of this process's file of a delta.
    RESHARD_DECL std::string own_delta_file() const;

    /// Waits until the files that this process has written are on the disk.
    ///
    /// \throws error with errc::io
    RESHARD_DECL void sync();

    checkpoint_plan const& plan() const { return plan_; }

private:
    std::unique_ptr<file_store::output> opened(holder_t number) const;
    std::unique_ptr<file_store::output> open_delta(std::string const& name);
    void write(holder_t number, std::uint64_t position, std::span<std::byte const> bytes);
    void put_changed(shard_place shard_place, std::uint64_t begin,
                     std::span<std::byte const> bytes);
    std::uint64_t append(std::span<std::byte const> chunk);
    std::uint64_t put_chunk(checkpoint_shard const& shard, std::uint64_t begin,
                            std::span<std::byte const> chunk);
    written_run& run_at(shard_place shard_place, std::uint64_t chunk);

    checkpoint_plan const& plan_;
    file_store::unfinished& target_;
    delta_base const* base_;
    int process_;
    vector<bool> is_written_; ///< by file: true if this process wrote to it
    vector<written_run> runs_;
    running_digest digest_;
    std::unique_ptr<file_store::output> open_; ///< the last written file
    holder_t open_number_ = 0;
    std::unique_ptr<file_store::output> changes_; ///< this process's file of a delta
    std::uint64_t changes_end_ = 0;
    std::set<std::string> delta_files_; ///< files that this process has written to
};

/// The number of bytes that a save takes from its base.
inline index_t reused_in(std::optional<record_delta> const& delta) {
    return delta ? static_cast<index_t>(reused_bytes(*delta)) : 0;
}

/// Writes the headers of a delta: of file `name`, or of all files if `name` is empty.
inline void put_delta_headers(written_files& files, sealed_checkpoint const& sealed,
                              std::string_view name = {}) {
    for (std::size_t i = 0; i < sealed.delta_headers.size(); ++i)
        if (std::string const& file = sealed.delta->files[i].name; name.empty() || name == file)
            files.put_delta_header(file, sealed.delta_headers[i]);
}

/// The headers and the record of a checkpoint after all chunks are written; empty for formats of
/// other libraries.
///
/// \param runs the runs of all processes
/// \param base the base of a delta
/// \pre   the runs contain each chunk exactly once
RESHARD_DECL sealed_checkpoint seal_runs(checkpoint_plan const& plan,
                                         vector<vector<written_run>> const& runs,
                                         std::string_view salt, save_facts const& facts = {},
                                         delta_base const* base = nullptr);

/// Writes the files beside the tensors. Writes the record last, which completes the checkpoint.
///
/// \throws error with errc::io
RESHARD_DECL void put_record(file_store::unfinished& target, checkpoint_plan const& plan,
                             sealed_checkpoint const& sealed, bool sync);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/written_files.ipp>
#endif

#endif
