// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LEFT_STATES_IPP
#define RESHARD_AOA_IMPL_LEFT_STATES_IPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/impl/state_words.ipp>
#include <reshard/expr/expression.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace reshard::aoa::detail {

/// The characters that may be before and after a name inside a longer name.
inline constexpr std::string_view boundaries = "./:_";

/// Whether a key has no separators except `.`.
inline bool is_dotted(std::string_view key) { return key.find_first_of("/:") == key.npos; }

inline std::string with_dots(std::string_view key) {
    std::string dotted(key);
    std::ranges::replace_if(
        dotted, [](char c) { return c == '/' || c == ':'; }, '.');
    return dotted;
}

/// The range of a name inside a longer name.
struct name_range {
    std::size_t begin = 0, end = 0;
};

/// The names of tensors that a program changes. Finds them inside other names.
class used_names {
public:
    explicit used_names(lower_context& context) : source_(context.source) {
        auto const whole_ones = tensors_that_stay_whole(context);
        for (std::uint32_t id = 0; id < context.code.text_count(); ++id) {
            name const name{name::kind_type::text, false, id, {}};
            std::string_view const key = context.code.text(name);
            binding const& bound = context.names[name];
            if (changed_.empty() && (bound.is_removed || bound.source_value != binding::none) &&
                !whole_ones.contains(context.source.find(key)))
                changed_ = key;
            if ((bound.is_removed || bound.source_value != binding::none) && !is_kept(context, key))
                add(key);
        }
    }

    /// The name of the tensor whose state `longer` may be. `longer` contains it between separators,
    /// or joined with the name of a state. If the optimizer numbers its parameters, the first
    /// tensor that does not stay whole. Empty if there is none.
    std::string_view inside(std::string_view longer) const {
        std::string const copy = is_dotted(longer) ? std::string() : with_dots(longer);
        std::string_view const dotted = copy.empty() ? longer : copy;
        for (state_reading const& reading : optimizer_readings(dotted))
            if (is_number(reading.parameter))
                return changed_;
        for (std::size_t begin = 0; begin < longer.size();) {
            std::size_t const next = longer.find_first_of(boundaries, begin);
            if (firsts_.contains(longer.substr(begin, next - begin)))
                if (auto const match = at({longer, dotted}, begin); !match.empty())
                    return match;
            if (next == longer.npos)
                break;
            begin = next + 1;
        }
        return {};
    }

private:
    struct used_name {
        std::string_view key;
        bool is_sure = false; ///< the name is the key, or the key without the name of a model
    };

    /// A key as in the source, and the key with dots as separators.
    struct longer_key {
        std::string_view key, dotted;
    };

    void add(std::string_view key) {
        std::string_view const dotted = is_dotted(key) ? key : dotted_.emplace_back(with_dots(key));
        bool const is_state = !optimizer_readings(dotted).empty();
        for (std::size_t const size : is_state ? vector<std::size_t>{0} : container_sizes(dotted)) {
            std::string_view const inside = dotted.substr(size);
            bool const is_sure = size == 0 || is_model(last_segment(dotted.substr(0, size - 1)));
            used_name& name = names_.try_emplace(inside, used_name{key}).first->second;
            if (size == 0 || (is_sure && !name.is_sure))
                name = {key, true};
            firsts_.insert(inside.substr(0, inside.find_first_of(boundaries)));
        }
    }

    /// The key of the name that begins at a position of a longer name.
    std::string_view at(longer_key const& longer, std::size_t begin) const {
        std::string_view const dotted = longer.dotted;
        for (std::size_t end = begin; end < dotted.size();) {
            end = std::min(dotted.find_first_of(boundaries, end + 1), dotted.size());
            auto const match = names_.find(dotted.substr(begin, end - begin));
            if (match != names_.end() && end - begin < dotted.size() &&
                may_be_state(longer, {begin, end}, match->second))
                return match->second.key;
        }
        return {};
    }

    /// Whether a longer name may be a state of the tensor whose name it contains.
    bool may_be_state(longer_key const& longer, name_range name_range,
                      used_name const& used) const {
        std::string_view const before = longer.dotted.substr(0, name_range.begin);
        std::string_view const after = longer.dotted.substr(name_range.end);
        bool const is_state = has_state_word(before) || has_state_word(after);
        if (before.ends_with('_') && !is_joined_before(last_segment(before)))
            return false;
        if (after.starts_with('_') && !is_state && !has_state_shape(longer.key, used.key))
            return false;
        std::size_t const size = name_range.end - name_range.begin;
        std::string_view const model = used.key.substr(0, used.key.size() - size);
        bool const is_of_model = !model.empty() && longer.key.starts_with(model);
        bool const is_meant = used.is_sure ? is_state || !is_of_model
                                           : is_state && is_whole_name(longer.dotted, name_range);
        return is_meant && !is_of_kept(longer, name_range, model);
    }

    /// Whether a name is more than a frequent last word such as `weight`.
    static bool is_whole_name(std::string_view key, name_range name_range) {
        std::string_view const part =
            key.substr(name_range.begin, name_range.end - name_range.begin);
        return part.find_first_of(separators) != part.npos ||
               std::ranges::count(optimizer_readings(key), part, &state_reading::parameter) > 0;
    }

    /// Whether a segment of a text, with or without a leading `_`, is a word that optimizers use.
    static bool has_state_word(std::string_view text) {
        for (std::size_t begin = 0; begin < text.size();) {
            std::size_t const end = std::min(text.find_first_of(separators, begin), text.size());
            std::string_view word = text.substr(begin, end - begin);
            word.remove_prefix(word.starts_with('_') ? 1 : 0);
            if (!word.empty() && (is_optimizer(word) || is_optimizer_class(word) ||
                                  holds_states(word) || begins_with_state(word)))
                return true;
            begin = end + 1;
        }
        return false;
    }

    /// For example `exp_avg_`, but not the `v_` of `v_proj`.
    static bool is_joined_before(std::string_view text) {
        return text.size() > 3 && is_state_name(text.substr(0, text.size() - 1));
    }

    /// For example `exp_avg`, `exp_avg_sq_row` or `moment1_0`.
    static bool begins_with_state(std::string_view word) {
        return std::ranges::any_of(state_names, [&](std::string_view name) {
            return word.starts_with(name) &&
                   (word.size() == name.size() || word[name.size()] == '_');
        });
    }

    /// Whether a tensor has a parameter's shape, or a single element.
    bool has_state_shape(std::string_view key, std::string_view parameter) const {
        key_id const id = source_.find(key), of = source_.find(parameter);
        return id != source_names::none && of != source_names::none &&
               (source_.entry(id).shape == source_.entry(of).shape ||
                element_count(source_.entry(id).shape) == 1);
    }

    /// Whether the name of an unchanged tensor is in a longer name, around the range. Another state
    /// of the same parameter does not count, for example `exp_avg` beside `exp_avg_sq_row`.
    bool is_of_kept(longer_key const& longer, name_range name_range, std::string_view model) const {
        auto const& [key, dotted] = longer;
        for (std::size_t begin = 0; begin <= name_range.begin; ++begin) {
            bool const begins = begin == 0 || dotted[begin - 1] == '.';
            for (std::size_t end = name_range.end; begins && end <= key.size(); ++end)
                if ((end == key.size() || dotted[end] == '.' || dotted[end] == '_') &&
                    end - begin < key.size() &&
                    !has_state_word(dotted.substr(name_range.end, end - name_range.end)) &&
                    (is_kept_key(key.substr(begin, end - begin)) ||
                     is_kept_key(words(model, key.substr(begin, end - begin)))))
                    return true;
        }
        return false;
    }

    bool is_kept_key(std::string_view key) const {
        auto const used = is_dotted(key) ? names_.find(key) : names_.find(with_dots(key));
        return (used == names_.end() || used->second.key != key) &&
               source_.find(key) != source_names::none;
    }

    /// Whether a source tensor keeps its name, possibly in another data type.
    static bool is_kept(lower_context& context, std::string_view key) {
        mapping_output const* const output = context.result.map.find(key);
        return output && output->value.pieces.size() == 1 &&
               output->value.pieces[0].order == permutation::identity(output->value.ndim()) &&
               output->value.pieces.source(0) == context.source.find(key) &&
               output->value.shape == context.source.entry(context.source.find(key)).shape;
    }

    /// The source tensors that are whole in an output, under any name.
    static std::unordered_set<key_id> tensors_that_stay_whole(lower_context& context) {
        std::unordered_set<key_id> keys;
        for (mapping_output const& output : context.result.map.outputs())
            if (output.value.pieces.size() == 1 && output.value.pieces.source(0) != zero_source &&
                output.value.pieces[0].order == permutation::identity(output.value.ndim()) &&
                context.source.entry(output.value.pieces.source(0)).shape == output.value.shape)
                keys.insert(output.value.pieces.source(0));
        return keys;
    }

    source_names const& source_;
    std::deque<std::string> dotted_; ///< memory of the dotted keys in `names_`
    /// The used names, by the text that a longer name may contain.
    std::unordered_map<std::string_view, used_name> names_;
    std::unordered_set<std::string_view> firsts_; ///< first segments of the texts in `names_`
    std::string_view changed_; ///< first tensor that is joined with others, split or removed
};

/// Whether two keys are states of the same parameter, by the parameter's name.
inline bool are_of_one_parameter(std::string_view a, std::string_view b) {
    auto const of_b = optimizer_readings(b);
    return std::ranges::any_of(optimizer_readings(a), [&](state_reading const& reading) {
        return std::ranges::count(of_b, reading.parameter, &state_reading::parameter) > 0;
    });
}

/// Whether an output is a source tensor under the same name, or under another name with the same
/// parameter, and no relation describes it.
inline bool passes(lower_context& context, mapping_output const& output,
                   std::unordered_set<std::string_view> const& states) {
    if (output.added || !is_source_box(output.value))
        return false;
    std::string const& key = context.source.entry(output.value.pieces.source(0)).key;
    bool const is_kept = key == output.key;
    if ((!is_kept && !are_of_one_parameter(key, output.key)) || states.contains(output.key))
        return false;
    binding const* const bound = context.names.find(output.key);
    return is_kept == (!bound || bound->value == binding::none);
}

/// The outputs that keep their name, or the parameter's name in it.
inline vector<std::string_view> passing_keys(lower_context& context) {
    std::unordered_set<std::string_view> states;
    for (relation const& relation : context.result.map.relations())
        states.insert(relation.companion);
    vector<std::string_view> keys;
    for (mapping_output const& output : context.result.map.outputs())
        if (passes(context, output, states))
            keys.push_back(output.key);
    return keys;
}

RESHARD_DECL void warn_left_states(lower_context& context) {
    vector<std::string_view> const keys = passing_keys(context);
    if (keys.empty())
        return;
    used_names const used(context);
    std::string first;
    std::string_view parameter;
    std::size_t count = 0;
    for (std::string_view const key : keys)
        if (auto const inside = used.inside(key); !inside.empty() && count++ == 0) {
            first = key;
            parameter = inside;
        }
    if (count == 0)
        return;
    std::string const kept = count == 1 ? "keeps its name"
                                        : words("and ", count - 1, " more key",
                                                count == 2 ? "" : "s", " keep their names");
    context.result.findings.push_back(
        {severity::warning,
         "left_state",
         first,
         words("'", first, "' ", kept, ", but the program changes '", parameter, "'; if ",
               count == 1 ? "this is" : "these are", " optimizer state of that tensor, write ",
               count == 1 ? "a statement for it" : "statements for them", " too, or remove ",
               count == 1 ? "it" : "them", ":  ", first, " -> _"),
         {},
         0});
}

} // namespace reshard::aoa::detail

#endif
