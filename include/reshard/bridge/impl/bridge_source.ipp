// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_IMPL_BRIDGE_SOURCE_IPP
#define RESHARD_BRIDGE_IMPL_BRIDGE_SOURCE_IPP

#include <reshard/bridge/bridge_source.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/bridge/control.hpp>
#include <reshard/bridge/port_file.hpp>
#include <reshard/bridge/stored_shards.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/device/device.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/key_pattern.hpp>
#include <reshard/os/process.hpp>
#include <reshard/os/waiting.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace reshard {

namespace detail {

/// True if both tensors have the same bits. `stored` is row-major.
inline bool are_equal(const_tensor_view const& elements, const_tensor_view const& stored) {
    if (elements.strides != stored.strides)
        return !first_difference({stored.shape, 0, elements.strides, 0, stored.strides}, elements,
                                 stored);
    index_t const bytes = byte_count(element_count(stored.shape), stored.dtype);
    return std::memcmp(elements.data, stored.data, static_cast<std::size_t>(bytes)) == 0;
}

/// Describes a segment to other programs; empty if the segment has no memory.
inline port_segment described_segment(shared_segment const& segment) {
    return {segment.address(), segment.bytes(), this_process()};
}

/// Makes memory with a name if `named`, or if the system does not support memory without a name.
inline shared_segment make_segment(index_t bytes, bool named) {
    shared_segment segment;
    if (!named && !attempt([&] { segment = shared_segment::create(bytes, segment_kind::unnamed); }))
        return segment;
    return shared_segment::create(bytes, segment_kind::named);
}

/// A source: the memory of this rank, and the data that all ranks share.
class source_state {
public:
    /// \par Collective every rank of the group, in the same order, here and below
    source_state(any_group world, source_tensors const& have, std::filesystem::path const& port,
                 bridge_options const& options);
    source_state(source_state const&) = delete;
    ~source_state() { control().is_closed.store(1); }

    std::uint64_t publish(vector<std::string> const* patterns);
    bool wait_for_readers(std::size_t least, double seconds) const;
    bridge_stats stats() const;

private:
    control_block& control() const { return control_in(control_.data()); }
    bool is_first() const { return world_.rank() == 0; }

    /// Finds the caller's tensors and makes memory for their copies.
    void bind(source_tensors const& have, bridge_options const& options);

    /// Writes the port file: the first rank does this for all ranks.
    void open(std::filesystem::path const& port, bridge_options const& options);

    /// For each tensor of the layout, true if it matches any pattern.
    vector<bool> matching(vector<std::string> const& patterns) const;

    /// Whether a shard has changed; std::nullopt: compare the elements.
    ///
    /// \param changed for each tensor, true if it has changed; empty: compare
    std::optional<bool> known_change(std::size_t number, vector<bool> const& changed) const;

    /// True if the shard is on a device, and has changed or may have changed.
    bool is_fetched(std::size_t number, vector<bool> const& changed) const;

    /// Starts to copy the elements of a shard into the buffer of a version.
    void fetch(std::size_t number, tensor_view const& stored) const;

    /// Copies the shards on devices that are needed into the buffer of a version.
    void fetch_all(std::uint64_t version, vector<bool> const& changed) const;

    /// Brings a shard into the buffer of a version, and returns the number of copied bytes.
    ///
    /// \param is_retry whether this version was begun before. Then a late reader may have elements
    ///                 of it that are not there any more: all shards count as changed for readers
    index_t put(std::size_t number, std::uint64_t version, vector<bool> const& changed,
                bool is_retry);

    any_group world_;
    layout whole_;
    stored_shards stored_;
    vector<const_tensor_view> views_; ///< of the caller's shards, in the order of `stored_`
    vector<std::shared_ptr<void const>> handles_;
    device_list devices_;
    double deadline_;
    shared_segment memory_;
    shared_segment control_;
    written_port port_;
    bool is_empty_ = true;    ///< no version exists
    std::uint64_t begun_ = 0; ///< the last version whose elements were written
    bridge_stats done_;
};

RESHARD_DECL source_state::source_state(any_group world, source_tensors const& have,
                                        std::filesystem::path const& port,
                                        bridge_options const& options)
    : world_(std::move(world)),
      whole_(layout_of_side(world_, have, options.devices, "source")),
      handles_(have.tensors.handles()),
      devices_(options.devices),
      deadline_(options.deadline.seconds) {
    agree_on(world_, [&] { bind(have, options); });
    open(port, options);
    done_.version = gather_values(world_, port_.begun()).front();
}

RESHARD_DECL void source_state::bind(source_tensors const& have, bridge_options const& options) {
    version_behind(options.versions_before);
    auto const me = static_cast<holder_t>(world_.rank());
    check_twins(have.tensors, devices_);
    shard_views<const_tensor_view> views;
    views.add(have.tensors, whole_, me);
    check_complete(views, whole_, me);
    stored_ = stored_shards(whole_, me);
    for (stored_shard const& shard : stored_.list())
        views_.push_back(views.at(shard.tensor, shard.shard));
    memory_ = make_segment(stored_.segment_bytes(), options.named_memory);
    if (is_first())
        control_ = make_segment(sizeof(control_block), options.named_memory);
}

/// The mapping of a source's program, as bytes; empty if tensors keep their names.
inline std::string program_bytes(any_program const& program, layout const& layout) {
    if (program.is_by_name())
        return {};
    if (mapping const* const mapping = program.known())
        return to_bytes(*mapping);
    return to_bytes((*program.made())(catalog_of(layout), nullptr));
}

RESHARD_DECL void source_state::open(std::filesystem::path const& port,
                                     bridge_options const& options) {
    port_content content{{}, {}, {}, gather_values(world_, described_segment(memory_))};
    content.control = gather_values(world_, described_segment(control_)).front();
    agree_on(world_, [&] {
        if (!is_first())
            control_ = shared_segment::open(content.control.address, content.control.bytes);
        content.program = program_bytes(options.program, whole_);
    });
    agree_on(world_, [&] {
        if (!is_first())
            return;
        content.layout = to_bytes(whole_);
        control().token.store(new_token());
        port_ = written_port(port, content, control().token.load(), options.versions_before);
        if (options.continue_numbering)
            port_.keep_count();
    });
}

RESHARD_DECL vector<bool> source_state::matching(vector<std::string> const& patterns) const {
    vector<bool> matched(whole_.tensors.size());
    for (std::string const& text : patterns) {
        given_pattern pattern(text);
        for (std::size_t t = 0; t < matched.size(); ++t)
            if (pattern.matches(whole_.tensors[t].key))
                matched[t] = true;
        if (pattern.is_missed())
            fail(errc::unknown_key, "the changed-key pattern '", pattern.text(),
                 "' matches no key of the source, which has ",
                 counted(whole_.tensors.size(), "key"),
                 did_you_mean_key(pattern.text(), whole_.tensors, &tensor_layout::key));
    }
    return matched;
}

RESHARD_DECL std::optional<bool> source_state::known_change(std::size_t number,
                                                            vector<bool> const& changed) const {
    if (is_empty_)
        return true;
    if (changed.empty())
        return std::nullopt;
    return changed[stored_.list()[number].tensor];
}

RESHARD_DECL bool source_state::is_fetched(std::size_t number, vector<bool> const& changed) const {
    return !views_[number].memory.is_host() && known_change(number, changed).value_or(true);
}

RESHARD_DECL void source_state::fetch(std::size_t number, tensor_view const& stored) const {
    const_tensor_view const& elements = views_[number];
    element_conversion same{stored.dtype};
    same.devices = ends_on(find_device(devices_, elements.memory), nullptr);
    copy_elements({stored.shape, 0, elements.strides, 0, stored.strides}, same, elements.data,
                  stored.data);
}

RESHARD_DECL void source_state::fetch_all(std::uint64_t version,
                                          vector<bool> const& changed) const {
    run_and_wait(devices_, [&] {
        for (std::size_t i = 0; i < stored_.list().size(); ++i)
            if (is_fetched(i, changed)) {
                // No version has these elements if another shard fails.
                stored_.stamp(memory_.data(), version % 2, i).store(0);
                fetch(i, stored_.view(memory_.data(), version % 2, i));
            }
    });
}

RESHARD_DECL index_t source_state::put(std::size_t number, std::uint64_t version,
                                       vector<bool> const& changed, bool is_retry) {
    std::size_t const buffer = version % 2, newest = 1 - buffer;
    auto& stamp = stored_.stamp(memory_.data(), buffer, number);
    std::uint64_t const before = stored_.stamp(memory_.data(), newest, number).load();
    tensor_view const stored = stored_.view(memory_.data(), buffer, number);
    tensor_view const last = stored_.view(memory_.data(), newest, number);
    index_t const bytes = stored_.list()[number].bytes;
    bool const was_fetched = is_fetched(number, changed);
    std::optional<bool> const known = known_change(number, changed);
    if (known ? *known : !are_equal(was_fetched ? stored : views_[number], last)) {
        if (!was_fetched)
            fetch(number, stored);
        stamp.store(version);
        return bytes;
    }
    bool const was_equal = stamp.load() == before; // not if it was fetched
    if (!was_equal && !was_fetched)
        std::memcpy(stored.data, last.data, static_cast<std::size_t>(bytes));
    stamp.store(is_retry ? version : before);
    return was_equal ? 0 : bytes;
}

RESHARD_DECL std::uint64_t source_state::publish(vector<std::string> const* patterns) {
    std::uint64_t version = 0;
    vector<bool> changed;
    local_error const problem = attempt([&] {
        version = version_behind(done_.version);
        if (patterns)
            changed = matching(*patterns);
        if (!is_first())
            return;
        port_.set_begun(version);
        done_.overwritten += begin_version(control(), version, deadline_);
    });
    agree_to_run(world_, "publish",
                 {"list of changed keys", patterns ? std::optional(*patterns) : std::nullopt},
                 problem);
    waiting const clock(0);
    bool const is_retry = std::exchange(begun_, version) == version;
    index_t bytes = 0;
    double seconds = 0;
    agree_on(world_, [&] { // the version is complete once all ranks are here
        fetch_all(version, changed);
        for (std::size_t i = 0; i < stored_.list().size(); ++i)
            bytes += put(i, version, changed, is_retry);
        finish_version(control(), version, static_cast<std::uint64_t>(world_.size()));
        seconds = clock.seconds();
    });
    done_.bytes = bytes;
    done_.seconds = seconds;
    done_.bytes_of_all += done_.bytes;
    done_.seconds_of_all += done_.seconds;
    is_empty_ = false;
    return done_.version = version;
}

RESHARD_DECL bool source_state::wait_for_readers(std::size_t least, double seconds) const {
    auto const have_come = [&] {
        readers_seen const readers_seen = look_at_readers(control());
        return readers_seen.count + readers_seen.left_with_newest >= least &&
               readers_seen.slowest >= control().newest.load();
    };
    bool come = true;
    if (is_first()) {
        waiting patience(seconds);
        while (!(come = have_come()) && !patience.is_over())
            patience.pause();
    }
    return gather_values(world_, std::uint8_t{come}).front() != 0;
}

RESHARD_DECL bridge_stats source_state::stats() const {
    bridge_stats now = done_;
    readers_seen const readers_seen = look_at_readers(control());
    now.others = readers_seen.count;
    now.other_lives = readers_seen.count > 0;
    now.lag = now.version - std::min(now.version, readers_seen.slowest);
    return now;
}

} // namespace detail

RESHARD_DECL bridge_source::bridge_source(detail::any_group world, source_tensors const& have,
                                          std::filesystem::path const& port,
                                          bridge_options const& options)
    : state_(std::make_unique<detail::source_state>(std::move(world), have, port, options)) {}
RESHARD_DECL bridge_source::bridge_source(bridge_source&& source) noexcept = default;
RESHARD_DECL bridge_source& bridge_source::operator=(bridge_source&& source) noexcept = default;
RESHARD_DECL bridge_source::~bridge_source() = default;

RESHARD_DECL detail::source_state& bridge_source::state() const {
    if (!state_)
        fail(errc::usage, "this source has been moved from; use the one that it was moved to");
    return *state_;
}

RESHARD_DECL std::uint64_t bridge_source::publish() { return state().publish(nullptr); }

RESHARD_DECL std::uint64_t bridge_source::publish(vector<std::string> const& changed) {
    return state().publish(&changed);
}

RESHARD_DECL bool bridge_source::wait_for_readers(std::size_t least,
                                                  detail::wait_duration longest) const {
    return state().wait_for_readers(least, longest.seconds);
}

RESHARD_DECL bridge_stats bridge_source::stats() const { return state().stats(); }

} // namespace reshard

#endif
