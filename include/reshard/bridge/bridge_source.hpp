// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_BRIDGE_SOURCE_HPP
#define RESHARD_BRIDGE_BRIDGE_SOURCE_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bridge/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

/// \file
/// The side of a bridge that repeatedly publishes new weights.

namespace reshard {

namespace detail {

class source_state;

} // namespace detail

/// Tensors that other programs on this machine read, version by version, in any layout.
///
/// Each rank keeps two copies of its shards in memory that other programs map. The programs meet
/// through a port file, and from then on share only this memory: if one program ends, the others
/// continue. The file exists as long as this object; a new source at the same path replaces it, and
/// takes over its readers.
class bridge_source {
public:
    /// Makes the memory, and then the port file. Publishes nothing yet.
    ///
    /// The tensors must stay at their addresses; this object keeps their handles. Pass a
    /// `boost::mpi::communicator` as `mpi_group(world)`.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \throws error on every rank: an error from adding a tensor; as `layout_of`, and as the
    ///         program; errc::bad_layout if a rank holds more or less than its layout says;
    ///         errc::usage for an empty path, or a `versions_before` that is too high;
    ///         errc::already_exists if another kind of file is at the path; errc::io if there is
    ///         not enough shared memory, the file cannot be written, or ranks are on several nodes
    template <group Group>
    bridge_source(Group const& world, source_tensors const& have, std::filesystem::path const& port,
                  bridge_options const& options = {})
        : bridge_source(detail::any_group(world), have, port, options) {}

    bridge_source(bridge_source&& source) noexcept;
    bridge_source& operator=(bridge_source&& source) noexcept;
    ~bridge_source();

    /// Publishes the current elements of the tensors as a new version, and returns its number. Does
    /// not disturb readers of the previous version. Waits, until the deadline, for readers of the
    /// version before the previous one.
    ///
    /// Compares each shard with the last version, up to the first bit that differs. For changed
    /// shards, this costs almost nothing compared with the copy. Unchanged shards are read once, in
    /// both versions. Shards on devices are copied first, changed or not. No digests are computed.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \throws error on every rank if a device fails; the last version stays complete
    /// \post  every reader then finds this version complete, or a newer one
    std::uint64_t publish();

    /// The same without comparing: only the tensors whose keys match one of the patterns `changed`
    /// (see `key_pattern`) count as changed. The new version has the elements of the last version
    /// for all other tensors.
    ///
    /// \throws error with errc::unknown_key for a pattern that no key matches, and nothing is
    ///         published
    std::uint64_t publish(vector<std::string> const& changed);

    /// Waits until all current readers have the newest version, and at least `least` readers have
    /// it, including readers that have left since. Returns false if that takes longer than
    /// `longest`.
    ///
    /// \par Collective every rank of the group, in the same order
    bool wait_for_readers(std::size_t least, detail::wait_duration longest) const;

    /// The statistics of this rank. Does not communicate.
    bridge_stats stats() const;

private:
    bridge_source(detail::any_group world, source_tensors const& have,
                  std::filesystem::path const& port, bridge_options const& options);

    detail::source_state& state() const;

    std::unique_ptr<detail::source_state> state_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bridge/impl/bridge_source.ipp>
#endif

#endif
