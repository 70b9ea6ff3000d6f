// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_RANDOM_HPP
#define RESHARD_TEST_ORACLE_RANDOM_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Random numbers that are the same on every machine and on every rank.

namespace reshard::oracle {

/// A stream of numbers from a seed.
///
/// \par Source SplitMix64 (Steele, Lea, Flood 2014)
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    /// One of 0 to `limit - 1`.
    std::int64_t below(std::int64_t limit) {
        return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
    }

    /// One of `first` to `last`.
    std::int64_t between(std::int64_t first, std::int64_t last) {
        return first + below(last - first + 1);
    }

    /// True in `percent` of a hundred cases.
    bool chance(int percent) { return below(100) < percent; }

    template <class T>
    T const& pick(std::vector<T> const& list) {
        return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
    }

    template <class T>
    void shuffle(std::vector<T>& list) {
        for (std::size_t i = list.size(); i > 1; --i)
            std::swap(list[i - 1],
                      list[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }

private:
    std::uint64_t state_;
};

} // namespace reshard::oracle

#endif
