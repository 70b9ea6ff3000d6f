// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_OPERATION_HPP
#define RESHARD_AOA_OPERATION_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/check_attribute.hpp>
#include <reshard/aoa/list_text.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/reshape_text.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/expr/algebra.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
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

/// What there is to say of a statement that is no error.
struct operation_remark {
    std::string code; ///< as in `finding`
    std::string key;
    std::string message;
};

/// Runs one statement on expressions, which are copied only where nothing is done to them.
///
/// Attributes apply from left to right. Those before the `axis` of a concat apply to each of its
/// operands, those behind the `axis` of a split to each of its parts.
class operation {
public:
    /// What messages call an operand or, behind them, a result, by its number.
    using caller = std::function<std::string(std::size_t)>;

    /// The operands have to outlive this; `parts` is how many tensors the statement makes.
    operation(std::vector<expression const*> operands, caller called, std::size_t parts)
        : values_(std::move(operands)),
          called_(std::move(called)),
          operands_(values_.size()),
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
            check_attribute(attributes[i]);
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

    /// What there is to say besides.
    std::vector<operation_remark> const& remarks() const { return remarks_; }

private:
    std::string operand_name(std::size_t k) const { return called_ ? called_(k) : std::string(); }
    std::string result_name(std::size_t k) const { return operand_name(operands_ + k); }

    /// What value number `k` is called: a result behind the `axis` that makes it.
    std::string value_name(std::size_t k) const {
        return made_results_ ? result_name(k) : operand_name(k);
    }

    void apply(std::vector<attribute> const& list, std::size_t i) {
        attribute const& one = list[i];
        limit_ = piece_limit(pieces_ ? pieces_->left() : piece_limit::default_most);
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

    /// The concat or the split of the statement; for one tensor, `axis` says nothing.
    void join(std::vector<attribute> const& list, std::size_t i) {
        attribute const& one = list[i];
        if (joined_)
            throw statement_error{errc::syntax, "'axis' stands twice", one.where};
        joined_ = true;
        if (!is_concat_ && parts_ == 1)
            return remark("no_effect", operand_name(0),
                          "axis=" + std::to_string(std::get<index_t>(one.value)) +
                              " has no effect on a statement of one tensor to one");
        auto const about = [&] { return is_concat_ ? result_name(0) : operand_name(0); };
        at(one, is_concat_ ? "concat into" : "split of", about, [&] {
            std::size_t const axis = axis_in(one, *values_[0]);
            if (is_concat_) {
                check_pieces();
                return become(concat(values_, axis,
                                     [&](std::size_t k) { return "'" + operand_name(k) + "'"; }));
            }
            attribute const* const sizes = find_attribute(list, "sizes");
            become(sizes ? split(*values_[0], axis, sized(*sizes), limit_)
                         : split(*values_[0], axis, parts_, limit_));
        });
        made_results_ = true;
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
        data_type const dtype = dtype_in(one);
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
        remark_other_types(dtype_in(list[i]));
    }

    /// Remarks on the first value that is not of the type that `src_dtype` says.
    void remark_other_types(data_type dtype) {
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

    template <class Function>
    void each_value(attribute const& one, std::string_view what, Function const& function) {
        std::vector<expression> made;
        made.reserve(values_.size());
        for (std::size_t k = 0; k < values_.size(); ++k)
            at(
                one, what, [&] { return value_name(k); },
                [&] { made.push_back(function(*values_[k])); });
        become(std::move(made));
    }

    /// Calls what calls the algebra, and says of an error which operation on what it was and where.
    template <class KeyOf, class Call>
    void at(attribute const& one, std::string_view what, KeyOf const& key_of, Call const& call) {
        auto const about = [&] { return std::string(what) + " '" + key_of() + "': "; };
        try {
            call();
        } catch (error const& problem) {
            if (pieces_ && limit_.is_exceeded())
                refuse_pieces();
            throw statement_error{problem.code(), about() + problem.what(), one.where, key_of()};
        } catch (statement_error& problem) {
            if (problem.code == errc::shape_mismatch)
                problem.message = about() + problem.message;
            problem.key = key_of();
            throw;
        }
    }

    void remark(std::string code, std::string key, std::string message) {
        remarks_.push_back({std::move(code), std::move(key), std::move(message)});
    }

    std::vector<expression const*> values_; ///< the operands, or what has been made of them
    std::vector<expression> made_;
    caller called_;
    std::size_t operands_;
    bool is_concat_;
    std::size_t parts_;
    bool joined_ = false;
    bool made_results_ = false; ///< the values are what the statement makes, not its operands
    index_vector const* wanted_ = nullptr;
    budget* pieces_ = nullptr; ///< null: each operation has a limit of its own
    piece_limit limit_;        ///< of the attribute that is applied
    std::vector<operation_remark> remarks_;
};

} // namespace reshard::aoa

#endif
