// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_WRITTEN_FILES_HPP
#define RESHARD_STORAGE_WRITTEN_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/os/file_store.hpp>
#include <reshard/storage/chunk_reader.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The files of a checkpoint, as one of the processes that write them does.

namespace reshard::detail {

/// All bytes of all shards.
RESHARD_DECL index_t data_bytes(checkpoint_metadata const& written);

/// Digests of chunks that a process has written, one behind the other.
struct written_run {
    std::uint32_t tensor = 0;
    std::uint32_t shard = 0;
    std::uint64_t first_chunk = 0;
    std::vector<std::uint64_t> digests;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.tensor, self.shard, self.first_chunk, self.digests);
    }
};

/// Files of a checkpoint in a target that is not finished. Nothing here communicates.
class written_files {
public:
    /// \pre `plan` and `target` live as long
    RESHARD_DECL written_files(checkpoint_plan const& plan, file_store::unfinished& target);

    /// Makes sure that a file is there, with its size and a header that says that it is not
    /// finished; several processes may do so.
    ///
    /// \throws error with errc::io
    RESHARD_DECL void open(holder_t number);

    /// Writes bytes of a shard, from byte `begin` of it on, and takes their digests.
    ///
    /// \pre    `begin` is a multiple of the file's `chunk_bytes`, if it has any, and so is the end of
    ///         `bytes`, unless it is the shard's; every chunk is written once, by one process
    /// \throws error with errc::io
    RESHARD_DECL void put(shard_place place, std::uint64_t begin, std::span<std::byte const> bytes);

    /// The chunks that were put.
    std::vector<written_run> const& runs() const { return runs_; }

    /// Writes what is known at last.
    ///
    /// \throws error with errc::io
    RESHARD_DECL void put_header(holder_t number, std::string_view header);

    /// Waits until the files that this process has written are on the disk.
    ///
    /// \throws error with errc::io
    RESHARD_DECL void sync();

    checkpoint_plan const& plan() const { return plan_; }

private:
    std::unique_ptr<file_store::output> opened(holder_t number) const;
    void write(holder_t number, std::uint64_t position, std::span<std::byte const> bytes);
    std::uint64_t put_chunk(checkpoint_shard const& shard, std::uint64_t begin,
                            std::span<std::byte const> chunk);
    written_run& run_at(shard_place place, std::uint64_t chunk);

    checkpoint_plan const& plan_;
    file_store::unfinished& target_;
    std::vector<bool> is_written_; ///< of the files, by this process
    std::vector<written_run> runs_;
    running_digest digest_;
    std::unique_ptr<file_store::output> open_; ///< the file that was written last
    holder_t open_number_ = 0;
};

/// Headers and record of a checkpoint whose chunks were all written.
///
/// \param runs of all processes
/// \pre   together they are all chunks, each once
RESHARD_DECL sealed_checkpoint seal_runs(checkpoint_plan const& plan,
                                         std::vector<std::vector<written_run>> const& runs,
                                         std::string_view salt, save_facts const& facts = {});

/// Writes the index, if there is one, and then the record: with it the checkpoint is complete.
///
/// \throws error with errc::io
RESHARD_DECL void put_record(file_store::unfinished& target, checkpoint_plan const& plan,
                             sealed_checkpoint const& sealed, bool sync);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/written_files.ipp>
#endif

#endif
