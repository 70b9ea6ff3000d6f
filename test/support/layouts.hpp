// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_LAYOUTS_HPP
#define RESHARD_TEST_SUPPORT_LAYOUTS_HPP

#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/plan/problem.hpp>

#include <string>
#include <utility>
#include <vector>

/// \file
/// Layouts and problems written in a line.

namespace reshard::test {

using namespace reshard::detail;

/// A shard of a tensor of floats.
inline shard_descriptor part(std::string key, index_vector const& global, box const& region,
                             std::optional<flat_range> const& flat = {}) {
    return {std::move(key), data_type::f32, global, region, flat};
}

/// Both layouts, the mapping and the problem that refers to them.
class whole_problem {
public:
    whole_problem(std::vector<std::vector<shard_descriptor>> const& source,
                  std::vector<std::vector<shard_descriptor>> const& target)
        : source_(layout_of(source)), target_(layout_of(target)) {
        catalog const wanted = catalog_of(target_);
        program_ = identity_mapping(catalog_of(source_), &wanted);
    }

    whole_problem(std::vector<std::vector<shard_descriptor>> const& source,
                  std::vector<std::vector<shard_descriptor>> const& target, mapping program)
        : source_(layout_of(source)), target_(layout_of(target)), program_(std::move(program)) {}

    plan_problem operator()() const { return problem_of(program_, source_, target_); }

private:
    layout source_;
    layout target_;
    mapping program_;
};

} // namespace reshard::test

#endif
