// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REMOTE_RUNS_HPP
#define RESHARD_MPI_REMOTE_RUNS_HPP

#include <reshard/mpi/bound_chunks.hpp>
#include <reshard/os/system_calls.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
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
    remote_runs(affine_copy const& loop, remote_transfer const& one, index_t element_bytes);

    /// All runs are to be read, again.
    void rewind() { done_ = 0; }

    bool is_done() const { return done_ == left_ * element_bytes_; }

    /// Reads the next runs, some `chunk_bytes` of them.
    ///
    /// \throws error with errc::io where the system refuses
    void advance(system_calls const& calls);

private:
    /// The copy with an innermost axis that is a run on both sides, of one element if need be.
    static affine_copy with_run(affine_copy loop);

    /// Where a run begins on both sides, in bytes.
    std::pair<index_t, index_t> offsets(index_t run) const;

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
                 system_calls const& calls = {});

    /// All transfers are to be made, again.
    void rewind();

    /// Reads a part of a transfer; false where nothing is left.
    ///
    /// \throws error with errc::io where the system refuses
    bool advance();

private:
    std::vector<remote_runs> runs_;
    std::size_t next_ = 0;
    system_calls calls_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/remote_runs.ipp>
#endif

#endif
