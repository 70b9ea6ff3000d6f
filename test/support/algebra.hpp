// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_ALGEBRA_HPP
#define RESHARD_TEST_SUPPORT_ALGEBRA_HPP

#include "oracle/scenario.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/expr/mapping.hpp>

#include <map>
#include <string>
#include <vector>

/// \file
/// The oracle's programs written in the algebra of C++, without text.

namespace reshard::test {

using namespace reshard::detail;

/// Runs the steps of a scenario on expressions.
class algebra {
public:
    algebra(oracle::scenario const& scenario, catalog const& source) : result_(source) {
        for (oracle::step const& step : scenario.steps)
            run(step);
        for (oracle::tensor const& wanted : scenario.targets)
            if (auto const match = assigned_.find(wanted.key); match != assigned_.end())
                result_.define(wanted.key, match->second);
            else if (!result_.find(wanted.key))
                result_.define(wanted.key, value(wanted.key));
    }

    mapping const& result() const { return result_; }

private:
    using operation = oracle::operation;

    expression value(std::string const& key) const {
        if (auto const match = assigned_.find(key); match != assigned_.end())
            return match->second;
        for (key_id id = 0; id < result_.sources().size(); ++id)
            if (result_.sources()[id].key == key)
                return result_.source(id);
        throw std::logic_error("no tensor '" + key + "'");
    }

    void run(oracle::step const& step) {
        if (step.type == operation::add)
            return result_.add(step.right[0], index_vector(step.sizes.begin(), step.sizes.end()),
                               *data_type_from_name(step.dtype));
        if (step.type == operation::remove)
            return result_.remove(step.left[0]);
        std::vector<expression> const expressions = make(step);
        for (std::size_t i = 0; i < expressions.size(); ++i)
            assigned_[step.right.at(i)] = expressions[i];
    }

    std::vector<expression> make(oracle::step const& step) const {
        std::vector<expression> left;
        for (std::string const& key : step.left)
            left.push_back(value(key));
        switch (step.type) {
        case operation::concat: return {concat(left, step.axis)};
        case operation::even_split: return split(left[0], step.axis, step.right.size());
        case operation::sized_split: return split(left[0], step.axis, step.sizes);
        case operation::permute:
            return {permute(left[0], index_vector(step.order.begin(), step.order.end()))};
        case operation::slice: return {slice(left[0], ranges(step))};
        case operation::reshape:
            return {reshape(left[0], index_vector(step.sizes.begin(), step.sizes.end()))};
        case operation::resize:
            return {resize(left[0], index_vector(step.sizes.begin(), step.sizes.end()))};
        case operation::cast: return {cast(left[0], *data_type_from_name(step.dtype))};
        default: return {left[0]};
        }
    }

    static std::vector<axis_range> ranges(oracle::step const& step) {
        std::vector<axis_range> ranges;
        for (std::size_t axis = 0; axis < step.sizes.size(); ++axis)
            ranges.push_back({step.order[axis], step.order[axis] + step.sizes[axis]});
        return ranges;
    }

    mapping result_;
    std::map<std::string, expression> assigned_;
};

} // namespace reshard::test

#endif
