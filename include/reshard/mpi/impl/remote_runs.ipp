// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REMOTE_RUNS_IPP
#define RESHARD_MPI_IMPL_REMOTE_RUNS_IPP

#include <reshard/mpi/remote_runs.hpp>

#include <reshard/core/config.hpp>
#include <reshard/os/peer_memory.hpp>

#include <sys/uio.h>

#include <algorithm>

namespace reshard {

RESHARD_DECL remote_runs::remote_runs(affine_copy const& loop, remote_transfer const& one,
                                      index_t element_bytes)
    : process_(one.process),
      loop_(with_run(fuse(loop))),
      element_bytes_(element_bytes),
      source_(static_cast<std::byte const*>(one.ends.source.data)),
      target_(static_cast<std::byte*>(one.ends.target.data)),
      run_bytes_(loop_.extent.end()[-1] * element_bytes),
      left_(element_count(loop_)) {}

RESHARD_DECL void remote_runs::advance(system_calls const& calls) {
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

RESHARD_DECL affine_copy remote_runs::with_run(affine_copy loop) {
    if (loop.ndim() == 0 || loop.source_strides.end()[-1] != 1 ||
        loop.target_strides.end()[-1] != 1)
        detail::push_axis(loop, {1, 1, 1});
    return loop;
}

RESHARD_DECL std::pair<index_t, index_t> remote_runs::offsets(index_t run) const {
    index_t from = loop_.source_offset, to = loop_.target_offset;
    for (std::size_t axis = loop_.ndim() - 1; axis-- > 0; run /= loop_.extent[axis]) {
        from += run % loop_.extent[axis] * loop_.source_strides[axis];
        to += run % loop_.extent[axis] * loop_.target_strides[axis];
    }
    return {from * element_bytes_, to * element_bytes_};
}

RESHARD_DECL remote_lanes::remote_lanes(bound_plan const& bound,
                                        std::vector<remote_transfer> const& all,
                                        system_calls const& calls)
    : calls_(calls) {
    for (remote_transfer const& one : all) {
        transfer const& moved = bound.whole.transfers[one.number];
        affine_copy const loop{cut_of(bound.whole, moved).extent, one.ends.source.place.offset,
                               one.ends.source.place.strides, one.ends.target.place.offset,
                               one.ends.target.place.strides};
        runs_.emplace_back(loop, one, bits(bound.whole.target_dtypes[moved.target_key]) / 8);
    }
}

RESHARD_DECL void remote_lanes::rewind() {
    next_ = 0;
    for (remote_runs& one : runs_)
        one.rewind();
}

RESHARD_DECL bool remote_lanes::advance() {
    while (next_ < runs_.size() && runs_[next_].is_done())
        ++next_;
    if (next_ == runs_.size())
        return false;
    runs_[next_].advance(calls_);
    return true;
}

} // namespace reshard

#endif
