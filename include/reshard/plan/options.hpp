// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_OPTIONS_HPP
#define RESHARD_PLAN_OPTIONS_HPP

#include <reshard/shard/shard_table.hpp>

#include <algorithm>
#include <utility>
#include <vector>

/// \file
/// For whom a plan is made, and who gives when several could.

namespace reshard {

/// A set of holders: everybody, or those listed.
class holder_set {
public:
    /// Everybody.
    constexpr holder_set() = default;

    constexpr holder_set(std::vector<holder_t> listed)
        : everybody_(false), listed_(std::move(listed)) {
        std::sort(listed_.begin(), listed_.end());
    }

    static constexpr holder_set nobody() { return holder_set(std::vector<holder_t>{}); }

    constexpr bool is_everybody() const { return everybody_; }

    constexpr bool contains(holder_t holder) const {
        return everybody_ || std::binary_search(listed_.begin(), listed_.end(), holder);
    }

private:
    bool everybody_ = true;
    std::vector<holder_t> listed_;
};

/// The holders whose transfers are wanted: what they give and what they get.
struct plan_scope {
    holder_set sources;
    holder_set targets;
};

/// How holders become processes.
struct plan_options {
    /// Holder `h` of either side is played by process `h % processes`; 0: each by its own.
    holder_t processes = 0;
    /// Everybody can read every source holder, as files that all processes see: no one sends.
    bool shared_sources = false;

    constexpr holder_t process_of(holder_t holder) const {
        return processes == 0 ? holder : holder % processes;
    }
};

/// Which of `count` holders of the same box gives it to `target`: the place of one of them.
///
/// The first that the same process plays, else one by rotation over targets: a function that sender
/// and receiver evaluate alike. `holder_at(i)` is the holder at place `i`.
///
/// \pre `count > 0`
template <class HolderAt>
constexpr std::size_t choose_replica(std::size_t count, HolderAt&& holder_at, holder_t target,
                                     plan_options const& options) {
    if (count == 1 || options.shared_sources)
        return 0;
    for (std::size_t i = 0; i < count; ++i)
        if (options.process_of(holder_at(i)) == options.process_of(target))
            return i;
    return target % count;
}

} // namespace reshard

#endif
