// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "stacked_tensors.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

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

std::string joined(std::vector<std::string> const& keys) {
    std::string text;
    for (std::string const& key : keys)
        text += (text.empty() ? "" : ", ") + quoted(key);
    return text;
}

std::string_view along_first(std::vector<std::string> const& parts) {
    return parts.size() == 1 ? "\n" : ", axis=0\n"; // one is no concat
}

/// What names a tensor of several things, without the number of each.
struct stack_name {
    std::string head, tail; ///< a part is `head + number + tail`
    std::string whole;

    std::string part(index_t number) const { return head + std::to_string(number) + tail; }
};

/// Where the layers of a transformer block begin in a key: behind `decoder.layers.`.
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

/// A part's number, and the name of its stack.
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
    numbered_name found = number_at(key, at);
    stack_name& name = found.second;
    if (!name.tail.starts_with("."))
        return std::nullopt;
    name.whole = name.head + name.tail.substr(1);
    return found;
}

std::optional<numbered_name> expert_of(std::string const& key) {
    std::size_t const at = key.find(experts);
    if (at == key.npos || key.find(stacked_experts) != key.npos || !is_digit(key.back()))
        return std::nullopt;
    std::size_t const behind = at + experts.size();
    numbered_name found = number_at(key, key.find_last_not_of("0123456789") + 1);
    found.second.whole =
        key.substr(0, at).append(stacked_experts) + found.second.head.substr(behind);
    return found;
}

/// Takes the stacks among tensors apart, and replaces them by their parts.
template <class Find>
std::string take_apart(std::vector<named_shape>& all, std::size_t most_names, Find&& find) {
    std::string text;
    std::vector<named_shape> result;
    std::map<std::string, named_shape const*> first_of; // of each list of layers
    for (named_shape const& one : all) {
        auto const name = find(one.key);
        if (!name || one.shape.empty() || one.shape[0] == 0) {
            result.push_back(one);
            continue;
        }
        named_shape const& first = *first_of.emplace(name->head, &one).first->second;
        if (first.shape[0] != one.shape[0])
            fail(errc::shape_mismatch, "'", first.key, "' is of ", first.shape[0], " layers, and '",
                 one.key, "' of ", one.shape[0], "; tensors that hold all layers agree in that");
        if (static_cast<std::size_t>(one.shape[0]) >
            most_names - std::min(most_names, result.size()))
            fail(errc::limit_exceeded, "'", one.key, "' would become ", one.shape[0],
                 " tensors, and with the others more than --max-names allows, which is ",
                 most_names);
        index_vector const shape(one.shape.begin() + 1, one.shape.end());
        std::vector<std::string> parts;
        std::string shapes;
        for (index_t i = 0; i < one.shape[0]; ++i) {
            parts.push_back(name->part(i));
            shapes += reshaped(parts.back(), shape);
            result.push_back({parts.back(), shape});
        }
        text += quoted(one.key) + " -> " + joined(parts);
        text.append(along_first(parts)) += shapes;
    }
    all = std::move(result);
    return text;
}

/// The parts of one stack by their numbers.
struct found_stack {
    stack_name name;
    std::map<index_t, named_shape const*> parts;

    bool is_complete() const { return parts.rbegin()->first + 1 == index_t(parts.size()); }
};

template <class Find>
std::map<std::string, found_stack> find_stacks(std::vector<named_shape> const& all, Find&& find) {
    std::map<std::string, found_stack> stacks;
    for (named_shape const& one : all)
        if (auto const found = find(one.key)) {
            found_stack& stack = stacks[found->second.whole];
            stack.name = found->second;
            stack.parts.emplace(found->first, &one);
        }
    return stacks;
}

/// The shape of what a stack becomes.
index_vector whole_shape(found_stack const& stack) {
    named_shape const& first = *stack.parts.begin()->second;
    for (auto const& [number, part] : stack.parts)
        if (part->shape != first.shape)
            fail(errc::shape_mismatch, "'", first.key, "' has shape ", first.shape, ", and '",
                 part->key, "' ", part->shape, "; what is put together has one shape");
    index_vector shape = {index_t(stack.parts.size())};
    for (index_t const extent : first.shape)
        shape.push_back(extent);
    return shape;
}

std::string put_together(found_stack const& stack, index_vector const& shape) {
    std::vector<std::string> parts;
    for (auto const& [number, part] : stack.parts)
        parts.push_back(part->key);
    std::string text = joined(parts) + " -> " + quoted(stack.name.whole);
    return text.append(along_first(parts)) + reshaped(stack.name.whole, shape);
}

/// Puts all stacks together, and replaces the parts among the tensors by them.
template <class Find>
std::string put_all_together(std::vector<named_shape>& all, Find&& find) {
    std::string text;
    std::vector<named_shape> result;
    for (auto const& [whole, stack] : find_stacks(all, find)) {
        if (!stack.is_complete())
            fail(errc::unknown_key, "there is '", stack.parts.rbegin()->second->key, "', but only ",
                 stack.parts.size(), " such tensors, from '", stack.parts.begin()->second->key,
                 "' on; all numbers from 0 are needed");
        result.push_back({whole, whole_shape(stack)});
        text += put_together(stack, result.back().shape);
    }
    std::ranges::copy_if(all, std::back_inserter(result),
                         [&](named_shape const& one) { return !find(one.key); });
    all = std::move(result);
    return text;
}

/// Whether all layers of each block have the same tensors, of the same shapes.
bool has_equal_layers(std::vector<named_shape> const& all) {
    std::map<std::string, std::size_t> counts; // layers of each block
    auto const stacks = find_stacks(all, layer_of);
    for (auto const& [whole, stack] : stacks)
        counts[stack.name.head] = std::max(counts[stack.name.head], stack.parts.size());
    return std::ranges::all_of(stacks, [&](auto const& named) {
        found_stack const& stack = named.second;
        auto const has_shape = [&](auto const& part) {
            return part.second->shape == stack.parts.begin()->second->shape;
        };
        return stack.is_complete() && stack.parts.size() == counts[stack.name.head] &&
               std::ranges::all_of(stack.parts, has_shape);
    });
}

std::vector<named_shape> shapes_of(catalog const& source) {
    std::vector<named_shape> all;
    for (catalog_entry const& entry : source)
        all.push_back({entry.key, entry.shape});
    return all;
}

} // namespace

bool is_stacked_tensor(std::string const& key) { return layers_in(key).has_value(); }

std::string unstacked(catalog const& source, std::size_t most_names) {
    auto all = shapes_of(source);
    std::string text = take_apart(all, most_names, layers_in);
    return text + take_apart(all, most_names, experts_in);
}

std::string stacked(catalog const& source) {
    auto all = shapes_of(source);
    std::string text = put_all_together(all, expert_of);
    if (has_equal_layers(all))
        return text + put_all_together(all, layer_of);
    return text + "# The layers differ: each keeps its own tensors, as Megatron-Core has it.\n";
}

} // namespace tool
