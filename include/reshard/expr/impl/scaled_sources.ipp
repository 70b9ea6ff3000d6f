// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_SCALED_SOURCES_IPP
#define RESHARD_EXPR_IMPL_SCALED_SOURCES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>

#include <reshard/expr/impl/find_scales.ipp>
#include <reshard/expr/impl/scale_forms.ipp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace reshard::detail {

/// The quantised tensors that a program reads, and their scales.
class scaled_sources {
public:
    using numbers = vector<key_id>;

    scaled_sources(mapping const& program, layout const& source)
        : program_(program), source_(source), found_(find_scales(source)) {
        source_list const& sources = program_.sources();
        for (key_id id = 0; !found_.empty() && id < sources.size(); ++id)
            numbers_.emplace(std::string(sources.key(id)), id);
        for (found_scales const& scales : found_)
            if (key_id const id = number_of(scales.tensor); id != zero_source)
                by_source_.emplace(id, &scales);
    }

    bool empty() const { return found_.empty(); }

    /// All scales of a tensor.
    vector<found_scales const*> all_of(key_id id) const {
        vector<found_scales const*> scales;
        auto const [first, last] = by_source_.equal_range(id);
        for (auto element = first; element != last; ++element)
            scales.push_back(element->second);
        return scales;
    }

    /// The scales of a source tensor that a rule names, or null.
    found_scales const* scales_of(key_id id, scale_rule const& rule) const {
        auto const [first, last] = by_source_.equal_range(id);
        for (auto element = first; element != last; ++element)
            if (element->second->rule == &rule)
                return element->second;
        return nullptr;
    }

    /// The number of a tensor as a source of the program, or `zero_source`.
    key_id number_of(std::size_t tensor) const {
        auto const match = numbers_.find(source_.tensors[tensor].key);
        return match == numbers_.end() ? zero_source : match->second;
    }

    /// The source tensors from which an output takes elements that keep their scales, as below.
    static numbers sources_kept(expression const& value) {
        return sources_of(value, [&](std::size_t i) { return !value.pieces.dequantizes(i); });
    }

    /// The source tensors from which an output takes elements, in the order of their numbers.
    static numbers sources_of(expression const& value) {
        return sources_of(value, [](std::size_t) { return true; });
    }

    static numbers sources_of(expression const& value, auto const& is_wanted) {
        numbers ids;
        for (std::size_t i = 0; i < value.pieces.size(); ++i)
            if (key_id const id = value.pieces.source(i); id != zero_source && is_wanted(i))
                ids.push_back(id);
        std::ranges::sort(ids);
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
        return ids;
    }

    bool has_all(mapping_output const& scales, scale_rule const& rule, numbers const& ids) const {
        numbers const has = sources_of(scales.value);
        return std::ranges::all_of(ids, [&](key_id id) {
            found_scales const* const found_scales = scales_of(id, rule);
            return !found_scales ||
                   std::ranges::binary_search(has, number_of(found_scales->scales));
        });
    }

    /// Whether each tensor that an output is made of has exactly one scale.
    bool are_numbers(mapping_output const& output, scale_rule const& rule) const {
        return std::ranges::all_of(sources_of(output.value), [&](key_id id) {
            found_scales const* const scales = scales_of(id, rule);
            return scales && is_one_scale(scales->form);
        });
    }

    /// Whether scales are in the order of the tensors that an output is made of.
    bool are_in_order(mapping_output const& output, mapping_output const& scales,
                      scale_rule const& rule) const {
        numbers ids = sources_in_order(output.value);
        for (key_id& id : ids)
            if (found_scales const* const found_scales = scales_of(id, rule))
                id = number_of(found_scales->scales);
        return ids == sources_in_order(scales.value);
    }

    /// The scales that an output needs. Joined tensors may each have one scale along the axis of
    /// the join; `scales` then has to be made of all these scales.
    ///
    /// \throws error if the scales cannot follow; errc::overlap if an element had several scales
    made_scales expected(mapping_output const& output, mapping_output const& scales,
                         scale_rule const& rule) const {
        numbers const ids = sources_of(output.value);
        auto const source_of = [&](key_id id) { return scale_source_of(id, rule); };
        auto const in_blocks = [&](key_id id) {
            scale_source from = source_of(id);
            from.form = in_whole_blocks(from.form, from.shape);
            return from;
        };
        auto const match =
            std::ranges::find_if(ids, [&](key_id id) { return scales_of(id, rule) != nullptr; });
        scale_source const first = source_of(*match);
        try {
            return scales_and_form(output.value, first.form, first.dtype, source_of);
        } catch (error const& problem) {
            numbers const has = sources_of(scales.value);
            if (problem.code() == errc::overlap && has.size() == 1 && is_plain_index(rule))
                return scales_and_form(output.value, first.form, first.dtype, [&](key_id id) {
                    scale_source from = source_of(id);
                    from.scales = has[0];
                    return from;
                });
            if (problem.code() != errc::overlap || !has_all(scales, rule, ids))
                throw;
        }
        try {
            return scales_and_form(output.value, first.form, first.dtype, in_blocks);
        } catch (error const&) {
            fail(errc::overlap,
                 "its tensors are joined along an axis, but each has one scale for all of that "
                 "axis; join them along another axis, or dequantise the model first");
        }
    }

private:
    /// \throws error with errc::shape_mismatch if the tensor has no scales
    scale_source scale_source_of(key_id id, scale_rule const& rule) const {
        found_scales const* const scales = scales_of(id, rule);
        if (!scales)
            fail(errc::shape_mismatch, "it is also made of '", program_.sources().key(id),
                 "', which has none");
        return {number_of(scales->scales), source_.tensors[scales->scales].dtype,
                source_.shape_of(source_.tensors[scales->tensor]), scales->form};
    }

    /// Whether the companions list the groups of input channels in order. Such lists are equal for
    /// tensors that are joined along another axis.
    bool is_plain_index(scale_rule const& rule) const {
        return rule.scales.ends_with("g_idx") && !source_.quantised.is_reordered;
    }

    /// The source tensors from which an output takes elements, each once, in the order of their
    /// positions.
    static numbers sources_in_order(expression const& value) {
        vector<std::pair<index_vector, key_id>> places;
        for (std::size_t i = 0; i < value.pieces.size(); ++i)
            if (value.pieces.source(i) != zero_source)
                places.emplace_back(value.pieces.target_box(i).offset, value.pieces.source(i));
        std::ranges::sort(places);
        numbers ids;
        for (auto const& [index, id] : places)
            if (std::ranges::find(ids, id) == ids.end())
                ids.push_back(id);
        return ids;
    }

    mapping const& program_;
    layout const& source_;
    vector<found_scales> found_;
    std::unordered_map<std::string, key_id> numbers_;
    std::multimap<key_id, found_scales const*> by_source_;
};

} // namespace reshard::detail

#endif
