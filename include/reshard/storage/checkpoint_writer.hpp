// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHECKPOINT_WRITER_HPP
#define RESHARD_STORAGE_CHECKPOINT_WRITER_HPP

#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/staging.hpp>
#include <reshard/storage/target_files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

/// \file
/// The files of a checkpoint: written piece by piece, and then there all at once.

namespace reshard::detail {

/// All bytes of all shards.
inline index_t data_bytes(checkpoint_metadata const& written) {
    index_t bytes = 0;
    for (checkpoint_tensor const& tensor : written.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            bytes = checked_add(bytes, static_cast<index_t>(shard.end - shard.begin),
                                "the bytes of all shards");
    return bytes;
}

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

/// A checkpoint that is being written, by several processes: bytes of shards, and at last what
/// makes them a checkpoint.
///
/// Nothing is at the target until `commit`.
///
/// \pre every member function with a group gets the same one
class checkpoint_writer {
public:
    /// Creates the files in a temporary directory beside `target`: file `i` by process `i % size`.
    ///
    /// \par Collective every rank of the group, with equal plans
    /// \throws error as `staging`, and with errc::io where a disk is full; on every rank alike
    checkpoint_writer(group auto const& world, std::filesystem::path const& target,
                      checkpoint_plan const& files, write_options const& how)
        : plan_(files), how_(how), directory_(world, target, how.replace) {
        agree_on(world, [&] {
            is_written_.resize(plan_.headers.size(), false);
            auto const step = static_cast<holder_t>(world.size());
            for (auto i = static_cast<holder_t>(world.rank()); i < plan_.headers.size(); i += step)
                create(i);
        });
    }

    /// Writes bytes of a shard, from byte `begin` of it on.
    ///
    /// \pre    `begin` is a multiple of the file's `chunk_bytes`, if it has any, and so is the end of `bytes`,
    ///         unless it is the shard's; every chunk is written once, by one process
    /// \throws error with errc::io
    void put(shard_place place, std::uint64_t begin, std::span<std::byte const> bytes) {
        if (bytes.empty())
            return;
        checkpoint_shard const& shard = plan_.metadata.tensors[place.tensor].shards[place.shard];
        std::uint64_t const size = plan_.metadata.files[shard.file].chunk_bytes;
        if (size == 0)
            return write(shard.file, shard.begin + begin, bytes);
        written_run& run = run_at(place, begin / size);
        for (std::uint64_t done = 0; done < bytes.size(); done += size)
            run.digests.push_back(
                put_chunk(shard, begin + done,
                          bytes.subspan(done, std::min<std::uint64_t>(size, bytes.size() - done))));
    }

    checkpoint_plan const& plan() const { return plan_; }

    /// What earlier writers had left, and was removed.
    std::vector<std::string> const& removed() const { return directory_.removed(); }

    /// Waits for the disk, then makes the whole checkpoint appear; the record is written last.
    ///
    /// \param beside files that are copied beside it
    /// \pre   all bytes of all files were put, by some process
    /// \par Collective every rank of the group
    /// \return the id of the save
    /// \throws error with errc::io on every rank alike, and the target is what it was
    std::string commit(group auto const& world,
                       std::vector<std::filesystem::path> const& beside = {}) {
        sealed_checkpoint sealed;
        auto const all = gather_values(world, runs_);
        std::string const salt =
            gather_values(world, how_.digests ? std::string() : random_text()).front();
        agree_on(world, [&] {
            sealed = seal(plan_, by_file(all), salt);
            auto const step = static_cast<holder_t>(world.size());
            for (auto i = static_cast<holder_t>(world.rank()); i < plan_.headers.size(); i += step)
                write(i, 0, std::as_bytes(std::span(sealed.headers[i])));
            if (how_.sync)
                sync_files();
        });
        agree_on(world, [&] {
            if (world.rank() != 0)
                return;
            copy_files(beside, directory_.path());
            if (!plan_.index.empty())
                write_new_file(directory_.path() / hf_index_name, plan_.index, how_.sync);
            write_new_file(directory_.path() / save_record_name, sealed.record, how_.sync);
        });
        directory_.commit(world);
        return sealed.save;
    }

private:
    std::filesystem::path path_of(holder_t number) const {
        return directory_.path() / plan_.metadata.files[number].path;
    }

    void create(holder_t number) {
        open_ = output_file::create(path_of(number), plan_.metadata.files[number].bytes);
        open_number_ = number;
        write(number, 0, std::as_bytes(std::span(plan_.headers[number]))); // says: not finished
    }

    void write(holder_t number, std::uint64_t position, std::span<std::byte const> bytes) {
        if (!open_.is_open() || open_number_ != number) {
            open_ = output_file::open(path_of(number));
            open_number_ = number;
        }
        open_.write(position, bytes);
        is_written_[number] = true;
    }

    /// Takes the digest of what was written a moment ago, while a near cache has it.
    std::uint64_t put_chunk(checkpoint_shard const& shard, std::uint64_t begin,
                            std::span<std::byte const> chunk) {
        std::size_t const at_once = std::size_t{1} << 18;
        for (std::size_t done = 0; done < chunk.size(); done += at_once) {
            auto const bytes = chunk.subspan(done, std::min(at_once, chunk.size() - done));
            write(shard.file, shard.begin + begin + done, bytes);
            digest_.add(bytes);
        }
        return digest_.take();
    }

    written_run& run_at(shard_place place, std::uint64_t chunk) {
        if (!runs_.empty()) {
            written_run& last = runs_.back();
            if (shard_place{last.tensor, last.shard} == place &&
                last.first_chunk + last.digests.size() == chunk)
                return last;
        }
        return runs_.emplace_back(written_run{place.tensor, place.shard, chunk, {}});
    }

    void sync_files() {
        for (holder_t i = 0; i < is_written_.size(); ++i)
            if (is_written_[i])
                output_file::open(path_of(i)).sync();
    }

    /// \pre the runs of all processes together are all chunks, each once
    std::vector<chunk_digests> by_file(std::vector<std::vector<written_run>> const& all) const {
        checkpoint_metadata filled = plan_.metadata;
        for (checkpoint_tensor& tensor : filled.tensors)
            for (checkpoint_shard& shard : tensor.shards)
                if (std::uint64_t const size = filled.files[shard.file].chunk_bytes)
                    shard.digests.resize(chunk_count(shard.end - shard.begin, size));
        for (auto const& of_process : all)
            for (written_run const& run : of_process)
                std::copy(run.digests.begin(), run.digests.end(),
                          filled.tensors[run.tensor].shards[run.shard].digests.begin() +
                              static_cast<std::ptrdiff_t>(run.first_chunk));
        std::vector<chunk_digests> files;
        for (auto const& shards : shards_by_file(filled)) {
            files.push_back({filled.files[files.size()].chunk_bytes, {}});
            for (checkpoint_shard const* const shard : shards)
                files.back().tensors.push_back(shard->digests);
        }
        return files;
    }

    checkpoint_plan const& plan_;
    write_options how_;
    staging directory_;
    std::vector<bool> is_written_; ///< of the files, by this process
    std::vector<written_run> runs_;
    running_digest digest_;
    output_file open_; ///< the file that was written last
    holder_t open_number_ = 0;
};

} // namespace reshard::detail

#endif
