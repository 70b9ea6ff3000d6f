// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LEFT_STATES_IPP
#define RESHARD_AOA_IMPL_LEFT_STATES_IPP

#include <reshard/aoa/lower_context.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/expr/expression.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace reshard::aoa::detail {

/// Names of tensors of which a program makes something else, to be found in other names.
class used_names {
public:
    explicit used_names(lower_context& context) {
        auto const whole_ones = tensors_that_stay_whole(context);
        for (std::uint32_t id = 0; id < context.code.text_count(); ++id) {
            name const one{name::kind_type::text, false, id, {}};
            std::string_view const key = context.code.text(one);
            binding const& bound = context.names[one];
            if (changed_.empty() && (bound.is_removed || bound.source_value != binding::none) &&
                !whole_ones.contains(context.source.find(key)))
                changed_ = key;
            if (bound.source_value == binding::none || is_kept(context, key))
                continue;
            keys_.insert(key);
            firsts_.insert(key.substr(0, key.find_first_of(separators)));
            for (std::size_t const size : container_sizes(key))
                parameters_.emplace(key.substr(size), key);
        }
    }

    bool empty() const { return keys_.empty() && changed_.empty(); }

    /// The one that is in a longer name, between dots or slashes, or that an optimizer's key has
    /// inside; of an optimizer that numbers its parameters, one that does not stay whole. Empty
    /// where there is none.
    std::string_view inside(std::string_view longer) const {
        for (state_reading const& one : optimizer_readings(longer)) {
            if (auto const found = parameters_.find(one.parameter); found != parameters_.end())
                return found->second;
            if (one.parameter.find_first_not_of("0123456789") == one.parameter.npos)
                return changed_;
        }
        for (std::string_view rest = longer;;) {
            std::size_t const end = rest.find_first_of(separators); // may be the first character
            if (firsts_.contains(rest.substr(0, end)))
                if (auto const found = at_beginning(rest, longer.size()); !found.empty())
                    return found;
            if (end == rest.npos)
                return {};
            rest.remove_prefix(end + 1);
        }
    }

private:
    /// The one that `rest` begins with, up to a separator or its end, and that is shorter than
    /// `size`.
    std::string_view at_beginning(std::string_view rest, std::size_t size) const {
        for (std::size_t end = 0; end < rest.size();) {
            end = std::min(rest.find_first_of(separators, end + 1), rest.size());
            if (end < size && keys_.contains(rest.substr(0, end)))
                return rest.substr(0, end);
        }
        return {};
    }

    /// Whether a tensor of the source is there under its own name, at most in another data type.
    static bool is_kept(lower_context& context, std::string_view key) {
        mapping_output const* const output = context.result.map.find(key);
        return output && output->value.pieces.size() == 1 &&
               output->value.pieces[0].order == permutation::identity(output->value.ndim()) &&
               output->value.pieces.source(0) == context.source.find(key);
    }

    /// Tensors of the source of which an output is all, whatever it is called.
    static std::unordered_set<key_id> tensors_that_stay_whole(lower_context& context) {
        std::unordered_set<key_id> found;
        for (mapping_output const& output : context.result.map.outputs())
            if (output.value.pieces.size() == 1 && output.value.pieces.source(0) != zero_source &&
                output.value.pieces[0].order == permutation::identity(output.value.ndim()) &&
                context.source.entry(output.value.pieces.source(0)).shape == output.value.shape)
                found.insert(output.value.pieces.source(0));
        return found;
    }

    std::unordered_set<std::string_view> keys_;
    std::unordered_set<std::string_view> firsts_; ///< what they begin with, up to a separator
    /// By their names in an optimizer.
    std::unordered_map<std::string_view, std::string_view> parameters_;
    std::string_view changed_; ///< the first that is joined with others, split or removed
};

/// Whether a tensor of the source goes on under its own name, and no statement nor relation says
/// what it is.
inline bool passes(lower_context& context, mapping_output const& output,
                   std::unordered_set<std::string_view> const& states) {
    binding const* const bound = context.names.find(output.key);
    return !output.added && is_source_box(output.value) &&
           (!bound || bound->value == binding::none) && !states.contains(output.key) &&
           output.value.pieces.source(0) == context.source.find(output.key);
}

RESHARD_DECL void warn_left_states(lower_context& context) {
    used_names const used(context);
    if (used.empty())
        return;
    std::unordered_set<std::string_view> states;
    for (relation const& one : context.result.map.relations())
        states.insert(one.companion);
    std::string first;
    std::string_view parameter;
    std::size_t count = 0;
    for (mapping_output const& output : context.result.map.outputs()) {
        std::string_view const found =
            passes(context, output, states) ? used.inside(output.key) : std::string_view();
        if (!found.empty() && count++ == 0) {
            first = output.key;
            parameter = found;
        }
    }
    if (count > 0)
        context.result.findings.push_back(
            {severity::warning,
             "left_state",
             first,
             words(count == 1 ? "a key keeps its name" : words(count, " keys keep their names"),
                   ", the first '", first, "', and the program makes something else of '",
                   parameter,
                   "': if they are its optimizer state, they do not follow it; write "
                   "statements for them too, or remove them:  ",
                   first, " -> _"),
             {},
             0});
}

} // namespace reshard::aoa::detail

#endif
