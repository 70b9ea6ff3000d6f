// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_DISSECT_IPP
#define RESHARD_AOA_IMPL_DISSECT_IPP

#include <reshard/aoa/dissect.hpp>

#include <reshard/aoa/operation.hpp>
#include <reshard/expr/resize.hpp>

#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL expression probe(tensor_facts const& facts) {
    return reshard::detail::source_tensor(0, facts.shape, facts.dtype);
}

RESHARD_DECL tensor_facts apply(attribute const& one, tensor_facts const& before,
                                index_vector const* wanted) {
    attribute alone = one;
    if (one.word == "dst_dtype")
        alone.word = "dtype";
    expression const value = probe(before);
    operation step({&value}, {}, 1);
    step.expect(wanted);
    expression const made = step.run({alone})[0];
    data_type const held =
        reshard::detail::is_lossless(before.held, made.dtype) ? before.held : made.dtype;
    return {made.shape, made.dtype, held};
}

/// Whether an attribute says something of the whole program.
inline bool is_declaration(attribute const& one) {
    return one.word == "scales" || one.word == "blocks";
}

RESHARD_DECL bool is_step(attribute const& one) {
    return one.word != "axis" && one.word != "sizes" && one.word != "src_dtype" &&
           !is_declaration(one);
}

/// Applies an attribute to each tensor, and notes the steps.
inline void take_step(attribute const& what, index_vector const* wanted,
                      std::vector<tensor_facts>& values,
                      std::vector<std::vector<attribute_step>>& steps) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        tensor_facts const after = apply(what, values[i], wanted);
        steps[i].push_back({&what, values[i], after});
        values[i] = after;
    }
}

RESHARD_DECL std::vector<tensor_facts> join(attribute const& axis, attribute const* sizes,
                                            std::vector<tensor_facts> const& values,
                                            std::size_t result_count) {
    std::vector<expression> probes;
    std::vector<expression const*> operands;
    for (tensor_facts const& value : values)
        probes.push_back(probe(value));
    for (expression const& one : probes)
        operands.push_back(&one);
    std::vector<attribute> list{axis};
    if (sizes)
        list.push_back(*sizes);
    data_type held = values[0].held;
    for (tensor_facts const& value : values)
        held = value.held == held ? held : value.dtype;
    std::vector<tensor_facts> made;
    for (expression const& one : operation(std::move(operands), {}, result_count).run(list))
        made.push_back({one.shape, one.dtype, held});
    return made;
}

RESHARD_DECL dissection dissect(program const& code, statement const& one,
                                std::vector<tensor_facts> operands, index_vector const* wanted) {
    dissection result;
    result.operands.resize(one.left);
    result.results.resize(one.right);
    auto const& list = code.attributes(one);
    attribute const* sizes = nullptr;
    for (attribute const& each : list)
        if (each.word == "sizes")
            sizes = &each;
    bool const is_single = one.left == 1 && one.right == 1;
    for (attribute const& each : list)
        if (is_declaration(each)) {
            result.declared.push_back(&each);
        } else if (each.word == "axis" && !is_single) {
            result.axis = &each;
            result.joined = operands;
            operands = join(each, sizes, operands, one.right);
        } else if (is_step(each)) {
            take_step(each, is_single ? wanted : nullptr, operands,
                      result.axis ? result.results : result.operands);
        }
    result.made = std::move(operands);
    return result;
}

} // namespace reshard::aoa::detail

#endif
