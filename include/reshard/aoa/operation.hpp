// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_OPERATION_HPP
#define RESHARD_AOA_OPERATION_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/cast.hpp>
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
/// Applies the attributes of one statement to its tensors, as calls of the algebra from left to
/// right.

namespace reshard::aoa::detail {

/// The integers of a list such as `[1, 0]`; blanks are ignored.
///
/// \throws     statement_error with errc::syntax for anything else
/// \par Source the original evaluates any text, and `1, 0` or `(1, 0)` change the shape but move no
///             element
RESHARD_DECL vector<index_t> parse_list(attribute const& of);

/// The entries of a list such as `[128, *]`: integers, and std::nullopt for `*`.
///
/// \throws statement_error with errc::syntax for anything else
RESHARD_DECL vector<std::optional<index_t>> parse_extents(attribute const& of);

/// The ranges of a list such as `[0:128, :, 4:]`.
///
/// \throws statement_error with errc::syntax for anything else
RESHARD_DECL vector<axis_range> parse_ranges(attribute const& of);

/// Refuses an attribute that no statement can have.
///
/// \throws statement_error with errc::syntax for an unknown attribute, or for a value of the wrong
///         kind
RESHARD_DECL void check_attribute(attribute const& attribute);

/// Refuses an attribute whose text is not a valid data type or list.
///
/// \pre    `check_attribute` accepts the attribute
/// \throws statement_error with errc::dtype_mismatch or errc::syntax
RESHARD_DECL void check_text(attribute const& attribute);

/// The axis of a tensor that an attribute names; a negative axis counts from the end.
///
/// \pre    the attribute's value is a number
/// \throws error with errc::shape_mismatch for an axis that does not exist
RESHARD_DECL std::size_t axis_in(attribute const& attribute, expression const& tensor);

/// A remark about a statement that is not an error.
struct operation_remark {
    std::string code; ///< same as `finding::code`
    std::string key;
    std::string message;
};

/// Runs one statement on expressions. They are copied only if an attribute changes them.
///
/// Attributes apply from left to right. Attributes before the `axis` of a concat apply to each
/// operand, and attributes after the `axis` of a split apply to each part.
class operation {
public:
    /// Returns the name of an operand or a result for messages, by number; results follow operands.
    using caller = std::function<std::string(std::size_t)>;

    /// \pre the operands outlive this object. \param result_count the number of the statement's
    ///      results
    operation(vector<expression const*> operands, caller called, std::size_t result_count)
        : values_(std::move(operands)),
          called_(std::move(called)),
          operands_(values_.size()),
          is_concat_(values_.size() > 1),
          result_count_(result_count) {}

    /// Sets the target's shape of the first result; null if it is unknown.
    void expect(index_vector const* wanted) { wanted_ = wanted; }

    /// Sets the budget for pieces.
    void allow(budget& pieces) { pieces_ = &pieces; }

    /// Returns how a value's elements are packed; std::nullopt if they are not quantised.
    using unpacker = std::function<std::optional<value_packing>(expression const&)>;

    /// Sets the function that says how values are packed.
    void unpack(unpacker packing_of) { packing_of_ = std::move(packing_of); }

    /// Runs the statement, and returns its results.
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

    /// The name of value number `k`: an operand, or a result after the `axis` that makes the
    /// results.
    std::string value_name(std::size_t k) const {
        return made_results_ ? result_name(k) : operand_name(k);
    }

    void apply(vector<attribute> const& list, std::size_t i);

    /// Runs the concat or split of the statement. For a single tensor, `axis` has no effect.
    void join(vector<attribute> const& list, std::size_t i);

    [[noreturn]] void refuse_pieces() const;

    /// Refuses a concat of too many pieces before memory is allocated for them.
    void check_pieces() const;

    void become(vector<expression> expressions);

    void become(expression expression);

    vector<index_t> sized(attribute const& sizes, std::size_t count) const;

    /// Refuses a concat's operands if their extents differ from the statement's `sizes`.
    void check_extents(attribute const& sizes, std::size_t axis) const;

    void check_sizes(vector<attribute> const& list, std::size_t i) const;

    void cast_to(attribute const& attribute);

    /// Applies all of `add` and `scale` that follow one another. Their result is rounded once: to
    /// the `dtype` after them, or to the type before them.
    void compute(vector<attribute> const& list, std::size_t i);

    /// Multiplies quantised values by their scales, and rounds once: to the `dtype` that follows,
    /// or to bfloat16. Other values do not change.
    void dequantize(vector<attribute> const& list, std::size_t i);

    /// Applies `src_dtype` and `dst_dtype`, which occur together in this order. `src_dtype` is for
    /// the reversed program.
    void cast_between(vector<attribute> const& list, std::size_t i);

    /// Adds a remark about the first value whose type differs from `src_dtype`.
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

    /// Calls an operation of the algebra. Adds the operation, its tensor and its position to an
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
    bool made_results_ = false; ///< `values_` are the statement's results, not its operands
    index_vector const* wanted_ = nullptr;
    unpacker packing_of_;      ///< empty: the values' types decide
    budget* pieces_ = nullptr; ///< null: each operation has its separate limit
    piece_limit limit_;        ///< limit of the current attribute
    vector<operation_remark> remarks_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/list_text.ipp>
#include <reshard/aoa/impl/operation.ipp>
#endif

#endif
