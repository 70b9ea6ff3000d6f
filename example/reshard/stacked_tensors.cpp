// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "stacked_tensors.hpp"

#include <reshard/copy/quantiser.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/layout/key_pattern.hpp>
#include <reshard/storage/aliases.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

struct named_shape {
    std::string key;
    index_vector shape;
};

std::string quoted(std::string const& key) { return "\"" + key + "\""; }

std::string reshaped(std::string const& key, index_vector const& shape) {
    std::string text;
    for (index_t const extent : shape)
        text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return quoted(key) + " -> " + quoted(key) + ", reshape=\"[" + text + "]\"\n";
}

std::string joined(reshard::vector<std::string> const& keys) {
    std::string text;
    for (std::string const& key : keys)
        text += (text.empty() ? "" : ", ") + quoted(key);
    return text;
}

std::string_view along_first(reshard::vector<std::string> const& keys) {
    return keys.size() == 1 ? "\n" : ", axis=0\n"; // a single tensor needs no concat
}

/// The names of a stack and of its members, without their numbers.
struct stack_name {
    std::string head, tail; ///< text before and after a member's number
    std::string stack_key;

    std::string key_of(index_t number) const { return head + std::to_string(number) + tail; }
};

/// The position of a layer's number in a key, after `decoder.layers.` or `encoder.layers.`.
std::size_t behind_layers(std::string_view key) {
    for (std::string_view const block : {"decoder.layers.", "encoder.layers."})
        if (std::size_t const at = key.find(block); at != key.npos)
            return at + block.size();
    return key.npos;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

constexpr std::string_view experts = ".mlp.experts.", stacked_experts = ".mlp.experts.experts.";

std::optional<stack_name> layers_in(std::string const& key) {
    std::size_t const at = behind_layers(key);
    if (at >= key.size() || is_digit(key[at]))
        return std::nullopt;
    return stack_name{key.substr(0, at), "." + key.substr(at), key};
}

std::optional<stack_name> experts_in(std::string const& key) {
    std::size_t const at = key.find(stacked_experts);
    if (at == key.npos)
        return std::nullopt;
    return stack_name{key.substr(0, at).append(experts) + key.substr(at + stacked_experts.size()),
                      "", key};
}

/// The number of a stack's member, and the names of the stack.
using numbered_name = std::pair<index_t, stack_name>;

/// \pre `key[begin]` is a digit
numbered_name number_at(std::string const& key, std::size_t begin) {
    index_t number = 0;
    char const* const end = key.data() + key.size();
    auto const read = std::from_chars(key.data() + begin, end, number);
    return {number, {key.substr(0, begin), std::string(read.ptr, end), {}}};
}

std::optional<numbered_name> layer_of(std::string const& key) {
    std::size_t const at = behind_layers(key);
    if (at >= key.size() || !is_digit(key[at]))
        return std::nullopt;
    numbered_name layer = number_at(key, at);
    stack_name& name = layer.second;
    if (!name.tail.starts_with("."))
        return std::nullopt;
    name.stack_key = name.head + name.tail.substr(1);
    return layer;
}

std::optional<numbered_name> expert_of(std::string const& key) {
    std::size_t const at = key.find(experts);
    if (at == key.npos || key.find(stacked_experts) != key.npos || !is_digit(key.back()))
        return std::nullopt;
    std::size_t const behind = at + experts.size();
    numbered_name expert = number_at(key, key.find_last_not_of("0123456789") + 1);
    expert.second.stack_key =
        key.substr(0, at).append(stacked_experts) + expert.second.head.substr(behind);
    return expert;
}

/// Refuses a stack whose number of layers differs from the `first` stack of its list, and a stack
/// that would exceed `most_names` tensors together with `names`.
void check_count(named_shape const& stack, named_shape const& first, std::size_t most_names,
                 std::size_t names) {
    if (first.shape[0] != stack.shape[0])
        fail(errc::shape_mismatch, "'", first.key, "' has ", first.shape[0], " layers, but '",
             stack.key, "' has ", stack.shape[0],
             "; tensors that hold all layers need equal numbers of layers");
    if (static_cast<std::size_t>(stack.shape[0]) > most_names - std::min(most_names, names))
        fail(errc::limit_exceeded, "'", stack.key, "' would become ", stack.shape[0],
             " tensors, which with the others are more than --max-names allows: ", most_names);
}

/// Splits the stacks among tensors, and replaces them by their members.
template <class Find>
std::string take_apart(reshard::vector<named_shape>& tensors, std::size_t most_names, Find&& find) {
    std::string text;
    reshard::vector<named_shape> result;
    std::map<std::string, named_shape const*> first_of; // first stack of each list of layers
    for (named_shape const& tensor : tensors) {
        auto const name = find(tensor.key);
        if (!name || tensor.shape.empty() || tensor.shape[0] == 0) {
            result.push_back(tensor);
            continue;
        }
        named_shape const& first = *first_of.emplace(name->head, &tensor).first->second;
        check_count(tensor, first, most_names, result.size());
        index_vector const shape(tensor.shape.begin() + 1, tensor.shape.end());
        reshard::vector<std::string> keys;
        std::string shapes;
        for (index_t i = 0; i < tensor.shape[0]; ++i) {
            keys.push_back(name->key_of(i));
            shapes += reshaped(keys.back(), shape);
            result.push_back({keys.back(), shape});
        }
        text += quoted(tensor.key) + " -> " + joined(keys);
        text.append(along_first(keys)) += shapes;
    }
    tensors = std::move(result);
    return text;
}

/// The members of a stack, by number.
struct tensor_stack {
    stack_name name;
    std::map<index_t, named_shape const*> tensors;

    bool is_complete() const { return tensors.rbegin()->first + 1 == index_t(tensors.size()); }
};

template <class Find>
std::map<std::string, tensor_stack> find_stacks(reshard::vector<named_shape> const& tensors,
                                                Find&& find) {
    std::map<std::string, tensor_stack> stacks;
    for (named_shape const& tensor : tensors)
        if (auto const numbered = find(tensor.key)) {
            auto const& [number, name] = *numbered;
            tensor_stack& stack = stacks[name.stack_key];
            stack.name = name;
            stack.tensors.emplace(number, &tensor);
        }
    return stacks;
}

/// The shape of a stack, from the equal shapes of its members.
index_vector stacked_shape(tensor_stack const& stack) {
    named_shape const& first = *stack.tensors.begin()->second;
    for (auto const& [number, tensor] : stack.tensors)
        if (tensor->shape != first.shape)
            fail(errc::shape_mismatch, "'", first.key, "' has the shape ", first.shape, ", but '",
                 tensor->key, "' has ", tensor->shape,
                 "; only tensors of equal shapes can be put together");
    index_vector shape = {index_t(stack.tensors.size())};
    for (index_t const extent : first.shape)
        shape.push_back(extent);
    return shape;
}

std::string put_together(tensor_stack const& stack, index_vector const& shape) {
    reshard::vector<std::string> keys;
    for (auto const& [number, tensor] : stack.tensors)
        keys.push_back(tensor->key);
    std::string text = joined(keys) + " -> " + quoted(stack.name.stack_key);
    return text.append(along_first(keys)) + reshaped(stack.name.stack_key, shape);
}

/// Joins the members of each stack, and replaces them by the stack.
template <class Find>
std::string put_all_together(reshard::vector<named_shape>& tensors, Find&& find) {
    std::string text;
    reshard::vector<named_shape> result;
    for (auto const& [key, stack] : find_stacks(tensors, find)) {
        if (!stack.is_complete())
            fail(errc::unknown_key, "there is '", stack.tensors.rbegin()->second->key,
                 "', but there are only ", stack.tensors.size(), " such tensors, starting with '",
                 stack.tensors.begin()->second->key, "'; all numbers from 0 on are needed");
        result.push_back({key, stacked_shape(stack)});
        text += put_together(stack, result.back().shape);
    }
    std::ranges::copy_if(tensors, std::back_inserter(result),
                         [&](named_shape const& tensor) { return !find(tensor.key); });
    tensors = std::move(result);
    return text;
}

/// Whether all layers of each block have the same tensors with the same shapes.
bool has_equal_layers(reshard::vector<named_shape> const& tensors) {
    std::map<std::string, std::size_t> counts; // number of layers in each block
    auto const stacks = find_stacks(tensors, layer_of);
    for (auto const& [key, stack] : stacks)
        counts[stack.name.head] = std::max(counts[stack.name.head], stack.tensors.size());
    return std::ranges::all_of(stacks, [&](auto const& named) {
        tensor_stack const& stack = named.second;
        auto const has_shape = [&](auto const& numbered) {
            return numbered.second->shape == stack.tensors.begin()->second->shape;
        };
        return stack.is_complete() && stack.tensors.size() == counts[stack.name.head] &&
               std::ranges::all_of(stack.tensors, has_shape);
    });
}

/// Whether a key names the weight of a linear layer that quantisers convert: `model.layers.0.q_proj.weight`,
/// but not `model.layers.0.mlp.gate.weight`, which is a router.
bool is_linear_weight(std::string const& key, bool converts_experts) {
    auto const segments = parts_of(key, ".");
    if (segments.size() < 2 || segments.back() != "weight" || detail::is_word_embedding(key) ||
        detail::is_output_layer(key))
        return false;
    std::string_view const module = segments[segments.size() - 2];
    auto const is_number = [](std::string_view segment) {
        return !segment.empty() && std::ranges::all_of(segment, is_digit);
    };
    auto const has = [&](std::string_view word) { return key.find(word) != key.npos; };
    return std::ranges::any_of(segments, is_number) && module != "gate" &&
           !module.ends_with("_gate") && !has("router") && !has("embed") && !has("norm") &&
           !has("lm_head") && !has("shared_head.") &&
           (converts_experts || std::ranges::find(segments, "experts") == segments.end());
}

reshard::vector<named_shape> shapes_of(catalog const& source) {
    reshard::vector<named_shape> tensors;
    for (catalog_entry const& entry : source)
        tensors.push_back({entry.key, entry.shape});
    return tensors;
}

} // namespace

bool is_stacked_tensor(std::string const& key) { return layers_in(key).has_value(); }

std::string dequantized(catalog const& source, reshard::vector<std::string> const& casts) {
    std::string text;
    reshard::vector<key_pattern> patterns;
    for (std::string const& cast : casts)
        patterns.emplace_back(cast.substr(0, cast.rfind('=')));
    auto const& decoded = source.quantised.decoded;
    for (catalog_entry const& entry : source) {
        bool const is_decoded = detail::find_tensor(decoded, entry.key) != decoded.end();
        bool is_packed = is_decoded;
        if (!is_decoded) {
            if (!detail::may_be_quantised(entry.dtype) ||
                !detail::pattern_of_scales(entry.key, source).empty())
                continue;
            if (detail::has_scales(entry, source))
                is_packed = detail::scales_to_dequantize(entry, source)->packing !=
                            detail::value_packing::none;
            else if (!detail::is_floating(entry.dtype))
                continue; // a float without scales is refused when the program runs
        }
        std::string key = entry.key, transposed, axes;
        for (std::string_view const ending : {"_packed", "_blocks"})
            if (is_packed && key.ends_with(ending))
                key.resize(key.size() - ending.size());
        if (is_decoded && key.ends_with(".qweight")) { // AWQ and GPTQ have [in, out]
            key.erase(key.size() - 7, 1);
            transposed = "^T";
        }
        bool const is_cast = std::ranges::any_of(
            patterns, [&](key_pattern const& pattern) { return pattern.matches(key); });
        bool const has_experts = is_packed && entry.key.ends_with("_blocks") &&
                                 entry.shape.size() == (is_decoded ? 3 : 4);
        text += quoted(entry.key) + transposed + " -> " + quoted(std::as_const(key)) +
                ", dequantize" + (is_cast ? ", dtype=\"float32\"" : "") +
                (has_experts ? ", permute=\"[0, 2, 1]\"\n" : "\n");
    }
    return text;
}

reshard::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
    reshard::vector<std::string_view> parts;
    for (;;) {
        std::size_t const end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == text.npos)
            return parts;
        text.remove_prefix(end + separator.size());
    }
}

quantised_weights quantized(catalog const& source, std::string const& scheme) {
    // transformers 5.24 does not read the experts of the others, or reads them without a scale.
    constexpr std::string_view with_experts[] = {"fp8_block", "fp8_channel", "fp8_tensor",
                                                 "int4_group", "mxfp4"};
    bool const converts_experts = std::ranges::find(with_experts, scheme) != std::end(with_experts);
    // GPT-2 has [in, out] in its layers, and a class for them that quantisers do not convert.
    bool const has_conv1d = std::ranges::any_of(source, [](catalog_entry const& entry) {
        return entry.key.ends_with(".c_fc.weight") && entry.shape.size() == 2 &&
               entry.shape[0] < entry.shape[1];
    });
    quantised_weights weights;
    detail::endings_of(scheme); // refuses an unknown scheme
    for (catalog_entry const& entry : source) {
        bool const is_float = detail::is_floating(entry.dtype) && bits(entry.dtype) >= 16;
        if (!is_float || entry.shape.size() != 2 ||
            !is_linear_weight(entry.key, converts_experts) ||
            (has_conv1d && entry.key.find(".c_") != std::string::npos))
            continue;
        try {
            static_cast<void>(detail::quantiser(scheme, entry.shape));
            weights.text +=
                quoted(entry.key) + " -> " + quoted(entry.key) + ", quantize=\"" + scheme + "\"\n";
        } catch (error const& problem) {
            if (weights.problem.empty())
                weights.problem = problem.what();
            weights.misfits.push_back(entry.key);
        }
    }
    return weights;
}

std::string unstacked(catalog const& source, std::size_t most_names) {
    auto tensors = shapes_of(source);
    std::string text = take_apart(tensors, most_names, layers_in);
    return text + take_apart(tensors, most_names, experts_in);
}

std::string stacked(catalog const& source) {
    auto tensors = shapes_of(source);
    std::string text = put_all_together(tensors, expert_of);
    if (has_equal_layers(tensors))
        return text + put_all_together(tensors, layer_of);
    return text + "# The layers differ: each keeps its own tensors, as Megatron-Core has it.\n";
}

} // namespace tool
