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
/// Saves tensors as a checkpoint while the job goes on.

namespace reshard {

namespace detail {

class async_state;

} // namespace detail

/// The state that saves in the background share: a thread that writes and never calls MPI, and
/// memory for the copies of two saves, which later saves reuse.
///
/// Its destructor waits until this process has written its share. The last process to write
/// completes the checkpoint. So nothing is lost if the job ends, or if a rank dies after it has
/// written.
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

/// Saves as `save` does, but returns when the tensors are copied; then they may change. The copies
/// are written in the background. Two saves may be under way; a third waits for the first.
///
/// All ranks must see the target's parent directory. The deadline in `options` also limits the time
/// that this rank's thread waits for the threads of other ranks.
///
/// \return the result of the save when it is complete on every rank, or its error when it is given
/// up
/// \throws error as `save` does before it writes, and the target is unchanged; the error that an
/// earlier
///         save of `saver` failed with, once; errc::io if a rank does not see the directory
RESHARD_DECL std::shared_future<save_report> save_async(solo const& alone, source_tensors have,
                                                        std::filesystem::path const& target,
                                                        async_saver& saver,
                                                        save_options const& options = {});

/// The same over a communicator. The thread does not call MPI, so a single-threaded MPI is enough.
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
