// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_OPERATION_HPP
#define RESHARD_AOA_OPERATION_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/expr/split.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The effect of one statement's attributes on its tensors: calls of the algebra, from left to
/// right.

namespace reshard::aoa::detail {

/// The integers of `[1, 0]`; blanks do not count.
///
/// \throws     statement_error with errc::syntax for anything else
/// \par Source there any text is evaluated, and `1, 0` or `(1, 0)` change the shape and move
///             nothing
RESHARD_DECL vector<index_t> parse_list(attribute const& of);

/// The entries of `[128, *]`: integers, and nothing for `*`.
///
/// \throws statement_error with errc::syntax for anything else
RESHARD_DECL vector<std::optional<index_t>> parse_extents(attribute const& of);

/// The ranges of `[0:128, :, 4:]`.
///
/// \throws statement_error with errc::syntax for anything else
RESHARD_DECL vector<axis_range> parse_ranges(attribute const& of);

/// Refuses an attribute that no statement can have.
///
/// \throws statement_error with errc::syntax for an unknown attribute, or a value of another
///         kind than the word has
RESHARD_DECL void check_attribute(attribute const& attribute);

/// Refuses an attribute whose text says nothing: no data type, or no list.
///
/// \pre    `check_attribute` lets it pass
/// \throws statement_error with errc::dtype_mismatch or errc::syntax
RESHARD_DECL void check_text(attribute const& attribute);

/// The axis of a tensor that an attribute names; a negative axis counts from the end.
///
/// \pre    its value is a number
/// \throws error with errc::shape_mismatch for an axis that does not exist
RESHARD_DECL std::size_t axis_in(attribute const& attribute, expression const& tensor);

/// A remark about a statement that is not an error.
struct operation_remark {
    std::string code; ///< as in `finding`
    std::string key;
    std::string message;
};

/// Runs one statement on expressions, which are copied only if nothing changes them.
///
/// Attributes apply from left to right. Attributes before the `axis` of a concat apply to each
/// operand, and attributes after the `axis` of a split apply to each part.
class operation {
public:
    /// The name of an operand or a result in messages, by its number; results come after operands.
    using caller = std::function<std::string(std::size_t)>;

    /// The operands have to outlive this object; the statement makes `result_count` tensors.
    operation(vector<expression const*> operands, caller called, std::size_t result_count)
        : values_(std::move(operands)),
          called_(std::move(called)),
          operands_(values_.size()),
          is_concat_(values_.size() > 1),
          result_count_(result_count) {}

    /// Sets the shape that the target wants for the first result; null if it is not known.
    void expect(index_vector const* wanted) { wanted_ = wanted; }

    /// Sets the budget from which pieces are taken.
    void allow(budget& pieces) { pieces_ = &pieces; }

    /// The tensors that the statement makes.
    ///
    /// \throws statement_error with errc::syntax for attributes that the statement cannot have,
    ///         errc::shape_mismatch, errc::dtype_mismatch, errc::unsupported or
    ///         errc::limit_exceeded
    vector<expression> run(vector<attribute> const& attributes);

    /// Remarks about the statement that are not errors.
    vector<operation_remark> const& remarks() const { return remarks_; }

private:
    std::string operand_name(std::size_t k) const { return called_ ? called_(k) : std::string(); }
    std::string result_name(std::size_t k) const { return operand_name(operands_ + k); }

    /// The name of value number `k`; it is a result after the `axis` that makes the results.
    std::string value_name(std::size_t k) const {
        return made_results_ ? result_name(k) : operand_name(k);
    }

    void apply(vector<attribute> const& list, std::size_t i);

    /// Runs the concat or the split of the statement; for one tensor, `axis` has no effect.
    void join(vector<attribute> const& list, std::size_t i);

    [[noreturn]] void refuse_pieces() const;

    /// Refuses a concat of more pieces than allowed, before it takes memory for them.
    void check_pieces() const;

    void become(vector<expression> expressions);

    void become(expression expression);

    vector<index_t> sized(attribute const& sizes, std::size_t count) const;

    /// Refuses operands of a concat that do not have the extents that the statement gives them.
    void check_extents(attribute const& sizes, std::size_t axis) const;

    void check_sizes(vector<attribute> const& list, std::size_t i) const;

    void cast_to(attribute const& attribute);

    /// Applies `src_dtype` and `dst_dtype`, which occur together, in this order; a reversed program
    /// needs the first.
    void cast_between(vector<attribute> const& list, std::size_t i);

    /// Adds a remark about the first value that does not have the type that `src_dtype` names.
    void remark_other_types(data_type dtype);

    void each_value(attribute const& attribute, std::string_view noun, auto const& function) {
        vector<expression> expressions;
        expressions.reserve(values_.size());
        for (std::size_t k = 0; k < values_.size(); ++k)
            at(
                attribute, noun, [&] { return value_name(k); },
                [&] { expressions.push_back(function(*values_[k])); });
        become(std::move(expressions));
    }

    /// Calls an operation of the algebra; adds the operation, its tensor and its position to an
    /// error.
    template <class KeyOf, class Call>
    void at(attribute const& attribute, std::string_view noun, KeyOf const& key_of,
            Call const& call) {
        auto const about = [&] { return std::string(noun) + " '" + key_of() + "': "; };
        try {
            call();
        } catch (error const& problem) {
            if (pieces_ && limit_.is_exceeded())
                refuse_pieces();
            throw statement_error{problem.code(), words(about(), problem.what()), attribute.where,
                                  key_of()};
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

    vector<expression const*> values_; ///< the operands, or their results
    vector<expression> made_;
    caller called_;
    std::size_t operands_;
    bool is_concat_;
    std::size_t result_count_;
    bool joined_ = false;
    bool made_results_ = false; ///< the values are the statement's results, not its operands
    index_vector const* wanted_ = nullptr;
    budget* pieces_ = nullptr; ///< null: each operation has a separate limit
    piece_limit limit_;        ///< of the attribute that is applied
    vector<operation_remark> remarks_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/list_text.ipp>
#include <reshard/aoa/impl/operation.ipp>
#endif

#endif
