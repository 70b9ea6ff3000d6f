// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_DIGEST_CACHE_HPP
#define RESHARD_PLAN_DIGEST_CACHE_HPP

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// \file
/// Plans, or what belongs to them, by the digest of what they were made from.

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

} // namespace reshard::detail

#endif
