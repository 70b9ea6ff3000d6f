// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_TORCH_PARTS_IPP
#define RESHARD_FORMAT_TORCH_IMPL_TORCH_PARTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Reads the mesh and the placements of torch's DTensors.

namespace reshard::detail {

/// Reads the specification of a DTensor.
class part_reader {
public:
    /// \param noun names the tensor in messages
    part_reader(torch_archive const& archive, std::string noun)
        : archive_(archive), values_(archive.values()), what_(std::move(noun)) {}

    torch_part read(pickle_value local, pickle_value spec) const {
        pickle_value const mesh_value = values_.member(spec, "mesh", what_);
        mesh const ranks = mesh_of(mesh_value);
        auto const metadata = members_of_tuple(values_.member(spec, "tensor_meta", what_));
        if (metadata.empty())
            refuse("has no shape");
        index_vector const shape = torch_extents(values_, metadata[0], what_ + ": the shape");
        check_order(spec);
        try {
            return {distribution(ranks, placements(spec, ranks), shape, what_),
                    place_on(ranks, mesh_value), local};
        } catch (error const& problem) {
            fail(problem.code() == errc::unsupported ? errc::unsupported : errc::corrupt_file,
                 values_.file(), ": ", problem.what());
        }
    }

private:
    [[noreturn]] void refuse(std::string const& text, errc code = errc::corrupt_file) const {
        fail(code, values_.file(), ": ", what_, ": ", text);
    }

    /// The members of a named tuple, which are the arguments of its class.
    std::span<pickle_value const> members_of_tuple(pickle_value value) const {
        return values_.elements(values_.object(value, what_).arguments, what_);
    }

    /// A number, or the product of the numbers in tuples. A mesh axis that joins several axes has a
    /// tuple.
    index_t product_of(pickle_value value, int depth = 0) const {
        if (value.type == pickle_value::kind::integer)
            return values_.integer(value, what_);
        if (depth > 4)
            refuse("the mesh has tuples that are nested too deeply");
        index_t product = 1;
        for (pickle_value const pickle_value : values_.elements(value, what_)) {
            index_t const extent = product_of(pickle_value, depth + 1);
            if (extent < 0)
                refuse("the mesh has a negative extent");
            product = checked_multiply(product, extent);
        }
        return product;
    }

    /// The extents of a mesh, from its tensor of ranks, or from its layout in newer versions of
    /// torch.
    vector<index_t> extents_of(pickle_value mesh_value) const {
        vector<index_t> extents;
        if (auto const ranks = values_.find_member(mesh_value, "mesh", what_)) {
            if (!archive_.is_tensor(*ranks))
                refuse("its mesh has no tensor of ranks");
            for (index_t const extent : archive_.tensor(*ranks, what_ + ": the mesh").shape)
                extents.push_back(extent);
            return extents;
        }
        pickle_value const layout_value = values_.member(mesh_value, "_layout", what_);
        if (auto const axes = values_.find_member(layout_value, "axes", what_)) {
            for (pickle_value const axis : values_.elements(*axes, what_))
                extents.push_back(product_of(values_.member(axis, "shape", what_)));
            return extents;
        }
        pickle_value const shape = values_.member(layout_value, "shape", what_);
        if (shape.type == pickle_value::kind::integer)
            return {values_.integer(shape, what_)};
        for (pickle_value const axis : values_.elements(shape, what_))
            extents.push_back(product_of(axis));
        return extents;
    }

    mesh mesh_of(pickle_value mesh_value) const {
        auto const extents = extents_of(mesh_value);
        auto names = values_.find_member(mesh_value, "_mesh_dim_names", what_);
        if (!names)
            names = values_.find_member(mesh_value, "mesh_dim_names", what_);
        bool const has_names = names && names->type != pickle_value::kind::none;
        auto const match =
            has_names ? values_.elements(*names, what_) : std::span<pickle_value const>();
        vector<mesh_axis> axes;
        for (std::size_t i = 0; i < extents.size(); ++i)
            axes.emplace_back(i < match.size() ? std::string(values_.text(match[i], what_))
                                               : "axis_" + std::to_string(i),
                              extents[i]);
        return mesh(axes);
    }

    std::optional<holder_t> place_on(mesh const& ranks, pickle_value mesh_value) const {
        pickle_value const at = values_.member(mesh_value, "_coordinate_on_dim", what_);
        if (at.type == pickle_value::kind::none)
            return std::nullopt;
        index_vector const coordinates =
            torch_extents(values_, at, what_ + ": the coordinates of the rank");
        index_vector const extents = ranks.shape();
        if (coordinates.size() != extents.size())
            refuse(
                words("the rank is at ", coordinates, ", but the mesh has the extents ", extents));
        for (std::size_t i = 0; i < extents.size(); ++i)
            if (coordinates[i] >= extents[i])
                refuse(words("the rank is at ", coordinates, ", outside the mesh ", ranks));
        return ranks.rank_at(coordinates);
    }

    vector<placement> placements(pickle_value spec, mesh const& ranks) const {
        vector<placement> placements;
        vector<index_t> factors;
        for (pickle_value const value :
             values_.elements(values_.member(spec, "placements", what_), what_)) {
            std::string_view const path =
                values_.global(values_.object(value, what_).callable, what_);
            std::string_view const name = path.substr(path.rfind('.') + 1);
            factors.push_back(name == "_StridedShard" ? number(value, "split_factor") : 1);
            if (name == "Replicate")
                placements.emplace_back(replicate{});
            else if (name == "Shard")
                placements.emplace_back(shard{axis_of(value)});
            else if (name == "_StridedShard")
                placements.emplace_back(strided_shard{axis_of(value)});
            else
                refuse("has the placement " + std::string(name) +
                           ", which is not supported: only Shard, _StridedShard and Replicate are",
                       errc::unsupported);
        }
        check_factors(placements, factors, ranks);
        return placements;
    }

    index_t number(pickle_value object, std::string_view name) const {
        return values_.integer(values_.member(object, name, what_), what_);
    }

    std::size_t axis_of(pickle_value cut) const {
        index_t const axis = number(cut, "dim");
        if (axis < 0)
            refuse(words("is cut along axis ", axis));
        return static_cast<std::size_t>(axis);
    }

    /// Checks the split factors. A strided shard cuts after the shards to its right, so its split
    /// factor is the product of the extents of their mesh axes.
    void check_factors(vector<placement> const& placements, vector<index_t> const& factors,
                       mesh const& ranks) const {
        for (std::size_t i = 0; i < std::min(placements.size(), ranks.ndim()); ++i) {
            if (!placements[i].strided)
                continue;
            index_t factor = 1;
            for (std::size_t j = i + 1; j < std::min(placements.size(), ranks.ndim()); ++j)
                if (placements[j].cuts() && placements[j].axis == placements[i].axis)
                    factor = checked_multiply(factor, ranks.axes()[j].extent);
            if (factor != factors[i])
                refuse(words("_StridedShard has the split factor ", factors[i],
                             ", but the mesh axes after it give ", factor,
                             "; other orders of cuts are not supported"),
                       errc::unsupported);
        }
    }

    /// Checks the order of cuts, because newer versions of torch can cut one axis by mesh axes in
    /// any order.
    void check_order(pickle_value spec) const {
        auto const order = values_.find_member(spec, "shard_order", what_);
        if (!order || order->type != pickle_value::kind::tuple)
            return;
        for (pickle_value const entry : values_.elements(*order, what_)) {
            auto const members = members_of_tuple(entry);
            if (members.size() != 2)
                refuse("an entry of its order of cuts is not a tensor axis with mesh axes");
            index_vector const axes = torch_extents(values_, members[1], what_);
            if (!std::is_sorted(axes.begin(), axes.end()))
                refuse(words("the mesh axes ", axes, " cut axis ",
                             values_.integer(members[0], what_),
                             " in this order; only ascending order is supported"),
                       errc::unsupported);
        }
    }

    torch_archive const& archive_;
    pickle const& values_;
    std::string what_;
};

/// A DTensor, as far as the added files describe it.
struct spread_tensor {
    distribution spread;
    std::filesystem::path first_file;
    std::map<holder_t, std::filesystem::path> files{}; ///< by position on the mesh
    std::set<holder_t> parts{};                        ///< the positions of different boxes
    index_t elements = 0;                              ///< elements in these boxes
};

/// The first position with the same box as `index`: its coordinates are 0 along mesh axes that
/// replicate.
inline holder_t place_of_box(distribution const& spread, holder_t index) {
    index_vector at = spread.ranks().coordinates_of(index);
    for (std::size_t i = 0; i < at.size(); ++i)
        at[i] = spread.placements()[i].cuts() ? at[i] : 0;
    return spread.ranks().rank_at(at);
}

/// `tp=1 dp=0`.
inline std::string place_text(mesh const& ranks, holder_t index) {
    index_vector const at = ranks.coordinates_of(index);
    std::string text;
    for (std::size_t i = 0; i < at.size(); ++i)
        text +=
            (i == 0 ? "" : " ") + std::string(ranks.axes()[i].name()) + "=" + std::to_string(at[i]);
    return text;
}

/// Names a shard of a tensor that no file has; empty for a complete tensor.
inline std::string lacking_part(spread_tensor const& tensor) {
    distribution const& spread = tensor.spread;
    if (tensor.elements == element_count(spread.shape()))
        return {};
    constexpr holder_t most_places = 1 << 20;
    std::string lacking;
    for (holder_t index = 0; index < std::min(spread.ranks().rank_count(), most_places); ++index)
        if (!tensor.parts.contains(place_of_box(spread, index)) &&
            element_count(spread.region(index)->shape) > 0) {
            lacking = words("the shard of ", place_text(spread.ranks(), index), ", ",
                            *spread.region(index), ", is missing");
            break;
        }
    return words("is a DTensor ", spread, ", but only ", counted(tensor.parts.size(), "shard"),
                 tensor.parts.size() == 1 ? " is" : " are", " in ",
                 counted(tensor.files.size(), "file"), "; ", lacking,
                 "; give a directory with the files of all ranks");
}

RESHARD_DECL std::optional<pickle_value> torch_archive::members_of_part(pickle_value value) const {
    pickle const& pickle = *values_;
    value = without_parameter(value);
    if (value.type != pickle_value::kind::object)
        return std::nullopt;
    pickle_object const& object = pickle.object(value, {});
    auto const arguments = pickle.elements(object.arguments, {});
    // A function, the class, the arguments of the function, and the state.
    if (pickle.global(object.callable, {}) != "torch._tensor._rebuild_from_type_v2" ||
        arguments.size() != 4 || arguments[0].type != pickle_value::kind::global ||
        pickle.global(arguments[0], {}) != "torch._utils._rebuild_wrapper_subclass" ||
        arguments[3].type != pickle_value::kind::tuple)
        return std::nullopt;
    for (pickle_value const state : pickle.elements(arguments[3], {}))
        if (state.type == pickle_value::kind::dict && pickle.find(state, "_local_tensor", {}) &&
            pickle.find(state, "_spec", {}))
            return state;
    return std::nullopt;
}

RESHARD_DECL bool torch_archive::is_part(pickle_value value) const {
    return members_of_part(value).has_value();
}

RESHARD_DECL torch_part torch_archive::part(pickle_value value, std::string const& noun) const {
    pickle_value const members = *members_of_part(value);
    return part_reader(*this, noun)
        .read(values_->at(members, "_local_tensor", noun), values_->at(members, "_spec", noun));
}

} // namespace reshard::detail

#endif
