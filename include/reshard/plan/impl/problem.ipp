// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_PROBLEM_IPP
#define RESHARD_PLAN_IMPL_PROBLEM_IPP

#include <reshard/plan/problem.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/expr/by_name.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reshard {

namespace detail {

/// Finds keys in things sorted by key: usually the next one is requested, and no search is needed.
template <class Iterator>
class key_walk {
public:
    key_walk(Iterator first, Iterator last) : next_(first), last_(last) {}

    /// The thing of that key, or null; `search()` finds it anywhere, or returns the end.
    auto find(std::string_view key, auto&& search) {
        if (next_ == last_ || next_->key != key)
            next_ = search();
        return next_ == last_ ? nullptr : &*next_++;
    }

private:
    Iterator next_, last_;
};

inline source_side source_of(mapping_source const& wanted, layout const& source,
                             tensor_layout const* held) {
    if (!held)
        return {wanted.key, wanted.dtype, tensor_shards(), no_spread};
    if (index_vector const& shape = source.shape_of(*held); shape != wanted.shape)
        fail_tensor(errc::shape_mismatch, wanted.key,
                    "has the shape " + to_string(shape) +
                        " in the source, and the program was made for " + to_string(wanted.shape));
    if (held->dtype != wanted.dtype)
        fail_tensor(errc::dtype_mismatch, wanted.key,
                    "is " + std::string(name(held->dtype)) +
                        " in the source, and the program was made for " +
                        std::string(name(wanted.dtype)));
    return {wanted.key, wanted.dtype, source.shards_of(*held), held->spread,
            static_cast<std::uint32_t>(held - source.tensors.data())};
}

inline target_side target_of(layout const& target, tensor_layout const& wanted,
                             mapping const& program, mapping_output const* output) {
    std::string const& key = wanted.key;
    index_vector const& shape = target.shape_of(wanted);
    if (!output)
        fail_tensor(errc::unknown_key, key,
                    "is " + wanted_by_rank(target.shards_of(wanted)) +
                        ", and neither the program nor the source yields it" +
                        did_you_mean_key(key, program.outputs(), &mapping_output::key) +
                        "; to leave it as it is write '_ -> " + key + "'");
    if (output->value.shape != shape)
        fail_tensor(errc::shape_mismatch, key,
                    "has the shape " + to_string(shape) +
                        " in the target, and the program yields " + to_string(output->value.shape));
    if (output->value.dtype != wanted.dtype)
        fail_tensor(errc::dtype_mismatch, key,
                    "is " + std::string(name(wanted.dtype)) +
                        " in the target, and the program yields " +
                        std::string(name(output->value.dtype)) + "; to cast it write '" + key +
                        " -> " + key + ", dtype=\"" + std::string(name(wanted.dtype)) + "\"'");
    return {key,           wanted.dtype, target.shards_of(wanted), &output->value.pieces,
            output->added, wanted.spread};
}

inline std::vector<source_side> sources_of(mapping const& program, layout const& source) {
    std::vector<source_side> sides;
    sides.reserve(program.sources().size());
    key_walk walk(source.tensors.begin(), source.tensors.end());
    for (mapping_source const& wanted : program.sources())
        sides.push_back(source_of(wanted, source, walk.find(wanted.key, [&] {
            return find_tensor(source.tensors, wanted.key);
        })));
    return sides;
}

inline std::vector<target_side> targets_of(mapping const& program, layout const& target) {
    std::vector<target_side> sides;
    sides.reserve(target.tensors.size());
    key_walk walk(program.outputs().begin(), program.outputs().end());
    for (tensor_layout const& wanted : target.tensors)
        sides.push_back(target_of(target, wanted, program, walk.find(wanted.key, [&] {
            return program.outputs().find(wanted.key);
        })));
    return sides;
}

} // namespace detail

RESHARD_DECL detail::plan_problem problem_of(mapping const& program, layout const& source,
                                             layout const& target) {
    return {source.holders, target.holders, detail::sources_of(program, source),
            detail::targets_of(program, target)};
}

} // namespace reshard

#endif
