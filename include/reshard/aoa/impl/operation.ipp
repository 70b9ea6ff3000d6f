// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_OPERATION_IPP
#define RESHARD_AOA_IMPL_OPERATION_IPP

#include <reshard/aoa/operation.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/cast.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/concat.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/expr/reshape.hpp>
#include <reshard/expr/slice.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

namespace reshard::aoa::detail {

/// For example ` (did you mean 'bfloat16'?)`, for a type's name in safetensors headers, or for a
/// similar name.
inline std::string meant_type(std::string const& text) {
    std::string code;
    for (char const c : text)
        code += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (code.starts_with("FP")) // for example fp32
        code.erase(1, 1);
    if (auto const dtype = data_type_from_code(code))
        return " (did you mean '" + std::string(reshard::name(*dtype)) + "'?)";
    return did_you_mean(text, all_data_types, &data_type_facts::name);
}

/// The data type that an attribute names.
///
/// \pre    the attribute's value is a text
/// \throws statement_error with errc::dtype_mismatch for an unknown type
inline data_type dtype_in(attribute const& attribute) {
    std::string const& text = std::get<std::string>(attribute.value);
    if (auto const dtype = data_type_from_name(text))
        return *dtype;
    std::string known_names;
    for (data_type_facts const& each_type : all_data_types)
        known_names += (known_names.empty() ? "" : ", ") + std::string(each_type.name);
    throw statement_error{errc::dtype_mismatch,
                          words("unknown data type '", text, "'", meant_type(text),
                                "; the data types are ", known_names),
                          attribute.where};
}

/// The word of an attribute.
///
/// \throws statement_error with errc::syntax if the language has no such word
inline attribute_word const& known_word(attribute const& attribute) {
    if (attribute_word const* const word = find_attribute_word(attribute.word))
        return *word;
    std::string known_names;
    for (attribute_word const& each_word : attribute_words)
        known_names += (known_names.empty() ? "" : ", ") + std::string(each_word.word);
    throw statement_error{
        errc::syntax,
        words("unknown attribute '", attribute.word, "'",
              did_you_mean(attribute.word, attribute_words, &attribute_word::word),
              "; the attributes are ", known_names),
        attribute.where};
}

RESHARD_DECL void check_attribute(attribute const& attribute) {
    value_kind const wanted = known_word(attribute).value;
    value_kind const written = attribute.is_quoted() ? value_kind::text
                               : std::holds_alternative<index_t>(attribute.value)
                                   ? value_kind::number
                                   : value_kind::real;
    bool const fits =
        written == wanted || (written == value_kind::number && wanted == value_kind::real);
    if (wanted != value_kind::none && !fits)
        throw statement_error{errc::syntax,
                              words("the value of '", attribute.word, "' must be ",
                                    wanted == value_kind::text ? std::string("a quoted string")
                                    : wanted == value_kind::number
                                        ? "an integer, as in axis=0"
                                        : "a number, as in " + attribute.word + "=0.5"),
                              attribute.where};
}

RESHARD_DECL void check_text(attribute const& attribute) {
    if (attribute.word.ends_with("dtype"))
        dtype_in(attribute);
    else if (attribute.word == "slice")
        parse_ranges(attribute);
    else if (attribute.word == "reshape" || attribute.word == "resize")
        parse_extents(attribute);
    else if (attribute.word == "permute" || attribute.word == "sizes" || attribute.word == "blocks")
        parse_list(attribute);
}

RESHARD_DECL std::size_t axis_in(attribute const& attribute, expression const& tensor) {
    index_t const written = std::get<index_t>(attribute.value);
    auto const ndim = static_cast<index_t>(tensor.ndim());
    index_t const axis = written < 0 ? written + ndim : written;
    if (axis < 0 || axis >= ndim)
        fail(errc::shape_mismatch, "axis ", written, " is out of range for a tensor of ",
             counted(tensor.ndim(), "axis"), ", shape ", tensor.shape);
    return static_cast<std::size_t>(axis);
}

/// Refuses a macro's word in a statement that is to run.
///
/// \throws statement_error with errc::bad_macro for a macro, errc::syntax for a macro's attribute
[[noreturn]] inline void refuse_macro_word(attribute const& attribute) {
    if (known_word(attribute).value == value_kind::none)
        throw statement_error{errc::bad_macro,
                              words("the macro ", attribute.word, " has not been expanded"),
                              attribute.where};
    throw statement_error{
        errc::syntax,
        attribute.word == "copy_of"
            ? "'copy_of' is only allowed in a statement that removes a tensor, as in  head "
              "-> _, copy_of=\"embed\""
            : words("'", attribute.word, "' is only allowed with fused_qkv and fused_qkv_old"),
        attribute.where};
}

/// The extents; the missing extent is computed from `count` elements.
inline index_vector filled_in(vector<std::optional<index_t>> const& extents, index_t count,
                              attribute const& attribute) {
    index_vector shape, said;
    for (std::optional<index_t> const extent : extents) {
        if (extent && *extent < 0)
            throw statement_error{
                errc::shape_mismatch,
                words("the extent ", *extent, " is negative; write '*' for the remaining extent"),
                attribute.where};
        if (extent)
            said.push_back(*extent);
    }
    if (extents.size() > said.size() + 1)
        throw statement_error{errc::syntax,
                              words("a reshape can leave only one extent open, but '*' occurs ",
                                    extents.size() - said.size(), " times"),
                              attribute.where};
    index_t const product = element_count(said);
    if (extents.size() > said.size() && (product == 0 || count % product != 0))
        throw statement_error{errc::shape_mismatch,
                              words(counted(count, "element"), count == 1 ? " is" : " are",
                                    " not divisible by ", product, ", the product of the extents ",
                                    said, ", so '*' has no value"),
                              attribute.where};
    for (std::optional<index_t> const extent : extents)
        shape.push_back(extent ? *extent : count / product);
    return shape;
}

/// The shape of a tensor with one axis of extent 1 more, or less.
///
/// \throws error with errc::shape_mismatch if there is no such axis, or if it has another extent
inline index_vector shape_beside(attribute const& attribute, expression const& tensor) {
    bool const adds = attribute.word == "unsqueeze";
    index_t const written = std::get<index_t>(attribute.value);
    auto const ndim = static_cast<index_t>(tensor.ndim()) + (adds ? 1 : 0);
    index_t const axis = written < 0 ? written + ndim : written;
    if (axis < 0 || axis >= ndim)
        fail(errc::shape_mismatch, "axis ", written, " is out of range for a tensor of ",
             counted(tensor.ndim(), "axis"), ", shape ", tensor.shape);
    if (adds && ndim > static_cast<index_t>(max_ndim))
        fail(errc::shape_mismatch, "a tensor has at most ", counted(max_ndim, "axis"),
             ", and this one has the shape ", tensor.shape);
    index_vector shape;
    for (std::size_t i = 0; i < tensor.ndim(); ++i) {
        if (static_cast<index_t>(i) == axis && adds)
            shape.push_back(1);
        if (static_cast<index_t>(i) != axis || adds)
            shape.push_back(tensor.shape[i]);
        else if (tensor.shape[i] != 1)
            fail(errc::shape_mismatch, "axis ", axis, " of shape ", tensor.shape,
                 " has the extent ", tensor.shape[i],
                 ", and only an axis of extent 1 can be "
                 "dropped; an unstack has as many results as its axis is long");
    }
    if (adds && axis + 1 == ndim)
        shape.push_back(1);
    return shape;
}

/// The shape of a tensor after `resize="[...]"`: the list, with the extents in `shape` for `*`.
///
/// \throws statement_error with errc::syntax
inline index_vector resized_shape(index_vector const& shape, attribute const& attribute) {
    index_vector extents;
    for (std::optional<index_t> const written : parse_extents(attribute)) {
        std::size_t const axis = extents.size();
        extents.push_back(written.value_or(axis < shape.size() ? shape[axis] : 0));
    }
    return extents;
}

RESHARD_DECL vector<expression> operation::run(vector<attribute> const& attributes) {
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        check_attribute(attributes[i]);
        apply(attributes, i);
    }
    if (!joined_ && (is_concat_ || result_count_ > 1))
        throw statement_error{
            errc::syntax,
            words(is_concat_ ? "a concat" : "a split", " needs an axis, as in axis=0"),
            {}};
    if (made_.empty())
        made_.push_back(*values_[0]);
    return std::move(made_);
}

RESHARD_DECL void operation::apply(vector<attribute> const& list, std::size_t i) {
    attribute const& attribute = list[i];
    limit_ = piece_limit(pieces_ ? pieces_->left() : piece_limit::default_most);
    bool const is_single = result_count_ == 1 && values_.size() == 1;
    if (attribute.word == "axis")
        return join(list, i);
    if (attribute.word == "permute")
        return each_value(attribute, "permute of", [&](expression const& value) {
            auto const axes = parse_list(attribute);
            return axes.empty() ? transpose(value)
                                : permute(value, index_vector(axes.begin(), axes.end()));
        });
    if (attribute.word == "slice")
        return each_value(attribute, "slice of", [&](expression const& value) {
            return slice(value, parse_ranges(attribute));
        });
    if (attribute.word == "reshape")
        return each_value(attribute, "reshape of", [&](expression const& value) {
            index_vector const extents =
                filled_in(parse_extents(attribute), element_count(value.shape), attribute);
            return reshape(
                value, reshaped_shape(value.shape, extents, is_single ? wanted_ : nullptr), limit_);
        });
    if (attribute.word == "resize")
        return each_value(attribute, "resize of", [&](expression const& value) {
            return resize(value, resized_shape(value.shape, attribute));
        });
    if (attribute.word == "unsqueeze" || attribute.word == "squeeze")
        return each_value(attribute, attribute.word + " of", [&](expression const& value) {
            return reshape(value, shape_beside(attribute, value), limit_);
        });
    if (attribute.word == "dtype")
        return cast_to(attribute);
    if (attribute.word == "src_dtype" || attribute.word == "dst_dtype")
        return cast_between(list, i);
    if (is_arithmetic(attribute.word))
        return compute(list, i);
    if (attribute.word == "dequantize")
        return dequantize(list, i);
    if (attribute.word == "sizes")
        return check_sizes(list, i);
    if (attribute.word == "scales" || attribute.word == "blocks")
        return; // a declaration for the whole program; with_scales has read it
    refuse_macro_word(attribute);
}

RESHARD_DECL void operation::join(vector<attribute> const& list, std::size_t i) {
    attribute const& current_attribute = list[i];
    if (joined_)
        throw statement_error{errc::syntax, "'axis' is given twice", current_attribute.where};
    joined_ = true;
    if (!is_concat_ && result_count_ == 1)
        return remark("no_effect", operand_name(0),
                      "axis=" + std::to_string(std::get<index_t>(current_attribute.value)) +
                          " has no effect in a statement with one tensor on each side");
    auto const about = [&] { return is_concat_ ? result_name(0) : operand_name(0); };
    at(current_attribute, is_concat_ ? "concat into" : "split of", about, [&] {
        std::size_t const axis = axis_in(current_attribute, *values_[0]);
        attribute const* const sizes = find_attribute(list, "sizes");
        if (is_concat_) {
            check_pieces();
            if (sizes)
                check_extents(*sizes, axis);
            return become(
                concat(values_, axis, [&](std::size_t k) { return "'" + operand_name(k) + "'"; }));
        }
        become(sizes ? split(*values_[0], axis, sized(*sizes, result_count_), limit_)
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

RESHARD_DECL void operation::become(vector<expression> expressions) {
    if (pieces_) {
        std::size_t pieces = 0;
        for (expression const& value : expressions)
            pieces += value.pieces.size();
        if (!pieces_->take(pieces))
            refuse_pieces();
    }
    made_ = std::move(expressions);
    values_.clear();
    for (expression const& value : made_)
        values_.push_back(&value);
}

RESHARD_DECL void operation::become(expression new_expression) {
    vector<expression> expressions;
    expressions.push_back(std::move(new_expression));
    become(std::move(expressions));
}

RESHARD_DECL vector<index_t> operation::sized(attribute const& sizes, std::size_t count) const {
    auto const numbers = parse_list(sizes);
    if (numbers.size() != count)
        throw statement_error{errc::shape_mismatch,
                              words(numbers.size() == 1 ? "there is " : "there are ",
                                    counted(numbers.size(), "size"), " for ",
                                    counted(count, "tensor")),
                              sizes.where};
    return numbers;
}

RESHARD_DECL void operation::check_extents(attribute const& sizes, std::size_t axis) const {
    auto const numbers = sized(sizes, values_.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        index_vector const& shape = values_[i]->shape;
        if (axis < shape.size() && shape[axis] != numbers[i])
            throw statement_error{errc::shape_mismatch,
                                  words("'", operand_name(i), "' has the extent ", shape[axis],
                                        " along axis ", axis, ", but its size is given as ",
                                        numbers[i]),
                                  sizes.where};
    }
}

RESHARD_DECL void operation::check_sizes(vector<attribute> const& list, std::size_t i) const {
    if (result_count_ == 1 && !is_concat_)
        throw statement_error{errc::syntax, "'sizes' is only allowed in a split or a concat",
                              list[i].where};
    if (find_attribute(list, "sizes") != &list[i])
        throw statement_error{errc::syntax, "'sizes' is given twice", list[i].where};
}

RESHARD_DECL void operation::cast_to(attribute const& attribute) {
    data_type const dtype = dtype_in(attribute);
    each_value(attribute, "cast of", [&](expression const& value) { return cast(value, dtype); });
}

/// Refuses a number that an f64 cannot hold: too large, or too small and not zero.
///
/// \throws statement_error with errc::overflow
inline void check_number(attribute const& attribute) {
    auto const* const text = std::get_if<std::string>(&attribute.value);
    double const number = *attribute.number();
    bool const has_digits =
        text && text->substr(0, text->find_first_of("eE")).find_first_of("123456789") != text->npos;
    if (has_digits && (number == 0 || std::isinf(number)))
        throw statement_error{errc::overflow,
                              words("an f64 cannot hold the number ", *text,
                                    number == 0 ? ", which is too small" : ", which is too large"),
                              attribute.where};
}

RESHARD_DECL void operation::compute(vector<attribute> const& list, std::size_t i) {
    if (i > 0 && is_arithmetic(list[i - 1].word))
        return; // done with the first one
    std::size_t end = i;
    for (; end < list.size() && is_arithmetic(list[end].word); ++end) {
        check_attribute(list[end]);
        check_number(list[end]);
    }
    bool const is_cast = end < list.size() && list[end].word == "dtype";
    vector<data_type> results;
    for (expression const* const value : values_)
        results.push_back(!is_cast ? value->dtype
                          : is_floating(dtype_in(list[end]))
                              ? dtype_in(list[end])
                              : computing_type(value->dtype, value->dtype));
    for (; i < end; ++i) {
        auto result = results.begin();
        bool const is_sum = list[i].word == "add";
        each_value(list[i], is_sum ? "sum of" : "product of", [&](expression const& value) {
            data_type const rounded = *result++;
            data_type const dtype = i + 1 < end ? computing_type(value.dtype, rounded) : rounded;
            double const operand = *list[i].number();
            return is_sum ? shifted(value, operand, dtype) : scaled(value, operand, dtype);
        });
    }
}

RESHARD_DECL void operation::dequantize(vector<attribute> const& list, std::size_t i) {
    bool const is_cast = i + 1 < list.size() && list[i + 1].word == "dtype";
    data_type const wanted = is_cast ? dtype_in(list[i + 1]) : data_type::bf16;
    bool const is_direct =
        is_floating(wanted) && computing_type(data_type::f32, wanted) == data_type::f32;
    each_value(list[i], "dequantization of", [&](expression const& value) {
        auto const by_type =
            may_be_dequantized(value.dtype) ? std::optional(value_packing::none) : std::nullopt;
        auto const packing = packing_of_ ? packing_of_(value) : by_type;
        return packing ? dequantized(value, *packing, is_direct ? wanted : data_type::f32) : value;
    });
}

RESHARD_DECL void operation::cast_between(vector<attribute> const& list, std::size_t i) {
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
           "src_dtype is " + std::string(reshard::name(dtype)) + ", but '" + key + "' is " +
               std::string(reshard::name((*first)->dtype)) +
               (more > 0 ? "; others that differ: " + std::to_string(more) : ""));
}

} // namespace reshard::aoa::detail

#endif
