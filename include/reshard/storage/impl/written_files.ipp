// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_WRITTEN_FILES_IPP
#define RESHARD_STORAGE_IMPL_WRITTEN_FILES_IPP

#include <reshard/storage/written_files.hpp>

#include <reshard/format/hf_index.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/storage/staging.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reshard::detail {

RESHARD_DECL index_t data_bytes(checkpoint_metadata const& written) {
    index_t bytes = 0;
    for (checkpoint_tensor const& tensor : written.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            bytes = checked_add(bytes, static_cast<index_t>(shard.end - shard.begin),
                                "the bytes of all shards");
    return bytes;
}

RESHARD_DECL written_files::written_files(checkpoint_plan const& plan,
                                          file_store::unfinished& target)
    : plan_(plan), target_(target), is_written_(plan.headers.size(), false) {}

RESHARD_DECL std::unique_ptr<file_store::output> written_files::opened(holder_t number) const {
    checkpoint_file const& file = plan_.metadata.files[number];
    return target_.open(file.path, file.bytes);
}

RESHARD_DECL void written_files::open(holder_t number) {
    if (open_ && open_number_ == number)
        return;
    open_ = opened(number);
    open_number_ = number;
    if (!is_written_[number])
        open_->write(0, std::as_bytes(std::span(plan_.headers[number])));
    is_written_[number] = true;
}

RESHARD_DECL void written_files::write(holder_t number, std::uint64_t position,
                                       std::span<std::byte const> bytes) {
    open(number);
    open_->write(position, bytes);
}

RESHARD_DECL void written_files::put(shard_place place, std::uint64_t begin,
                                     std::span<std::byte const> bytes) {
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

/// Takes the digest of what was written a moment ago, while a near cache has it.
RESHARD_DECL std::uint64_t written_files::put_chunk(checkpoint_shard const& shard,
                                                    std::uint64_t begin,
                                                    std::span<std::byte const> chunk) {
    std::size_t const at_once = std::size_t{1} << 18;
    for (std::size_t done = 0; done < chunk.size(); done += at_once) {
        auto const bytes = chunk.subspan(done, std::min(at_once, chunk.size() - done));
        write(shard.file, shard.begin + begin + done, bytes);
        digest_.add(bytes);
    }
    return digest_.take();
}

RESHARD_DECL written_run& written_files::run_at(shard_place place, std::uint64_t chunk) {
    if (!runs_.empty()) {
        written_run& last = runs_.back();
        if (shard_place{last.tensor, last.shard} == place &&
            last.first_chunk + last.digests.size() == chunk)
            return last;
    }
    return runs_.emplace_back(written_run{place.tensor, place.shard, chunk, {}});
}

RESHARD_DECL void written_files::put_header(holder_t number, std::string_view header) {
    write(number, 0, std::as_bytes(std::span(header)));
}

RESHARD_DECL void written_files::sync() {
    for (holder_t i = 0; i < is_written_.size(); ++i)
        if (is_written_[i])
            opened(i)->sync();
}

/// The digests of each file.
inline std::vector<chunk_digests>
digests_by_file(checkpoint_plan const& plan, std::vector<std::vector<written_run>> const& runs) {
    checkpoint_metadata filled = plan.metadata;
    for (checkpoint_tensor& tensor : filled.tensors)
        for (checkpoint_shard& shard : tensor.shards)
            if (std::uint64_t const size = filled.files[shard.file].chunk_bytes)
                shard.digests.resize(chunk_count(shard.end - shard.begin, size));
    for (auto const& of_process : runs)
        for (written_run const& run : of_process)
            std::copy(run.digests.begin(), run.digests.end(),
                      filled.tensors[run.tensor].shards[run.shard].digests.begin() +
                          static_cast<std::ptrdiff_t>(run.first_chunk));
    std::vector<chunk_digests> files;
    for (auto const& shards : shards_by_file(filled)) {
        files.push_back({filled.files[files.size()].chunk_bytes, {}});
        for (checkpoint_shard const* const shard : shards)
            files.back().tensors.emplace_back(shard->digests.begin(), shard->digests.end());
    }
    return files;
}

RESHARD_DECL sealed_checkpoint seal_runs(checkpoint_plan const& plan,
                                         std::vector<std::vector<written_run>> const& runs,
                                         std::string_view salt, save_facts const& facts) {
    return seal(plan, digests_by_file(plan, runs), salt, facts);
}

RESHARD_DECL void put_record(file_store::unfinished& target, checkpoint_plan const& plan,
                             sealed_checkpoint const& sealed, bool sync) {
    if (!plan.index.empty())
        write_new_file(target, hf_index_name, plan.index, sync);
    write_new_file(target, save_record_name, sealed.record, sync);
}

} // namespace reshard::detail

#endif
