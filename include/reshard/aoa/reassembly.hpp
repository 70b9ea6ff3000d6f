// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REASSEMBLY_HPP
#define RESHARD_AOA_REASSEMBLY_HPP

#include <reshard/expr/mapping.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Which pieces of the target a tensor of the source can be put together from.

namespace reshard::aoa::detail {

/// A tensor cut into cells, each of which lies in one piece of the target.
struct reassembled {
    struct cell {
        box region; ///< of the tensor
        mapping_output const* output;
        piece covering; ///< of that output; it contains the cell
    };
    index_vector counts;     ///< of cells, along each axis
    std::vector<cell> cells; ///< row by row
};

/// Finds pieces by the tensor of the source that they are of.
class reassembly {
public:
    /// The mapping has to outlive this.
    explicit reassembly(mapping const& map) : map_(map) {}

    /// A grid of cells for a tensor of the source, or nothing where the target has not all of it as
    /// it was, or where there would be more than `most` pieces or cells.
    std::optional<reassembled> find(std::string_view key);

private:
    static constexpr std::size_t most = 1024;

    struct found_piece {
        mapping_output const* output;
        piece covering;
        box region; ///< of the source
    };

    /// Sorts everything by key and by source, on the first call.
    void sort();

    static bool is_reversible(piece const& candidate);

    /// Pieces that hold all of a tensor together, each something that those before it have not.
    std::vector<found_piece> needed(reshard::detail::key_id source);

    static std::vector<index_t> cuts_along(std::size_t axis, std::vector<found_piece> const& held,
                                           box const& all);

    static reassembled fill(std::vector<std::vector<index_t>> const& cuts,
                            std::vector<found_piece> const& held, std::size_t count);

    mapping const& map_;
    std::unordered_map<std::string_view, reshard::detail::key_id> ids_;
    /// Outputs, and places of pieces in them.
    std::unordered_map<reshard::detail::key_id,
                       std::vector<std::pair<mapping_output const*, std::size_t>>>
        by_source_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/reassembly.ipp>
#endif

#endif
