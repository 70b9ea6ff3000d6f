// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_FOLLOW_SCALES_IPP
#define RESHARD_AOA_IMPL_FOLLOW_SCALES_IPP

#include <reshard/aoa/define_outputs.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/check.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::aoa::detail {

/// Adds scales to the results of statements, from the scales that patterns name for the operands.
class scale_follower {
public:
    explicit scale_follower(lower_context& context) : in_(context) {}

    /// \pre the program has a name for the scales of each matching tensor
    void follow(scale_pattern const& pattern) {
        std::size_t const count = in_.code.text_count();
        for (std::uint32_t id = 0; id < count; ++id) {
            name const tensor{name::kind_type::text, false, id, {}};
            if (auto const key = pattern.scales_of(in_.code.text(tensor)); key && is_made(tensor))
                follow(pattern, tensor, *key);
        }
    }

private:
    static name text_name(std::uint32_t id) { return {name::kind_type::text, false, id, {}}; }

    /// Whether a name is an output, and a statement makes it.
    bool is_made(name const& tensor) {
        binding const& bound = in_.names[tensor];
        return bound.value != binding::none && !bound.is_spoilt &&
               (in_.target ? in_.target->find(in_.code.text(tensor)) != nullptr : bound.uses == 0);
    }

    void follow(scale_pattern const& pattern, name const& tensor, std::string const& key) {
        auto const number = in_.code.find(key);
        if (!number)
            return; // the key would be the scales of scales
        binding const& bound = in_.names[tensor];
        name const scales = text_name(*number);
        binding const& own = in_.names[scales];
        if (own.value != binding::none || own.is_spoilt || own.is_added || own.is_removed)
            return; // a statement makes the scales
        try {
            bound_value const& value = in_.names.value(bound.value);
            auto const match = sources(pattern, value);
            if (match.empty())
                return;
            bound_value bound_value{scales_of(pattern, value)};
            if (!has_source_elements(bound_value.tensor))
                bound_value.sources = match;
            name bound_name = scales;
            bound_name.where = bound.where;
            in_.names.bind(bound_name, in_.names.store(std::move(bound_value)), bound.origin);
            for (key_id const element : match)
                if (auto const text = in_.code.find(in_.source.entry(element).key))
                    in_.names[text_name(*text)].source_value = element;
        } catch (error const& problem) {
            in_.report(problem.code(),
                       {severity::error, std::string(reshard::name(problem.code())), key,
                        words("'", key, "' cannot follow its tensor: ", problem.what()),
                        bound.where, bound.origin});
        }
    }

    /// The scales of the tensors that a value is made of; empty if no tensor has scales.
    ///
    /// \throws error with errc::unknown_key if only some of the tensors have scales
    vector<key_id> sources(scale_pattern const& pattern, bound_value const& value) const {
        vector<key_id> keys;
        std::string without, with;
        value.for_each_source([&](key_id id) {
            key_id const scales = scales_of(pattern, id);
            if (scales == source_names::none)
                without = in_.source.entry(id).key;
            else {
                with = in_.source.entry(scales).key;
                keys.push_back(scales);
            }
        });
        if (!keys.empty() && !without.empty())
            fail(errc::unknown_key, "'", without, "' has no '", pattern.scales.with("*"),
                 "', but another tensor that it is joined with has '", with, "'");
        return keys;
    }

    key_id scales_of(scale_pattern const& pattern, key_id id) const {
        auto const key = pattern.scales_of(in_.source.entry(id).key);
        binding const* const bound = key ? in_.names.find(*key) : nullptr;
        bool const is_removed = bound && bound->is_removed;
        return key && !is_removed ? in_.source.find(*key) : source_names::none;
    }

    expression scales_of(scale_pattern const& pattern, bound_value const& value) const {
        auto const source_of = [&](key_id id) {
            catalog_entry const& from = in_.source.entry(id);
            key_id const number = scales_of(pattern, id);
            catalog_entry const& scales = in_.source.entry(number);
            auto const form = form_of_scales(from, scales, pattern.facts());
            if (!form)
                fail(errc::shape_mismatch, "'", scales.key, "' of shape ", scales.shape,
                     " does not fit '", from.key, "' of shape ", from.shape,
                     "; write blocks=\"[...]\" to say how many elements share one scale");
            return scale_source{number, scales.dtype, from.shape, *form};
        };
        scale_source const first = source_of(value.first_source());
        return block_scales(value.tensor, first.form, first.dtype, source_of);
    }

    lower_context& in_;
};

inline void follow_scales(lower_context& context, vector<scale_pattern> const& patterns) {
    scale_follower follower(context);
    for (scale_pattern const& pattern : patterns)
        follower.follow(pattern);
}

/// Relates each output to its scales, which patterns name.
inline void relate_scales(lower_context& context, vector<scale_pattern> const& patterns) {
    mapping& map = context.result.map;
    for (scale_pattern const& pattern : patterns)
        for (mapping_output const& output : map.outputs()) {
            auto const key = pattern.scales_of(output.key);
            mapping_output const* const scales = key ? map.find(*key) : nullptr;
            if (!scales)
                continue;
            auto const entry_of = [](mapping_output const& mapping_output) {
                return catalog_entry{
                    mapping_output.key, mapping_output.value.dtype, mapping_output.value.shape, {}};
            };
            if (auto form = form_of_scales(entry_of(output), entry_of(*scales), pattern.facts()))
                map.relate(
                    {relation::kind::scale, output.key, scales->key, form->block, form->count});
        }
}

/// Relates each output to the scales of its numbers that the program quantizes, and reports
/// outputs without them.
inline void relate_quantised(lower_context& context) {
    for (reshard::detail::scale_finding const& found :
         reshard::detail::relate_quantised(context.result.map)) {
        binding const* const bound = context.names.find(found.key);
        finding said{
            found.level,   std::string(reshard::name(found.code)), found.key,
            found.message, bound ? bound->where : text_span{},     bound ? bound->origin : 0};
        if (found.level == severity::error)
            context.report(found.code, std::move(said));
        else
            context.result.findings.push_back(std::move(said));
    }
}

} // namespace reshard::aoa::detail

#endif
