// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_NETWORK_FILE_IPP
#define RESHARD_FORMAT_IMPL_NETWORK_FILE_IPP

#include <reshard/format/network_file.hpp>

#include <reshard/format/json_document.hpp>
#include <reshard/format/layout_file.hpp>
#include <reshard/format/text_file.hpp>

namespace reshard {

namespace detail {

inline void read_number(json_cursor const& cursor, std::string_view name, double& number) {
    auto const member = cursor.find(name);
    if (!member)
        return;
    if (member->is_null())
        member->refuse("expected a number, found null");
    number = member->number();
}

/// \param least the lowest number in messages; `validate` refuses lower numbers
inline void read_count(json_cursor const& cursor, std::string_view name, holder_t least,
                       holder_t& number) {
    auto const member = cursor.find(name);
    if (!member)
        return;
    if (!member->is_count() || member->count() > most_ranks_named)
        member->refuse(words("expected an integer from ", least, " to ", most_ranks_named,
                             ", found ", member->kind()));
    number = static_cast<holder_t>(member->count());
}

/// \param has_runs true for a speed within a node, which has `run_seconds`
inline void read_speed(json_cursor const& root, std::string_view name, bool has_runs,
                       network::speed& speed) {
    auto const position = root.find(name);
    if (!position)
        return;
    if (has_runs)
        position->check_names(
            {"rank_bytes_per_second", "node_bytes_per_second", "latency_seconds", "run_seconds"});
    else
        position->check_names(
            {"rank_bytes_per_second", "node_bytes_per_second", "latency_seconds"});
    read_number(*position, "rank_bytes_per_second", speed.rank_bytes_per_second);
    read_number(*position, "node_bytes_per_second", speed.node_bytes_per_second);
    read_number(*position, "latency_seconds", speed.latency_seconds);
    read_number(*position, "run_seconds", speed.run_seconds);
}

inline void read_rack(json_cursor const& root, network::up_link& link) {
    auto const position = root.find("rack");
    if (!position)
        return;
    position->check_names({"nodes", "bytes_per_second", "latency_seconds"});
    read_count(*position, "nodes", 0, link.nodes);
    read_number(*position, "bytes_per_second", link.bytes_per_second);
    read_number(*position, "latency_seconds", link.latency_seconds);
}

RESHARD_DECL network parse_network(std::string_view text, std::string_view file) {
    auto const document = parse_json(text, file, errc::syntax);
    json_cursor const root(document, file, errc::bad_layout);
    root.check_names({"ranks_per_node", "copy", "memory", "link", "rack", "measured"});
    network network;
    read_count(root, "ranks_per_node", 1, network.ranks_per_node);
    read_speed(root, "copy", true, network.copy);
    read_speed(root, "memory", true, network.memory);
    read_speed(root, "link", false, network.link);
    read_rack(root, network.rack);
    checked_at(root, [&] { validate(network); });
    return network;
}

/// A decimal text of the number.
inline std::string number_json(double number) {
    return boost::json::serialize(boost::json::value(number));
}

inline std::string speed_json(std::string_view name, bool has_runs, network::speed const& speed) {
    std::string const runs =
        has_runs ? ",\n    \"run_seconds\": " + number_json(speed.run_seconds) : std::string();
    return words("  \"", name,
                 "\": {\n    \"rank_bytes_per_second\": ", number_json(speed.rank_bytes_per_second),
                 ",\n    \"node_bytes_per_second\": ", number_json(speed.node_bytes_per_second),
                 ",\n    \"latency_seconds\": ", number_json(speed.latency_seconds), runs,
                 "\n  },\n");
}

RESHARD_DECL std::string to_json(network const& network) {
    return words("{\n  \"ranks_per_node\": ", network.ranks_per_node, ",\n",
                 speed_json("copy", true, network.copy), speed_json("memory", true, network.memory),
                 speed_json("link", false, network.link),
                 "  \"rack\": {\n    \"nodes\": ", network.rack.nodes,
                 ",\n    \"bytes_per_second\": ", number_json(network.rack.bytes_per_second),
                 ",\n    \"latency_seconds\": ", number_json(network.rack.latency_seconds),
                 "\n  }\n}\n");
}

} // namespace detail

RESHARD_DECL network read_network(std::filesystem::path const& path) {
    return detail::parse_network(detail::read_text_file(path), path.string());
}

} // namespace reshard

#endif
