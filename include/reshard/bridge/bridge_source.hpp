// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_BRIDGE_SOURCE_HPP
#define RESHARD_BRIDGE_BRIDGE_SOURCE_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bridge/any_group.hpp>
#include <reshard/bridge/options.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

/// \file
/// The side of a bridge that has new weights again and again.

namespace reshard {

namespace detail {

class source_state;

} // namespace detail

/// Tensors whose versions other programs of this machine read, of whatever layout theirs are.
///
/// Each rank keeps two copies of its shards in memory that other programs map. They meet through a
/// port file, and from then on nothing but this memory is between them: when one ends, the others
/// go on. The file is there as long as this object; a source that comes to the same path takes its
/// place, and its readers.
class bridge_source {
public:
    /// Makes the memory, and then the port file; nothing is published yet.
    ///
    /// The tensors have to stay where they are, and handles are kept. A `boost::mpi::communicator`
    /// is given as `mpi_group(world)`.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \throws error on every rank alike: one that adding a tensor gave; as `layout_of`, and as the
    ///         program; errc::bad_layout where a rank holds more or less than its layout says;
    ///         errc::usage for an empty path, or versions_before too high; errc::already_exists
    ///         where another file is at the path; errc::io where there is not enough shared memory,
    ///         the file cannot be written, or ranks are on several nodes
    template <group Group>
    bridge_source(Group const& world, source_tensors const& have, std::filesystem::path const& port,
                  bridge_options const& how = {})
        : bridge_source(detail::any_group(world), have, port, how) {}

    bridge_source(bridge_source&& other) noexcept;
    bridge_source& operator=(bridge_source&& other) noexcept;
    ~bridge_source();

    /// Publishes what the tensors hold now as a new version, and returns its number. Readers that
    /// have the version before are not disturbed; those that still read the one before that are
    /// waited for until the deadline.
    ///
    /// Every shard is compared with the last version, and counts as changed from the first bit that
    /// differs on: of shards that have changed this costs next to nothing beside the copy, of
    /// others it reads them and the last version once. Nothing is digested.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \post  every reader that looks finds this version complete, or a newer one
    std::uint64_t publish();

    /// The same where only tensors have changed whose keys match one of these patterns, as
    /// `key_pattern` has them: nothing is compared. Of a tensor that has changed and matches none,
    /// the version has what the last one has.
    ///
    /// \throws error with errc::unknown_key for a pattern that no key matches, and nothing is
    ///         published
    std::uint64_t publish(std::vector<std::string> const& changed);

    /// Waits until so many readers have the newest version, also those that have left with it, and
    /// none that is there lacks it; false when that did not come about in time.
    ///
    /// \par Collective every rank of the group, in the same order
    bool wait_for_readers(std::size_t least, detail::wait_duration longest) const;

    /// What this rank has done. Does not communicate.
    bridge_stats stats() const;

private:
    bridge_source(detail::any_group world, source_tensors const& have,
                  std::filesystem::path const& port, bridge_options const& how);

    detail::source_state& state() const;

    std::unique_ptr<detail::source_state> state_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bridge/impl/bridge_source.ipp>
#endif

#endif
