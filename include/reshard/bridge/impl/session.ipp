// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_IMPL_SESSION_IPP
#define RESHARD_BRIDGE_IMPL_SESSION_IPP

#include <reshard/bridge/session.hpp>

#include <reshard/copy/conversions.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <string>
#include <utility>

namespace reshard::detail {

RESHARD_DECL bridge_session::bridge_session(port_bytes const& port, target_sets const& wanted,
                                            bridge_options const& options)
    : token_(port.head.token), content_(read_content(port)), devices_(options.devices) {
    open_source();
    plan_for(wanted, options);
    bind();
    for (state_dict const& set : wanted.sets) {
        targets_.emplace_back().add(set, planned_.target, wanted.me);
        check_complete(targets_.back(), planned_.target, wanted.me);
    }
}

RESHARD_DECL bool bridge_session::source_lives() const {
    return control().is_closed.load() == 0 && !has_ended(source());
}

RESHARD_DECL void bridge_session::open_source() {
    control_ = shared_segment::open(content_.control.address, content_.control.bytes);
    if (control_.bytes() < static_cast<index_t>(sizeof(control_block)) ||
        control().token.load() != token_)
        fail(errc::io, "the source's shared memory does not match its port file");
    segments_.resize(content_.ranks.size());
}

/// The mapping that this side or the other side gives; std::nullopt if tensors move by name.
inline std::optional<mapping> program_of(planned_job const& planned, std::string const& text,
                                         any_program const& program) {
    if (!text.empty() && !program.is_by_name())
        fail(errc::usage,
             "both sides of the bridge have a program; give a program on one side only");
    if (!text.empty())
        return from_bytes<mapping>(text);
    if (mapping const* const mapping = program.known())
        return *mapping;
    if (program.is_by_name())
        return std::nullopt;
    catalog const target = catalog_of(planned.target);
    return (*program.made())(catalog_of(planned.source), &target);
}

RESHARD_DECL void bridge_session::plan_for(target_sets const& wanted,
                                           bridge_options const& options) {
    planned_.source = from_bytes<layout>(content_.layout);
    if (planned_.source.holders > content_.ranks.size())
        fail(errc::corrupt_file, "the port file has a layout for ",
             counted(planned_.source.holders, "rank"), ", but lists the memory of only ",
             content_.ranks.size());
    planned_.target = wanted.whole;
    fit_program(planned_, program_of(planned_, content_.program, options.program),
                {options.strict, options.shape_mismatch, check_scales});
    refuse_quantised(planned_.program, "a bridge");
    plan_transfers(planned_, {holder_set::nobody(), holder_set({wanted.me})},
                   {.between_nodes = balanced_senders()});
}

RESHARD_DECL void bridge_session::bind() {
    vector<stored_shards> stored(content_.ranks.size());
    transfers_.resize(planned_.whole.transfers.size());
    for (std::size_t i = 0; i < transfers_.size(); ++i)
        if (planned_.whole.transfers[i].source_key != zero_source)
            bind(i, stored);
}

RESHARD_DECL void bridge_session::bind(std::size_t number, vector<stored_shards>& stored) {
    transfer const& t = planned_.whole.transfers[number];
    auto& segment = segments_[t.source_holder];
    stored_shards& shards = stored[t.source_holder];
    if (!segment) {
        port_segment const& port_segment = content_.ranks[t.source_holder];
        shards = stored_shards(planned_.source, t.source_holder);
        if (port_segment.bytes != shards.segment_bytes())
            fail(errc::corrupt_file, "rank ", t.source_holder, " of the source has ",
                 port_segment.bytes, " bytes of shared memory, but its layout needs ",
                 shards.segment_bytes());
        segment = shared_segment::open_to_read(port_segment.address, port_segment.bytes);
    }
    std::uint32_t const tensor = planned_.problem.sources[t.source_key].tensor;
    std::size_t const index = *shards.find(tensor, t.source_shard);
    for (std::size_t buffer = 0; buffer < 2; ++buffer) {
        transfers_[number].stamps[buffer] = &shards.stamp(segment->data(), buffer, index);
        sources_[buffer].add(tensor, t.source_shard, shards.view(segment->data(), buffer, index));
    }
}

RESHARD_DECL bool bridge_session::stamped_transfer::is_needed(wanted_version const& version) const {
    auto const* const stamp = stamps[version.number % 2];
    return version.base == 0 || (stamp && stamp->load(std::memory_order_relaxed) > version.base);
}

RESHARD_DECL bool bridge_session::fill(wanted_version const& version,
                                       decltype(bridge_options::ready) const& ready,
                                       index_t& bytes) const {
    bool is_filled = false;
    run_and_wait(devices_, [&] { is_filled = fill_started(version, ready, bytes); });
    return is_filled;
}

RESHARD_DECL bool bridge_session::fill_started(wanted_version const& version,
                                               decltype(bridge_options::ready) const& ready,
                                               index_t& bytes) const {
    auto const& transfers = planned_.whole.transfers;
    bound_plan const bound{planned_.whole,
                           planned_.problem,
                           sources_[version.number % 2],
                           targets_[version.set],
                           &all_conversions(),
                           nullptr,
                           &devices_};
    bool is_touched = false; // true if the tensor of this transfer has changed
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        if (transfers_[i].is_needed(version)) {
            run_locally(bound, transfers[i]);
            bytes += wire_bytes(planned_.whole, transfers[i]);
            is_touched = true;
        }
        bool const is_last =
            i + 1 == transfers.size() || transfers[i + 1].target_key != transfers[i].target_key;
        if (!is_last || !std::exchange(is_touched, false))
            continue;
        wait_for(devices_); // they may still read the source's memory
        if (!is_intact(control(), version.number))
            return false;
        if (ready)
            ready(planned_.target.tensors[transfers[i].target_key].key, version.number);
    }
    return is_intact(control(), version.number);
}

} // namespace reshard::detail

#endif
