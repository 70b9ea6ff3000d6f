// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_FLOW_CLASSES_HPP
#define RESHARD_PLAN_FLOW_CLASSES_HPP

#include <reshard/core/config.hpp>
#include <reshard/plan/network.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Flows that are alike, however they run: as many bytes over links that others share alike.

namespace reshard::detail {

/// Lists of different lengths, one behind the other.
template <class T>
class ragged_list {
public:
    /// Of pairs of the number of a list and an element, sorted by number.
    ragged_list(std::size_t count, std::vector<std::pair<std::uint32_t, T>> const& elements)
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
    std::vector<std::size_t> first_;
    std::vector<T> elements_;
};

/// Flows in classes, and the links that they use.
///
/// Each flow of a class has equally many bytes, which take as long on each link on its way, and
/// shares it with as many flows of each class as the others of its class do. So all of them are as
/// fast, and end at once.
///
/// \par Source the coarsest equitable partition of a graph, by refinement of colours
struct flow_classes {
    struct flow_class {
        std::size_t example = 0; ///< the number of one of the flows
        index_t bytes = 0;
        double latency = 0;
    };

    /// Flows of a class over one link.
    struct use {
        std::uint32_t other = 0; ///< the class of flows, or of links
        std::uint32_t count = 0; ///< of the flows over one of the links
        double seconds_per_byte = 0;

        constexpr bool operator==(use const&) const = default;
    };

    /// That a class waits for another one.
    struct wait {
        std::uint32_t flow = 0;
        index_t bytes_ahead = 0;
    };

    using link_name = std::pair<network::link_kind, holder_t>;

    std::vector<std::uint32_t> class_of_flow;
    std::vector<flow_class> flows; ///< behind those that they wait for
    ragged_list<wait> waits;       ///< by class of flows
    std::vector<link_name> links;  ///< in order
    std::vector<std::uint32_t> class_of_link;
    std::size_t link_class_count = 0;
    ragged_list<use> flows_of; ///< by class of links
    ragged_list<use> links_of; ///< by class of flows
};

/// \throws error with errc::usage for negative bytes or runs, and for a flow that waits for one
///         that does not stand before it
/// \pre the network is valid
RESHARD_DECL flow_classes classify(std::span<simulated_flow const> flows, network const& over);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/flow_classes.ipp>
#endif

#endif
