// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_OPERATION_HPP
#define RESHARD_AOA_OPERATION_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/list_text.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/reshape_text.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/nearest.hpp>
#include <reshard/expr/algebra.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// What the attributes of one statement do to its tensors: calls of the algebra, from left to
/// right.

namespace reshard::aoa {

/// Runs one statement on expressions, which are copied only where nothing is done to them.
///
/// Attributes apply from left to right. Those before the `axis` of a concat apply to each of its
/// operands, those behind the `axis` of a split to each of its parts.
class operation {
public:
    /// `left` and `right` name the first operand and the first result in messages; `parts` is how
    /// many tensors the statement makes. Operands and names have to outlive this.
    operation(std::vector<expression const*> operands, std::string_view left,
              std::string_view right, std::size_t parts)
        : values_(std::move(operands)),
          left_(left),
          right_(right),
          is_concat_(values_.size() > 1),
          parts_(parts) {}

    /// Says of which shape the target wants the first result, or null where that is not known.
    void expect(index_vector const* wanted) { wanted_ = wanted; }

    /// Says how many pieces may be made; of those that are, the budget is told.
    void allow(budget& pieces) { pieces_ = &pieces; }

    /// The tensors that the statement makes, `parts` of them.
    ///
    /// \throws statement_error with errc::syntax for attributes that the statement cannot have,
    ///         errc::shape_mismatch, errc::dtype_mismatch, errc::unsupported or
    ///         errc::limit_exceeded
    std::vector<expression> run(std::vector<attribute> const& attributes) {
        for (std::size_t i = 0; i < attributes.size(); ++i) {
            check_kind(attributes[i]);
            apply(attributes, i);
        }
        if (!joined_ && (is_concat_ || parts_ > 1))
            throw statement_error{errc::syntax,
                                  std::string(is_concat_ ? "a concat" : "a split") +
                                      " needs an axis, as in axis=0",
                                  {}};
        if (made_.empty())
            made_.push_back(*values_[0]);
        return std::move(made_);
    }

    /// Remarks on attributes: code and message.
    std::vector<std::pair<std::string, std::string>> const& remarks() const { return remarks_; }

private:
    static void check_kind(attribute const& one) {
        attribute_word const* const word = find_attribute_word(one.word);
        if (!word) {
            std::string known;
            for (attribute_word const& each_word : attribute_words)
                known += (known.empty() ? "" : ", ") + std::string(each_word.word);
            throw statement_error{
                errc::syntax,
                "there is no attribute '" + one.word + "'" +
                    did_you_mean(one.word, attribute_words, &attribute_word::word) +
                    "; there are " + known,
                one.where};
        }
        bool const fits =
            word->value == value_kind::none ||
            std::holds_alternative<index_t>(one.value) == (word->value == value_kind::number);
        if (!fits)
            throw statement_error{errc::syntax,
                                  "the value of '" + one.word + "' is " +
                                      (word->value == value_kind::number
                                           ? "an integer, as in axis=0"
                                           : "a quoted text"),
                                  one.where};
    }

    void apply(std::vector<attribute> const& list, std::size_t i) {
        attribute const& one = list[i];
        bool const is_single = parts_ == 1 && values_.size() == 1;
        if (one.word == "axis")
            return join(list, i);
        if (one.word == "permute")
            return each_value(one, "permute of", [&](expression const& value) {
                auto const axes = parse_list(one);
                return axes.empty() ? transpose(value)
                                    : permute(value, index_vector(axes.begin(), axes.end()));
            });
        if (one.word == "slice")
            return each_value(one, "slice of", [&](expression const& value) {
                return slice(value, parse_ranges(one));
            });
        if (one.word == "reshape")
            return each_value(one, "reshape of", [&](expression const& value) {
                return reshape(
                    value, reshaped_shape(value.shape, one, is_single ? wanted_ : nullptr), limit_);
            });
        if (one.word == "resize")
            return each_value(one, "resize of", [&](expression const& value) {
                return resize(value, extents_for(value, one));
            });
        if (one.word == "dtype")
            return cast_to(one);
        if (one.word == "src_dtype" || one.word == "dst_dtype")
            return cast_between(list, i);
        if (one.word == "sizes")
            return check_sizes(list, i);
        if (one.word == "scales" || one.word == "blocks")
            return; // of the whole program: with_scales has read it
        refuse_word(one);
    }

    /// The extents of a `resize`, those of the tensor for `*`.
    static index_vector extents_for(expression const& value, attribute const& one) {
        index_vector extents;
        for (std::optional<index_t> const written : parse_extents(one)) {
            std::size_t const axis = extents.size();
            index_t const kept = axis < value.ndim() ? value.shape[axis] : 0;
            extents.push_back(written.value_or(kept));
        }
        return extents;
    }

    [[noreturn]] static void refuse_word(attribute const& one) {
        if (find_attribute_word(one.word)->value == value_kind::none)
            throw statement_error{errc::bad_macro,
                                  "the macro " + one.word + " has not been expanded", one.where};
        throw statement_error{errc::syntax,
                              "'" + one.word + "' belongs to fused_qkv and fused_qkv_old only",
                              one.where};
    }

    /// The concat or the split of the statement; for one tensor, `axis` says nothing.
    void join(std::vector<attribute> const& list, std::size_t i) {
        attribute const& one = list[i];
        if (joined_)
            throw statement_error{errc::syntax, "'axis' stands twice", one.where};
        joined_ = true;
        if (!is_concat_ && parts_ == 1)
            return remark("no_effect", "axis=" + std::to_string(std::get<index_t>(one.value)) +
                                           " has no effect on a statement of one tensor to one");
        at(one, is_concat_ ? "concat into" : "split of", is_concat_ ? right_ : left_, [&] {
            std::size_t const axis = axis_of(one);
            if (is_concat_) {
                check_pieces();
                return become(concat(values_, axis));
            }
            attribute const* const sizes = find_attribute(list, "sizes");
            become(sizes ? split(*values_[0], axis, sized(*sizes), limit_)
                         : split(*values_[0], axis, parts_, limit_));
        });
    }

    [[noreturn]] void refuse_pieces() const {
        throw statement_error{errc::limit_exceeded, pieces_->refusal(), {}};
    }

    /// Refuses a concat of more pieces than may be made, before it takes memory for them.
    void check_pieces() const {
        std::size_t pieces = 0;
        for (expression const* const value : values_)
            pieces += value->pieces.size();
        if (pieces_ && pieces > pieces_->left())
            refuse_pieces();
    }

    void become(std::vector<expression> made) {
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

    void become(expression made) {
        std::vector<expression> one;
        one.push_back(std::move(made));
        become(std::move(one));
    }

    std::size_t axis_of(attribute const& one) const {
        index_t const written = std::get<index_t>(one.value);
        auto const ndim = static_cast<index_t>(values_[0]->ndim());
        index_t const axis = written < 0 ? written + ndim : written;
        if (axis < 0 || axis >= ndim)
            fail(errc::shape_mismatch, "axis " + std::to_string(written) + " of a tensor of " +
                                           std::to_string(ndim) + " axes, shape " +
                                           to_string(values_[0]->shape));
        return static_cast<std::size_t>(axis);
    }

    std::vector<index_t> sized(attribute const& sizes) const {
        auto const numbers = parse_list(sizes);
        if (numbers.size() != parts_)
            throw statement_error{errc::shape_mismatch,
                                  "there are " + std::to_string(numbers.size()) + " sizes for " +
                                      std::to_string(parts_) + " tensors",
                                  sizes.where};
        return numbers;
    }

    void check_sizes(std::vector<attribute> const& list, std::size_t i) const {
        if (parts_ == 1)
            throw statement_error{errc::syntax, "'sizes' belongs to a split", list[i].where};
        if (find_attribute(list, "sizes") != &list[i])
            throw statement_error{errc::syntax, "'sizes' stands twice", list[i].where};
    }

    void cast_to(attribute const& one) {
        data_type const dtype = dtype_of(one);
        each_value(one, "cast of", [&](expression const& value) {
            if (!is_castable(value.dtype, dtype))
                fail(errc::dtype_mismatch, std::string(reshard::name(value.dtype)) +
                                               " cannot be cast to " +
                                               std::string(reshard::name(dtype)));
            return cast(value, dtype);
        });
    }

    /// `src_dtype` and `dst_dtype` stand together, in this order; the first is what a reversed
    /// program needs.
    void cast_between(std::vector<attribute> const& list, std::size_t i) {
        bool const is_first = list[i].word == "src_dtype";
        bool const paired = is_first ? i + 1 < list.size() && list[i + 1].word == "dst_dtype"
                                     : i > 0 && list[i - 1].word == "src_dtype";
        if (!paired)
            throw statement_error{errc::syntax,
                                  "'src_dtype' and 'dst_dtype' stand together, in this order",
                                  list[i].where};
        if (!is_first)
            return cast_to(list[i]);
        data_type const dtype = dtype_of(list[i]);
        if (values_[0]->dtype != dtype)
            remark("other_dtype", "src_dtype is " + std::string(reshard::name(dtype)) + ", and '" +
                                      std::string(left_) + "' is " +
                                      std::string(reshard::name(values_[0]->dtype)));
    }

    static data_type dtype_of(attribute const& one) {
        std::string const& text = std::get<std::string>(one.value);
        if (auto const dtype = data_type_from_name(text))
            return *dtype;
        std::string known;
        for (data_type_facts const& each_type : all_data_types)
            known += (known.empty() ? "" : ", ") + std::string(each_type.name);
        throw statement_error{errc::dtype_mismatch,
                              "there is no data type '" + text + "'" +
                                  did_you_mean(text, all_data_types, &data_type_facts::name) +
                                  "; there are " + known,
                              one.where};
    }

    template <class Function>
    void each_value(attribute const& one, std::string_view what, Function const& function) {
        at(one, what, left_, [&] {
            std::vector<expression> made;
            made.reserve(values_.size());
            for (expression const* const value : values_)
                made.push_back(function(*value));
            become(std::move(made));
        });
    }

    /// Calls what calls the algebra, and says of an error which operation on what it was and where.
    template <class Call>
    void at(attribute const& one, std::string_view what, std::string_view key, Call const& call) {
        limit_ = piece_limit(pieces_ ? pieces_->left() : piece_limit::default_most);
        try {
            call();
        } catch (error const& problem) {
            if (pieces_ && limit_.is_exceeded())
                refuse_pieces();
            throw statement_error{
                problem.code(),
                std::string(what) + " '" + std::string(key) + "': " + problem.what(), one.where};
        }
    }

    void remark(std::string code, std::string message) {
        remarks_.emplace_back(std::move(code), std::move(message));
    }

    std::vector<expression const*> values_; ///< the operands, or what has been made of them
    std::vector<expression> made_;
    std::string_view left_, right_;
    bool is_concat_;
    std::size_t parts_;
    bool joined_ = false;
    index_vector const* wanted_ = nullptr;
    budget* pieces_ = nullptr; ///< null: each operation has a limit of its own
    piece_limit limit_;        ///< of the operation that runs
    std::vector<std::pair<std::string, std::string>> remarks_;
};

} // namespace reshard::aoa

#endif
