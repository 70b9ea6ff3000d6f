// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_WRITTEN_FILES_IPP
#define RESHARD_STORAGE_IMPL_WRITTEN_FILES_IPP

#include <reshard/storage/written_files.hpp>

#include <reshard/format/delta_files.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/storage/staging.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
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

/// The position of a file's header in the first file of a delta. For the index after the last file,
/// the position of the chunks.
inline std::uint64_t header_position(checkpoint_plan const& plan, holder_t file) {
    std::uint64_t position = delta_data_offset;
    for (holder_t i = 0; i < file; ++i)
        position += plan.headers[i].size();
    return position;
}

RESHARD_DECL written_files::written_files(checkpoint_plan const& plan,
                                          file_store::unfinished& target, delta_base const* base,
                                          int process)
    : plan_(plan),
      target_(target),
      base_(base),
      process_(process),
      is_written_(plan.headers.size(), false) {}

RESHARD_DECL std::string written_files::own_delta_file() const {
    return delta_file_name(static_cast<std::size_t>(process_));
}

/// Opens a file of a delta. The file grows as it is written.
RESHARD_DECL std::unique_ptr<file_store::output>
written_files::open_delta(std::string const& name) {
    delta_files_.insert(name);
    return target_.open(name, 0);
}

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

RESHARD_DECL void written_files::put(shard_place shard_place, std::uint64_t begin,
                                     std::span<std::byte const> bytes) {
    if (bytes.empty())
        return;
    if (base_)
        return put_changed(shard_place, begin, bytes);
    checkpoint_shard const& shard =
        plan_.metadata.tensors[shard_place.tensor].shards[shard_place.shard];
    std::uint64_t const size = plan_.metadata.files[shard.file].chunk_bytes;
    if (size == 0)
        return write(shard.file, shard.begin + begin, bytes);
    written_run& run = run_at(shard_place, begin / size);
    for (std::uint64_t done = 0; done < bytes.size(); done += size)
        run.digests.push_back(
            put_chunk(shard, begin + done,
                      bytes.subspan(done, std::min<std::uint64_t>(size, bytes.size() - done))));
}

/// Writes the chunks that the base does not have.
RESHARD_DECL void written_files::put_changed(shard_place shard_place, std::uint64_t begin,
                                             std::span<std::byte const> bytes) {
    checkpoint_tensor const& tensor = plan_.metadata.tensors[shard_place.tensor];
    checkpoint_shard const& shard = tensor.shards[shard_place.shard];
    std::uint64_t const size = plan_.metadata.files[shard.file].chunk_bytes;
    checkpoint_shard const* const before = base_->find_like(tensor, shard, size, shard_place.shard);
    written_run& run = run_at(shard_place, begin / size);
    for (std::uint64_t done = 0; done < bytes.size(); done += size) {
        auto const chunk = bytes.subspan(done, std::min<std::uint64_t>(size, bytes.size() - done));
        std::uint64_t const digest = digest_of_bytes(chunk);
        bool const is_changed = !before || before->digests[(begin + done) / size] != digest;
        run.digests.push_back(digest);
        run.positions.push_back(is_changed ? append(chunk) : unchanged_chunk);
    }
}

/// Appends a chunk to this process's file of a delta, and returns its position.
RESHARD_DECL std::uint64_t written_files::append(std::span<std::byte const> chunk) {
    if (!changes_) {
        changes_ = open_delta(own_delta_file());
        std::string const header = delta_header(unknown_save_id, 0);
        changes_->write(0, std::as_bytes(std::span(header)));
        auto const headers = static_cast<holder_t>(process_ == 0 ? plan_.headers.size() : 0);
        changes_end_ = header_position(plan_, headers);
    }
    std::uint64_t const position = changes_end_;
    changes_->write(position, chunk);
    changes_end_ += chunk.size();
    return position;
}

/// Writes a chunk and returns its digest. Takes the digest while the bytes are in a near cache.
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

RESHARD_DECL written_run& written_files::run_at(shard_place position, std::uint64_t chunk) {
    if (!runs_.empty()) {
        written_run& last = runs_.back();
        if (shard_place{last.tensor, last.shard} == position &&
            last.first_chunk + last.digests.size() == chunk)
            return last;
    }
    return runs_.emplace_back(written_run{position.tensor, position.shard, chunk, {}});
}

RESHARD_DECL void written_files::finish(holder_t number, sealed_checkpoint const& sealed) {
    if (plan_.texts) {
        auto const path = std::filesystem::path(target_.name()) / plan_.metadata.files[number].path;
        for (placed_text const& text : plan_.texts->around(number, path))
            write(number, text.begin, std::as_bytes(std::span(text.text)));
        return;
    }
    auto const bytes = std::as_bytes(std::span(sealed.headers[number]));
    if (base_)
        open_delta(delta_file_name(0))->write(header_position(plan_, number), bytes);
    else
        write(number, 0, bytes);
}

RESHARD_DECL void written_files::put_delta_header(std::string const& file,
                                                  std::string_view header) {
    open_delta(file)->write(0, std::as_bytes(std::span(header)));
}

RESHARD_DECL void written_files::sync() {
    for (holder_t i = 0; i < is_written_.size(); ++i)
        if (is_written_[i])
            opened(i)->sync();
    for (std::string const& name : delta_files_)
        target_.open(name, 0)->sync();
}

/// The digests of each file.
inline vector<chunk_digests> digests_by_file(checkpoint_plan const& plan,
                                             vector<vector<written_run>> const& runs) {
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
    vector<chunk_digests> files;
    for (auto const& shards : shards_by_file(filled)) {
        files.push_back({filled.files[files.size()].chunk_bytes, {}});
        for (checkpoint_shard const* const shard : shards)
            files.back().tensors.emplace_back(shard->digests.begin(), shard->digests.end());
    }
    return files;
}

/// Builds the runs of a delta.
class delta_runs {
public:
    delta_runs(checkpoint_plan const& plan, delta_base const& base, std::size_t processes)
        : plan_(plan), base_(base), ends_(processes, 0), numbers_(processes, 0) {
        ends_[0] = header_position(plan, static_cast<holder_t>(plan.headers.size()));
    }

    /// Extends the known size of a process's file by a run.
    void measure(std::size_t process, written_run const& run) {
        for (std::size_t i = 0; i < run.positions.size(); ++i)
            if (run.positions[i] != unchanged_chunk) {
                byte_run const chunk = chunk_of(run, i);
                ends_[process] = std::max(ends_[process], run.positions[i] + chunk.size());
            }
    }

    /// Numbers the files that the processes have written.
    ///
    /// \pre `measure` was called for all runs
    void number() {
        for (std::size_t process = 0; process < ends_.size(); ++process) {
            numbers_[process] = static_cast<std::uint32_t>(delta_.files.size());
            if (ends_[process] > 0)
                delta_.files.push_back({delta_file_name(process), ends_[process]});
        }
        for (holder_t i = 0; i < plan_.headers.size(); ++i)
            pieces_.push_back({i, {0, plan_.headers[i].size()}, 0, header_position(plan_, i)});
    }

    void add(std::size_t process, written_run const& run) {
        checkpoint_tensor const& tensor = plan_.metadata.tensors[run.tensor];
        checkpoint_shard const& shard = tensor.shards[run.shard];
        checkpoint_shard const* const before =
            base_.find_like(tensor, shard, chunk_bytes(shard), run.shard);
        for (std::size_t i = 0; i < run.positions.size(); ++i) {
            byte_run const chunk = chunk_of(run, i);
            if (run.positions[i] != unchanged_chunk)
                pieces_.push_back({shard.file, chunk, numbers_[process], run.positions[i]});
            else
                add_unchanged(shard.file, chunk, before->file,
                              before->begin + (chunk.begin - shard.begin));
        }
    }

    record_delta take() {
        std::ranges::sort(pieces_, {}, [](piece const& current_piece) {
            return std::pair(current_piece.file, current_piece.bytes.begin);
        });
        delta_.runs.resize(plan_.headers.size());
        for (piece const& element : pieces_)
            append(delta_.runs[element.file], element);
        return std::move(delta_);
    }

private:
    /// A run of bytes of a file, and its position in a source.
    struct piece {
        holder_t file = 0;
        byte_run bytes;
        std::uint32_t source = 0;
        std::uint64_t position = 0;
    };

    std::uint64_t chunk_bytes(checkpoint_shard const& shard) const {
        return plan_.metadata.files[shard.file].chunk_bytes;
    }

    /// The bytes of chunk `i` of a run, in its file.
    byte_run chunk_of(written_run const& run, std::size_t i) const {
        checkpoint_shard const& shard = plan_.metadata.tensors[run.tensor].shards[run.shard];
        std::uint64_t const begin = shard.begin + (run.first_chunk + i) * chunk_bytes(shard);
        return {begin, std::min(begin + chunk_bytes(shard), shard.end)};
    }

    /// Adds unchanged bytes, which the base has in file `file` from `position` on.
    void add_unchanged(holder_t own, byte_run bytes, holder_t file, std::uint64_t position) {
        auto const& runs = base_.runs(file);
        auto run = std::ranges::upper_bound(runs, position, {}, &delta_run::end);
        while (bytes.size() > 0) {
            std::uint64_t const begin = run == runs.begin() ? 0 : std::prev(run)->end;
            std::uint64_t const count = std::min(bytes.size(), run->end - position);
            pieces_.push_back({own,
                               {bytes.begin, bytes.begin + count},
                               number_of_base(run->source),
                               run->position + (position - begin)});
            bytes.begin += count;
            position += count;
            ++run;
        }
    }

    std::uint32_t number_of_base(std::uint32_t source) {
        auto const next = static_cast<std::uint32_t>(delta_.files.size() + delta_.bases.size());
        auto const [match, is_new] = of_bases_.emplace(source, next);
        if (is_new)
            delta_.bases.push_back(base_.sources()[source]);
        return match->second;
    }

    /// Appends a piece, or extends the last run if the piece continues it.
    static void append(vector<delta_run>& runs, piece const& current_piece) {
        if (!runs.empty()) {
            delta_run& last = runs.back();
            std::uint64_t const begin = runs.size() > 1 ? runs[runs.size() - 2].end : 0;
            if (last.source == current_piece.source &&
                last.position + (last.end - begin) == current_piece.position) {
                last.end = current_piece.bytes.end;
                return;
            }
        }
        runs.push_back({current_piece.bytes.end, current_piece.source, current_piece.position});
    }

    checkpoint_plan const& plan_;
    delta_base const& base_;
    record_delta delta_;
    vector<std::uint64_t> ends_;    ///< the size of each process's file; 0: no file
    vector<std::uint32_t> numbers_; ///< the number of each process's file
    std::map<std::uint32_t, std::uint32_t> of_bases_; ///< numbers here of the base's sources
    vector<piece> pieces_;
};

/// The delta's part of the record, made from the runs of all processes.
///
/// \pre the runs contain each chunk exactly once
inline record_delta delta_of(checkpoint_plan const& plan, vector<vector<written_run>> const& runs,
                             delta_base const& base) {
    delta_runs delta_runs(plan, base, runs.size());
    for (std::size_t process = 0; process < runs.size(); ++process)
        for (written_run const& run : runs[process])
            delta_runs.measure(process, run);
    delta_runs.number();
    for (std::size_t process = 0; process < runs.size(); ++process)
        for (written_run const& run : runs[process])
            delta_runs.add(process, run);
    return delta_runs.take();
}

RESHARD_DECL sealed_checkpoint seal_runs(checkpoint_plan const& plan,
                                         vector<vector<written_run>> const& runs,
                                         std::string_view salt, save_facts const& facts,
                                         delta_base const* base) {
    if (plan.texts)
        return {};
    auto const digests = digests_by_file(plan, runs);
    if (!base)
        return seal(plan, digests, salt, facts);
    // The salt names the base: a delta without changes has another id than its base.
    return seal(plan, digests, "delta of " + base->save() + std::string(salt), facts,
                delta_of(plan, runs, *base));
}

RESHARD_DECL void put_record(file_store::unfinished& target, checkpoint_plan const& plan,
                             sealed_checkpoint const& sealed, bool sync) {
    if (plan.texts) {
        for (auto const& [name, text] : plan.texts->others())
            write_new_file(target, name, text, sync);
        return;
    }
    if (!plan.index.empty())
        write_new_file(target, hf_index_name, plan.index, sync);
    write_new_file(target, save_record_name, sealed.record, sync);
}

} // namespace reshard::detail

#endif
