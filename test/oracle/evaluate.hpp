// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_EVALUATE_HPP
#define RESHARD_TEST_ORACLE_EVALUATE_HPP

#include "array.hpp"
#include "attribute_text.hpp"
#include "element.hpp"
#include "fused_order.hpp"
#include "names.hpp"

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/parse.hpp>

#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

/// \file
/// A program run on whole arrays, statement by statement.

namespace reshard::oracle {

using namespace reshard::detail;

/// The facts about both sides that the program may know: arrays on one, keys on the other, and how
/// each is cut.
struct world {
    std::map<std::string, array> sources;
    std::set<std::string> target_keys;
    std::map<std::string, numbers> source_parts; ///< along each axis
    std::map<std::string, numbers> target_parts;
};

/// The integers in `"[1, 0, 5]"`.
inline numbers numbers_in(std::string const& text) {
    numbers result;
    for (std::size_t i = 0; i < text.size();) {
        if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
            ++i;
            continue;
        }
        std::size_t length = 0;
        result.push_back(std::stoll(text.substr(i), &length));
        i += length;
    }
    return result;
}

/// Runs the statements of one program.
class evaluation {
public:
    evaluation(aoa::program const& program, world const& world) : program_(program), world_(world) {
        for (auto const& [key, value] : world.sources)
            source_keys_.insert(key);
        for (aoa::statement const& statement : program.statements())
            run_for_all_ids(statement);
    }

    /// The target tensor of that key; none if the program says that it has no source.
    std::optional<array> operator[](std::string const& key) const {
        if (auto const match = assigned_.find(key); match != assigned_.end())
            return match->second;
        if (added_.contains(key))
            return std::nullopt;
        return world_.sources.at(key);
    }

private:
    void run_for_all_ids(aoa::statement const& statement) {
        for (aoa::name const& name : program_.names(statement)) {
            segments const deciding = segments_of(program_, name);
            if (!has(deciding, aoa::segment::kind_type::placeholder))
                continue;
            std::set<ids> found_ids = matches(deciding, source_keys_);
            if (found_ids.empty())
                found_ids = matches(deciding, made_keys());
            for (ids const& bound : found_ids)
                run(statement, bound);
            return;
        }
        run(statement, {});
    }

    void run(aoa::statement const& statement, ids const& bound) {
        std::vector<std::string> const right = right_keys(statement, bound);
        if (program_.left(statement)[0].kind == aoa::name::kind_type::nothing) {
            added_.insert(right.begin(), right.end());
            return;
        }
        if (program_.right(statement)[0].kind == aoa::name::kind_type::nothing)
            return;
        std::vector<array> const arrays = make(statement, left_operands(statement, bound), right);
        for (std::size_t i = 0; i < right.size(); ++i)
            assigned_[right[i]] = arrays.at(i);
    }

    /// The results of earlier statements: placeholders and stars mean these if they mean no source.
    std::set<std::string> made_keys() const {
        std::set<std::string> keys;
        for (auto const& [key, value] : assigned_)
            keys.insert(key);
        return keys;
    }

    /// A tensor on the left, and the key that it has in the source.
    struct operand {
        std::string key;
        array value;
    };

    std::vector<operand> left_operands(aoa::statement const& statement, ids const& bound) const {
        std::vector<operand> result;
        for (aoa::name const& name : program_.left(statement)) {
            segments const filled = filled_in(segments_of(program_, name), bound);
            std::vector<std::string> keys = keys_of(filled, source_keys_);
            for (std::string const& key : keys.empty() ? keys_of(filled, made_keys()) : keys) {
                auto const match = assigned_.find(key);
                array const& value =
                    match != assigned_.end() ? match->second : world_.sources.at(key);
                result.push_back({key, name.transposed ? reversed(value) : value});
            }
        }
        return result;
    }

    std::vector<std::string> right_keys(aoa::statement const& statement, ids const& bound) const {
        std::vector<std::string> result;
        for (aoa::name const& name : program_.right(statement))
            for (std::string const& key :
                 keys_of(filled_in(segments_of(program_, name), bound), world_.target_keys))
                result.push_back(key);
        return result;
    }

    aoa::attribute const* find(aoa::statement const& statement, std::string const& word) const {
        for (aoa::attribute const& attribute : program_.attributes(statement))
            if (attribute.word == word)
                return &attribute;
        return nullptr;
    }

    std::int64_t number(aoa::statement const& statement, std::string const& word) const {
        return std::get<index_t>(find(statement, word)->value);
    }

    std::size_t axis_of(aoa::statement const& statement, array const& value,
                        std::int64_t otherwise) const {
        std::int64_t axis = find(statement, "axis") ? number(statement, "axis") : otherwise;
        if (axis < 0)
            axis += static_cast<std::int64_t>(value.shape.size());
        return static_cast<std::size_t>(axis);
    }

    std::vector<array> make(aoa::statement const& statement, std::vector<operand> const& left,
                            std::vector<std::string> const& right) const {
        for (char const* macro : {"fused_qkv", "fused_qkv_old", "fused_ffn"})
            if (find(statement, macro))
                return fused(statement, left, right);
        if (left.size() == 1 && right.size() == 1)
            return {changed(statement, left[0].value)};
        if (right.size() == 1)
            return {joined(values(left), axis_of(statement, left.at(0).value, 0))};
        if (left.size() != 1)
            throw std::logic_error("the oracle has no meaning for many names on both sides");
        array const& array = left[0].value;
        std::size_t const axis = axis_of(statement, array, 0);
        if (aoa::attribute const* const sizes = find(statement, "sizes"))
            return cut(array, axis, numbers_in(std::get<std::string>(sizes->value)));
        return cut_evenly(array, axis, static_cast<std::int64_t>(right.size()));
    }

    static std::vector<array> values(std::vector<operand> const& operands) {
        std::vector<array> result;
        for (operand const& element : operands)
            result.push_back(element.value);
        return result;
    }

    /// Adds or multiplies by an integer. What the type of the computation holds is not rounded; if
    /// no arithmetic and no cast follows, the program says the type once more.
    static void compute(aoa::attribute const& attribute, array& value) {
        std::int64_t const operand = std::get<std::int64_t>(attribute.value);
        std::string const type = value.dtype == "float64" ? "float64" : "float32";
        for (std::int64_t& element : value.values)
            element =
                nearest(type, attribute.word == "add" ? element + operand : element * operand);
    }

    /// Permutations, slices and casts, in the order in which they are written.
    array changed(aoa::statement const& statement, array value) const {
        for (aoa::attribute const& attribute : program_.attributes(statement)) {
            if (attribute.word == "permute") {
                numbers const order = numbers_in(std::get<std::string>(attribute.value));
                value = order.empty() ? reversed(value) : permuted(value, order);
            } else if (attribute.word == "slice") {
                value = sliced(value, std::get<std::string>(attribute.value));
            } else if (attribute.word == "reshape") {
                value = reshaped(value, entries_in(std::get<std::string>(attribute.value)));
            } else if (attribute.word == "resize") {
                value = resized(value, entries_in(std::get<std::string>(attribute.value)));
            } else if (attribute.word == "add" || attribute.word == "scale") {
                compute(attribute, value);
            } else if (attribute.word == "dtype" || attribute.word == "dst_dtype") {
                value.dtype = std::get<std::string>(attribute.value);
                for (std::int64_t& element : value.values)
                    element = nearest(value.dtype, element);
            }
        }
        return value;
    }

    std::int64_t parts(std::map<std::string, numbers> const& all_numbers, std::string const& key,
                       std::size_t axis) const {
        auto const match = all_numbers.find(key);
        return match == all_numbers.end() ? 1 : match->second.at(axis);
    }

    /// The three fused macros: they read pieces in one order, and write them in another.
    std::vector<array> fused(aoa::statement const& statement, std::vector<operand> const& left,
                             std::vector<std::string> const& right) const {
        std::size_t const axis = axis_of(statement, left.at(0).value, 1);
        std::int64_t const stored =
            left.size() == 1 ? parts(world_.source_parts, left[0].key, axis) : 1;
        std::int64_t const wanted =
            right.size() == 1 ? parts(world_.target_parts, right[0], axis) : 1;
        array const array = left.size() == 1 ? left[0].value : joined(values(left), axis);
        if (find(statement, "fused_ffn")) {
            std::int64_t const n = std::lcm(stored, wanted);
            return cut_anew(array, axis, ffn_order(stored, n), ffn_order(wanted, n),
                            right.size() == 1 ? numbers{2 * n} : numbers{n, n});
        }
        std::int64_t const heads = number(statement, "num_heads");
        std::int64_t const groups = number(statement, "num_key_value_groups");
        numbers const results =
            right.size() == 1 ? numbers{heads + 2 * groups} : numbers{heads, groups, groups};
        bool const is_old = find(statement, "fused_qkv_old") != nullptr;
        auto const order = [&](std::size_t tensors, std::int64_t ranks) {
            return qkv_order(is_old ? ranks : tensors == 1 ? groups : 1, heads, groups);
        };
        return cut_anew(array, axis, order(left.size(), stored), order(right.size(), wanted),
                        results);
    }

    aoa::program const& program_;
    world const& world_;
    std::set<std::string> source_keys_;
    std::map<std::string, array> assigned_;
    std::set<std::string> added_;
};

} // namespace reshard::oracle

#endif
