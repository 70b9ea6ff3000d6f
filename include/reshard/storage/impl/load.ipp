// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_LOAD_IPP
#define RESHARD_STORAGE_IMPL_LOAD_IPP

#include <reshard/storage/load.hpp>

#include <reshard/expr/digest.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

namespace reshard {

namespace detail {

RESHARD_DECL mapping by_name(checkpoint const& source, layout const& target) {
    catalog const wanted = catalog_of(target);
    return identity_mapping(catalog_of(source), &wanted);
}

RESHARD_DECL std::uint64_t digest_of_load(checkpoint const& source, load_call const& how) {
    hasher digest;
    add_value(digest, how.options.strict);
    digest.add(digest_of(source.metadata()));
    digest.add(how.program ? digest_of(*how.program) : 0);
    for (std::string const& pattern : how.options.allow_shape_mismatch)
        digest.add(pattern);
    return digest.value();
}

RESHARD_DECL mapping program_for(checkpoint const& source, layout const& wanted,
                                 load_call const& how, strict_verdict const& verdict) {
    if (verdict.left_out.empty())
        return how.program ? *how.program : by_name(source, wanted);
    mapping program =
        how.program ? *how.program : by_name(source, without_left_out(wanted, verdict));
    for (std::string const& key : verdict.left_out) {
        tensor_layout const& tensor = *wanted.find(key);
        program.add(key, tensor.shape, tensor.dtype);
    }
    return program;
}

RESHARD_DECL void plan_load(load_plan& work, checkpoint const& source, state_dict const& target,
                            holder_t me) {
    work.problem = problem_of(work.program, source.files_layout(), work.wanted);
    work.problem.source_names = &source.file_names();
    work.whole =
        make_plan(work.problem, {holder_set::nobody(), holder_set({me})}, {.shared_sources = true});
    work.targets.add(target, work.wanted, me);
}

} // namespace detail

} // namespace reshard

#endif
