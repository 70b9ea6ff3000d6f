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
    algebra(oracle::scenario const& all, catalog const& source) : result_(source) {
        for (oracle::step const& one : all.steps)
            run(one);
        for (oracle::tensor const& wanted : all.targets)
            if (auto const found = assigned_.find(wanted.key); found != assigned_.end())
                result_.define(wanted.key, found->second);
            else if (!result_.find(wanted.key))
                result_.define(wanted.key, value(wanted.key));
    }

    mapping const& result() const { return result_; }

private:
    using operation = oracle::operation;

    expression value(std::string const& key) const {
        if (auto const found = assigned_.find(key); found != assigned_.end())
            return found->second;
        for (key_id id = 0; id < result_.sources().size(); ++id)
            if (result_.sources()[id].key == key)
                return result_.source(id);
        throw std::logic_error("no tensor '" + key + "'");
    }

    void run(oracle::step const& one) {
        if (one.what == operation::add)
            return result_.add(one.right[0], index_vector(one.sizes.begin(), one.sizes.end()),
                               *data_type_from_name(one.dtype));
        if (one.what == operation::remove)
            return result_.remove(one.left[0]);
        std::vector<expression> const made = make(one);
        for (std::size_t i = 0; i < made.size(); ++i)
            assigned_[one.right.at(i)] = made[i];
    }

    std::vector<expression> make(oracle::step const& one) const {
        std::vector<expression> left;
        for (std::string const& key : one.left)
            left.push_back(value(key));
        switch (one.what) {
        case operation::concat: return {concat(left, one.axis)};
        case operation::even_split: return split(left[0], one.axis, one.right.size());
        case operation::sized_split: return split(left[0], one.axis, one.sizes);
        case operation::permute:
            return {permute(left[0], index_vector(one.order.begin(), one.order.end()))};
        case operation::slice: return {slice(left[0], ranges(one))};
        case operation::reshape:
            return {reshape(left[0], index_vector(one.sizes.begin(), one.sizes.end()))};
        case operation::resize:
            return {resize(left[0], index_vector(one.sizes.begin(), one.sizes.end()))};
        case operation::cast: return {cast(left[0], *data_type_from_name(one.dtype))};
        default: return {left[0]};
        }
    }

    static std::vector<axis_range> ranges(oracle::step const& one) {
        std::vector<axis_range> all;
        for (std::size_t axis = 0; axis < one.sizes.size(); ++axis)
            all.push_back({one.order[axis], one.order[axis] + one.sizes[axis]});
        return all;
    }

    mapping result_;
    std::map<std::string, expression> assigned_;
};

} // namespace reshard::test

#endif
