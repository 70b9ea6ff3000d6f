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

/// What the program may know of both sides: arrays on one, keys on the other, and how each is cut.
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
    evaluation(aoa::program const& program, world const& all) : program_(program), world_(all) {
        for (auto const& [key, value] : all.sources)
            source_keys_.insert(key);
        for (aoa::statement const& one : program.statements())
            run_for_all_ids(one);
    }

    /// The target tensor of that key; nothing where the program says that it has no source.
    std::optional<array> operator[](std::string const& key) const {
        if (auto const found = assigned_.find(key); found != assigned_.end())
            return found->second;
        if (added_.contains(key))
            return std::nullopt;
        return world_.sources.at(key);
    }

private:
    void run_for_all_ids(aoa::statement const& one) {
        for (aoa::name const& name : program_.names(one)) {
            segments const deciding = segments_of(program_, name);
            if (!has(deciding, aoa::segment::kind_type::placeholder))
                continue;
            std::set<ids> found = matches(deciding, source_keys_);
            if (found.empty())
                found = matches(deciding, made_keys());
            for (ids const& bound : found)
                run(one, bound);
            return;
        }
        run(one, {});
    }

    void run(aoa::statement const& one, ids const& bound) {
        std::vector<std::string> const right = right_keys(one, bound);
        if (program_.left(one)[0].kind == aoa::name::kind_type::nothing) {
            added_.insert(right.begin(), right.end());
            return;
        }
        if (program_.right(one)[0].kind == aoa::name::kind_type::nothing)
            return;
        std::vector<array> const made = make(one, left_operands(one, bound), right);
        for (std::size_t i = 0; i < right.size(); ++i)
            assigned_[right[i]] = made.at(i);
    }

    /// What earlier statements have made: placeholders and stars mean it where they mean no source.
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

    std::vector<operand> left_operands(aoa::statement const& one, ids const& bound) const {
        std::vector<operand> result;
        for (aoa::name const& name : program_.left(one)) {
            segments const filled = filled_in(segments_of(program_, name), bound);
            std::vector<std::string> keys = keys_of(filled, source_keys_);
            for (std::string const& key : keys.empty() ? keys_of(filled, made_keys()) : keys) {
                auto const found = assigned_.find(key);
                array const& value =
                    found != assigned_.end() ? found->second : world_.sources.at(key);
                result.push_back({key, name.transposed ? reversed(value) : value});
            }
        }
        return result;
    }

    std::vector<std::string> right_keys(aoa::statement const& one, ids const& bound) const {
        std::vector<std::string> result;
        for (aoa::name const& name : program_.right(one))
            for (std::string const& key :
                 keys_of(filled_in(segments_of(program_, name), bound), world_.target_keys))
                result.push_back(key);
        return result;
    }

    aoa::attribute const* find(aoa::statement const& one, std::string const& word) const {
        for (aoa::attribute const& attribute : program_.attributes(one))
            if (attribute.word == word)
                return &attribute;
        return nullptr;
    }

    std::int64_t number(aoa::statement const& one, std::string const& word) const {
        return std::get<index_t>(find(one, word)->value);
    }

    std::size_t axis_of(aoa::statement const& one, array const& value,
                        std::int64_t otherwise) const {
        std::int64_t axis = find(one, "axis") ? number(one, "axis") : otherwise;
        if (axis < 0)
            axis += static_cast<std::int64_t>(value.shape.size());
        return static_cast<std::size_t>(axis);
    }

    std::vector<array> make(aoa::statement const& one, std::vector<operand> const& left,
                            std::vector<std::string> const& right) const {
        for (char const* macro : {"fused_qkv", "fused_qkv_old", "fused_ffn"})
            if (find(one, macro))
                return fused(one, left, right);
        if (left.size() == 1 && right.size() == 1)
            return {changed(one, left[0].value)};
        if (right.size() == 1)
            return {joined(values(left), axis_of(one, left.at(0).value, 0))};
        if (left.size() != 1)
            throw std::logic_error("the oracle has no meaning for many names on both sides");
        array const& whole = left[0].value;
        std::size_t const axis = axis_of(one, whole, 0);
        if (aoa::attribute const* const sizes = find(one, "sizes"))
            return cut(whole, axis, numbers_in(std::get<std::string>(sizes->value)));
        return cut_evenly(whole, axis, static_cast<std::int64_t>(right.size()));
    }

    static std::vector<array> values(std::vector<operand> const& operands) {
        std::vector<array> result;
        for (operand const& one : operands)
            result.push_back(one.value);
        return result;
    }

    /// Permutations, slices and casts, in the order in which they are written.
    array changed(aoa::statement const& one, array value) const {
        for (aoa::attribute const& attribute : program_.attributes(one)) {
            if (attribute.word == "permute") {
                numbers const order = numbers_in(std::get<std::string>(attribute.value));
                value = order.empty() ? reversed(value) : permuted(value, order);
            } else if (attribute.word == "slice") {
                value = sliced(value, std::get<std::string>(attribute.value));
            } else if (attribute.word == "reshape") {
                value = reshaped(value, entries_in(std::get<std::string>(attribute.value)));
            } else if (attribute.word == "resize") {
                value = resized(value, entries_in(std::get<std::string>(attribute.value)));
            } else if (attribute.word == "dtype" || attribute.word == "dst_dtype") {
                value.dtype = std::get<std::string>(attribute.value);
                for (std::int64_t& element : value.values)
                    element = nearest(value.dtype, element);
            }
        }
        return value;
    }

    std::int64_t parts(std::map<std::string, numbers> const& all, std::string const& key,
                       std::size_t axis) const {
        auto const found = all.find(key);
        return found == all.end() ? 1 : found->second.at(axis);
    }

    /// The three fused macros: what they read in one order of pieces, they write in another.
    std::vector<array> fused(aoa::statement const& one, std::vector<operand> const& left,
                             std::vector<std::string> const& right) const {
        std::size_t const axis = axis_of(one, left.at(0).value, 1);
        std::int64_t const stored =
            left.size() == 1 ? parts(world_.source_parts, left[0].key, axis) : 1;
        std::int64_t const wanted =
            right.size() == 1 ? parts(world_.target_parts, right[0], axis) : 1;
        array const whole = left.size() == 1 ? left[0].value : joined(values(left), axis);
        if (find(one, "fused_ffn")) {
            std::int64_t const n = std::lcm(stored, wanted);
            return cut_anew(whole, axis, ffn_order(stored, n), ffn_order(wanted, n),
                            right.size() == 1 ? numbers{2 * n} : numbers{n, n});
        }
        std::int64_t const heads = number(one, "num_heads");
        std::int64_t const groups = number(one, "num_key_value_groups");
        numbers const results =
            right.size() == 1 ? numbers{heads + 2 * groups} : numbers{heads, groups, groups};
        bool const is_old = find(one, "fused_qkv_old") != nullptr;
        auto const order = [&](std::size_t tensors, std::int64_t ranks) {
            return qkv_order(is_old ? ranks : tensors == 1 ? groups : 1, heads, groups);
        };
        return cut_anew(whole, axis, order(left.size(), stored), order(right.size(), wanted),
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
