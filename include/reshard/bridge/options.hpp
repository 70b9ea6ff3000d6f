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

/// The options of one side; equal on all ranks of its program, except for `ready` and the devices.
struct bridge_options {
    /// How each target tensor is made of source tensors; by default, of the tensor with the same
    /// name. At most one of the two sides gives a program. A source's program makes its mapping
    /// without a target, as for an export.
    any_program program = {};
    /// For a target: as in `options`.
    vector<std::string> shape_mismatch = {};
    std::optional<strictness> strict = {};
    /// How long this program waits for the other program in any call. The deadline between ranks of
    /// one program belongs to their group, and should be longer. 0: no wait; infinity: no limit. A
    /// negative number or NaN is refused with errc::usage.
    detail::wait_duration deadline = 10.0;
    /// For a target: called when this rank's shards of a tensor are complete for a version. If the
    /// source overwrites the version before the other tensors are complete, `ready` is called
    /// again, with a newer version.
    std::function<void(std::string const& key, std::uint64_t version)> ready = {};
    /// For a source: the number before its first version, unless an earlier source has left a
    /// higher number; below 2^48 - 1.
    std::uint64_t versions_before = 0;
    /// For a source: keeps its last version number after it ends, even normally, so that numbers
    /// keep growing for the remaining targets. The number is stored in a file at the port file's
    /// path plus `.versions`. Later sources continue after this number and store their last number,
    /// until this file is removed.
    bool continue_numbering = false;
    /// For a source: its memory has names in /dev/shm, so that programs in other containers that
    /// share /dev/shm can open it. A source that is killed leaves these names, and the next source
    /// at the same path removes them. Without names, a killed source leaves nothing.
    bool named_memory = false;
    /// The devices of this rank's tensors, as `options::devices`.
    detail::device_list devices = {};
};

/// The statistics of a side.
struct bridge_stats {
    std::uint64_t version = 0; ///< the last version published, or complete in the target
    std::uint64_t lag = 0;     ///< the number of versions by which the slowest target lags
    std::size_t others = 0;    ///< the readers of a source, or the sources that a target has met
    bool other_lives = false;  ///< the source has readers, or the target's source has not ended
    index_t bytes = 0;         ///< copied by this rank for the last version
    double seconds = 0;        ///< that the copy took, without waiting for a version
    index_t bytes_of_all = 0;  ///< copied by this rank for all versions
    double seconds_of_all = 0;
    std::uint64_t overwritten = 0; ///< repeated reads of a target, or late readers of a source
};

} // namespace reshard

#endif
