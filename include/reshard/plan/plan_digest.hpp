// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PLAN_DIGEST_HPP
#define RESHARD_PLAN_PLAN_DIGEST_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/expr/digest.hpp>
#include <reshard/plan/options.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// \file
/// A number that stands for all that a plan is made from.

namespace reshard::detail {

/// A few values by digest. When there are too many, the one that was asked for longest ago goes.
///
/// Copies share the values, which do not change.
///
/// \tparam Value `plan`, or what holds one
template <class Value>
class digest_cache {
public:
    using pointer = std::shared_ptr<Value const>;

    /// \pre `most > 0`
    explicit digest_cache(std::size_t most = 16) : most_(most) { BOOST_ASSERT(most > 0); }

    /// The value of that digest, or null. Counts as one use, whichever it is.
    pointer find(std::uint64_t digest) {
        auto const place = std::find_if(entries_.begin(), entries_.end(),
                                        [&](entry const& one) { return one.digest == digest; });
        if (place == entries_.end()) {
            ++misses_;
            return nullptr;
        }
        ++hits_;
        std::rotate(place, place + 1, entries_.end());
        return entries_.back().value;
    }

    /// Keeps a value, in the place of another one of that digest.
    pointer add(std::uint64_t digest, Value value) {
        return add(digest, std::make_shared<Value const>(std::move(value)));
    }

    /// The same of a value that is shared already.
    pointer add(std::uint64_t digest, pointer value) {
        forget(digest);
        if (entries_.size() == most_)
            entries_.erase(entries_.begin());
        entries_.push_back({digest, std::move(value)});
        return entries_.back().value;
    }

    /// The value of that digest; where there is none, `make()` yields it.
    template <class Make>
    pointer find_or_make(std::uint64_t digest, Make&& make) {
        if (pointer found = find(digest))
            return found;
        return add(digest, std::forward<Make>(make)());
    }

    /// Drops the value of that digest, if there is one.
    void forget(std::uint64_t digest) {
        std::erase_if(entries_, [&](entry const& one) { return one.digest == digest; });
    }

    std::size_t size() const { return entries_.size(); }
    /// How often `find` found something, and nothing.
    std::size_t hits() const { return hits_; }
    std::size_t misses() const { return misses_; }

private:
    struct entry {
        std::uint64_t digest;
        pointer value;
    };

    std::vector<entry> entries_; ///< the one that was used last at the end
    std::size_t most_;
    std::size_t hits_ = 0;
    std::size_t misses_ = 0;
};

/// What a planner makes of the same inputs; goes up when it makes something else.
inline constexpr std::uint64_t planner_version = 1;

/// A digest of mapping, layouts and options: what all holders have in common.
///
/// \tparam Source `layout` or `layout`
/// \tparam Target likewise
template <class Source, class Target>
std::uint64_t structure_digest(mapping const& program, Source const& source, Target const& target,
                               plan_options const& options = {}) {
    hasher digest;
    digest.add(planner_version);
    digest.add(digest_of(program));
    digest.add(digest_of(source));
    digest.add(digest_of(target));
    add_value(digest, options);
    return digest.value();
}

/// A digest of a structure and of those for whom a plan is made: equal for equal inputs of
/// `make_plan`.
///
/// \param structure what `structure_digest` returned
RESHARD_DECL std::uint64_t plan_digest(std::uint64_t structure, plan_scope const& scope = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/plan_digest.ipp>
#endif

#endif
