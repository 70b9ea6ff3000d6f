// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_SESSION_HPP
#define RESHARD_BRIDGE_SESSION_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bridge/control.hpp>
#include <reshard/bridge/options.hpp>
#include <reshard/bridge/port_file.hpp>
#include <reshard/bridge/stored_shards.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// The session of a target's rank with one source: the source's memory, and the transfers from it.

namespace reshard::detail {

/// The target tensors of a rank, in one or two sets.
struct target_sets {
    layout whole; ///< the layout of all ranks
    holder_t me = 0;
    vector<state_dict> sets;
};

/// The version to copy.
struct wanted_version {
    std::size_t set = 0;
    std::uint64_t base = 0; ///< the version of this source that the set has; 0: none
    std::uint64_t number = 0;
};

/// The plan between a source's layout and the target's, bound to the source's memory.
///
/// No function here communicates or waits for the source.
class bridge_session {
public:
    /// \pre    `wanted` outlives the session
    /// \throws error with errc::io if the source has ended; as `problem_of` and `make_plan`;
    ///         errc::corrupt_file, errc::unsupported for files of other versions of the library;
    ///         errc::usage for a program on both sides
    bridge_session(port_bytes const& port, target_sets const& wanted,
                   bridge_options const& options);
    bridge_session(bridge_session const&) = delete;

    std::uint64_t token() const { return token_; }
    control_block& control() const { return control_in(control_.data()); }
    process_mark const& source() const { return content_.control.maker; }

    /// False if the source has certainly ended.
    bool source_lives() const;

    /// Copies the changes since the set was last filled. The contents of the set are undefined
    /// until this returns true.
    ///
    /// \param  bytes increased by the number of copied bytes
    /// \return false if the version was overwritten meanwhile
    bool fill(wanted_version const& version, decltype(bridge_options::ready) const& ready,
              index_t& bytes) const;

private:
    bool fill_started(wanted_version const& version, decltype(bridge_options::ready) const& ready,
                      index_t& bytes) const;

    /// By buffer, the version in which the source of a transfer last changed; null if the source is
    /// zeros.
    struct stamped_transfer {
        std::array<std::atomic<std::uint64_t> const*, 2> stamps{};

        bool is_needed(wanted_version const& version) const;
    };

    void plan_for(target_sets const& wanted, bridge_options const& options);
    void open_source();

    /// Finds the source shard of each transfer in the memory of its rank. The first transfer from a
    /// rank opens the rank's memory.
    void bind();
    void bind(std::size_t number, vector<stored_shards>& stored);

    std::uint64_t token_;
    port_content content_;
    shared_segment control_;
    vector<std::optional<shared_segment>> segments_; ///< by rank of the source
    planned_job planned_;
    std::array<shard_views<const_tensor_view>, 2> sources_; ///< by buffer
    vector<shard_views<tensor_view>> targets_;              ///< by set
    vector<stamped_transfer> transfers_;                    ///< in the order of the plan
    device_list devices_;                                   ///< of the targets
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bridge/impl/session.ipp>
#endif

#endif
