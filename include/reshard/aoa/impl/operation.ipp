// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_OPERATION_IPP
#define RESHARD_AOA_IMPL_OPERATION_IPP

#include <reshard/aoa/operation.hpp>

#include <reshard/aoa/check_attribute.hpp>
#include <reshard/aoa/list_text.hpp>
#include <reshard/aoa/reshape_text.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/cast.hpp>
#include <reshard/expr/concat.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/expr/reshape.hpp>
#include <reshard/expr/resize.hpp>

#include <algorithm>
#include <tuple>

namespace reshard::aoa::detail {

RESHARD_DECL std::vector<expression> operation::run(std::vector<attribute> const& attributes) {
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        check_attribute(attributes[i]);
        apply(attributes, i);
    }
    if (!joined_ && (is_concat_ || result_count_ > 1))
        throw statement_error{errc::syntax,
                              std::string(is_concat_ ? "a concat" : "a split") +
                                  " needs an axis, as in axis=0",
                              {}};
    if (made_.empty())
        made_.push_back(*values_[0]);
    return std::move(made_);
}

RESHARD_DECL void operation::apply(std::vector<attribute> const& list, std::size_t i) {
    attribute const& one = list[i];
    limit_ = reshard::detail::piece_limit(pieces_ ? pieces_->left()
                                                  : reshard::detail::piece_limit::default_most);
    bool const is_single = result_count_ == 1 && values_.size() == 1;
    if (one.word == "axis")
        return join(list, i);
    if (one.word == "permute")
        return each_value(one, "permute of", [&](expression const& value) {
            auto const axes = parse_list(one);
            return axes.empty() ? transpose(value)
                                : permute(value, index_vector(axes.begin(), axes.end()));
        });
    if (one.word == "slice")
        return each_value(one, "slice of",
                          [&](expression const& value) { return slice(value, parse_ranges(one)); });
    if (one.word == "reshape")
        return each_value(one, "reshape of", [&](expression const& value) {
            return reshape(value, reshaped_shape(value.shape, one, is_single ? wanted_ : nullptr),
                           limit_);
        });
    if (one.word == "resize")
        return each_value(one, "resize of", [&](expression const& value) {
            return resize(value, resized_shape(value.shape, one));
        });
    if (one.word == "dtype")
        return cast_to(one);
    if (one.word == "src_dtype" || one.word == "dst_dtype")
        return cast_between(list, i);
    if (one.word == "sizes")
        return check_sizes(list, i);
    if (one.word == "scales" || one.word == "blocks")
        return; // of the whole program: with_scales has read it
    refuse_macro_word(one);
}

RESHARD_DECL void operation::join(std::vector<attribute> const& list, std::size_t i) {
    attribute const& one = list[i];
    if (joined_)
        throw statement_error{errc::syntax, "'axis' is given twice", one.where};
    joined_ = true;
    if (!is_concat_ && result_count_ == 1)
        return remark("no_effect", operand_name(0),
                      "axis=" + std::to_string(std::get<index_t>(one.value)) +
                          " has no effect on a statement of one tensor to one");
    auto const about = [&] { return is_concat_ ? result_name(0) : operand_name(0); };
    at(one, is_concat_ ? "concat into" : "split of", about, [&] {
        std::size_t const axis = axis_in(one, *values_[0]);
        if (is_concat_) {
            check_pieces();
            return become(
                concat(values_, axis, [&](std::size_t k) { return "'" + operand_name(k) + "'"; }));
        }
        attribute const* const sizes = find_attribute(list, "sizes");
        become(sizes ? split(*values_[0], axis, sized(*sizes), limit_)
                     : split(*values_[0], axis, result_count_, limit_));
    });
    made_results_ = true;
}

RESHARD_DECL void operation::refuse_pieces() const {
    throw statement_error{errc::limit_exceeded, pieces_->refusal(), {}};
}

RESHARD_DECL void operation::check_pieces() const {
    std::size_t pieces = 0;
    for (expression const* const value : values_)
        pieces += value->pieces.size();
    if (pieces_ && pieces > pieces_->left())
        refuse_pieces();
}

RESHARD_DECL void operation::become(std::vector<expression> made) {
    if (pieces_) {
        std::size_t pieces = 0;
        for (expression const& value : made)
            pieces += value.pieces.size();
        if (!pieces_->take(pieces))
            refuse_pieces();
    }
    made_ = std::move(made);
    values_.clear();
    for (expression const& value : made_)
        values_.push_back(&value);
}

RESHARD_DECL void operation::become(expression made) {
    std::vector<expression> one;
    one.push_back(std::move(made));
    become(std::move(one));
}

RESHARD_DECL std::vector<index_t> operation::sized(attribute const& sizes) const {
    auto const numbers = parse_list(sizes);
    if (numbers.size() != result_count_)
        throw statement_error{errc::shape_mismatch,
                              "there are " + std::to_string(numbers.size()) + " sizes for " +
                                  std::to_string(result_count_) + " tensors",
                              sizes.where};
    return numbers;
}

RESHARD_DECL void operation::check_sizes(std::vector<attribute> const& list, std::size_t i) const {
    if (result_count_ == 1)
        throw statement_error{errc::syntax, "'sizes' is only allowed in a split", list[i].where};
    if (find_attribute(list, "sizes") != &list[i])
        throw statement_error{errc::syntax, "'sizes' is given twice", list[i].where};
}

RESHARD_DECL void operation::cast_to(attribute const& one) {
    data_type const dtype = dtype_in(one);
    each_value(one, "cast of", [&](expression const& value) {
        if (!reshard::detail::is_castable(value.dtype, dtype))
            fail(errc::dtype_mismatch, std::string(reshard::name(value.dtype)) +
                                           " cannot be cast to " +
                                           std::string(reshard::name(dtype)));
        return cast(value, dtype);
    });
}

RESHARD_DECL void operation::cast_between(std::vector<attribute> const& list, std::size_t i) {
    bool const is_first = list[i].word == "src_dtype";
    bool const paired = is_first ? i + 1 < list.size() && list[i + 1].word == "dst_dtype"
                                 : i > 0 && list[i - 1].word == "src_dtype";
    if (!paired)
        throw statement_error{errc::syntax,
                              "'src_dtype' and 'dst_dtype' must be given together, "
                              "in this order",
                              list[i].where};
    if (!is_first)
        return cast_to(list[i]);
    remark_other_types(dtype_in(list[i]));
}

RESHARD_DECL void operation::remark_other_types(data_type dtype) {
    auto const differs = [&](expression const* value) { return value->dtype != dtype; };
    auto const first = std::ranges::find_if(values_, differs);
    if (first == values_.end())
        return;
    auto const more = std::count_if(first + 1, values_.end(), differs);
    std::string const key = value_name(static_cast<std::size_t>(first - values_.begin()));
    remark("other_dtype", key,
           "src_dtype is " + std::string(reshard::name(dtype)) + ", and '" + key + "' is " +
               std::string(reshard::name((*first)->dtype)) +
               (more > 0 ? "; others that differ: " + std::to_string(more) : ""));
}

} // namespace reshard::aoa::detail

#endif
