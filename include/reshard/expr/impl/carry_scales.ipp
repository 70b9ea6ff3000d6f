// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_CARRY_SCALES_IPP
#define RESHARD_EXPR_IMPL_CARRY_SCALES_IPP

#include <reshard/expr/check.hpp>

#include <reshard/expr/impl/find_scales.ipp>
#include <reshard/expr/impl/same_elements.ipp>
#include <reshard/expr/reshape.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reshard::detail {

/// Whether an output consists of one tensor of the source, whole and in the order of its axes.
inline bool is_whole_source(expression const& value, source_list const& sources) {
    return is_source_box(value) && value.pieces.is_whole() &&
           sources[value.pieces.source(0)].shape == value.shape;
}

/// The form with which scales of some shape go with a tensor, if they have axes of extent 1 more or
/// less than the form says; nullopt if they differ otherwise.
inline std::optional<block_form> with_axes_of(block_form form, index_vector const& shape,
                                              index_vector const& scales) {
    std::size_t used = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        block_form const one{{form.block[axis]}, {std::max(form.count_of(axis), index_t{1})}};
        index_t const wanted = scale_counts({shape[axis]}, one)[0];
        if (form.count.empty())
            form.count = index_vector::filled(shape.size(), 1);
        bool const is_there = used < scales.size() && scales[used] == wanted;
        if (!is_there && wanted != 1)
            return std::nullopt;
        used += is_there;
        form.count[axis] = is_there ? one.count[0] : 0;
        form.block[axis] = is_there ? form.block[axis] : 0;
    }
    return used == scales.size() ? std::optional(form) : std::nullopt;
}

/// `carry_scales` at work.
class scale_carrier {
public:
    scale_carrier(mapping& program, layout const& source) : program_(program), source_(source) {}

    std::vector<scale_finding> run() {
        found_ = find_scales(source_);
        if (found_.empty())
            return {};
        number_sources();
        for (relation const& one : program_.relations())
            if (one.what == relation::kind::scale)
                declared_.emplace(one.key, one);
        for (mapping_output const& output : program_.outputs())
            judge(output);
        for (relation& one : made_)
            program_.relate(std::move(one));
        std::ranges::stable_partition(
            findings_, [](scale_finding const& one) { return one.level == severity::error; });
        return std::move(findings_);
    }

private:
    using numbers = std::vector<key_id>;

    /// The scales of a source tensor that a rule names, or null.
    found_scales const* scales_of(key_id id, scale_rule const& rule) const {
        auto const [first, last] = by_source_.equal_range(id);
        for (auto one = first; one != last; ++one)
            if (one->second->rule == &rule)
                return one->second;
        return nullptr;
    }

    std::string const& key_of(std::size_t tensor) const { return source_.tensors[tensor].key; }

    /// The number of a tensor as a source of the program, or `zero_source`.
    key_id number_of(std::size_t tensor) const {
        auto const known = numbers_.find(key_of(tensor));
        return known == numbers_.end() ? zero_source : known->second;
    }

    void number_sources() {
        source_list const& sources = program_.sources();
        for (key_id id = 0; id < sources.size(); ++id)
            numbers_.emplace(std::string(sources.key(id)), id);
        for (found_scales const& one : found_)
            if (key_id const id = number_of(one.tensor); id != zero_source)
                by_source_.emplace(id, &one);
    }

    /// The tensors of the source that an output has elements of, in order.
    static numbers sources_of(expression const& value) {
        numbers ids;
        for (std::size_t i = 0; i < value.pieces.size(); ++i)
            if (key_id const id = value.pieces.source(i); id != zero_source)
                ids.push_back(id);
        std::ranges::sort(ids);
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
        return ids;
    }

    void judge(mapping_output const& output) {
        numbers const ids = sources_of(output.value);
        std::vector<scale_rule const*> rules;
        for (key_id const id : ids) {
            auto const [first, last] = by_source_.equal_range(id);
            for (auto one = first; one != last; ++one)
                rules.push_back(one->second->rule);
        }
        std::ranges::sort(rules);
        rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
        if (rules.empty() || refuses_cast(output))
            return;
        for (scale_rule const* const rule : rules)
            judge(output, *rule, ids);
    }

    /// Whether stored values are cast that mean nothing without their scales.
    bool refuses_cast(mapping_output const& output) {
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
            piece const p = output.value.pieces[i];
            auto const scaled = by_source_.find(p.source);
            if (p.casts.empty() || scaled == by_source_.end())
                continue;
            std::string const& key = key_of(scaled->second->tensor);
            add(output, errc::dtype_mismatch,
                words("'", output.key, "' is to be ", output.value.dtype, ", and '", key,
                      "' has stored values of ", p.stored, " with scales, '",
                      key_of(scaled->second->scales),
                      "', which a cast does not apply; omit the data type, or dequantise the "
                      "model before"));
            return true;
        }
        return false;
    }

    void judge(mapping_output const& output, scale_rule const& rule, numbers const& ids) {
        auto const first =
            std::ranges::find_if(ids, [&](key_id id) { return scales_of(id, rule) != nullptr; });
        found_scales const& scaled = *scales_of(*first, rule);
        if (relation const* const declared = declaration_of(output.key, scaled))
            return check_declared(output, *declared, rule, ids);
        bool const is_whole = is_whole_source(output.value, program_.sources());
        mapping_output const* const scales = scales_of(output, rule, scaled);
        if (!scales)
            return refuse_missing(output, rule, scaled, is_whole);
        if (rule.is_aside && !is_whole)
            return relate_by_shape(output, *scales, rule);
        if (refuses_cast_of(*scales, scaled))
            return;
        try {
            made_scales const expected = expected_scales(output, rule, ids);
            relate(output.key, scales->key, compare(output, *scales, expected));
        } catch (error const& problem) {
            bool const are_several = problem.code() == errc::overlap;
            if (!has_all(*scales, rule, ids) &&
                (are_several || problem.code() == errc::unsupported))
                return refuse_missing(output, rule, scaled, is_whole);
            if (are_several && scales_in_order(output, rule) == sources_in_order(scales->value))
                return relate_by_shape(output, *scales, rule);
            refuse(output, *scales, problem);
        }
    }

    /// What `scales=` says of an output, if that names what is made of these scales of the source.
    relation const* declaration_of(std::string const& key, found_scales const& scaled) const {
        auto const [first, last] = declared_.equal_range(key);
        auto const found = std::find_if(first, last, [&](auto const& one) {
            mapping_output const* const made = program_.find(one.second.companion);
            return made && std::ranges::count(sources_of(made->value), number_of(scaled.scales));
        });
        return found == last ? nullptr : &found->second;
    }

    /// Compares scales that `scales=` names, if it has the blocks that their keys and extents say.
    void check_declared(mapping_output const& output, relation const& declared,
                        scale_rule const& rule, numbers const& ids) {
        mapping_output const& scales = *program_.find(declared.companion);
        block_form const said{declared.block, declared.count};
        try {
            made_scales const expected = expected_scales(output, rule, ids);
            auto const form = with_axes_of(expected.form, output.value.shape, scales.value.shape);
            bool is_same = form && form->block == said.block;
            for (std::size_t axis = 0; is_same && axis < said.ndim(); ++axis)
                is_same = form->count_of(axis) == said.count_of(axis);
            if (is_same)
                compare(output, scales, expected);
        } catch (error const& problem) {
            if (problem.code() == errc::bad_layout)
                refuse(output, scales, problem);
        }
    }

    void refuse(mapping_output const& output, mapping_output const& scales, error const& problem) {
        bool const is_order =
            problem.code() == errc::overlap || problem.code() == errc::unsupported;
        add(output, is_order ? errc::bad_layout : problem.code(),
            words("'", output.key, "' cannot keep its scales '", scales.key, "': ",
                  problem.code() == errc::overlap ? "these are in another order" : problem.what()));
    }

    /// The outputs that have elements of a source tensor.
    std::vector<mapping_output const*> const& outputs_of(key_id id) {
        if (outputs_.empty())
            for (mapping_output const& output : program_.outputs())
                for (key_id const from : sources_of(output.value))
                    outputs_[from].push_back(&output);
        return outputs_[id];
    }

    /// The output that has the scales of another output, or null: the convention names it, or it is
    /// made of them under a new name.
    mapping_output const* scales_of(mapping_output const& output, scale_rule const& rule,
                                    found_scales const& scaled) {
        if (auto const key = with_ending(output.key, rule.tensor, rule.scales))
            if (mapping_output const* const named = program_.find(*key))
                return named;
        bool const keeps_name = output.key == key_of(scaled.tensor);
        for (mapping_output const* const made : outputs_of(number_of(scaled.scales)))
            if (keeps_name || made->key != key_of(scaled.scales))
                return made;
        return nullptr;
    }

    /// How to let scales follow the tensor that a statement makes.
    static std::string advice(std::string const& made, scale_rule const& rule,
                              std::string const& tensor, std::string const& scales) {
        auto const own = with_ending(made, rule.tensor, rule.scales);
        return words("; write  scales=\"", names_as_pattern(tensor, scales),
                     "\"  in the statement that makes '", made, "', unless it is a macro, or make ",
                     own ? "'" + *own + "'" : std::string("its scales"), " in another statement");
    }

    void refuse_missing(mapping_output const& output, scale_rule const& rule,
                        found_scales const& scaled, bool is_whole) {
        std::string const &tensor = key_of(scaled.tensor), &scales = key_of(scaled.scales);
        auto const& made = outputs_of(number_of(scaled.scales));
        std::string text = words("'", output.key, "' has elements of '", tensor, "', and "), by;
        if (made.empty())
            text += rule.is_aside ? "no output has '" + scales + "', which belongs to them"
                                  : "no output has their scales '" + scales + "'";
        else
            text += words("'", scales, "', which belongs to them, ",
                          made.front()->key == scales ? "keeps its name"
                                                      : "becomes '" + made.front()->key + "'");
        bool const is_error = !rule.is_aside || is_whole;
        if (output.key == tensor)
            text += "; keep both, or remove both";
        else if (is_error)
            by = advice(output.key, rule, tensor, scales);
        else
            text += "; '" + scales + "' applies to that tensor only; write one for '" + output.key +
                    "', or remove it";
        auto const own = with_ending(output.key, rule.tensor, rule.scales);
        findings_.push_back({is_error ? severity::error : severity::warning,
                             made.empty() ? errc::unknown_key : errc::bad_layout, output.key,
                             std::move(text), std::move(by), own ? scales + '=' + *own : ""});
    }

    /// Refuses a cast of scales that are packed, or exponents.
    bool refuses_cast_of(mapping_output const& scales, found_scales const& scaled) {
        for (std::size_t i = 0; i < scales.value.pieces.size(); ++i) {
            piece const p = scales.value.pieces[i];
            bool const is_number = bits(p.stored) >= 16 && p.stored != data_type::i32;
            if (p.casts.empty() || p.source != number_of(scaled.scales) || is_number)
                continue;
            add(scales, errc::dtype_mismatch,
                words("'", scales.key, "' is to be ", scales.value.dtype, ", and '",
                      key_of(scaled.scales), "' has stored values of ", p.stored,
                      ", which belong to '", key_of(scaled.tensor),
                      "' as they are; omit the data type"));
            return true;
        }
        return false;
    }

    /// The scales that an output needs.
    ///
    /// \throws error if they cannot follow
    made_scales expected_scales(mapping_output const& output, scale_rule const& rule,
                                numbers const& ids) const {
        auto const source_of = [&](key_id id) {
            found_scales const* const one = scales_of(id, rule);
            if (!one)
                fail(errc::shape_mismatch, "it is also made of '", program_.sources().key(id),
                     "', which has none");
            return scale_source{number_of(one->scales), source_.tensors[one->scales].dtype,
                                source_.shape_of(source_.tensors[one->tensor]), one->form};
        };
        auto const known =
            std::ranges::find_if(ids, [&](key_id id) { return scales_of(id, rule) != nullptr; });
        return scales_and_form(output.value, scales_of(*known, rule)->form, source_of(*known).dtype,
                               source_of);
    }

    /// The form with which an output has its scales.
    ///
    /// \throws error with errc::bad_layout if they are not those that it needs
    block_form compare(mapping_output const& output, mapping_output const& scales,
                       made_scales const& expected) const {
        index_vector const shape(scales.value.shape), wanted(expected.scales.shape);
        auto form = with_axes_of(expected.form, output.value.shape, shape);
        if (!form || !is_made_as(reshape(expected.scales, shape), scales.value, program_.sources()))
            fail(errc::bad_layout, "these are ", shape, ", or in another order; they have to be ",
                 wanted, ", and to follow as the elements do");
        return *std::move(form);
    }

    /// The tensors of the source that an output has elements of, each once, as they follow along
    /// its axes.
    static numbers sources_in_order(expression const& value) {
        std::vector<std::pair<index_vector, key_id>> places;
        for (std::size_t i = 0; i < value.pieces.size(); ++i)
            if (value.pieces.source(i) != zero_source)
                places.emplace_back(value.pieces.target_box(i).offset, value.pieces.source(i));
        std::ranges::sort(places);
        numbers ids;
        for (auto const& [place, id] : places)
            if (std::ranges::find(ids, id) == ids.end())
                ids.push_back(id);
        return ids;
    }

    /// The same of the scales that belong to them.
    numbers scales_in_order(mapping_output const& output, scale_rule const& rule) const {
        numbers ids = sources_in_order(output.value);
        for (key_id& id : ids)
            if (found_scales const* const one = scales_of(id, rule))
                id = number_of(one->scales);
        return ids;
    }

    bool has_all(mapping_output const& scales, scale_rule const& rule, numbers const& ids) const {
        numbers const has = sources_of(scales.value);
        return std::ranges::all_of(ids, [&](key_id id) {
            found_scales const* const one = scales_of(id, rule);
            return !one || std::ranges::binary_search(has, number_of(one->scales));
        });
    }

    /// Relates scales that statements made otherwise: as extents say, or as a whole.
    void relate_by_shape(mapping_output const& output, mapping_output const& scales,
                         scale_rule const& rule) {
        auto form = form_by_rule(rule, output.value.shape, scales.value.shape, source_.quantised);
        if (!form)
            form = form_by_rule({rule.tensor, rule.scales, scale_axes::none}, output.value.shape,
                                scales.value.shape, source_.quantised);
        if (form)
            relate(output.key, scales.key, std::move(*form));
    }

    void relate(std::string const& key, std::string const& scales, block_form form) {
        made_.push_back({relation::kind::scale, key, scales, form.block, form.count});
    }

    void add(mapping_output const& output, errc code, std::string text) {
        findings_.push_back({severity::error, code, output.key, std::move(text)});
    }

    mapping& program_;
    layout const& source_;
    std::vector<found_scales> found_;
    std::unordered_map<std::string, key_id> numbers_;
    std::multimap<key_id, found_scales const*> by_source_;
    std::multimap<std::string, relation> declared_;
    std::unordered_map<key_id, std::vector<mapping_output const*>> outputs_;
    std::vector<relation> made_;
    std::vector<scale_finding> findings_;
};

RESHARD_DECL std::vector<scale_finding> carry_scales(mapping& program, layout const& source) {
    return scale_carrier(program, source).run();
}

RESHARD_DECL void check_scales(mapping& program, layout const& source, bool needs_all) {
    for (scale_finding const& one : carry_scales(program, source))
        if (one.level == severity::error && (needs_all || one.code != errc::unknown_key))
            fail(one.code, one.message, one.statement);
}

} // namespace reshard::detail

#endif
