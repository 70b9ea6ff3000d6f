// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_CUT_PARTS_HPP
#define RESHARD_MODEL_CUT_PARTS_HPP

#include <reshard/layout/named_placement.hpp>
#include <reshard/layout/sharding.hpp>
#include <reshard/model/tensor_cut.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// From a cut to distributions over a mesh.

namespace reshard::detail {

/// The ranks that hold a tensor, and the axis along which they cut it.
struct tensor_ranks {
    mesh ranks;
    std::string_view cut_axis = "tp";
    std::vector<detail::named_placement> fixed = {}; ///< on other axes: a stage, an expert
};

/// Makes the parts of one tensor.
class cut_maker {
public:
    cut_maker(std::string_view key, index_vector const& shape, tensor_ranks const& on)
        : key_(key), shape_(shape), on_(on) {}

    std::vector<sharding_part> segments(model::tensor_cut const& cut);

private:
    [[noreturn]] void refuse(std::string const& why) const {
        fail(errc::bad_layout, "'" + std::string(key_) + "': " + why);
    }

    std::string on_axis(std::string const& why) const {
        return "axis " + std::to_string(axis_) + ": " + why;
    }

    index_t extent() const { return shape_[axis_]; }
    index_t rank_count() const;
    std::string degree() const {
        return std::string(on_.cut_axis) + "=" + std::to_string(rank_count());
    }

    sharding_part segment(index_t offset, index_vector const& shape, mesh const& ranks,
                          std::vector<named_placement> placements) const;

    index_vector shape_of(index_t extent) const;

    /// Equal parts of `extent` elements from `offset` on.
    sharding_part even(index_t offset, index_t extent) const;

    sharding_part vocabulary(index_t padded) const;

    /// The elements of each of `count` equal units.
    index_t unit(index_t count, std::string const& what) const;

    /// Refuses ranks that can neither share `count` things equally nor be shared by them.
    void check_shares(index_t count, std::string const& what) const;

    /// The mesh in which the ranks that share one of `count` things stand along an axis `sharing`.
    mesh grouped(index_t count) const;

    sharding_part heads(index_t count) const;

    std::vector<sharding_part> gate_up() const;

    std::vector<sharding_part> qkv(index_t query_heads, index_t groups) const;

    /// Groups of `queries` elements of queries, a key and a value head; several ranks for each.
    std::vector<sharding_part> shared_groups(index_t queries, index_t head, index_t groups) const;

    static constexpr std::string_view sharing = "sharing";

    std::string_view key_;
    index_vector const& shape_;
    tensor_ranks const& on_;
    std::size_t axis_ = 0;
};

/// The parts of a tensor of that shape, cut so over those ranks.
///
/// \par Units  elements
/// \throws     error with errc::bad_layout that names key, axis and both numbers where the cut does
///             not fit the shape or the ranks
/// \par Source Megatron-Core's and PaddlePaddle's tensor-parallel layers. There an extent that does
///             not divide fails at an assertion; a key or value head that ranks share is a copy
///             there too
inline std::vector<detail::sharding_part> cut_parts(std::string_view key, index_vector const& shape,
                                                    model::tensor_cut const& cut,
                                                    tensor_ranks const& on) {
    return detail::cut_maker(key, shape, on).segments(cut);
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/cut_parts.ipp>
#endif

#endif
