// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_NETWORK_IPP
#define RESHARD_PLAN_IMPL_NETWORK_IPP

#include <reshard/plan/network.hpp>

#include <reshard/core/error.hpp>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace reshard {

namespace detail {

/// The shortest decimal text that represents a number exactly.
inline std::string digits_of(double number) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), end};
}

/// A lower bandwidth would give infinite times, and a higher one times of zero.
inline void check_bandwidth(std::string_view way, std::string_view field, double number) {
    if (number != 0 && !(number >= 1 && number <= 1e18))
        fail(errc::bad_layout, way, field, " is ", digits_of(number),
             "; it must be 0, or from 1 to 1e18 bytes per second");
}

/// Longer times would hide the time that bytes take.
inline void check_seconds(std::string_view way, std::string_view field, double number) {
    if (!(number >= 0 && number <= 1e6))
        fail(errc::bad_layout, way, field, " is ", digits_of(number),
             "; it must be from 0 to 1e6 seconds");
}

inline void check_speed(std::string_view way, network::speed const& speed) {
    check_bandwidth(way, ".rank_bytes_per_second", speed.rank_bytes_per_second);
    check_bandwidth(way, ".node_bytes_per_second", speed.node_bytes_per_second);
    check_seconds(way, ".latency_seconds", speed.latency_seconds);
    check_seconds(way, ".run_seconds", speed.run_seconds);
    if (speed.rank_bytes_per_second == 0 && speed.node_bytes_per_second == 0)
        fail(errc::bad_layout, way, ".rank_bytes_per_second and ", way,
             ".node_bytes_per_second are 0; one of them must be greater than 0");
}

} // namespace detail

RESHARD_DECL void validate(network const& network) {
    if (network.ranks_per_node == 0)
        fail(errc::bad_layout, "ranks_per_node is 0; a node has at least 1 rank");
    detail::check_speed("copy", network.copy);
    detail::check_speed("memory", network.memory);
    detail::check_speed("link", network.link);
    if (network.link.run_seconds != 0)
        fail(errc::bad_layout, "link.run_seconds is ", detail::digits_of(network.link.run_seconds),
             "; it must be 0: runs are counted in the memory of ranks");
    detail::check_bandwidth("rack", ".bytes_per_second", network.rack.bytes_per_second);
    detail::check_seconds("rack", ".latency_seconds", network.rack.latency_seconds);
    if (network.rack.nodes > 0 && network.rack.bytes_per_second == 0)
        fail(errc::bad_layout, "rack.bytes_per_second is 0, but a rack has ",
             detail::counted(network.rack.nodes, "node"), "; set it, or set rack.nodes to 0");
}

} // namespace reshard

#endif
