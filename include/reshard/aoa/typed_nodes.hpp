// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_TYPED_NODES_HPP
#define RESHARD_AOA_TYPED_NODES_HPP

#include <reshard/aoa/typed_text.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/step_chain.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/typed_source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// \file
/// The operations and operands of statements, as numbers.

namespace reshard::aoa::detail {

/// An operation of the algebra. Its operands are earlier nodes.
struct typed_node {
    enum class operation : std::uint8_t { source, concat, slice, permute, reshape, cast };

    operation type{};
    data_type dtype{};
    std::uint32_t first = 0; ///< first operand, in a list for all nodes; for a source: the tensor
    std::uint32_t count = 0; ///< number of operands
    std::size_t axis = 0;    ///< axis of a concat
    index_vector shape{};
    index_vector numbers{}; ///< order of a permutation, or first element of a slice
};

/// Makes the nodes of statements, up to the first fault.
class node_maker {
public:
    constexpr program_fault const& fault() const { return fault_; }
    constexpr vector<typed_node> const& nodes() const { return nodes_; }
    constexpr vector<std::uint32_t> const& operands() const { return operands_; }
    /// The operands of the current statement, and later its results.
    constexpr vector<std::uint32_t> const& values() const { return values_; }

    /// Stores the fault unless `is_right`; returns `is_right`.
    constexpr bool require(bool is_right, program_fault const& fault) {
        return is_right || (fault_ = fault, false);
    }
    constexpr bool require(bool is_right, refusal reason, std::size_t offset) {
        return require(is_right, {reason, number_, offset});
    }

    /// Begins statement `number`, which has `results` results.
    constexpr void begin(std::size_t number, std::size_t results) {
        number_ = number;
        results_ = results;
        values_.clear();
    }

    /// Adds an operand of the statement: a node, or a source tensor.
    constexpr void add_operand(std::uint32_t node) { values_.push_back(node); }
    constexpr void add_operand(std::size_t tensor, data_type dtype, index_vector const& shape) {
        add_operand(
            add({.dtype = dtype, .first = static_cast<std::uint32_t>(tensor), .shape = shape}));
    }

    /// Applies the attributes, from left to right.
    ///
    /// \param wanted the target's shape of the first result, or null
    /// \param offset offset of the statement
    constexpr bool apply(std::span<text_attribute const> list, index_vector const* wanted,
                         std::size_t offset) {
        list_ = list;
        bool const single = values_.size() == 1 && results_ == 1;
        wanted_ = single ? wanted : nullptr;
        is_concat_ = values_.size() > 1;
        has_axis_ = false;
        for (text_attribute const& attribute : list)
            if (!require(attribute.row != nullptr, refusal::unknown_word, attribute.offset) ||
                !check_kind(attribute, attribute.row->value) || !apply(attribute))
                return false;
        return require(has_axis_ || single, is_concat_ ? refusal::concat_axis : refusal::split_axis,
                       offset);
    }

private:
    using operation = typed_node::operation;
    using sizes = vector<index_t>;

    constexpr std::uint32_t add(typed_node const& node) {
        nodes_.push_back(node);
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    }

    constexpr std::uint32_t make(typed_node node, operation type,
                                 std::span<std::uint32_t const> operands) {
        node.type = type;
        node.first = static_cast<std::uint32_t>(operands_.size());
        node.count = static_cast<std::uint32_t>(operands.size());
        operands_.insert(operands_.end(), operands.begin(), operands.end());
        return add(node);
    }

    constexpr bool check_kind(text_attribute const& attribute, value_kind wanted) {
        bool const is_real = wanted == value_kind::real && attribute.value == value_kind::number;
        return require(attribute.value == wanted || is_real,
                       wanted == value_kind::number ? refusal::no_number : refusal::no_text,
                       attribute.offset);
    }

    constexpr text_attribute const* find(std::string_view word) const {
        auto const index = std::ranges::find(list_, word, &text_attribute::word);
        return index == list_.end() ? nullptr : &*index;
    }

    constexpr bool apply(text_attribute const& attribute) {
        if (attribute.word == "axis")
            return join(attribute);
        if (attribute.word == "sizes")
            return require(is_concat_ || results_ > 1, refusal::lone_sizes, attribute.offset) &&
                   require(find("sizes") == &attribute, refusal::second_sizes, attribute.offset);
        if (attribute.word.ends_with("dtype"))
            return cast(attribute);
        if (attribute.word == "permute")
            return permute(attribute);
        return require(attribute.word == "reshape", refusal::run_time, attribute.offset) &&
               reshape(attribute);
    }

    constexpr bool permute(text_attribute const& attribute) {
        vector<index_t> axes;
        if (!require(read_list(attribute.text, take_integer, axes), refusal::no_integers,
                     attribute.offset) ||
            !require(axes.size() <= max_ndim, refusal::axes, attribute.offset))
            return false;
        for (std::uint32_t& value : values_) {
            typed_node node = nodes_[value];
            std::size_t const ndim = node.shape.size();
            node.numbers = index_vector(axes.begin(), axes.end());
            for (std::size_t i = ndim; axes.empty() && i > 0; --i)
                node.numbers.push_back(static_cast<index_t>(i - 1));
            if (!require(is_order(node.numbers, ndim), refusal::order, attribute.offset))
                return false;
            for (std::size_t i = 0; i < ndim; ++i)
                node.shape[i] = nodes_[value].shape[static_cast<std::size_t>(node.numbers[i])];
            value = make(node, operation::permute, {&value, 1});
        }
        return true;
    }

    constexpr bool reshape(text_attribute const& attribute) {
        vector<std::optional<index_t>> extents;
        if (!require(read_list(attribute.text, take_extent, extents), refusal::no_extents,
                     attribute.offset))
            return false;
        for (std::uint32_t& value : values_) {
            typed_node node = nodes_[value];
            if (!fill_in(extents, attribute.offset, node.shape))
                return false;
            node.shape = reshaped_shape(nodes_[value].shape, node.shape, wanted_);
            value = make(node, operation::reshape, {&value, 1});
        }
        return true;
    }

    /// Sets `shape` to the written extents; the extent for `*` is computed.
    constexpr bool fill_in(vector<std::optional<index_t>> const& extents, std::size_t offset,
                           index_vector& shape) {
        index_vector said;
        for (std::optional<index_t> const& extent : extents)
            if (require(extent.value_or(0) >= 0, refusal::negative, offset) &&
                require(said.size() < max_ndim, refusal::axes, offset))
                said.push_back(extent.value_or(1));
            else
                return false;
        auto const open = std::ranges::find(extents, std::optional<index_t>());
        if (!require(std::ranges::count(extents, std::optional<index_t>()) < 2,
                     refusal::open_extents, offset) ||
            !require(is_shape(said), refusal::product, offset))
            return false;
        index_t const count = element_count(shape), product = element_count(said);
        shape = said;
        if (open == extents.end())
            return require(product == count, refusal::other_count, offset);
        if (!require(product != 0 && count % product == 0, refusal::no_open_extent, offset))
            return false;
        shape[static_cast<std::size_t>(open - extents.begin())] = count / product;
        return true;
    }

    constexpr bool join(text_attribute const& attribute) {
        if (!require(!has_axis_, refusal::second_axis, attribute.offset))
            return false;
        has_axis_ = true;
        if (!is_concat_ && results_ == 1)
            return true;
        auto const ndim = static_cast<index_t>(nodes_[values_[0]].shape.size());
        index_t const axis = attribute.number + (attribute.number < 0 ? ndim : 0);
        if (!require(axis >= 0 && axis < ndim, refusal::no_axis, attribute.offset))
            return false;
        sizes written;
        text_attribute const* const given = find("sizes");
        sizes const* const chosen = given != nullptr ? &written : nullptr;
        if (given != nullptr && !read_sizes(*given, written))
            return false;
        return is_concat_ ? concat(static_cast<std::size_t>(axis), chosen, attribute.offset)
                          : split(static_cast<std::size_t>(axis), chosen, attribute.offset);
    }

    constexpr bool read_sizes(text_attribute const& attribute, sizes& written) {
        if (!check_kind(attribute, value_kind::text))
            return false;
        return require(read_list(attribute.text, take_integer, written), refusal::no_integers,
                       attribute.offset) &&
               require(written.size() == (is_concat_ ? values_.size() : results_),
                       refusal::size_count, attribute.offset);
    }

    constexpr bool concat(std::size_t axis, sizes const* written, std::size_t offset) {
        typed_node node = nodes_[values_[0]];
        for (std::size_t k = 0; written && k < values_.size(); ++k)
            if (index_vector const& shape = nodes_[values_[k]].shape; axis < shape.size())
                if (!require(shape[axis] == (*written)[k], refusal::size_of_operand,
                             find("sizes")->offset))
                    return false;
        for (std::size_t k = 1; k < values_.size(); ++k) {
            typed_node const& operand = nodes_[values_[k]];
            if (!require(operand.shape.size() == node.shape.size(), refusal::other_ndim, offset) ||
                !require(operand.dtype == node.dtype, refusal::other_type, offset) ||
                !require(join_along(node.shape, operand.shape, axis), refusal::other_extent,
                         offset) ||
                !require(!__builtin_add_overflow(node.shape[axis], operand.shape[axis],
                                                 &node.shape[axis]),
                         refusal::sum, offset))
                return false;
        }
        node.axis = axis;
        std::uint32_t const number = make(node, operation::concat, values_);
        values_.assign(1, number);
        return true;
    }

    constexpr bool split(std::size_t axis, sizes const* written, std::size_t offset) {
        typed_node node = nodes_[values_[0]];
        auto const count = static_cast<index_t>(results_);
        index_t const extent = node.shape[axis];
        if (!require(written || extent % count == 0, refusal::uneven, offset))
            return false;
        node.numbers = index_vector::filled(node.shape.size(), 0);
        vector<std::uint32_t> parts;
        for (std::size_t i = 0; i < results_; ++i, node.numbers[axis] += node.shape[axis]) {
            node.shape[axis] = written ? (*written)[i] : extent / count;
            if (!require(node.shape[axis] >= 0 && node.shape[axis] <= extent - node.numbers[axis],
                         refusal::size_of_part, offset))
                return false;
            parts.push_back(make(node, operation::slice, values_));
        }
        values_ = parts;
        return require(node.numbers[axis] == extent, refusal::size_sum, offset);
    }

    /// `src_dtype` and `dst_dtype` occur together, in this order.
    constexpr bool cast(text_attribute const& attribute) {
        auto const index = &attribute - list_.data();
        bool const is_first = attribute.word == "src_dtype";
        auto const other = static_cast<std::size_t>(is_first ? index + 1 : index - 1);
        bool const is_paired =
            other < list_.size() && list_[other].word == (is_first ? "dst_dtype" : "src_dtype");
        auto const dtype = data_type_from_name(attribute.text);
        if (!require(attribute.word == "dtype" || is_paired, refusal::lone_type,
                     attribute.offset) ||
            !require(dtype.has_value(), refusal::unknown_type, attribute.offset))
            return false;
        for (std::size_t k = 0; !is_first && k < values_.size(); ++k) {
            typed_node node = nodes_[values_[k]];
            if (!require(is_castable(node.dtype, *dtype),
                         is_complex(node.dtype) ? refusal::real : refusal::complex,
                         attribute.offset))
                return false;
            node.dtype = *dtype;
            values_[k] = make(node, operation::cast, {&values_[k], 1});
        }
        return true;
    }

    program_fault fault_;
    std::size_t number_ = 0; ///< number of the current statement
    std::size_t results_ = 0;
    bool is_concat_ = false;
    bool has_axis_ = false;
    std::span<text_attribute const> list_;
    index_vector const* wanted_ = nullptr;
    vector<std::uint32_t> values_;
    vector<typed_node> nodes_;
    vector<std::uint32_t> operands_;
};

} // namespace reshard::aoa::detail

#endif
