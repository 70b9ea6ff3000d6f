// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_CARRY_SCALES_IPP
#define RESHARD_EXPR_IMPL_CARRY_SCALES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>

#include <reshard/expr/impl/relate_quantised.ipp>
#include <reshard/expr/impl/same_elements.ipp>
#include <reshard/expr/impl/scaled_sources.ipp>
#include <reshard/expr/reshape.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace reshard::detail {

/// What a message says of a piece that is changed: `cast to bfloat16`, or `computed`.
inline std::string change_in(expression const& value, piece const& p) {
    return p.steps.computes() ? std::string("computed") : words("cast to ", value.dtype);
}

/// Does the work of `carry_scales`.
class scale_carrier {
public:
    scale_carrier(mapping& program, layout const& source)
        : program_(program), source_(source), in_(program, source) {}

    vector<scale_finding> run() {
        if (in_.empty())
            return {};
        for (relation const& relation : program_.relations())
            if (relation.type == relation::kind::scale)
                declared_.emplace(relation.key, relation);
        for (mapping_output const& output : program_.outputs())
            judge(output);
        for (relation& relation : made_)
            program_.relate(std::move(relation));
        std::ranges::stable_partition(findings_, [](scale_finding const& finding) {
            return finding.level == severity::error;
        });
        return std::move(findings_);
    }

private:
    using numbers = scaled_sources::numbers;

    void judge(mapping_output const& output) {
        numbers const ids = in_.sources_kept(output.value);
        vector<scale_rule const*> rules;
        for (key_id const id : ids)
            for (found_scales const* const scales : in_.all_of(id))
                rules.push_back(scales->rule);
        std::ranges::sort(rules);
        rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
        if (rules.empty() || refuses_cast(output))
            return;
        for (scale_rule const* const rule : rules)
            judge(output, *rule, ids);
    }

    /// Reports a cast of stored values that are meaningless without their scales; true if it did.
    bool refuses_cast(mapping_output const& output) {
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
            piece const p = output.value.pieces[i];
            auto const scaled = in_.all_of(p.source);
            if (p.steps.empty() || p.steps.dequantizes() || scaled.empty())
                continue;
            std::string const& key = key_of(scaled.front()->tensor);
            add(output, errc::dtype_mismatch,
                words("'", output.key, "' is ", change_in(output.value, p), ", but '", key,
                      "' has stored values of ", p.stored, " with scales, '",
                      key_of(scaled.front()->scales), "', which ",
                      p.steps.computes() ? "arithmetic does not apply; omit it"
                                         : "a cast does not apply; omit the data type",
                      scaled.front()->rule->role == scale_role::factor
                          ? ", or write  dequantize  before it"
                          : ", or dequantise the model first"));
            return true;
        }
        return false;
    }

    std::string const& key_of(std::size_t tensor) const { return source_.tensors[tensor].key; }

    void judge(mapping_output const& output, scale_rule const& rule, numbers const& ids) {
        auto const first = std::ranges::find_if(
            ids, [&](key_id id) { return in_.scales_of(id, rule) != nullptr; });
        found_scales const& scaled = *in_.scales_of(*first, rule);
        if (relation const* const declared = declaration_of(output.key, scaled))
            return check_declared(output, *declared, rule);
        bool const is_whole = is_whole_source(output.value, program_.sources());
        mapping_output const* const scales = scales_of(output, rule, scaled);
        if (!scales)
            return refuse_missing(output, rule, scaled, is_whole);
        if (rule.is_aside() && !is_whole)
            return relate_by_shape(output, *scales, rule);
        if (refuses_cast_of(*scales, scaled))
            return;
        try {
            made_scales const expected = in_.expected(output, *scales, rule);
            block_form form = compare(output, *scales, expected);
            check_read(output, *scales, rule, form);
            relate(output.key, scales->key, std::move(form));
        } catch (error const& problem) {
            bool const is_order =
                problem.code() == errc::overlap || problem.code() == errc::unsupported;
            if (is_order && !in_.has_all(*scales, rule, ids))
                return refuse_missing(output, rule, scaled, is_whole);
            refuse_or_relate(output, *scales, rule, problem);
        }
    }

    /// Reports scales that do not follow their tensor. A list of numbers, one for each joined
    /// tensor, is accepted; but scales with all axes would be read as scales of equal blocks.
    void refuse_or_relate(mapping_output const& output, mapping_output const& scales,
                          scale_rule const& rule, error const& problem) {
        bool const are_numbers = problem.code() == errc::overlap &&
                                 scales.value.ndim() < output.value.ndim() &&
                                 in_.are_numbers(output, rule);
        if (!are_numbers)
            return refuse(output, scales, problem.code(), problem.what());
        if (!in_.are_in_order(output, scales, rule))
            return refuse(output, scales, problem.code(), "they are in another order");
        relate_as_whole(output, scales);
    }

    /// The `scales=` declaration of an output, if it names a tensor that is made of these source
    /// scales; otherwise null.
    relation const* declaration_of(std::string const& key, found_scales const& scaled) const {
        auto const [first, last] = declared_.equal_range(key);
        auto const match = std::find_if(first, last, [&](auto const& element) {
            mapping_output const* const output = program_.find(element.second.companion);
            return output && std::ranges::count(scaled_sources::sources_of(output->value),
                                                in_.number_of(scaled.scales));
        });
        return match == last ? nullptr : &match->second;
    }

    /// Compares the blocks that `scales=` declares with the blocks that keys and extents suggest.
    void check_declared(mapping_output const& output, relation const& declared,
                        scale_rule const& rule) {
        mapping_output const& scales = *program_.find(declared.companion);
        block_form const said{block_in(output.value.ndim(), declared.block), declared.count};
        try {
            made_scales const expected = in_.expected(output, scales, rule);
            auto const form = with_axes_of(expected.form, output.value.shape, scales.value.shape);
            bool is_same = form && form->block == said.block;
            for (std::size_t axis = 0; is_same && axis < said.ndim(); ++axis)
                is_same = form->count_of(axis) == said.count_of(axis);
            if (is_same)
                compare(output, scales, expected);
            else if (form && form->ndim() == said.ndim() &&
                     how_read(*form, said, scales.value.shape) == scales_read::other_axes)
                fail_misread(output, scales, *form);
        } catch (error const& problem) {
            if (problem.code() == errc::bad_layout || problem.code() == errc::overlap)
                refuse_or_relate(output, scales, rule, problem);
        }
    }

    void refuse(mapping_output const& output, mapping_output const& scales, errc code,
                std::string_view why) {
        bool const is_order = code == errc::overlap || code == errc::unsupported;
        add(output, is_order ? errc::bad_layout : code,
            words("'", output.key, "' cannot keep its scales '", scales.key, "': ", why));
    }

    /// The outputs that take elements from a source tensor.
    vector<mapping_output const*> const& outputs_of(key_id id) {
        if (outputs_.empty())
            for (mapping_output const& output : program_.outputs())
                for (key_id const from : scaled_sources::sources_of(output.value))
                    outputs_[from].push_back(&output);
        return outputs_[id];
    }

    /// The output that holds the scales of another output, or null. The convention names it, or it
    /// is made of these scales under a new name.
    mapping_output const* scales_of(mapping_output const& output, scale_rule const& rule,
                                    found_scales const& scaled) {
        if (auto const key = with_ending(output.key, rule.tensor, rule.scales))
            if (mapping_output const* const named = program_.find(*key))
                return named;
        bool const keeps_name = output.key == key_of(scaled.tensor);
        for (mapping_output const* const mapping_output : outputs_of(in_.number_of(scaled.scales)))
            if (keeps_name || mapping_output->key != key_of(scaled.scales))
                return mapping_output;
        return nullptr;
    }

    /// Advice on how scales can follow the tensor that a statement makes.
    static std::string advice(std::string const& result, scale_rule const& rule,
                              std::string const& tensor, std::string const& scales) {
        auto const own = with_ending(result, rule.tensor, rule.scales);
        if (rule.tensor.starts_with(".state")) // no statement makes state: it follows a parameter
            return words("; 8-bit state cannot be joined or split: if '", result,
                         "' is only renamed, add  ", scales, " -> ", own.value_or("_"),
                         "  ; otherwise remove the state:  ", tensor, " -> _");
        return words("; write  scales=\"", names_as_pattern(tensor, scales),
                     "\"  in the statement that makes '", result,
                     "', unless it is a macro, or make ",
                     own ? "'" + *own + "'" : std::string("its scales"), " in another statement");
    }

    void refuse_missing(mapping_output const& output, scale_rule const& rule,
                        found_scales const& scaled, bool is_whole) {
        std::string const &tensor = key_of(scaled.tensor), &scales = key_of(scaled.scales);
        auto const& outputs = outputs_of(in_.number_of(scaled.scales));
        std::string text = words("'", output.key, "' has elements of '", tensor, "', but "), by;
        if (outputs.empty())
            text += rule.is_aside() ? "no output has '" + scales + "', which belongs to them"
                                    : "no output has their scales '" + scales + "'";
        else
            text +=
                words("'", scales, "', which belongs to them, ",
                      outputs.front()->key == scales ? "keeps its name"
                                                     : "becomes '" + outputs.front()->key + "'");
        bool const is_error = !rule.is_aside() || is_whole;
        if (output.key == tensor)
            text += "; keep both, or remove both";
        else if (is_error)
            by = advice(output.key, rule, tensor, scales);
        else
            text += "; '" + scales + "' applies only to that tensor; make scales for '" +
                    output.key + "', or remove them";
        auto const own = with_ending(output.key, rule.tensor, rule.scales);
        findings_.push_back({is_error ? severity::error : severity::warning,
                             outputs.empty() ? errc::unknown_key : errc::bad_layout, output.key,
                             std::move(text), std::move(by), own ? scales + '=' + *own : ""});
    }

    /// Reports a cast of scales that are packed, or that are exponents; true if it did.
    bool refuses_cast_of(mapping_output const& scales, found_scales const& scaled) {
        for (std::size_t i = 0; i < scales.value.pieces.size(); ++i) {
            piece const p = scales.value.pieces[i];
            bool const is_number = bits(p.stored) >= 16 && p.stored != data_type::i32;
            if (p.steps.empty() || p.source != in_.number_of(scaled.scales) || is_number)
                continue;
            add(scales, errc::dtype_mismatch,
                words("'", scales.key, "' is ", change_in(scales.value, p), ", but '",
                      key_of(scaled.scales), "' has stored values of ", p.stored,
                      ", which belong to '", key_of(scaled.tensor), "' as they are; omit ",
                      p.steps.computes() ? "the arithmetic" : "the data type"));
            return true;
        }
        return false;
    }

    /// The form that relates an output to its scales.
    ///
    /// \throws error with errc::bad_layout if the output needs other scales
    block_form compare(mapping_output const& output, mapping_output const& scales,
                       made_scales const& expected) const {
        index_vector const shape(scales.value.shape), wanted(expected.scales.shape);
        auto form = with_axes_of(expected.form, output.value.shape, shape);
        if (!form || !is_made_as(reshape(expected.scales, shape), scales.value, program_.sources()))
            fail(errc::bad_layout, "they have the shape ", shape,
                 ", or another order; they must have the shape ", wanted,
                 " and the order of the elements");
        return *std::move(form);
    }

    /// Refuses scales that a reader of the outputs would apply to other elements.
    ///
    /// \throws error with errc::bad_layout
    void check_read(mapping_output const& output, mapping_output const& scales,
                    scale_rule const& rule, block_form const& form) const {
        index_vector const shape(output.value.shape), extents(scales.value.shape);
        auto const read = form_by_rule(rule, shape, extents, source_.quantised);
        if (read ? how_read(form, *read, extents) != scales_read::right
                 : extents.size() != shape.size())
            fail_misread(output, scales, form);
    }

    [[noreturn]] static void fail_misread(mapping_output const& output,
                                          mapping_output const& scales, block_form const& form) {
        index_vector const shape(output.value.shape), extents(scales.value.shape);
        index_vector const clear = scales_of_all_axes(form, shape);
        fail(errc::bad_layout, "a reader would apply scales of shape ", extents,
             " to the wrong elements of ", shape,
             clear == extents
                 ? std::string(
                       "; give the extents of a block in quantization_config of the config.json "
                       "beside the source")
                 : words("; add  ", scales.key, " -> ", scales.key, ", reshape=\"", clear, '"'));
    }

    /// Relates scales to the whole output.
    void relate_as_whole(mapping_output const& output, mapping_output const& scales) {
        constexpr scale_rule rule{"", "", scale_axes::none};
        if (auto form = form_by_rule(rule, output.value.shape, scales.value.shape, {}))
            relate(output.key, scales.key, std::move(*form));
    }

    /// Relates scales of a part of an output: by their extents if these fit, otherwise to the whole
    /// output.
    void relate_by_shape(mapping_output const& output, mapping_output const& scales,
                         scale_rule const& rule) {
        if (auto form =
                form_by_rule(rule, output.value.shape, scales.value.shape, source_.quantised))
            relate(output.key, scales.key, std::move(*form));
        else
            relate_as_whole(output, scales);
    }

    void relate(std::string const& key, std::string const& scales, block_form form) {
        made_.push_back({relation::kind::scale, key, scales, form.block, form.count});
    }

    void add(mapping_output const& output, errc code, std::string text) {
        findings_.push_back({severity::error, code, output.key, std::move(text)});
    }

    mapping& program_;
    layout const& source_;
    scaled_sources const in_;
    std::multimap<std::string, relation> declared_;
    std::unordered_map<key_id, vector<mapping_output const*>> outputs_;
    vector<relation> made_;
    vector<scale_finding> findings_;
};

RESHARD_DECL vector<scale_finding> carry_scales(mapping& program, layout const& source) {
    return scale_carrier(program, source).run();
}

RESHARD_DECL void check_scales(mapping& program, layout const& source, bool needs_all) {
    for (scale_finding const& finding : carry_scales(program, source))
        if (finding.level == severity::error && (needs_all || finding.code != errc::unknown_key))
            fail(finding.code, finding.message, finding.statement);
}

} // namespace reshard::detail

#endif
