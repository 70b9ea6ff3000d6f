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
/// Saves tensors as a checkpoint in the background.

namespace reshard {

namespace detail {

class async_state;

} // namespace detail

/// Shared by all saves in the background: a thread that writes and never calls MPI, and memory for
/// the copies of two saves. Later saves reuse the memory.
///
/// The destructor waits until this process has written its share. The last process that writes
/// completes the checkpoint. So no save is lost if the job ends, or if a rank dies after it has
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

/// Saves as `save` does, but returns as soon as the tensors are copied; then the caller may change
/// them. A thread writes the copies in the background. Two saves may be in progress; a third save
/// waits for the first. If tensors are on a device, it provides the memory of the copies
/// (`device::host_memory`), and the saver keeps the device.
///
/// All ranks must see the target's parent directory. The deadline in `options` also limits the time
/// that this rank's thread waits for the threads of other ranks.
///
/// \return the report when the save is complete on every rank, or the error if the save fails
/// \throws error as `save` before it writes, and the target is unchanged; the error of an earlier
///         save of `saver`, once; errc::io if a rank does not see the directory
RESHARD_DECL std::shared_future<save_report> save_async(solo const& alone, source_tensors have,
                                                        std::filesystem::path const& target,
                                                        async_saver& saver,
                                                        save_options const& options = {});

/// The same over a communicator. MPI may be single-threaded, since the thread does not call it.
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
