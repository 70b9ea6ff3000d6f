// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_NETWORK_FILE_IPP
#define RESHARD_FORMAT_IMPL_NETWORK_FILE_IPP

#include <reshard/format/network_file.hpp>

#include <reshard/format/json_document.hpp>
#include <reshard/format/layout_file.hpp>
#include <reshard/format/text_file.hpp>

namespace reshard {

namespace detail {

inline void read_number(json_cursor const& place, std::string_view name, double& number) {
    auto const member = place.find(name);
    if (!member)
        return;
    if (member->is_null())
        member->refuse("expected a number, found null");
    number = member->number();
}

/// \param least for messages; `validate` refuses lower numbers
inline void read_count(json_cursor const& place, std::string_view name, holder_t least,
                       holder_t& number) {
    auto const member = place.find(name);
    if (!member)
        return;
    if (!member->is_count() || member->count() > most_ranks_named)
        member->refuse(words("expected an integer from ", least, " to ", most_ranks_named,
                             ", found ", member->kind()));
    number = static_cast<holder_t>(member->count());
}

/// \param has_runs as within a node
inline void read_speed(json_cursor const& root, std::string_view name, bool has_runs,
                       network::speed& one) {
    auto const place = root.find(name);
    if (!place)
        return;
    if (has_runs)
        place->check_names(
            {"rank_bytes_per_second", "node_bytes_per_second", "latency_seconds", "run_seconds"});
    else
        place->check_names({"rank_bytes_per_second", "node_bytes_per_second", "latency_seconds"});
    read_number(*place, "rank_bytes_per_second", one.rank_bytes_per_second);
    read_number(*place, "node_bytes_per_second", one.node_bytes_per_second);
    read_number(*place, "latency_seconds", one.latency_seconds);
    read_number(*place, "run_seconds", one.run_seconds);
}

inline void read_rack(json_cursor const& root, network::up_link& one) {
    auto const place = root.find("rack");
    if (!place)
        return;
    place->check_names({"nodes", "bytes_per_second", "latency_seconds"});
    read_count(*place, "nodes", 0, one.nodes);
    read_number(*place, "bytes_per_second", one.bytes_per_second);
    read_number(*place, "latency_seconds", one.latency_seconds);
}

RESHARD_DECL network parse_network(std::string_view text, std::string_view file) {
    auto const document = parse_json(text, file, errc::syntax);
    json_cursor const root(document, file, errc::bad_layout);
    root.check_names({"ranks_per_node", "copy", "memory", "link", "rack", "measured"});
    network one;
    read_count(root, "ranks_per_node", 1, one.ranks_per_node);
    read_speed(root, "copy", true, one.copy);
    read_speed(root, "memory", true, one.memory);
    read_speed(root, "link", false, one.link);
    read_rack(root, one.rack);
    checked_at(root, [&] { validate(one); });
    return one;
}

/// Digits that mean the number.
inline std::string number_json(double number) {
    return boost::json::serialize(boost::json::value(number));
}

inline std::string speed_json(std::string_view name, bool has_runs, network::speed const& one) {
    std::string const runs =
        has_runs ? ",\n    \"run_seconds\": " + number_json(one.run_seconds) : std::string();
    return words("  \"", name,
                 "\": {\n    \"rank_bytes_per_second\": ", number_json(one.rank_bytes_per_second),
                 ",\n    \"node_bytes_per_second\": ", number_json(one.node_bytes_per_second),
                 ",\n    \"latency_seconds\": ", number_json(one.latency_seconds), runs,
                 "\n  },\n");
}

RESHARD_DECL std::string to_json(network const& one) {
    return words(
        "{\n  \"ranks_per_node\": ", one.ranks_per_node, ",\n", speed_json("copy", true, one.copy),
        speed_json("memory", true, one.memory), speed_json("link", false, one.link),
        "  \"rack\": {\n    \"nodes\": ", one.rack.nodes,
        ",\n    \"bytes_per_second\": ", number_json(one.rack.bytes_per_second),
        ",\n    \"latency_seconds\": ", number_json(one.rack.latency_seconds), "\n  }\n}\n");
}

} // namespace detail

RESHARD_DECL network read_network(std::filesystem::path const& path) {
    return detail::parse_network(detail::read_text_file(path), path.string());
}

} // namespace reshard

#endif
