// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_OPTIONS_HPP
#define RESHARD_BRIDGE_OPTIONS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/strictness.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

/// \file
/// The options of a bridge between two programs, and its statistics.

namespace reshard {

/// The options of one side; equal on all ranks of its program, except for `ready`.
struct bridge_options {
    /// The sources of each target tensor; by default, the source tensor of the same name. One of
    /// the two sides may give it. A source's program makes its mapping without a target, as for an
    /// export.
    any_program program = {};
    /// For a target: as in `options`.
    vector<std::string> shape_mismatch = {};
    std::optional<strictness> strict = {};
    /// The longest that this program waits for the other one in any call. The deadline between
    /// ranks of one program belongs to their group, and should be longer. 0: no wait; infinity: no
    /// limit. A negative number or NaN is refused with errc::usage.
    detail::wait_duration deadline = 10.0;
    /// For a target: called whenever this rank's part of a tensor is complete for a version. If the
    /// version is overwritten before the other tensors are complete, it is called again, with a
    /// newer one.
    std::function<void(std::string const& key, std::uint64_t version)> ready = {};
    /// For a source: the number before its first version, unless an earlier source has left a
    /// higher one; below 2^48 - 1.
    std::uint64_t versions_before = 0;
    /// For a source: its last number is kept after it ends, also after a normal end, so that
    /// numbers keep growing for remaining servers. The number is stored beside the port file, at
    /// its path with `.versions`; later sources continue after it, and leave their own, until that
    /// file is removed.
    bool continue_numbering = false;
    /// For a source: its memory has names in /dev/shm, so that programs in other containers that
    /// share /dev/shm can reach it. A source that is killed leaves them, and the next one at that
    /// path removes them. Without names, nothing is left.
    bool named_memory = false;
};

/// The statistics of a side.
struct bridge_stats {
    std::uint64_t version = 0; ///< published, or complete in the target
    std::uint64_t lag = 0;     ///< versions by which the target, or the last of the targets, lags
    std::size_t others = 0;    ///< programs that read from a source; sources that a target has met
    bool other_lives = false;  ///< some program reads; the source that was met has not ended
    index_t bytes = 0;         ///< of this rank, copied for the last version
    double seconds = 0;        ///< that this took on this rank, without waiting for a version
    index_t bytes_of_all = 0;  ///< of all versions
    double seconds_of_all = 0;
    std::uint64_t overwritten = 0; ///< repeated reads, or readers that were not waited for
};

} // namespace reshard

#endif
