// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REMOTE_RUNS_HPP
#define RESHARD_MPI_REMOTE_RUNS_HPP

#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/os/peer_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>
#include <sys/uio.h>
#include <utility>
#include <vector>

/// \file
/// Transfers that a process reads out of another one's memory, a few runs of bytes at a time.

namespace reshard {

/// A transfer from another rank of the node, and where that rank has its elements.
struct remote_transfer {
    std::uint32_t number = 0; ///< in the plan
    pid_t process = 0;
    copy_ends ends; ///< the source's address is the other process's
};

/// The elements of a transfer as runs of bytes, equally long.
class remote_runs {
public:
    /// \pre the elements have whole bytes, which no conversion changes
    remote_runs(affine_copy const& loop, remote_transfer const& one, index_t element_bytes)
        : process_(one.process),
          loop_(with_run(fuse(loop))),
          element_bytes_(element_bytes),
          source_(static_cast<std::byte const*>(one.ends.source.data)),
          target_(static_cast<std::byte*>(one.ends.target.data)),
          run_bytes_(loop_.extent.end()[-1] * element_bytes),
          left_(element_count(loop_)) {}

    /// All runs are to be read, again.
    void rewind() { done_ = 0; }

    bool is_done() const { return done_ == left_ * element_bytes_; }

    /// Reads the next runs, some `chunk_bytes` of them.
    ///
    /// \throws error with errc::io where the system refuses
    void advance(system_calls const& calls) {
        iovec local[most_runs_a_call], remote[most_runs_a_call];
        std::size_t count = 0;
        for (index_t bytes = 0; count < most_runs_a_call && bytes < chunk_bytes && !is_done();
             ++count) {
            index_t const within = done_ % run_bytes_;
            index_t const size = std::min(run_bytes_ - within, chunk_bytes - bytes);
            auto const [from, to] = offsets(done_ / run_bytes_);
            // iovec has no pointer to const; what is remote is only read.
            remote[count] = {const_cast<std::byte*>(source_) + from + within,
                             static_cast<std::size_t>(size)};
            local[count] = {target_ + to + within, static_cast<std::size_t>(size)};
            done_ += size;
            bytes += size;
        }
        read_peer(process_, {local, count}, {remote, count}, calls);
    }

private:
    /// The copy with an innermost axis that is a run on both sides, of one element if need be.
    static affine_copy with_run(affine_copy loop) {
        if (loop.ndim() == 0 || loop.source_strides.end()[-1] != 1 ||
            loop.target_strides.end()[-1] != 1)
            detail::push_axis(loop, {1, 1, 1});
        return loop;
    }

    /// Where a run begins on both sides, in bytes.
    std::pair<index_t, index_t> offsets(index_t run) const {
        index_t from = loop_.source_offset, to = loop_.target_offset;
        for (std::size_t axis = loop_.ndim() - 1; axis-- > 0; run /= loop_.extent[axis]) {
            from += run % loop_.extent[axis] * loop_.source_strides[axis];
            to += run % loop_.extent[axis] * loop_.target_strides[axis];
        }
        return {from * element_bytes_, to * element_bytes_};
    }

    pid_t process_;
    affine_copy loop_;
    index_t element_bytes_;
    std::byte const* source_;
    std::byte* target_;
    index_t run_bytes_;
    index_t left_;
    index_t done_ = 0; ///< bytes
};

/// What one process reads of others' memory.
class remote_lanes {
public:
    remote_lanes(bound_plan const& bound, std::vector<remote_transfer> const& all,
                 system_calls const& calls = {})
        : calls_(calls) {
        for (remote_transfer const& one : all) {
            transfer const& moved = bound.whole.transfers[one.number];
            affine_copy const loop{cut_of(bound.whole, moved).extent, one.ends.source.place.offset,
                                   one.ends.source.place.strides, one.ends.target.place.offset,
                                   one.ends.target.place.strides};
            runs_.emplace_back(loop, one, bits(bound.whole.target_dtypes[moved.target_key]) / 8);
        }
    }

    /// All transfers are to be made, again.
    void rewind() {
        next_ = 0;
        for (remote_runs& one : runs_)
            one.rewind();
    }

    /// Reads a part of a transfer; false where nothing is left.
    ///
    /// \throws error with errc::io where the system refuses
    bool advance() {
        while (next_ < runs_.size() && runs_[next_].is_done())
            ++next_;
        if (next_ == runs_.size())
            return false;
        runs_[next_].advance(calls_);
        return true;
    }

private:
    std::vector<remote_runs> runs_;
    std::size_t next_ = 0;
    system_calls calls_;
};

} // namespace reshard

#endif
