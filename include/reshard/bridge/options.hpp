// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_OPTIONS_HPP
#define RESHARD_BRIDGE_OPTIONS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/strictness.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What may be asked of a bridge between two programs, and what it tells of itself.

namespace reshard {

/// What a program may ask of its side; equal on all of its ranks, but for `ready`.
struct bridge_options {
    /// What each target tensor is made of; by default, the source tensor of the same name. One of
    /// the two sides may give it. That of a source is asked for its mapping without knowing what is
    /// wanted, as an export is.
    any_program program = {};
    /// As of `options`, of the target.
    std::vector<std::string> shape_mismatch = {};
    std::optional<strictness> strict = {};
    /// The longest that this program waits for the other one at any place. How long ranks of one
    /// program wait for one another is their group's affair, and should be more. 0: not at all;
    /// infinity: as long as it takes. What is negative or no number is refused with errc::usage.
    detail::wait_duration deadline = 10.0;
    /// Of a target: called whenever a tensor has all that this rank wants of a version. Where the
    /// version is overwritten before the other tensors have come, it is called anew, with a newer
    /// one.
    std::function<void(std::string const& key, std::uint64_t version)> ready = {};
    /// Of a source: the number before its first version, where no earlier source has left a higher
    /// one; below 2^48 - 1.
    std::uint64_t versions_before = 0;
    /// Of a source: its last number outlives it, also where it ends as it should, so that servers
    /// which stay see numbers grow. It stands beside the port file, at its path with `.versions`;
    /// later sources go on behind it, and leave theirs, until that file is removed.
    bool numbers_go_on = false;
    /// Of a source: its memory has names, in /dev/shm, so that programs of other containers that
    /// share this reach it. A source that is killed leaves them, and the next one at that path
    /// removes them. Without names, nothing is left.
    bool named_memory = false;
};

/// What a side has done.
struct bridge_stats {
    std::uint64_t version = 0; ///< published, or complete in the target
    std::uint64_t lag = 0;     ///< versions that the target, or the last of the targets, is behind
    std::size_t others = 0;    ///< programs that read from a source; sources that a target has met
    bool other_lives = false;  ///< some program reads; the source that was met has not ended
    index_t bytes = 0;         ///< of this rank, copied for the last version
    double seconds = 0;        ///< that this took on this rank, without waiting for a version
    index_t bytes_of_all = 0;  ///< of all versions
    double seconds_of_all = 0;
    std::uint64_t overwritten =
        0; ///< reads that were begun anew, or readers that were not waited for
};

} // namespace reshard

#endif
