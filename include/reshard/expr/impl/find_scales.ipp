// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FIND_SCALES_IPP
#define RESHARD_EXPR_IMPL_FIND_SCALES_IPP

#include <reshard/expr/check.hpp>

#include <reshard/expr/concat.hpp>
#include <reshard/expr/reshape.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <ranges>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reshard::detail {

/// The axes of a quantised tensor to which the axes of its scales correspond.
enum class scale_axes : std::uint8_t {
    leading, ///< the first axes
    last,    ///< the last axis
    fitting, ///< the first axes if each has one scale or a scale for each element; else `none`
    none,    ///< the scales belong to the whole tensor
};

/// What the second tensor of a rule is to the first.
enum class scale_role : std::uint8_t {
    needed,    ///< its values have no meaning without it
    factor,    ///< needed: each value is multiplied by its scale, and nothing else
    of_scales, ///< needed: the factors are multiplied by it
    divisor,   ///< needed: the factors are divided by it
    aside,     ///< belongs to one tensor: a fused tensor may lack it
    no_use,    ///< aside: a shape, or a scale of what the layer multiplies by the tensor
};

/// The names of a quantised tensor and of its scales.
struct scale_rule {
    std::string_view tensor; ///< the ending of the tensor's key
    std::string_view scales; ///< the ending of the scales' key
    scale_axes axes = scale_axes::leading;
    bool is_packed = false; ///< one element may hold several values, so any ratio may be right
    index_t block = 0;      ///< the usual extent of a block, or 0
    scale_role role = scale_role::needed;

    constexpr bool is_aside() const { return role >= scale_role::aside; }
};

/// The conventions of quantised checkpoints.
///
/// The extents of the two tensors determine blocks, groups and packing factors. If several are
/// possible, the model's `quantization_config` decides (`weight_block_size`, `group_size`), then
/// `block` here, then powers of two.
///
/// \par Source  the keys in checkpoints of DeepSeek-V3 (`weight_scale_inv`), DeepSeek-V4 (`scale`),
///              gpt-oss (`_blocks`, `_scales`), compressed-tensors, ModelOpt (`weight_scale_2`),
///              AutoGPTQ and AutoAWQ (`qweight`), bitsandbytes (`absmax`, `SCB`), transformers'
///              integrations/eetq.py (`weight_scales`) and metal_quantization.py (`qbiases`), MLX
///              (`scales`, `biases`), Mistral (`qscale_weight`), ComfyUI (`scale_weight`), quanto
///              (`_data`, `_scale`), torchao as in transformers' quantizer_torchao.py (`_qdata`),
///              HQQ (`W_q`), PaddleNLP's quantization_linear.py (`quant_weight`), AQT (`qvalue`),
///              TensorRT-LLM checkpoints of ModelOpt (`weights_scaling_factor`), Nunchaku
///              (`wscales`, whose tiles have another order), optimizers of bitsandbytes (`state1`)
inline constexpr scale_rule scale_rules[] = {
    {".weight", ".weight_scales", scale_axes::last}, // EETQ: weights are [in, out]
    // FP8 in blocks, by channel or by tensor; MXFP8; int8
    {"", "_scale_inv", scale_axes::leading, false, 128, scale_role::factor},
    {"", "_scale", scale_axes::leading, false, 0, scale_role::factor},
    {"", "_scales"},
    {"", "_zero_point", scale_axes::leading, true},
    {".weight", ".scale", scale_axes::leading, false, 0, scale_role::factor},
    {"", ".scale", scale_axes::leading, false, 0, scale_role::factor},
    {"", ".zero_point", scale_axes::leading, true},
    {".quant_weight", ".quant_scale"},
    {".qvalue", ".scale"},
    {"/qvalue", "/scale"},
    {".weight", ".qscale_weight", scale_axes::leading, false, 0, scale_role::factor},
    {".weight", ".scale_weight", scale_axes::leading, false, 0, scale_role::factor},
    {"._data", "._scale", scale_axes::leading, false, 0, scale_role::factor},
    {".weight", ".qscale_act", scale_axes::none, false, 0, scale_role::no_use},
    {".weight", ".scale_input", scale_axes::none, false, 0, scale_role::no_use},
    {".weight", ".input_scale", scale_axes::none, false, 0, scale_role::no_use},
    {".weight", ".output_scale", scale_axes::none, false, 0, scale_role::no_use},
    {".weight", ".activation_scale", scale_axes::none, false, 0, scale_role::no_use},
    // ModelOpt; for NVFP4, the scale of the scales
    {"", "_scale_2", scale_axes::leading, false, 0, scale_role::of_scales},
    {".weight", ".weights_scaling_factor", scale_axes::leading, true},
    {".weight", ".weights_scaling_factor_2"},
    {".weight", ".activation_scaling_factor", scale_axes::none, false, 0, scale_role::no_use},
    {".weight", ".prequant_scaling_factor", scale_axes::last, true, 0, scale_role::aside},
    {".weight", ".pre_quant_scale", scale_axes::last, true, 0, scale_role::aside},
    // compressed-tensors
    {"_packed", "_scale", scale_axes::leading, true, 0, scale_role::factor},
    {"_packed", "_zero_point", scale_axes::leading, true},
    {"_packed", "_global_scale", scale_axes::leading, false, 0, scale_role::divisor},
    {"_packed", "_g_idx", scale_axes::last, true, 0, scale_role::aside},
    {"_packed", "_shape", scale_axes::none, false, 0, scale_role::no_use},
    {"", "_g_idx", scale_axes::last, true, 0, scale_role::aside},
    {"", "_shape", scale_axes::none, false, 0, scale_role::no_use},
    {".weight_packed", ".input_global_scale", scale_axes::none, false, 0, scale_role::no_use},
    {".weight_packed", ".input_scale", scale_axes::none, false, 0, scale_role::no_use},
    // MXFP4 of gpt-oss
    {"_blocks", "_scales", scale_axes::leading, false, 0, scale_role::factor},
    // AWQ and GPTQ
    {".qweight", ".scales", scale_axes::leading, true},
    {".qweight", ".qzeros", scale_axes::leading, true},
    {".qweight", ".g_idx", scale_axes::leading, true, 0, scale_role::aside},
    {".qweight", ".wscales", scale_axes::none},
    // MLX
    {".weight", ".scales", scale_axes::leading, true},
    {".weight", ".biases", scale_axes::leading, true},
    {".weight", ".qbiases", scale_axes::leading, true},
    // torchao, whose scales of 4 bits are transposed, and HQQ, which packs halves of a tensor
    {"_qdata", "_scale", scale_axes::fitting},
    {"_qdata", "_zero_point", scale_axes::fitting},
    {"_qdata", "_per_tensor_scale", scale_axes::none},
    {"_qdata", "_scale_and_zero", scale_axes::none},
    {"_qdata", "_act_pre_scale", scale_axes::none, false, 0, scale_role::aside},
    {".W_q", ".scale", scale_axes::none},
    {".W_q", ".zero", scale_axes::none},
    // bitsandbytes: 4 and 8 bits
    {"", ".absmax", scale_axes::leading, true, 32},
    {"", ".quant_map", scale_axes::none},
    {"", ".nested_absmax", scale_axes::none},
    {"", ".nested_quant_map", scale_axes::none},
    {"", ".quant_state.bitsandbytes__nf4", scale_axes::none},
    {"", ".quant_state.bitsandbytes__fp4", scale_axes::none},
    {".weight", ".SCB"},
    {".state1", ".absmax1", scale_axes::leading, true},
    {".state2", ".absmax2", scale_axes::leading, true},
    {".state1", ".max1", scale_axes::none},
    {".state2", ".max2", scale_axes::none},
    {".weight", ".weight_format", scale_axes::none, false, 0, scale_role::aside},
};

/// `key` with `other` in place of `ending`; std::nullopt if `key` does not end in `ending`.
inline std::optional<std::string> with_ending(std::string_view key, std::string_view ending,
                                              std::string_view other) {
    if (!key.ends_with(ending) || key.size() == ending.size())
        return std::nullopt;
    return std::string(key.substr(0, key.size() - ending.size())).append(other);
}

/// The extent of a block and its number of scales, along one axis.
struct axis_form {
    index_t block = 0;
    index_t count = 0;
};

/// The likely extents of blocks along an axis of a tensor, the likeliest first.
inline vector<index_t> likely_blocks(scale_rule const& rule, std::size_t axis, std::size_t ndim,
                                     quantisation_facts const& said) {
    vector<index_t> likely;
    for (index_vector const& block : said.blocks)
        if (!rule.is_packed && axis + block.size() >= ndim)
            likely.push_back(block[axis + block.size() - ndim]);
    if (rule.block > 0)
        likely.push_back(rule.block);
    return likely;
}

/// Whether blocks of extent `block` have `scales` scales; the last block may be shorter.
inline bool is_block(index_t block, index_t extent, index_t scales) {
    return block > 0 && extent / block + (extent % block != 0) == scales;
}

/// The likeliest power of two that may be the extent of a block; 0 if there is none.
inline index_t power_of_two(index_t extent, index_t scales) {
    for (index_t const block : {128, 64, 32, 16, 256, 512, 1024, 8, 4, 2})
        if (is_block(block, extent, scales))
            return block;
    return 0;
}

/// How `scales` scales correspond to `extent` elements, if an element of either tensor may hold
/// several values.
inline axis_form packed_along(index_t extent, index_t scales) {
    bool const is_whole_number = extent % scales == 0;
    index_t const power = power_of_two(extent, scales);
    if (power > 0 && is_whole_number && extent / scales != power)
        return {0, scales}; // groups of 3 bits or a short last group: any scale may apply
    if (power > 0)
        return {power, 1};
    index_t const common = std::gcd(extent, scales);
    return {extent / common, scales / common};
}

/// How `scales` scales correspond to `extent` elements; std::nullopt if they do not.
inline std::optional<axis_form> form_along(index_t extent, index_t scales, scale_rule const& rule,
                                           vector<index_t> const& likely) {
    if (extent == scales)
        return axis_form{1, 1};
    auto const match = std::ranges::find_if(
        likely, [&](index_t block) { return is_block(block, extent, scales); });
    if (match != likely.end())
        return axis_form{*match, 1};
    if (scales == 1)
        return axis_form{0, 1};
    if (extent == 0 || scales == 0)
        return std::nullopt;
    bool const is_whole_number = extent % scales == 0;
    if (scales % extent == 0)
        return axis_form{1, scales / extent};
    if (is_whole_number && std::has_single_bit(static_cast<std::uint64_t>(extent / scales)))
        return axis_form{extent / scales, 1};
    if (rule.is_packed)
        return packed_along(extent, scales);
    if (index_t const power = power_of_two(extent, scales); power > 0)
        return axis_form{power, 1};
    return is_whole_number ? std::optional(axis_form{extent / scales, 1}) : std::nullopt;
}

/// The form of scales whose axes correspond to the axes of a tensor from `first` on.
inline std::optional<block_form> form_from(std::size_t first, index_vector const& shape,
                                           index_vector const& scales, scale_rule const& rule,
                                           quantisation_facts const& said) {
    block_form form{index_vector::filled(shape.size(), 0), index_vector::filled(shape.size(), 0)};
    bool const has_blocks = scales.size() == shape.size() || rule.is_packed;
    for (std::size_t i = 0; i < scales.size(); ++i) {
        std::size_t const axis = first + i;
        bool const is_of_parts =
            !has_blocks && scales[i] > 1 && scales[i] % std::max(shape[axis], index_t{1}) != 0;
        auto const along =
            is_of_parts ? std::optional(axis_form{0, scales[i]}) // parts of any extent
                        : form_along(shape[axis], scales[i], rule,
                                     has_blocks ? likely_blocks(rule, axis, shape.size(), said)
                                                : vector<index_t>());
        if (!along)
            return std::nullopt;
        form.block[axis] = along->block;
        form.count[axis] = along->count;
    }
    return form;
}

/// Whether each axis has one scale, or one for each element.
inline bool fits_plainly(index_vector const& shape, index_vector const& scales) {
    for (std::size_t axis = 0; axis < scales.size(); ++axis)
        if (scales[axis] != 1 && scales[axis] != shape[axis])
            return false;
    return true;
}

/// The first axis of a tensor to which the axes of its scales correspond. A vector of scales does
/// not belong to the rule's axis if exactly one other axis has that extent.
///
/// \pre `scales` has no more axes than `shape`
inline std::size_t first_scaled_axis(scale_rule const& rule, index_vector const& shape,
                                     index_vector const& scales) {
    if (scales.size() != 1)
        return 0;
    std::size_t const usual = rule.axes == scale_axes::last ? shape.size() - 1 : 0;
    bool const is_usual = rule.is_packed || scales[0] == 1 || scales[0] == shape[usual];
    return is_usual || std::ranges::count(shape, scales[0]) != 1
               ? usual
               : static_cast<std::size_t>(std::ranges::find(shape, scales[0]) - shape.begin());
}

/// The form of scales that a rule names; nullopt if their extents do not fit.
inline std::optional<block_form> form_by_rule(scale_rule const& rule, index_vector const& shape,
                                              index_vector const& scales,
                                              quantisation_facts const& said) {
    if (scales.size() > shape.size())
        return std::nullopt;
    if (rule.axes == scale_axes::none ||
        (rule.axes == scale_axes::fitting && !fits_plainly(shape, scales))) {
        block_form form{index_vector::filled(shape.size(), 0),
                        index_vector::filled(shape.size(), 0)};
        std::ranges::copy(scales, form.count.begin());
        return form;
    }
    auto form = form_from(first_scaled_axis(rule, shape, scales), shape, scales, rule, said);
    // Reordered input channels (the rows of qweight) may belong to any group.
    bool const is_of_gptq = rule.tensor == ".qweight";
    if (form && said.is_reordered && scales.size() == shape.size() &&
        (is_of_gptq || rule.tensor == "_packed")) {
        std::size_t const axis = is_of_gptq ? 0 : shape.size() - 1;
        form->block[axis] = 0;
        form->count[axis] = scales[axis];
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

/// `*.weight_packed => *.weight_scale`: the names of a tensor and of its scales, as `scales=`
/// writes them.
inline std::string names_as_pattern(std::string const& tensor, std::string const& scales) {
    std::size_t const dot = std::min(tensor.rfind('.'), tensor.size());
    std::size_t const begin = scales.starts_with(tensor.substr(0, dot)) ? dot : 0;
    return "*" + tensor.substr(begin) + " => *" + scales.substr(begin);
}

RESHARD_DECL std::string pattern_of_scales(std::string const& scales, catalog const& source) {
    for (scale_rule const& rule : scale_rules)
        if (auto const key = with_ending(scales, rule.scales, rule.tensor);
            key && source.find(*key) && may_be_quantised(source.find(*key)->dtype))
            return names_as_pattern(*key, scales);
    return {};
}

/// The tensors of a catalog that conventions name as companions of a quantised tensor.
inline vector<std::pair<scale_rule const*, catalog_entry const*>>
companions_in(catalog const& source, std::string const& tensor) {
    vector<std::pair<scale_rule const*, catalog_entry const*>> companions;
    for (scale_rule const& rule : scale_rules)
        if (auto const key = with_ending(tensor, rule.tensor, rule.scales))
            if (catalog_entry const* const entry = source.find(*key);
                entry && std::ranges::find(companions, entry, [](auto const& each) {
                             return each.second;
                         }) == companions.end())
                companions.emplace_back(&rule, entry);
    return companions;
}

RESHARD_DECL bool has_scales(catalog_entry const& tensor, catalog const& source) {
    return !companions_in(source, tensor.key).empty();
}

/// Refuses a form that does not have one scale for each element.
inline void check_one_scale(catalog_entry const& tensor, catalog_entry const& scales,
                            std::optional<block_form> const& form) {
    bool const is_one = form && std::ranges::all_of(form->count, [](index_t i) { return i <= 1; });
    if (!is_one)
        fail(errc::shape_mismatch, "'", tensor.key, "' of shape ", tensor.shape,
             " cannot be dequantized: its scales '", scales.key, "' have the shape ", scales.shape,
             ", which does not give each block of elements one scale");
    bool const are_floats = is_floating(scales.dtype) || scales.dtype == data_type::u8;
    if (!are_floats)
        fail(errc::dtype_mismatch, "'", tensor.key, "' cannot be dequantized: its scales '",
             scales.key, "' are ", scales.dtype, ", not floating-point numbers");
}

/// How the values of a tensor with such scales are packed.
///
/// \throws error with errc::unsupported for other schemes
inline value_packing packing_of(catalog_entry const& tensor, catalog_entry const& scales,
                                bool has_groups) {
    if (may_be_dequantized(tensor.dtype))
        return value_packing::none;
    bool const is_of_four_bits = scales.dtype == data_type::u8 ||
                                 scales.dtype == data_type::f8_e8m0 ||
                                 scales.dtype == data_type::f8_e4m3;
    if (tensor.dtype != data_type::u8 || !is_of_four_bits || tensor.shape.empty())
        fail(errc::unsupported, "'", tensor.key, "' cannot be dequantized: ", tensor.dtype,
             " values with scales of ", scales.dtype,
             " are a scheme that is not supported; supported are float8 and int8, and 4-bit floats "
             "in pairs (MXFP4, NVFP4)");
    return has_groups ? value_packing::groups : value_packing::pairs;
}

/// Refuses a tensor that belongs to a quantised tensor in an unknown way.
[[noreturn]] inline void refuse_scheme(catalog_entry const& tensor, catalog_entry const& other,
                                       std::string const& scales) {
    fail(errc::unsupported, "'", tensor.key, "' cannot be dequantized: it has '", other.key, "'",
         scales.empty() ? "" : " as well as '" + scales + "'",
         ", and this scheme is not supported; supported are values times one scale for each block");
}

inline bool is_one_number(catalog_entry const& scales) { return element_count(scales.shape) == 1; }

/// Refuses blocks whose extents are a guess: several extents give this number of scales, and
/// neither the configuration nor the convention names one of them.
inline void check_certain(scale_rule const& rule, catalog_entry const& tensor,
                          catalog_entry const& scales, block_form const& form,
                          quantisation_facts const& said) {
    for (std::size_t axis = 0; axis < form.ndim(); ++axis) {
        index_t const block = form.block[axis], extent = tensor.shape[axis];
        if (block <= 1 || form.count_of(axis) == 0)
            continue;
        index_t const count = extent / block + (extent % block != 0);
        auto const likely =
            said.blocks.empty()
                ? vector<index_t>(rule.block > 0 ? 1 : 0, rule.block)
                : likely_blocks({.tensor = {}, .scales = {}}, axis, form.ndim(), said);
        bool const is_only =
            !is_block(block - 1, extent, count) && !is_block(block + 1, extent, count);
        bool const is_power = extent % count == 0 && extent / count == block &&
                              std::has_single_bit(static_cast<std::uint64_t>(block));
        bool const is_said = std::ranges::find(likely, block) != likely.end();
        if (is_said || is_power || (said.blocks.empty() && is_only))
            continue;
        fail(errc::shape_mismatch, "'", tensor.key, "' of shape ", tensor.shape,
             " cannot be dequantized: its scales '", scales.key, "' of shape ", scales.shape,
             said.blocks.empty()
                 ? words(" fit blocks of ", block, " along axis ", axis,
                         ", but also others; name them in weight_block_size of "
                         "quantization_config, in the config.json beside the source")
                 : words(" do not fit the blocks of ", said.blocks.front(),
                         " that the config.json beside the source names"));
    }
}

/// Whether a name suggests that a tensor holds scales or zero points.
inline bool is_called_scales(std::string_view name) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), to_lower);
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"scale", "scaling", "amax", "absmax", "zero"},
        [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

/// Whether a tensor may be scales or zero points that follow no convention.
inline bool may_be_unknown_scales(std::string_view name, catalog_entry const& entry,
                                  catalog const& source) {
    return name.find_first_of("./") == name.npos &&
           (is_called_scales(name) || name.ends_with("_zp") || name.find("offset") != name.npos) &&
           pattern_of_scales(entry.key, source).empty();
}

/// A tensor beside a quantised tensor that may change its values, but follows no convention; null
/// if there is none.
inline catalog_entry const* unknown_companion(catalog_entry const& tensor, catalog const& source) {
    constexpr std::ptrdiff_t most = 64; // a larger module is searched for `key` alone
    std::string_view const key = tensor.key;
    std::string_view const module = key.substr(0, key.find_last_of("./") + 1);
    auto const beginning_with = [&](std::string_view prefix) {
        auto const first = std::ranges::lower_bound(source, prefix, {}, &catalog_entry::key);
        return std::ranges::subrange(
            first, std::find_if(first, source.end(),
                                [&](auto const& entry) { return !entry.key.starts_with(prefix); }));
    };
    auto beside = beginning_with(module);
    if (module.empty() || std::ranges::ssize(beside) > most)
        beside = beginning_with(key);
    for (catalog_entry const& entry : beside) {
        std::string_view const name = std::string_view(entry.key).substr(module.size());
        if (&entry == &tensor || !may_be_unknown_scales(name, entry, source))
            continue;
        bool const is_of_another = !entry.key.starts_with(key) &&
                                   std::ranges::any_of(beside, [&](catalog_entry const& other) {
                                       return &other != &entry && entry.key.starts_with(other.key);
                                   });
        if (!is_of_another)
            return &entry;
    }
    return nullptr;
}

RESHARD_DECL std::optional<tensor_scales> scales_to_dequantize(catalog_entry const& tensor,
                                                               catalog const& source) {
    tensor_scales scales;
    auto const companions = companions_in(source, tensor.key);
    if (companions.empty() && !is_floating(tensor.dtype))
        return std::nullopt;
    for (auto const& [rule, entry] : companions) {
        switch (rule->role) {
        case scale_role::no_use: scales.no_use.push_back(entry->key); break;
        case scale_role::factor: {
            if (!scales.key.empty())
                refuse_scheme(tensor, *entry, scales.key);
            scales.key = entry->key;
            auto form =
                is_one_number(*entry)
                    ? std::optional(block_form{index_vector::filled(tensor.shape.size(), 0)})
                    : form_by_rule(*rule, tensor.shape, entry->shape, source.quantised);
            check_one_scale(tensor, *entry, form);
            check_certain(*rule, tensor, *entry, *form, source.quantised);
            scales.form = *std::move(form);
            scales.packing = packing_of(tensor, *entry, rule->tensor == "_blocks");
            break;
        }
        case scale_role::of_scales:
        case scale_role::divisor:
            if (!scales.of_scales.empty() || !is_one_number(*entry) || !is_floating(entry->dtype))
                refuse_scheme(tensor, *entry, scales.key);
            scales.of_scales = entry->key;
            scales.divides = rule->role == scale_role::divisor;
            break;
        default: refuse_scheme(tensor, *entry, scales.key);
        }
    }
    if (catalog_entry const* const other = unknown_companion(tensor, source))
        refuse_scheme(tensor, *other, scales.key);
    if (scales.key.empty())
        fail(errc::unknown_key, "'", tensor.key, "' is ", tensor.dtype,
             " and cannot be dequantized: the source has no scales for it, such as '", tensor.key,
             "_scale_inv' or '", tensor.key, "_scale'");
    return scales;
}

RESHARD_DECL vector<relation> relations_of(std::string const& tensor, tensor_scales const& scales) {
    using enum relation::kind;
    vector<relation> relations{{dequantize, tensor, scales.key, scales.form.block}};
    if (!scales.of_scales.empty())
        relations.push_back({scales.divides ? divide : multiply, scales.key, scales.of_scales});
    return relations;
}

RESHARD_DECL expression dequantized(expression const& tensor, value_packing packing,
                                    data_type dtype) {
    if (packing == value_packing::none)
        return dequantized(tensor, dtype);
    if (packing == value_packing::decoded)
        return cast(tensor, dtype);
    index_vector alone = tensor.shape, result;
    std::size_t const last = tensor.ndim() - 1;
    alone.push_back(1);
    bool const has_groups = packing == value_packing::groups && last > 0;
    for (std::size_t axis = 0; axis < last - has_groups; ++axis)
        result.push_back(tensor.shape[axis]);
    result.push_back(tensor.shape[last] * 2 * (has_groups ? tensor.shape[last - 1] : 1));
    return reshape(concat({reshape(dequantized(tensor, dtype, 1), alone),
                           reshape(dequantized(tensor, dtype, 2), alone)},
                          last + 1),
                   result);
}

/// The numbers, in a layout, of a quantised tensor and its scales.
struct found_scales {
    scale_rule const* rule = nullptr;
    std::size_t tensor = 0;
    std::size_t scales = 0;
    block_form form;
};

/// All scales of a layout, in the order of their tensors. Most layouts have no quantised tensor,
/// and need no look-up.
inline vector<found_scales> find_scales(layout const& source) {
    vector<found_scales> scales;
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < source.tensors.size(); ++i) {
        tensor_layout const& tensor = source.tensors[i];
        if (!may_be_quantised(tensor.dtype))
            continue;
        for (std::size_t k = places.size(); k < source.tensors.size(); ++k)
            places.emplace(source.tensors[k].key, k);
        auto const first = std::ssize(scales);
        for (scale_rule const& rule : scale_rules) {
            auto const key = with_ending(tensor.key, rule.tensor, rule.scales);
            auto const position = key ? places.find(*key) : places.end();
            bool const is_known = position == places.end() ||
                                  std::any_of(scales.begin() + first, scales.end(),
                                              [&](found_scales const& found_scales) {
                                                  return found_scales.scales == position->second;
                                              });
            if (is_known)
                continue;
            auto form =
                form_by_rule(rule, source.shape_of(tensor),
                             source.shape_of(source.tensors[position->second]), source.quantised);
            if (form)
                scales.push_back({&rule, i, position->second, *form});
        }
    }
    return scales;
}

} // namespace reshard::detail

#endif
