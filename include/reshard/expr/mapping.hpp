// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_MAPPING_HPP
#define RESHARD_EXPR_MAPPING_HPP

#include <reshard/core/key_index.hpp>
#include <reshard/core/nearest.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/expr/source_list.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/cover.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A whole program as a value: what each target tensor is made of.

namespace reshard {

/// A target tensor of a mapping.
struct mapping_output {
    std::string key;
    expression value;
    bool added = false; ///< `_ -> key`: there is no source, the value is zeros

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.value, self.added);
    }

    bool operator==(mapping_output const&) const = default;
};

/// \throws error with errc::bad_layout or errc::overflow where there can be no such tensor
inline void validate(mapping_output const& output) {
    check_tensor(output.key, output.value.dtype, output.value.shape);
}

namespace detail {

/// The order of keys, for keys too.
struct by_key {
    using is_transparent = void;

    static std::string_view key_of(mapping_output const& output) { return output.key; }
    static std::string_view key_of(std::string_view key) { return key; }

    bool operator()(auto const& a, auto const& b) const { return key_of(a) < key_of(b); }
};

} // namespace detail

/// Target tensors in the order of their keys, each key once.
using mapping_outputs = std::set<mapping_output, detail::by_key>;

/// Tensors that belong together: what a statement says of one holds for the other.
struct relation {
    enum class kind : std::uint8_t {
        state,        ///< optimizer state of the parameter's shape
        scalar_state, ///< optimizer state that is one number
        scale,        ///< scales of blocks of the tensor
        alias,        ///< the same tensor under another name
    } what{};
    std::string key;       ///< the parameter
    std::string companion; ///< what follows it

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.what, self.key, self.companion);
    }

    bool operator==(relation const&) const = default;
};

template <>
inline constexpr enum_range range_of_enum<relation::kind>{4, "the kind of relation"};

/// What each target tensor is made of.
///
/// ```
/// mapping program;
/// auto q = program.source("q", {4, 8}, data_type::f32);
/// auto k = program.source("k", {2, 8}, data_type::f32);
/// program.define("qk", transpose(concat({q, k}, 0)));
/// ```
///
/// In whatever order keys come, a call takes time that grows as the logarithm of their number.
class mapping {
public:
    mapping() = default;

    /// A mapping over all tensors of `source`: the `key_id` of a tensor is its place in the
    /// catalog.
    explicit mapping(catalog const& source) {
        std::size_t characters = 0;
        for (catalog_entry const& entry : source)
            characters += entry.key.size();
        sources_.reserve(source.size(), characters);
        for (catalog_entry const& entry : source)
            sources_.push_back({entry.key, entry.shape, entry.dtype});
    }

    source_list const& sources() const { return sources_; }
    mapping_outputs const& outputs() const { return outputs_; }
    std::vector<std::string> const& removed() const { return removed_; }
    std::vector<relation> const& relations() const { return relations_; }

    /// The source tensor of that key as an expression; makes it known where it is new.
    ///
    /// \throws error with errc::shape_mismatch or errc::dtype_mismatch when the key is known as
    ///         another tensor
    expression source(std::string_view key, index_vector const& shape, data_type dtype) {
        for (; placed_ < sources_.size(); ++placed_)
            source_places_.append(sources_.key(placed_), placed_);
        auto const key_at = [this](key_id i) { return sources_.key(i); };
        if (auto const place = source_places_.find(key, key_at))
            return known(*place, shape, dtype);
        sources_.push_back({key, shape, dtype});
        return source_tensor(placed_, shape, dtype);
    }

    /// Source tensor number `id` as an expression.
    ///
    /// \pre `id < sources().size()`
    expression source(key_id id) const {
        BOOST_ASSERT(id < sources_.size());
        mapping_source const tensor = sources_[id];
        return source_tensor(id, tensor.shape, tensor.dtype);
    }

    /// Says what the target tensor `key` is; an earlier definition is replaced.
    void define(std::string_view key, expression value) {
        put({std::string(key), std::move(value), false});
    }

    /// Says that the target tensor `key` has no source: zeros in a file, left alone in memory.
    void add(std::string_view key, index_vector const& shape, data_type dtype) {
        put({std::string(key), zeros(shape, dtype), true});
    }

    /// Says that the source tensor `key` is knowingly not used.
    void remove(std::string_view key) { removed_.emplace_back(key); }

    /// Says that `entry.companion` follows `entry.key`; what it is made of is said by `define`.
    void relate(relation entry) { relations_.push_back(std::move(entry)); }

    /// The output of that key, or null. It stays where it is until the key is defined anew.
    mapping_output const* find(std::string_view key) const {
        auto const place = outputs_.find(key);
        return place != outputs_.end() ? &*place : nullptr;
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.sources_, self.outputs_, self.removed_, self.relations_);
    }

    bool operator==(mapping const& other) const {
        return sources_ == other.sources_ && outputs_ == other.outputs_ &&
               removed_ == other.removed_ && relations_ == other.relations_;
    }

private:
    void put(mapping_output output) {
        bool const is_last = outputs_.empty() || outputs_.rbegin()->key < output.key;
        auto place = is_last ? outputs_.end() : outputs_.lower_bound(output.key);
        if (place != outputs_.end() && place->key == output.key)
            place = outputs_.erase(place);
        outputs_.insert(place, std::move(output));
    }

    /// Source tensor number `i`, if it is of that shape and data type.
    expression known(key_id i, index_vector const& shape, data_type dtype) const {
        mapping_source const tensor = sources_[i];
        if (tensor.shape != shape)
            fail(errc::shape_mismatch, "'" + std::string(tensor.key) + "' has the shape " +
                                           to_string(tensor.shape) + ", not " + to_string(shape));
        if (tensor.dtype != dtype)
            fail(errc::dtype_mismatch, "'" + std::string(tensor.key) + "' is " +
                                           std::string(name(tensor.dtype)) + ", not " +
                                           std::string(name(dtype)));
        return source_tensor(i, shape, dtype);
    }

    source_list sources_;
    key_index source_places_; ///< of the first `placed_` sources
    key_id placed_ = 0;       ///< the others are noted when `source` looks for a key
    mapping_outputs outputs_;
    std::vector<std::string> removed_;
    std::vector<relation> relations_;
};

template <>
inline constexpr stored_form form_of<mapping>{"mapping", 3};

/// Of what is carried out (see `expr/digest.hpp`).
inline std::uint64_t digest_of(mapping const& program);

namespace detail {

/// What keeps `part` from being a piece of `output`, or nothing.
inline char const* unfit_piece(piece const& part, expression const& output,
                               source_list const& sources) {
    if (!contains(whole(output.shape), part.target_box()))
        return "leaves the tensor";
    if (result(part.stored, part.casts) != output.dtype)
        return "has another data type than the tensor";
    if (part.source == zero_source)
        return nullptr;
    if (part.source >= sources.size())
        return "is of a source that there is not";
    mapping_source const source = sources[part.source];
    if (source.dtype != part.stored)
        return "has another data type than its source";
    if (source.shape.size() != part.source_offset.size() ||
        !contains(whole(source.shape), part.source_box()))
        return "leaves its source";
    return nullptr;
}

/// \throws error with errc::bad_layout where the pieces are not those of a tensor: in its bounds, and each
///         element once
inline void check_pieces_of(mapping_output const& output, source_list const& sources) {
    piece_list const& pieces = output.value.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (char const* const fault = unfit_piece(pieces[i], output.value, sources))
            fail(errc::bad_layout, "it has a piece " + to_string(pieces.target_box(i)) + " of '" +
                                       output.key + "' that " + fault);
    if (auto const fault =
            find_cover_fault(whole(output.value.shape), box_index(pieces.target_boxes())))
        fail(errc::bad_layout, "it has pieces of '" + output.key + "' that have the elements " +
                                   to_string(fault->where) + " not exactly once");
    if (output.added && output.value != zeros(output.value.shape, output.value.dtype))
        fail(errc::bad_layout,
             "it has '" + output.key + "' as a tensor that is added, with a source");
}

} // namespace detail

/// \throws error with errc::bad_layout where a source stands twice, or where an output is not made of the
///         sources, each of its elements once
inline void validate(mapping const& program) {
    std::vector<std::string_view> keys;
    for (mapping_source const& source : program.sources())
        keys.push_back(source.key);
    std::sort(keys.begin(), keys.end());
    if (auto const twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end())
        fail(errc::bad_layout, "it has the source '" + std::string(*twice) + "' twice");
    for (mapping_output const& output : program.outputs())
        detail::check_pieces_of(output, program.sources());
}

/// The mapping in which every key of `target` is the source tensor of that name; without a target,
/// every source tensor is kept.
///
/// \throws error with errc::unknown_key when `source` does not have a key
inline mapping identity_mapping(catalog const& source, catalog const* target = nullptr) {
    mapping result(source);
    for (catalog_entry const& wanted : target ? *target : source) {
        catalog_entry const* const entry = source.find(wanted.key);
        if (!entry)
            fail(errc::unknown_key, "'" + wanted.key +
                                        "' is wanted, and the source does not have it" +
                                        did_you_mean_key(wanted.key, source, &catalog_entry::key));
        result.define(wanted.key, result.source(static_cast<key_id>(entry - &source[0])));
    }
    return result;
}

} // namespace reshard

#endif
