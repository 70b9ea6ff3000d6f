// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_IMPL_FLOW_CLASSES_IPP
#define RESHARD_ANALYSIS_IMPL_FLOW_CLASSES_IPP

#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/network.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

/// \file
/// Finds flows that always behave equally: they have the same number of bytes, and share their
/// links equally with other flows.

namespace reshard::detail {

/// Lists of different lengths, stored one after the other.
template <class T>
class ragged_list {
public:
    /// Makes lists from pairs of a list's number and an element, sorted by number.
    ragged_list(std::size_t count, vector<std::pair<std::uint32_t, T>> const& elements)
        : first_(count + 1, 0) {
        elements_.reserve(elements.size());
        for (auto const& [list, element] : elements) {
            ++first_[list + 1];
            elements_.push_back(element);
        }
        for (std::size_t i = 0; i < count; ++i)
            first_[i + 1] += first_[i];
    }
    ragged_list() = default;

    std::span<T const> operator[](std::size_t i) const {
        return std::span(elements_).subspan(first_[i], first_[i + 1] - first_[i]);
    }

private:
    vector<std::size_t> first_;
    vector<T> elements_;
};

/// Classes of flows, and the links that these use.
///
/// All flows of a class have the same number of bytes, and a byte takes the same time on each of
/// their links. On each link, they meet the same number of flows of each class. So they are equally
/// fast, and end at the same time.
///
/// \par Source the coarsest equitable partition of a graph, by refinement of colours
struct flow_classes {
    struct flow_class {
        std::size_t example = 0; ///< the number of a flow of the class
        index_t bytes = 0;
        double latency = 0;
    };

    /// The use of a link by the flows of a class.
    struct use {
        std::uint32_t other = 0; ///< the class of flows, or of links
        std::uint32_t count = 0; ///< the number of such flows over one link
        double seconds_per_byte = 0;

        constexpr bool operator==(use const&) const = default;
    };

    /// A class that waits for another class.
    struct wait {
        std::uint32_t flow = 0;
        index_t bytes_ahead = 0;
    };

    using link_name = std::pair<network::link_kind, holder_t>;

    vector<std::uint32_t> class_of_flow;
    vector<flow_class> flows; ///< each class comes after the classes that it waits for
    ragged_list<wait> waits;  ///< by class of flows
    vector<link_name> links;  ///< sorted
    vector<std::uint32_t> class_of_link;
    std::size_t link_class_count = 0;
    ragged_list<use> flows_of; ///< by class of links
    ragged_list<use> links_of; ///< by class of flows
};

/// The links on the path of a flow, and how long a byte keeps each of them busy.
struct flow_path {
    struct step {
        flow_classes::link_name name;
        double seconds_per_byte = 0;
        std::uint32_t link = 0;
    };

    std::array<step, 6> steps{};
    std::size_t count = 0;
    double latency = 0;

    /// \param more additional seconds for each byte
    void add(network::link_kind kind, holder_t number, double bytes_per_second, double more = 0) {
        double const seconds = (bytes_per_second > 0 ? 1 / bytes_per_second : 0) + more;
        if (seconds > 0)
            steps[count++] = {{kind, number}, seconds, 0};
    }

    std::span<step> all() { return std::span(steps).first(count); }
    std::span<step const> all() const { return std::span(steps).first(count); }
};

inline void add_far_path(flow_path& path, simulated_flow const& flow, network const& over) {
    using kind = network::link_kind;
    path.latency = over.link.latency_seconds;
    path.add(kind::rank_out, flow.source, over.link.rank_bytes_per_second);
    path.add(kind::rank_in, flow.target, over.link.rank_bytes_per_second);
    path.add(kind::node_out, over.node_of(flow.source), over.link.node_bytes_per_second);
    path.add(kind::node_in, over.node_of(flow.target), over.link.node_bytes_per_second);
    if (over.rack_of(flow.source) == over.rack_of(flow.target))
        return;
    path.latency += over.rack.latency_seconds;
    path.add(kind::rack_out, over.rack_of(flow.source), over.rack.bytes_per_second);
    path.add(kind::rack_in, over.rack_of(flow.target), over.rack.bytes_per_second);
}

inline flow_path path_of(simulated_flow const& flow, network const& over) {
    using kind = network::link_kind;
    flow_path path;
    if (flow.bytes == 0)
        return path;
    holder_t const node = over.node_of(flow.source);
    if (node != over.node_of(flow.target)) {
        add_far_path(path, flow, over);
        return path;
    }
    network::speed const& way = flow.source == flow.target ? over.copy : over.memory;
    path.latency = way.latency_seconds;
    double const of_runs =
        static_cast<double>(flow.runs) * way.run_seconds / static_cast<double>(flow.bytes);
    path.add(kind::rank_memory, flow.source, way.rank_bytes_per_second, of_runs);
    if (flow.source != flow.target)
        path.add(kind::rank_memory, flow.target, way.rank_bytes_per_second, of_runs);
    path.add(kind::node_memory, node, way.node_bytes_per_second);
    return path;
}

/// Colours flows and links until all flows or links of one colour are equal.
///
/// Colours are digests of the known properties of a flow or a link, so they do not depend on the
/// order of the flows. A collision, which is very unlikely, would make different flows equal.
class flow_colours {
public:
    flow_colours(std::span<simulated_flow const> flows, network const& over)
        : flows_(flows), of_flow_(flows.size(), 0), depth_(flows.size(), 0) {
        for (std::size_t i = 0; i < flows.size(); ++i) {
            check(i);
            paths_.push_back(path_of(flows[i], over));
            for (auto const& step : paths_.back().all())
                names_.push_back(step.name);
        }
        std::ranges::sort(names_);
        names_.erase(std::ranges::unique(names_).begin(), names_.end());
        for (flow_path& path : paths_)
            for (flow_path::step& step : path.all())
                step.link = static_cast<std::uint32_t>(std::ranges::lower_bound(names_, step.name) -
                                                       names_.begin());
    }

    void refine() {
        constexpr int most_rounds = 64;
        colour_links(false);
        for (std::size_t round = 0, colours = 0; round < most_rounds; ++round) {
            colour_flows();
            std::size_t const before = colours;
            colours = refine_links();
            if (colours == before)
                return;
        }
        colour_links(true);
        colour_flows();
    }

    vector<flow_path> const& paths() const { return paths_; }
    vector<flow_classes::link_name> const& names() const { return names_; }
    vector<std::uint64_t> const& of_link() const { return of_link_; }
    /// The key that sorts flows: each flow comes after the flows that it waits for.
    std::pair<std::uint32_t, std::uint64_t> of_flow(std::size_t i) const {
        return {depth_[i], of_flow_[i]};
    }

private:
    void check(std::size_t i) const {
        if (flows_[i].bytes < 0)
            fail(errc::usage, "flow ", i, " has ", flows_[i].bytes, " bytes; it must be 0 or more");
        if (flows_[i].runs < 0)
            fail(errc::usage, "flow ", i, " has ", flows_[i].runs, " runs; it must be 0 or more");
        for (simulated_flow::awaited const& awaited : flows_[i].waits_for)
            if (awaited.flow >= i || awaited.bytes_ahead < 0)
                fail(errc::usage, "flow ", i, " waits for ", awaited.bytes_ahead, " bytes of flow ",
                     awaited.flow, "; a flow must wait for 0 or more bytes of an earlier flow");
    }

    void colour_links(bool are_all_different) {
        of_link_.clear();
        for (auto const& [kind, number] : names_)
            of_link_.push_back(digest_of_all(kind, are_all_different ? number + 1 : 0));
    }

    void colour_flows() {
        for (std::size_t i = 0; i < flows_.size(); ++i) {
            hasher colour;
            colour.add(digest_of_all(flows_[i].bytes, paths_[i].latency));
            for (flow_path::step const& step : paths_[i].all())
                colour.add(digest_of_all(of_link_[step.link], step.seconds_per_byte));
            std::uint64_t waits = 0;
            for (simulated_flow::awaited const& awaited : flows_[i].waits_for) {
                waits += digest_of_all(of_flow_[awaited.flow], awaited.bytes_ahead);
                depth_[i] = std::max(depth_[i], depth_[awaited.flow] + 1);
            }
            colour.add(waits);
            of_flow_[i] = colour.value();
        }
    }

    /// Refines the colours of links, and returns the number of colours.
    std::size_t refine_links() {
        vector<std::uint64_t> sums(names_.size(), 0);
        for (std::size_t i = 0; i < flows_.size(); ++i)
            for (flow_path::step const& step : paths_[i].all())
                sums[step.link] += digest_of_all(of_flow_[i]);
        for (std::size_t i = 0; i < names_.size(); ++i)
            of_link_[i] = digest_of_all(of_link_[i], sums[i]);
        vector<std::uint64_t> different = of_link_;
        std::ranges::sort(different);
        return static_cast<std::size_t>(std::ranges::unique(different).begin() - different.begin());
    }

    std::span<simulated_flow const> flows_;
    vector<flow_path> paths_;
    vector<flow_classes::link_name> names_;
    vector<std::uint64_t> of_link_, of_flow_;
    vector<std::uint32_t> depth_; ///< the longest chain of flows that it waits for
};

/// The class number of each item, in the order of colours, and the first item of each class.
struct numbered_classes {
    vector<std::uint32_t> class_of;
    vector<std::size_t> examples;

    numbered_classes(std::size_t count, auto&& colour_of) : class_of(count) {
        vector<std::pair<decltype(colour_of(count)), std::size_t>> order;
        for (std::size_t i = 0; i < count; ++i)
            order.emplace_back(colour_of(i), i);
        std::ranges::sort(order);
        for (std::size_t i = 0; i < count; ++i) {
            if (i == 0 || order[i].first != order[i - 1].first)
                examples.push_back(order[i].second);
            class_of[order[i].second] = static_cast<std::uint32_t>(examples.size() - 1);
        }
    }
};

using numbered_uses = vector<std::pair<std::uint32_t, flow_classes::use>>;

/// The uses of one link of each class.
inline numbered_uses uses_by_link(flow_colours const& colours, numbered_classes const& flows,
                                  numbered_classes const& links) {
    numbered_uses uses;
    for (std::size_t i = 0; i < flows.class_of.size(); ++i)
        for (flow_path::step const& step : colours.paths()[i].all()) {
            std::uint32_t const link = links.class_of[step.link];
            if (links.examples[link] == step.link)
                uses.push_back({link, {flows.class_of[i], 1, step.seconds_per_byte}});
        }
    auto const position_of = [](auto const& element) {
        return std::pair(element.first, element.second.other);
    };
    std::ranges::sort(uses, {}, position_of);
    std::size_t count = 0;
    for (auto const& use : uses)
        if (count > 0 && position_of(uses[count - 1]) == position_of(use))
            ++uses[count - 1].second.count;
        else
            uses[count++] = use;
    uses.resize(count);
    return uses;
}

/// The same uses, sorted by class of flows.
inline numbered_uses by_flow(numbered_uses uses) {
    for (auto& [number, use] : uses)
        std::swap(number, use.other);
    std::ranges::stable_sort(uses, {}, [](auto const& element) { return element.first; });
    return uses;
}

inline ragged_list<flow_classes::wait> waits_of(std::span<simulated_flow const> flows,
                                                numbered_classes const& classes) {
    vector<std::pair<std::uint32_t, flow_classes::wait>> pairs;
    for (std::uint32_t c = 0; c < classes.examples.size(); ++c)
        for (auto const& [flow, ahead] : flows[classes.examples[c]].waits_for)
            pairs.push_back({c, {classes.class_of[flow], ahead}});
    return {classes.examples.size(), pairs};
}

/// \throws error with errc::usage for negative bytes or runs, and for a flow that waits for a flow
///         that is not before it
/// \pre the network is valid
inline flow_classes classify(std::span<simulated_flow const> flows, network const& over) {
    flow_colours colours(flows, over);
    colours.refine();
    numbered_classes const by_colour(flows.size(),
                                     [&](std::size_t i) { return colours.of_flow(i); });
    numbered_classes const links(colours.names().size(),
                                 [&](std::size_t i) { return colours.of_link()[i]; });
    flow_classes classes;
    for (std::size_t const example : by_colour.examples)
        classes.flows.push_back({example, flows[example].bytes, colours.paths()[example].latency});
    classes.class_of_flow = by_colour.class_of;
    classes.waits = waits_of(flows, by_colour);
    classes.links = colours.names();
    classes.class_of_link = links.class_of;
    classes.link_class_count = links.examples.size();
    auto const uses = uses_by_link(colours, by_colour, links);
    classes.flows_of = {classes.link_class_count, uses};
    classes.links_of = {classes.flows.size(), by_flow(uses)};
    return classes;
}

/// The present state of a class of flows. All members that an event reads are in one cache line:
/// with ten thousand active flows, memory latency would take most of the time.
struct alignas(64) running_flow {
    enum class state : std::uint8_t { waiting, starting, moving, ended };

    double bytes = 0;
    double moved = 0; ///< bytes moved so far
    double rate = 0;  ///< bytes per second of one flow of the class, if it was moving
    double start = 0;
    std::uint32_t first_link = 0; ///< in `running_flows::links`
    std::uint32_t link_count = 0;
    std::uint32_t first_follower = 0; ///< in `running_flows::followers`
    std::uint32_t follower_count = 0;
    state now = state::waiting;
};

/// All classes of flows, the links that each class uses, and the classes that wait for it.
struct running_flows {
    struct flow_link {
        std::uint32_t link = 0;
        std::uint32_t count = 0; ///< flows over one of the links
        double weight = 0;       ///< seconds of the link if each of these flows moves a byte
    };

    vector<running_flow> flows;
    vector<flow_link> links;
    vector<flow_classes::wait> followers; ///< waiting classes, with their distance in bytes

    explicit running_flows(flow_classes const& classes) : flows(classes.flows.size()) {
        for (std::uint32_t f = 0; f < flows.size(); ++f) {
            flows[f].bytes = static_cast<double>(classes.flows[f].bytes);
            flows[f].first_link = static_cast<std::uint32_t>(links.size());
            for (flow_classes::use const& use : classes.links_of[f])
                links.push_back({use.other, use.count, use.count * use.seconds_per_byte});
            flows[f].link_count = static_cast<std::uint32_t>(links.size()) - flows[f].first_link;
            for (flow_classes::wait const& wait : classes.waits[f])
                ++flows[wait.flow].follower_count;
        }
        std::uint32_t count = 0;
        for (running_flow& flow : flows) {
            flow.first_follower = count;
            count += std::exchange(flow.follower_count, 0u);
        }
        followers.resize(count);
        for (std::uint32_t f = 0; f < flows.size(); ++f)
            for (flow_classes::wait const& wait : classes.waits[f]) {
                running_flow& before = flows[wait.flow];
                followers[before.first_follower + before.follower_count++] = {f, wait.bytes_ahead};
            }
    }

    std::span<flow_link const> links_of(running_flow const& flow) const {
        return std::span(links).subspan(flow.first_link, flow.link_count);
    }
    std::span<flow_classes::wait const> followers_of(running_flow const& flow) const {
        return std::span(followers).subspan(flow.first_follower, flow.follower_count);
    }
};

} // namespace reshard::detail

#endif
