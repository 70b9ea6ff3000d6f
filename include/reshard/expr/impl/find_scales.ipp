// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FIND_SCALES_IPP
#define RESHARD_EXPR_IMPL_FIND_SCALES_IPP

#include <reshard/expr/check.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reshard::detail {

/// Which axes of a quantised tensor the axes of its scales go with.
enum class scale_axes : std::uint8_t {
    leading, ///< the first ones
    last,    ///< the last one
    none,    ///< they belong to the tensor as a whole
};

/// The names of a quantised tensor and of its scales.
struct scale_rule {
    std::string_view tensor; ///< how the key of the tensor ends
    std::string_view scales; ///< the ending of the scales' key
    scale_axes axes = scale_axes::leading;
    bool is_packed = false; ///< several values are one element of either, so any ratio may be right
    index_t block = 0;      ///< the usual extent of a block; 0: there is none
    bool is_aside = false;  ///< true of one tensor alone, so that a fused one may lack it
};

/// The conventions of quantised checkpoints.
///
/// Blocks, groups and packing factors follow from the extents of the two tensors; if these leave
/// several open, `quantization_config` of the model's configuration decides (`weight_block_size`,
/// `group_size`), then `block` here, then powers of two.
///
/// \par Source  the keys in checkpoints of DeepSeek-V3 (`weight_scale_inv`), DeepSeek-V4 (`scale`),
///              gpt-oss (`_blocks`, `_scales`), compressed-tensors, ModelOpt (`weight_scale_2`),
///              AutoGPTQ and AutoAWQ (`qweight`), bitsandbytes (`absmax`, `SCB`), EETQ
///              (`weight_scales`), MLX (`scales`, `biases`), Mistral (`qscale_weight`), ComfyUI
///              (`scale_weight`), quanto (`_data`, `_scale`)
inline constexpr scale_rule scale_rules[] = {
    // FP8 in blocks, by channel or by tensor; MXFP8; int8
    {"", "_scale_inv", scale_axes::leading, false, 128},
    {"", "_scale"},
    {"", "_scales"},
    {"", "_zero_point", scale_axes::leading, true},
    {".weight", ".scale"},
    {".weight", ".qscale_weight"},
    {".weight", ".scale_weight"},
    {"._data", "._scale"},
    {".weight", ".qscale_act", scale_axes::none, false, 0, true},
    {".weight", ".scale_input", scale_axes::none, false, 0, true},
    {".weight", ".input_scale", scale_axes::none, false, 0, true},
    {".weight", ".activation_scale", scale_axes::none, false, 0, true},
    // NVFP4 of ModelOpt: the scale of the scales
    {"", "_scale_2"},
    // compressed-tensors
    {"_packed", "_scale", scale_axes::leading, true},
    {"_packed", "_zero_point", scale_axes::leading, true},
    {"_packed", "_global_scale"},
    {"_packed", "_g_idx", scale_axes::last, true, 0, true},
    {"_packed", "_shape", scale_axes::none, false, 0, true},
    {"", "_g_idx", scale_axes::last, true, 0, true},
    {"", "_shape", scale_axes::none, false, 0, true},
    {".weight_packed", ".input_global_scale", scale_axes::none, false, 0, true},
    {".weight_packed", ".input_scale", scale_axes::none, false, 0, true},
    // MXFP4 of gpt-oss
    {"_blocks", "_scales"},
    // AWQ and GPTQ
    {".qweight", ".scales", scale_axes::leading, true},
    {".qweight", ".qzeros", scale_axes::leading, true},
    {".qweight", ".g_idx", scale_axes::leading, true, 0, true},
    // MLX
    {".weight", ".scales", scale_axes::leading, true},
    {".weight", ".biases", scale_axes::leading, true},
    // bitsandbytes: 4 and 8 bits
    {"", ".absmax", scale_axes::leading, true},
    {"", ".quant_map", scale_axes::none},
    {"", ".nested_absmax", scale_axes::none},
    {"", ".nested_quant_map", scale_axes::none},
    {"", ".quant_state.bitsandbytes__nf4", scale_axes::none},
    {"", ".quant_state.bitsandbytes__fp4", scale_axes::none},
    {".weight", ".SCB"},
    {".weight", ".weight_format", scale_axes::none, false, 0, true},
};

/// What `key` would be without `ending`, and with another; nothing for other keys.
inline std::optional<std::string> with_ending(std::string_view key, std::string_view ending,
                                              std::string_view other) {
    if (!key.ends_with(ending) || key.size() == ending.size())
        return std::nullopt;
    return std::string(key.substr(0, key.size() - ending.size())).append(other);
}

/// Blocks of a tensor and its scales along one axis.
struct axis_form {
    index_t block = 0;
    index_t count = 0;
};

/// The extents of blocks that are likely along an axis of a tensor, the likeliest first.
inline std::vector<index_t> likely_blocks(scale_rule const& rule, std::size_t axis,
                                          std::size_t ndim, quantisation_facts const& said) {
    std::vector<index_t> likely;
    for (index_vector const& block : said.blocks)
        if (!rule.is_packed && axis + block.size() >= ndim)
            likely.push_back(block[axis + block.size() - ndim]);
    if (rule.block > 0)
        likely.push_back(rule.block);
    return likely;
}

/// How `scales` scales go with `extent` elements; nullopt if they do not.
inline std::optional<axis_form> form_along(index_t extent, index_t scales, scale_rule const& rule,
                                           std::vector<index_t> const& likely) {
    auto const fits = [&](index_t block) {
        return block > 0 && extent / block + (extent % block != 0) == scales;
    };
    auto const with_block = [](index_t block) { return axis_form{block, 1}; };
    if (extent == scales)
        return with_block(1);
    if (auto const found = std::ranges::find_if(likely, fits); found != likely.end())
        return with_block(*found);
    if (scales == 1)
        return axis_form{0, 1};
    if (extent == 0 || scales == 0)
        return std::nullopt;
    if (scales % extent == 0)
        return axis_form{1, scales / extent};
    index_t const common = std::gcd(extent, scales);
    if (extent % scales == 0 &&
        (rule.is_packed || std::has_single_bit(static_cast<std::uint64_t>(extent / scales))))
        return with_block(extent / scales);
    if (rule.is_packed)
        return common > 1 ? std::optional(axis_form{extent / common, scales / common})
                          : std::nullopt;
    for (index_t const block : {128, 64, 32, 16, 256, 512, 1024})
        if (fits(block))
            return with_block(block);
    return extent % scales == 0 ? std::optional(with_block(extent / scales)) : std::nullopt;
}

/// The form of scales that have the axes of a tensor from `first` on.
inline std::optional<block_form> form_from(std::size_t first, index_vector const& shape,
                                           index_vector const& scales, scale_rule const& rule,
                                           quantisation_facts const& said) {
    block_form form{index_vector::filled(shape.size(), 0), index_vector::filled(shape.size(), 0)};
    bool const is_blocked = scales.size() == shape.size();
    for (std::size_t i = 0; i < scales.size(); ++i) {
        std::size_t const axis = first + i;
        auto const along = form_along(shape[axis], scales[i], rule,
                                      is_blocked ? likely_blocks(rule, axis, shape.size(), said)
                                                 : std::vector<index_t>());
        if (!along)
            return std::nullopt;
        form.block[axis] = along->block;
        form.count[axis] = along->count;
    }
    return form;
}

/// The form of scales that a rule names; nullopt if their extents do not fit.
inline std::optional<block_form> form_by_rule(scale_rule const& rule, index_vector const& shape,
                                              index_vector const& scales,
                                              quantisation_facts const& said) {
    std::size_t const ndim = shape.size();
    if (scales.size() > ndim)
        return std::nullopt;
    bool const is_last = rule.axes == scale_axes::last && scales.size() == 1;
    auto form = rule.axes == scale_axes::none
                    ? block_form{index_vector::filled(ndim, 0), index_vector::filled(ndim, 0)}
                    : form_from(is_last ? ndim - 1 : 0, shape, scales, rule, said);
    if (rule.axes == scale_axes::none)
        std::ranges::copy(scales, form->count.begin());
    // Rows of qweight are input channels: of any group, if channels are reordered.
    if (form && said.is_reordered && rule.tensor == ".qweight" && scales.size() == 2) {
        form->block[0] = 0;
        form->count[0] = scales[0];
    }
    return form;
}

RESHARD_DECL std::optional<block_form> form_of_scales(catalog_entry const& tensor,
                                                      catalog_entry const& scales,
                                                      quantisation_facts const& said) {
    for (scale_rule const& rule : scale_rules)
        if (with_ending(tensor.key, rule.tensor, rule.scales) == scales.key)
            return form_by_rule(rule, tensor.shape, scales.shape, said);
    return form_by_rule({}, tensor.shape, scales.shape, said);
}

/// A quantised tensor of a layout and its scales, by number.
struct found_scales {
    scale_rule const* rule = nullptr;
    std::size_t tensor = 0;
    std::size_t scales = 0;
    block_form form;
};

/// All of them, in the order of their tensors. Most layouts have none, and no key is looked for.
inline std::vector<found_scales> find_scales(layout const& source) {
    std::vector<found_scales> found;
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < source.tensors.size(); ++i) {
        tensor_layout const& tensor = source.tensors[i];
        if (!may_be_quantised(tensor.dtype))
            continue;
        for (std::size_t k = places.size(); k < source.tensors.size(); ++k)
            places.emplace(source.tensors[k].key, k);
        for (scale_rule const& rule : scale_rules) {
            auto const key = with_ending(tensor.key, rule.tensor, rule.scales);
            auto const place = key ? places.find(*key) : places.end();
            if (place == places.end())
                continue;
            auto form =
                form_by_rule(rule, source.shape_of(tensor),
                             source.shape_of(source.tensors[place->second]), source.quantised);
            if (form)
                found.push_back({&rule, i, place->second, *form});
        }
    }
    return found;
}

} // namespace reshard::detail

#endif
