// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_SOLO_HPP
#define RESHARD_GROUP_SOLO_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <concepts>
#include <functional>
#include <string>

/// \file
/// The group of one process, for programs that do not start MPI.

namespace reshard::detail {

/// The time that a rank waits for other ranks: a number of seconds, or a `std::chrono::duration`.
/// More than 1e9 seconds, including infinity, become 1e9, which does not overflow any clock.
///
/// \throws error with errc::usage for a negative value or NaN
struct wait_duration {
    constexpr wait_duration(double number_of_seconds = 0)
        : seconds(std::min(number_of_seconds, 1e9)) {
        if (!(number_of_seconds >= 0))
            fail(errc::usage, "a deadline cannot be ", seconds_text(number_of_seconds),
                 "; give 0 or more seconds, or a std::chrono duration");
    }

    template <class Duration>
        requires requires(Duration some) {
            typename Duration::period;
            some.count();
        }
    constexpr wait_duration(Duration some)
        : wait_duration(static_cast<double>(some.count()) *
                        static_cast<double>(Duration::period::num) /
                        static_cast<double>(Duration::period::den)) {}

    double seconds;
};

} // namespace reshard::detail

namespace reshard {

/// Processes that call the same functions in the same order.
///
/// `rank()` returns 0 to `size() - 1`. `all_gather(bytes)` is collective: it returns the texts of
/// all ranks on every rank, in the order of ranks. Texts may differ in length.
///
/// \par Models `solo` (one process, no MPI), `mpi_group` (a Boost.MPI communicator)
template <class G>
concept group = requires(G const& some, std::string const& bytes) {
    { some.rank() } -> std::convertible_to<int>;
    { some.size() } -> std::convertible_to<int>;
    { some.all_gather(bytes) } -> std::convertible_to<vector<std::string>>;
};

/// A group of one: collectives return at once.
struct solo {
    int rank() const { return 0; }
    int size() const { return 1; }
    vector<std::string> all_gather(std::string const& bytes) const { return {bytes}; }
};

static_assert(group<solo>);

} // namespace reshard

namespace reshard::detail {

/// A group of any type, for code that is compiled once. It keeps a copy of the group.
class any_group {
public:
    template <group Group>
        requires(!std::same_as<Group, any_group>)
    explicit any_group(Group const& some)
        : rank_(some.rank()),
          size_(some.size()),
          gather_([some](std::string const& bytes) { return some.all_gather(bytes); }) {}

    int rank() const { return rank_; }
    int size() const { return size_; }
    vector<std::string> all_gather(std::string const& bytes) const { return gather_(bytes); }

private:
    int rank_;
    int size_;
    std::function<vector<std::string>(std::string const&)> gather_;
};

static_assert(group<any_group>);

/// The same group with a limit for the time that ranks wait for each other.
template <group Group>
Group with_deadline(Group const& world, wait_duration longest) {
    if constexpr (requires { world.with_deadline(longest); })
        return world.with_deadline(longest);
    else
        return world;
}

} // namespace reshard::detail

#endif
