// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SAVE_ASYNC_HPP
#define RESHARD_STORAGE_SAVE_ASYNC_HPP

#include <reshard/bind/job.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/save.hpp>

#include <filesystem>
#include <future>
#include <memory>

/// \file
/// From tensors to a checkpoint, while the job goes on.

namespace reshard {

namespace detail {

class async_state;

} // namespace detail

/// What saves in the background share: a thread that writes, which never calls MPI, and memory for
/// copies of two saves, which the next ones use again.
///
/// Its destructor waits until this process has written its part. A checkpoint is completed by
/// whichever process is the last to have written, so that a job that ends, or a rank that dies
/// after it has written, loses nothing.
class async_saver {
public:
    async_saver();
    async_saver(async_saver const&) = delete;
    async_saver& operator=(async_saver const&) = delete;
    ~async_saver();

    detail::async_state& state() { return *state_; }

private:
    std::unique_ptr<detail::async_state> state_;
};

/// As `save`, but returns when the tensors are copied: they may change then. The rest is written in
/// the background; two saves may be under way, a third one waits for the first.
///
/// All ranks see the target's parent directory. Of `options`, the deadline also bounds how long
/// this rank's thread waits for the threads of other ranks.
///
/// \return the save's result, or its error, when it is complete, or given up, on every rank
/// \throws error as `save` does before it writes, and the target is unchanged; the error that an
/// earlier
///         save of `saver` failed with, once; errc::io if a rank does not see the directory
RESHARD_DECL std::shared_future<save_report> save_async(solo const& alone, source_tensors have,
                                                        std::filesystem::path const& target,
                                                        async_saver& saver,
                                                        save_options const& options = {});

/// The same over a communicator. The thread calls no MPI: a single-threaded MPI will do.
///
/// \par Collective every rank of the group, in the same order, each with its own saver
/// \throws error as above, on every rank; errc::ranks_disagree
RESHARD_DECL std::shared_future<save_report> save_async(mpi_group const& world, source_tensors have,
                                                        std::filesystem::path const& target,
                                                        async_saver& saver,
                                                        save_options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/save_async.ipp>
#endif

#endif
