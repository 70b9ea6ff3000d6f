// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_MAPPING_HPP
#define RESHARD_EXPR_MAPPING_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/keyed_list.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/descriptor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A program as a value: the sources of each target tensor.

namespace reshard::detail {

/// A source tensor of a mapping; its index in the list is its `key_id`.
struct mapping_source {
    std::string_view key; ///< valid until a source is added
    index_vector shape;
    data_type dtype{};

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape);
    }

    bool operator==(mapping_source const&) const = default;
};

/// \throws error with errc::bad_layout or errc::overflow if such a tensor cannot exist
constexpr void validate(mapping_source const& tensor) {
    check_tensor(std::string(tensor.key), tensor.dtype, tensor.shape);
}

/// Source tensors by number; a matrix takes 32 bytes and the characters of its key.
///
/// A mapping has all tensors of a checkpoint, used or not, so the memory per tensor matters.
/// Expressions are built on demand.
class source_list {
public:
    using value_type = mapping_source;

    /// Visits the tensors in order, and returns each by value.
    class iterator {
    public:
        using value_type = mapping_source;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        iterator(source_list const& list, key_id id) : list_(&list), id_(id) {}

        mapping_source operator*() const { return (*list_)[id_]; }
        iterator& operator++() { return ++id_, *this; }
        iterator operator++(int) { return {*list_, id_++}; }
        bool operator==(iterator const&) const = default;

    private:
        source_list const* list_ = nullptr;
        key_id id_ = 0;
    };

    std::size_t size() const { return facts_.size(); }
    iterator begin() const { return {*this, 0}; }
    iterator end() const;

    /// \pre `id < size()`
    mapping_source operator[](key_id id) const;

    /// \pre `id < size()`
    std::string_view key(key_id id) const { return keys_[id]; }

    /// Reserves memory for `tensors` tensors, whose keys have `characters` characters in total.
    void reserve(std::size_t tensors, std::size_t characters);

    void push_back(mapping_source const& tensor);

    bool operator==(source_list const&) const = default;

private:
    struct facts {
        std::uint32_t first_extent;
        data_type dtype;
        std::uint8_t ndim;

        bool operator==(facts const&) const = default;
    };

    text_list keys_;
    vector<facts> facts_;
    vector<index_t> extents_;
};

} // namespace reshard::detail

namespace reshard {

/// A target tensor of a mapping.
struct mapping_output {
    std::string key;
    expression value;
    bool added = false; ///< `_ -> key`: has no source; its value is zeros

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.value, self.added);
    }

    bool operator==(mapping_output const&) const = default;
};

/// \throws error with errc::bad_layout or errc::overflow if such a tensor cannot exist
RESHARD_DECL void validate(mapping_output const& output);

namespace detail {

/// Target tensors in the order of their keys, each key once.
using mapping_outputs = keyed_list<mapping_output>;

/// Two tensors that belong together: a statement about the first applies to the second.
struct relation {
    enum class kind : std::uint8_t {
        state,        ///< optimizer state of the same shape
        scalar_state, ///< optimizer state that is one number
        scale,        ///< scales of the tensor's blocks
        alias,        ///< the same value under another name: a separate tensor in a target
        copy,         ///< a source tensor that has to be equal, and is not used
        tie,          ///< an alias that the caller declares to be the same tensor, written once
        number,       ///< a source number that has to be equal; both become one target number
        dequantize,   ///< source tensors: `key` is dequantized by the scales; the last one counts
        multiply,     ///< source tensors: the scales `key` are multiplied by one number
        divide,       ///< the same, divided
    } type{};
    std::string key;         ///< the parameter
    std::string companion;   ///< the tensor that follows it
    index_vector block = {}; ///< of scales: the extents of a block
    index_vector count = {}; ///< of scales: the number in a block, as in `block_form`

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.type, self.key, self.companion, self.block, self.count);
    }

    /// Whether source elements are compared.
    constexpr bool is_compared() const { return type == kind::copy || type == kind::number; }

    constexpr bool dequantizes() const { return type == kind::dequantize; }
    constexpr bool divides() const { return type == kind::divide; }

    /// Whether the relation is about the values of scales.
    constexpr bool is_of_values() const { return type >= kind::dequantize; }

    bool operator==(relation const&) const = default;
};

/// A source tensor that a macro took apart, and the interleaving that the macro expects.
struct taken_apart {
    key_id source = 0;
    fused_tensor fused;

    auto operator<=>(taken_apart const&) const = default;
};

/// Source tensors that were taken apart, by the output's key.
using taken_apart_lists = std::map<std::string, vector<taken_apart>, std::less<>>;

template <>
inline constexpr enum_range range_of_enum<relation::kind>{10, "the kind of relation"};

/// Source tensors that no source has: a value is quantised to make them. They have consecutive
/// numbers, and their keys are the names of the tensors with the scheme in parentheses.
struct quantised_value {
    std::string name;        ///< of the value, for messages
    std::string scheme;      ///< as `mapping::quantized` accepts it
    expression value;        ///< made of other source tensors
    vector<expression> kept; ///< the scales to use, in the order of the scheme; none: new ones
    key_id first = 0;        ///< the number of the first tensor
    key_id count = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.name, self.scheme, self.value, self.kept, self.first, self.count);
    }

    bool operator==(quantised_value const&) const = default;

    /// Calls `visit` with the number of the source tensor of each piece that has one.
    template <class Visit>
    void for_each_source(Visit&& visit) const {
        auto const visit_pieces = [&](expression const& of) {
            for (std::size_t i = 0; i < of.pieces.size(); ++i)
                if (key_id const id = of.pieces.source(i); id != zero_source)
                    visit(id);
        };
        visit_pieces(value);
        std::ranges::for_each(kept, visit_pieces);
    }
};

} // namespace detail

/// The definition of each target tensor.
///
/// ```
/// mapping program;
/// auto q = program.source("q", {4, 8}, data_type::f32);
/// auto k = program.source("k", {2, 8}, data_type::f32);
/// program.define("qk", transpose(concat({q, k}, 0)));
/// ```
///
/// For any order of keys, the time of a call grows with the logarithm of the number of keys.
class mapping {
public:
    mapping();
    mapping(mapping const& copied);
    mapping(mapping&& moved) noexcept;
    mapping& operator=(mapping const& copied);
    mapping& operator=(mapping&& moved) noexcept;
    ~mapping();

    /// A mapping over all tensors of `source`; a `key_id` is a tensor's index in the catalog.
    explicit mapping(catalog const& source);

    detail::source_list const& sources() const { return sources_; }
    detail::mapping_outputs const& outputs() const { return outputs_; }
    vector<std::string> const& removed() const { return removed_; }
    vector<detail::relation> const& relations() const { return relations_; }
    detail::fused_tensors const& fused() const { return fused_; }

    /// The source tensor of that key as an expression; adds it if it is new.
    ///
    /// \throws error with errc::shape_mismatch or errc::dtype_mismatch when the key is known with
    ///         another shape or data type
    expression source(std::string_view key, index_vector const& shape, data_type dtype);

    /// Source tensor number `id < sources().size()` as an expression.
    expression source(detail::key_id id) const;

    /// The elements of source tensor `key` times their scales, computed in f32 and rounded once to
    /// `dtype`. Element `i` of source tensor `scales` belongs to the elements of block `i`.
    ///
    /// \par Shape  `block` has the extent of a block for each axis of `key`, or 0 if all elements
    ///             of the axis share a scale; the last block along an axis may be smaller
    /// \throws     error with errc::unknown_key for a key that is not a source, with
    ///             errc::dtype_mismatch for other data types than floats and integers of 8 bits and
    ///             scales of floats, with errc::shape_mismatch for another number of axes. A call
    ///             with the program throws an error with errc::bad_layout unless there is one scale
    ///             for each block
    /// \par Source the attribute `dequantize` of AOA here; PaddlePaddle's LoadTransform
    expression dequantized(std::string_view key, std::string_view scales, index_vector const& block,
                           data_type dtype = data_type::bf16);

    /// The tensors that `scheme` stores for a value: its quantised numbers, then their scales. They
    /// are source tensors that are computed, and may be moved as any tensor; scales do not follow.
    /// Code that calls it without AOA includes `expr/quantize.hpp`.
    ///
    /// \param key    the key of the numbers, for messages
    /// \param scheme for example `fp8_block`; doc/aoa.md lists all
    /// \param kept   the scales to use, in the order of the scheme; empty: new ones are chosen
    /// \throws error with errc::usage for an unknown scheme or another number of scales,
    ///         errc::shape_mismatch and errc::dtype_mismatch for scales or a shape that the scheme
    ///         does not have, and unless the value has f16, bf16, f32 or f64; errc::unsupported if
    ///         the value is made of quantised tensors
    /// \par Source the attribute `quantize` of AOA here
    vector<expression> quantized(std::string_view key, expression const& value,
                                 std::string_view scheme, vector<expression> kept = {});

    /// Defines the target tensor `key`; replaces an earlier definition.
    void define(std::string_view key, expression value);

    /// Declares that the target tensor `key` has no source: zeros in a file, unchanged in memory.
    void add(std::string_view key, index_vector const& shape, data_type dtype);

    /// Declares that the source tensor `key` is intentionally unused.
    void remove(std::string_view key);

    /// Declares that `entry.companion` follows `entry.key`; `define` gives the companion's sources.
    void relate(detail::relation entry);

    /// Removes the relations that do not affect the values of tensors.
    void forget_relations();

    /// Declares that the target tensor `key` interleaves other tensors; replaces an earlier
    /// declaration. Stored mappings lack it, and comparisons ignore it.
    void fuse(std::string const& key, detail::fused_tensor tensor);

    /// Declares which source tensors macros took apart to make the target tensor `key`. Stored
    /// mappings lack it.
    void take_apart(std::string const& key, vector<detail::taken_apart> split_sources);
    detail::taken_apart_lists const& apart() const { return apart_; }

    /// Declares that `key` is not an output, although the program makes it: nothing reads it, and
    /// the target does not want it. Stored mappings lack it, and comparisons ignore it.
    void leave_over(std::string_view key);
    vector<std::string> const& left_over() const { return left_over_; }

    /// Adds source tensors that are computed from a value (see `quantized`).
    ///
    /// \param tensors their keys, shapes and data types
    /// \throws error with errc::usage if the source has such a key, errc::unsupported if the value
    ///         or a scale is made of such tensors itself
    vector<expression> add_quantised(detail::quantised_value added,
                                     vector<detail::mapping_source> const& tensors);
    vector<detail::quantised_value> const& quantised() const { return quantised_; }

    /// Makes these source tensors ordinary ones, for a source that has them.
    void forget_quantised() { quantised_.clear(); }

    /// The output of that key, or null. The pointer is valid until the key is redefined.
    mapping_output const* find(std::string_view key) const;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.sources_, self.outputs_, self.removed_, self.relations_, self.quantised_);
    }

    bool operator==(mapping const& other_mapping) const;

private:
    /// The number of the source tensor of that key.
    std::optional<detail::key_id> number_of(std::string_view key);

    /// Source tensor number `i`; checks its shape and data type.
    expression known(detail::key_id i, index_vector const& shape, data_type dtype) const;

    detail::source_list sources_;
    detail::key_index source_places_; ///< of the first `placed_` sources
    detail::key_id placed_ = 0;       ///< later sources are indexed when `source` needs them
    detail::mapping_outputs outputs_;
    vector<std::string> removed_;
    vector<detail::relation> relations_;
    detail::fused_tensors fused_;
    detail::taken_apart_lists apart_;
    vector<std::string> left_over_;
    vector<detail::quantised_value> quantised_;
};

namespace detail {

template <>
inline constexpr stored_form form_of<mapping>{"mapping", 6};

/// Whether a value is one whole source tensor, with its axes in order.
RESHARD_DECL bool is_whole_source(expression const& value, source_list const& sources);

/// The value from which a source tensor is quantised; null for tensors that the source has.
RESHARD_DECL quantised_value const* quantised_from(mapping const& program, key_id id);

/// Whether a program dequantizes a source tensor.
inline bool dequantizes(mapping const& program) {
    return std::ranges::any_of(program.relations(),
                               [](relation const& each) { return each.dequantizes(); });
}

/// Refuses a program that dequantizes or quantizes, for a call that cannot.
///
/// \param call the call in the message: `a save`
/// \throws error with errc::unsupported
RESHARD_DECL void refuse_quantised(mapping const& program, std::string_view call);

/// A digest of the effective members: sources, outputs, removed keys, and relations that affect
/// values or are compared. Equal mappings have equal digests on every machine.
RESHARD_DECL std::uint64_t digest_of(mapping const& program);

} // namespace detail

/// \throws error with errc::bad_layout if a source occurs twice, or if an output's pieces do not
///         cover each of its elements once
RESHARD_DECL void validate(mapping const& program);

/// The mapping of each key of `target` to the source tensor of the same name; without a target, of
/// every source tensor to itself.
///
/// \throws error with errc::unknown_key if `source` lacks a key of `target`
RESHARD_DECL mapping identity_mapping(catalog const& source, catalog const* target = nullptr);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/mapping.ipp>
#endif

#endif
