// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_NETWORK_IPP
#define RESHARD_PLAN_IMPL_NETWORK_IPP

#include <reshard/plan/network.hpp>

#include <reshard/core/error.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace reshard {

namespace detail {

/// The shortest digits that mean a number.
inline std::string digits_of(double number) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), end};
}

inline void check_number(std::string_view way, std::string_view field, double number,
                         std::string_view unit) {
    if (!(number >= 0) || !std::isfinite(number))
        fail(errc::bad_layout, way, field, " is ", digits_of(number), "; it must be a number of ",
             unit, " that is not negative");
}

inline void check_speed(std::string_view way, network::speed const& one) {
    constexpr std::string_view unit = "bytes a second";
    check_number(way, ".rank_bytes_per_second", one.rank_bytes_per_second, unit);
    check_number(way, ".node_bytes_per_second", one.node_bytes_per_second, unit);
    check_number(way, ".latency_seconds", one.latency_seconds, "seconds");
    if (one.rank_bytes_per_second == 0 && one.node_bytes_per_second == 0)
        fail(errc::bad_layout, way, ".rank_bytes_per_second and ", way,
             ".node_bytes_per_second are 0; one of them must be greater");
}

} // namespace detail

RESHARD_DECL void validate(network const& one) {
    if (one.ranks_per_node == 0)
        fail(errc::bad_layout, "ranks_per_node is 0; a node has at least 1 rank");
    detail::check_speed("copy", one.copy);
    detail::check_speed("memory", one.memory);
    detail::check_speed("link", one.link);
    detail::check_number("rack", ".bytes_per_second", one.rack.bytes_per_second, "bytes a second");
    detail::check_number("rack", ".latency_seconds", one.rack.latency_seconds, "seconds");
    if (one.rack.nodes > 0 && one.rack.bytes_per_second == 0)
        fail(errc::bad_layout, "rack.bytes_per_second is 0, and a rack has ",
             detail::counted(one.rack.nodes, "node"), "; it must be greater, or rack.nodes 0");
}

} // namespace reshard

#endif
