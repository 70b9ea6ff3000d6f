// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PROBLEM_HPP
#define RESHARD_PLAN_PROBLEM_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/compact_layout.hpp>
#include <reshard/plan/plan_problem.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// \file
/// From layouts and a mapping to what a plan is made from: names are turned into numbers.

namespace reshard {

namespace detail {

/// Finds keys in things sorted by key: usually the next one is requested, and no search is needed.
template <class Iterator>
class key_walk {
public:
    key_walk(Iterator first, Iterator last) : next_(first), last_(last) {}

    /// The thing of that key, or null; `search()` finds it anywhere, or returns the end.
    template <class Search>
    auto find(std::string_view key, Search&& search) {
        if (next_ == last_ || next_->key != key)
            next_ = search();
        return next_ == last_ ? nullptr : &*next_++;
    }

private:
    Iterator next_, last_;
};

RESHARD_DECL source_side source_of(mapping_source const& wanted, held_tensor const* held);

RESHARD_DECL target_side target_of(std::string_view key, held_tensor const& wanted,
                                   mapping const& program, mapping_output const* output);

template <class Layout>
std::vector<source_side> sources_of(mapping const& program, Layout const& source) {
    std::vector<source_side> sides;
    sides.reserve(program.sources().size());
    key_walk walk(source.tensors.begin(), source.tensors.end());
    for (mapping_source const& wanted : program.sources()) {
        auto const* const tensor =
            walk.find(wanted.key, [&] { return find_tensor(source.tensors, wanted.key); });
        if (!tensor) {
            sides.push_back(source_of(wanted, nullptr));
            continue;
        }
        held_tensor const held = held_in(source, *tensor);
        sides.push_back(source_of(wanted, &held));
        sides.back().tensor = static_cast<std::uint32_t>(tensor - source.tensors.data());
    }
    return sides;
}

template <class Layout>
std::vector<target_side> targets_of(mapping const& program, Layout const& target) {
    std::vector<target_side> sides;
    sides.reserve(target.tensors.size());
    key_walk walk(program.outputs().begin(), program.outputs().end());
    for (auto const& wanted : target.tensors)
        sides.push_back(
            target_of(wanted.key, held_in(target, wanted), program,
                      walk.find(wanted.key, [&] { return program.outputs().find(wanted.key); })));
    return sides;
}

} // namespace detail

/// Looks up each name of `target` in `program`, and each name of `program` in `source`.
///
/// \throws error with errc::unknown_key for a target tensor that the program does not yield (it
///         names a rank that wants it), with
///         errc::shape_mismatch or errc::dtype_mismatch where layouts and program differ
///
/// \tparam Source `layout` or `compact_layout`
/// \tparam Target likewise
template <class Source, class Target>
detail::plan_problem problem_of(mapping const& program, Source const& source,
                                Target const& target) {
    return {source.holders, target.holders, detail::sources_of(program, source),
            detail::targets_of(program, target)};
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/problem.ipp>
#endif

#endif
