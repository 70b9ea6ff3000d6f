// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_BRIDGE_TARGET_HPP
#define RESHARD_BRIDGE_BRIDGE_TARGET_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bridge/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

/// \file
/// The side of a bridge that reads new weights while it runs.

namespace reshard {

namespace detail {

class target_state;

} // namespace detail

/// Tensors that are filled with versions of a source in another program on this machine.
///
/// A target copies only changed shards, directly from the source's memory, with the program's casts
/// and transposes. It only has complete versions: if the source overwrites data during a read, the
/// target reads it again. If a source dies, the target keeps its last version, and meets the next
/// source at the same path, which may have any layout.
class bridge_target {
public:
    /// Fills two sets of tensors in turn: one set can be used while the other set is filled. Both
    /// sets have the same shards. Waits for the source's port file until the deadline.
    ///
    /// \par Collective every rank of the group, in the same order, here and below
    /// \throws error on every rank: an error from adding a tensor; errc::bad_layout for sets of
    ///         different shards; errc::memory_overlap; errc::usage for an empty path; errc::io if
    ///         its directory does not exist; errc::deadline if no source has appeared;
    ///         errc::corrupt_file if the port file was cut short or is another kind of file;
    ///         errc::unsupported if it has another format; as `prepare` if the shapes, types or
    ///         keys of the source do not fit
    template <group Group>
    bridge_target(Group const& world, target_tensors const& first, target_tensors const& second,
                  std::filesystem::path const& port, bridge_options const& options = {})
        : bridge_target(detail::any_group(world), {first, second}, port, options) {}

    /// Fills one set in place. Do not use it during `update`, or after an `update` that threw.
    template <group Group>
    bridge_target(Group const& world, target_tensors const& want, std::filesystem::path const& port,
                  bridge_options const& options = {})
        : bridge_target(detail::any_group(world), vector{want}, port, options) {}

    bridge_target(bridge_target&& target) noexcept;
    bridge_target& operator=(bridge_target&& target) noexcept;
    ~bridge_target();

    /// Copies the newest version, the same on all ranks, and returns its number. Without a newer
    /// version, returns the current number at once: 0 before the first version. Meets another
    /// source if it has replaced the last one.
    ///
    /// \param  least the lowest version to wait for, until the deadline
    /// \throws error on every rank: errc::deadline if such a version was not published, or if each
    ///         such version was overwritten during the read; the error of a device, or of
    ///         `bridge_options::ready`; as the constructor if another source does not fit. Then
    ///         `front` is unchanged
    std::uint64_t update(std::uint64_t least = 0);

    /// The set that has a complete version, 0 or 1; below, the number of that version.
    std::size_t front() const;
    std::uint64_t version() const;

    /// The newest version that the source has completed, which `update` would copy. Does not
    /// communicate.
    std::uint64_t latest_complete_version() const;

    /// The statistics of this rank. Does not communicate.
    bridge_stats stats() const;

private:
    bridge_target(detail::any_group world, vector<target_tensors> const& sets,
                  std::filesystem::path const& port, bridge_options const& options);

    detail::target_state& state() const;

    std::unique_ptr<detail::target_state> state_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bridge/impl/bridge_target.ipp>
#endif

#endif
