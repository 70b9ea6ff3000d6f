// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_QUANTIZE_IPP
#define RESHARD_EXPR_IMPL_QUANTIZE_IPP

#include <reshard/expr/quantize.hpp>

#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/cast.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

namespace reshard::detail {

/// \throws error unless scales to keep are none, or those of the scheme
inline void check_kept(quantiser const& by, vector<expression> const& kept) {
    if (kept.empty())
        return;
    std::size_t next = 0;
    for (quantised_tensor const& which : by.tensors()) {
        if (!which.is_scale || next++ >= kept.size())
            continue;
        expression const& given = kept[next - 1];
        if (given.shape != which.shape)
            fail(errc::shape_mismatch, "the given scales '", which.suffix, "' have the shape ",
                 given.shape, ", not ", which.shape,
                 element_count(given.shape) == element_count(which.shape) ? "; reshape them before"
                                                                          : "");
        if (given.dtype != which.dtype)
            fail(errc::dtype_mismatch, "the given scales '", which.suffix, "' are ", given.dtype,
                 ", not ", which.dtype, bits(which.dtype) > 8 ? "; cast them before" : "");
    }
    if (next == 0)
        fail(errc::usage, "the scheme stores scales beside its numbers, so none can be kept");
    if (next != kept.size())
        fail(errc::usage, "the scheme has ", counted(next, "tensor"), " of scales to keep, not ",
             kept.size());
}

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL vector<expression> mapping::quantized(std::string_view key, expression const& value,
                                                   std::string_view scheme,
                                                   vector<expression> kept) {
    detail::quantiser const quantiser(scheme, value.shape);
    if (!detail::is_floating(value.dtype) || bits(value.dtype) < 16)
        fail(errc::dtype_mismatch, "it is ", value.dtype,
             ", and only values of float16, bfloat16, float32 and float64 are quantised",
             detail::may_be_quantised(value.dtype) ? "; dequantize it first" : "");
    detail::check_kept(quantiser, kept);
    vector<std::string> keys;
    for (detail::quantised_tensor const& which : quantiser.tensors())
        keys.push_back(detail::words(key, which.suffix, " (", scheme, ')'));
    vector<detail::mapping_source> tensors;
    for (std::size_t i = 0; i < keys.size(); ++i)
        tensors.push_back({keys[i], quantiser.tensors()[i].shape, quantiser.tensors()[i].dtype});
    return add_quantised({std::string(key), std::string(scheme), value, std::move(kept)}, tensors);
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL void add_value(mapping& values, mapping const& program,
                            quantised_value const& quantised) {
    auto const add_source = [&](mapping_source const& tensor) {
        return values.source(tensor.key, tensor.shape, tensor.dtype).pieces.source(0);
    };
    std::set<std::string, std::less<>> used;
    bool is_dequantized = false;
    auto const with_sources = [&](expression const& of) {
        expression copy{of.shape, of.dtype, piece_list(of.ndim())};
        for (std::size_t i = 0; i < of.pieces.size(); ++i) {
            piece from = of.pieces[i];
            is_dequantized |= from.steps.dequantizes();
            if (from.source != zero_source) {
                mapping_source const tensor = program.sources()[from.source];
                used.emplace(tensor.key);
                from.source = add_source(tensor);
            }
            copy.pieces.push_back(from);
        }
        return copy;
    };
    quantiser const by(quantised.scheme, quantised.value.shape);
    check_kept(by, quantised.kept);
    if (quantised.count != by.tensors().size())
        fail(errc::bad_layout, "the program has ", counted(quantised.count, "tensor"), " for '",
             quantised.name, "', but '", quantised.scheme, "' makes ", by.tensors().size());
    auto const key_of = [&](key_id which) {
        return program.sources().key(quantised.first + which);
    };
    expression value = with_sources(quantised.value);
    auto scales = quantised.kept.begin();
    for (key_id i = 0; i < quantised.count && scales != quantised.kept.end(); ++i)
        if (by.tensors()[i].is_scale)
            values.define(key_of(i), with_sources(*scales++));
    // The factors of scales come after the scales.
    for (relation const& related : program.relations())
        if (is_dequantized && related.is_of_values() && used.contains(related.key)) {
            used.insert(related.companion);
            for (mapping_source const& tensor : program.sources())
                if (tensor.key == related.companion)
                    add_source(tensor);
            if (std::ranges::find(values.relations(), related) == values.relations().end())
                values.relate(related);
        }
    values.define(key_of(0),
                  value.dtype == data_type::f32 ? std::move(value) : cast(value, data_type::f32));
}

} // namespace reshard::detail

#endif
