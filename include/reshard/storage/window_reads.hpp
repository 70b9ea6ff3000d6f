// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_WINDOW_READS_HPP
#define RESHARD_STORAGE_WINDOW_READS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/bind/shard_scales.hpp>
#include <reshard/copy/affine_copy.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/chunk_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

/// \file
/// Loops that read shards of a checkpoint. They are cut into windows, so that each window of a
/// shard is read once.

namespace reshard::detail {

/// The wanted size of a window. A window is read, verified and copied before the next window, so
/// that it stays in a near cache.
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 20;

/// A loop whose source is a shard of a checkpoint.
struct stored_loop {
    shard_place position;
    affine_copy loop; ///< source positions count elements of the shard
    element_conversion conversion;
    void* target = nullptr;
};

/// A window of a shard, and the bytes that loops read in it.
struct window_run {
    shard_place position;
    index_t number = 0;
    byte_run bytes;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.position.tensor, self.position.shard, self.number, self.bytes);
    }
};

/// A loop's part in one window of the shard that it reads.
struct window_part {
    index_t window;
    std::size_t number; ///< number of the loop
    affine_copy loop;
};

/// Loops, sorted by the windows that they read.
class window_reads {
public:
    /// \pre `from` outlives this object
    RESHARD_DECL window_reads(checkpoint_metadata const& from, vector<stored_loop> loops);

    /// Calls `take` for each window that the loops read, in the order of files and their bytes.
    void for_each_window(auto&& take) {
        for (std::size_t first = 0; first < loops_.size();) {
            first = hold(first);
            for (std::size_t i = 0; i < parts_.size();) {
                std::size_t const begin = i;
                while (i < parts_.size() && parts_[i].window == parts_[begin].window)
                    ++i;
                take(window_at(begin, i));
            }
        }
    }

    /// Copies the elements that the loops read in a window, if any.
    ///
    /// \param run  the position of `bytes` in the shard; includes all bytes that the loops read in
    ///             the window
    /// \param bytes the bytes of `run`, in memory
    RESHARD_DECL void run(window_run const& window, byte_run run, std::byte const* bytes);

    /// Reads windows and copies their elements. A device copies a window while the next one is
    /// read.
    ///
    /// \param for_each calls its argument for each window
    void read(chunk_reader& reader, auto const& for_each) {
        run_and_wait(working_, [&] {
            for_each([&](window_run const& window) { read_and_start(reader, window); });
        });
        working_.clear();
    }

    /// True if window `a` comes before window `b` in the files.
    RESHARD_DECL bool is_before(window_run const& a, window_run const& b) const;

private:
    void wait();

    /// Reads a window and starts its copies.
    RESHARD_DECL void read_and_start(chunk_reader& reader, window_run const& window);

    /// As `run`, but does not wait for devices.
    void start(window_run const& window, byte_run run, std::byte const* bytes);

    /// Cuts all loops that read the same shard as loop `first`. Returns the first loop after them.
    RESHARD_DECL std::size_t hold(std::size_t first);
    void hold(shard_place shard_place);

    RESHARD_DECL window_run window_at(std::size_t first, std::size_t last) const;
    bool is_before(shard_place a, shard_place b) const;

    checkpoint_metadata const& from_;
    vector<stored_loop> loops_; ///< in the order of files
    stores write_mode_;
    std::optional<shard_place> held_;
    vector<window_part> parts_; ///< the loops of the shard `held_`, by window
    vector<device*> working_;   ///< devices that copy from a window
};

/// A window, and the index of the list that has it.
struct listed_window {
    window_run window;
    std::uint32_t list = 0;
};

/// Calls `visit(window, entries)` for each window in any list, in the order of files. The window
/// has all bytes that any list needs. `entries` are the lists' windows, in the order of the lists.
void for_each_listed(window_reads const& reads, vector<vector<window_run>> const& lists,
                     auto&& visit) {
    vector<listed_window> sorted;
    for (std::uint32_t list = 0; list < lists.size(); ++list)
        for (window_run const& window : lists[list])
            sorted.push_back({window, list});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](listed_window const& a, listed_window const& b) {
                         return reads.is_before(a.window, b.window);
                     });
    for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
        window_run run = sorted[first].window;
        for (; last < sorted.size() && !reads.is_before(run, sorted[last].window); ++last) {
            byte_run const& bytes = sorted[last].window.bytes;
            run.bytes = {std::min(run.bytes.begin, bytes.begin),
                         std::max(run.bytes.end, bytes.end)};
        }
        visit(std::as_const(run), std::span(std::as_const(sorted)).subspan(first, last - first));
    }
}

/// True if one rank should read for several ranks: the savings exceed the cost of passing bytes on.
///
/// \param alone the bytes that the ranks read if each rank reads for itself
constexpr bool is_worth_reading_once(std::uint64_t alone, std::uint64_t once, file_reads reads) {
    return reads == file_reads::once ? alone > once : alone > once * 5 / 4;
}

/// The windows of `windows` that are not in `others`.
///
/// \pre both lists are in the order of files
RESHARD_DECL vector<window_run> windows_without(window_reads const& reads,
                                                vector<window_run> const& windows,
                                                vector<window_run> const& others);

/// The scales of the shards of a checkpoint, for a program that dequantizes them. The scales of a
/// tensor are read when its first shard needs them.
class stored_scales final : public scale_cache {
public:
    stored_scales(checkpoint const& source, mapping const& program, bool verify);

    /// Forgets the scales of all tensors if they take more than 64 MiB. Ends the references of
    /// `of`.
    void trim();

    std::uint64_t bytes_read() const { return reader_.bytes_read(); }

    /// As `chunk_reader::check_unchanged`.
    void check_unchanged() const { reader_.check_unchanged(); }

private:
    static constexpr std::size_t most_bytes = std::size_t{64} << 20;

    RESHARD_DECL scale_values const& values_of(bound_plan const& bound,
                                               dequantized_source const& from) override;

    /// The scales in tensor number `tensor` of the files.
    scale_values read(std::uint32_t tensor);

    checkpoint const& source_;
    chunk_reader reader_;
    std::size_t bytes_ = 0;                 ///< of `values_`
    std::map<key_id, scale_values> values_; ///< by number of the scales
};

/// The loops of a plan that read from files. Zeros need no reads.
RESHARD_DECL vector<stored_loop> loops_of(bound_plan const& bound);

/// Reads the bytes that the loops need, in the order of files, and each byte once.
///
/// \throws error as `chunk_reader::read`; then targets have the bytes copied before
RESHARD_DECL void run(chunk_reader& reader, window_reads& reads);
RESHARD_DECL void run(chunk_reader& reader, vector<stored_loop> loops);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/window_reads.ipp>
#endif

#endif
