// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_CARRY_SCALES_IPP
#define RESHARD_EXPR_IMPL_CARRY_SCALES_IPP

#include <reshard/expr/check.hpp>

#include <reshard/expr/impl/find_scales.ipp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace reshard::detail {

/// Whether an output consists of one tensor of the source, whole and in the order of its axes.
inline bool is_whole_source(expression const& value, source_list const& sources) {
    return is_source_box(value) && value.pieces.is_whole() &&
           sources[value.pieces.source(0)].shape == value.shape;
}

/// Whether two pieces take the same elements in the box that both have.
inline bool reads_alike(piece const& a, piece const& b) {
    auto const common = intersect(a.target_box(), b.target_box());
    if (!common || a.source == zero_source)
        return true;
    bool const turns = a.order != b.order && element_count(*common) > 1;
    if (a.source != b.source || b.joins.any() || turns)
        return false;
    for (std::size_t axis = 0; axis < common->ndim(); ++axis) {
        std::size_t const of_a = a.order[axis], of_b = b.order[axis];
        if (a.source_offset[of_a] - a.target_offset[axis] !=
            b.source_offset[of_b] - b.target_offset[axis])
            return false;
    }
    return true;
}

/// Whether a tensor has the elements that are expected, perhaps in another data type.
inline bool is_made_as(expression const& expected, expression const& made) {
    if (expected.shape != made.shape)
        return false;
    if (expected.pieces == made.pieces)
        return true;
    for (std::size_t i = 0; i < expected.pieces.size(); ++i)
        for (std::size_t k = 0; k < made.pieces.size(); ++k)
            if (!reads_alike(expected.pieces[i], made.pieces[k]))
                return false;
    return true;
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
                declared_.emplace(one.key, one.companion);
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
        if (is_declared(output.key, scaled))
            return;
        bool const is_whole = is_whole_source(output.value, program_.sources());
        mapping_output const* const scales = scales_of(output, rule, scaled);
        if (!scales)
            return refuse_missing(output, rule, scaled, is_whole);
        if (rule.is_aside && !is_whole)
            return relate_by_shape(output, *scales, rule);
        if (refuses_cast_of(*scales, scaled))
            return;
        try {
            compare(output, *scales, rule, ids);
        } catch (error const& problem) {
            if (problem.code() != errc::unsupported)
                return add(output, problem.code(),
                           words("'", output.key, "' cannot keep its scales '", scales->key,
                                 "': ", problem.what()));
            if (!has_all(*scales, rule, ids))
                return refuse_missing(output, rule, scaled, is_whole);
            relate_by_shape(output, *scales, rule);
        }
    }

    /// Whether `scales=` names the scales of an output that has these scales of the source.
    bool is_declared(std::string const& key, found_scales const& scaled) const {
        auto const [first, last] = declared_.equal_range(key);
        return std::any_of(first, last, [&](auto const& one) {
            mapping_output const* const made = program_.find(one.second);
            return made && std::ranges::count(sources_of(made->value), number_of(scaled.scales));
        });
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
        std::size_t const dot = std::min(tensor.rfind('.'), tensor.size());
        std::size_t const begin = scales.starts_with(tensor.substr(0, dot)) ? dot : 0;
        auto const own = with_ending(made, rule.tensor, rule.scales);
        return words("; write  scales=\"*", tensor.substr(begin), " => *", scales.substr(begin),
                     "\"  in the statement that makes '", made, "', or make ",
                     own ? "'" + *own + "'" : std::string("its scales"), " in another statement");
    }

    void refuse_missing(mapping_output const& output, scale_rule const& rule,
                        found_scales const& scaled, bool is_whole) {
        std::string const &tensor = key_of(scaled.tensor), &scales = key_of(scaled.scales);
        auto const& made = outputs_of(number_of(scaled.scales));
        std::string text = words("'", output.key, "' has elements of '", tensor, "', and ");
        if (made.empty())
            text += "no output has '" + scales + "', without which they mean nothing";
        else
            text += words("'", scales, "', which belongs to them, ",
                          made.front()->key == scales ? "keeps its name"
                                                      : "becomes '" + made.front()->key + "'");
        bool const is_error = !rule.is_aside || is_whole;
        text += output.key == tensor ? std::string("; keep both, or remove both")
                : is_error           ? advice(output.key, rule, tensor, scales)
                           : "; it holds for that tensor alone: give one for '" + output.key +
                                 "', or remove it";
        findings_.push_back({is_error ? severity::error : severity::warning,
                             made.empty() ? errc::unknown_key : errc::bad_layout, output.key,
                             std::move(text)});
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

    /// \throws error if the scales cannot follow
    void compare(mapping_output const& output, mapping_output const& scales, scale_rule const& rule,
                 numbers const& ids) {
        auto const source_of = [&](key_id id) {
            found_scales const* const one = scales_of(id, rule);
            if (!one)
                fail(errc::shape_mismatch, "it is also made of '", program_.sources().key(id),
                     "', which has none");
            tensor_layout const& made = source_.tensors[one->scales];
            return scale_source{number_of(one->scales), made.dtype,
                                source_.shape_of(source_.tensors[one->tensor]), one->form};
        };
        auto const known =
            std::ranges::find_if(ids, [&](key_id id) { return scales_of(id, rule) != nullptr; });
        expression const expected = block_scales(output.value, scales_of(*known, rule)->form,
                                                 source_of(*known).dtype, source_of);
        if (!is_made_as(expected, scales.value))
            fail(errc::bad_layout, "these are ", index_vector(scales.value.shape),
                 ", or in another order; they have to be ", index_vector(expected.shape), " of '",
                 key_of(scales_of(*known, rule)->scales), "' as the elements are");
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i)
            if (key_id const id = output.value.pieces.source(i); id != zero_source) {
                block_form form = permuted(scales_of(id, rule)->form, output.value.pieces[i].order);
                return relate(output.key, scales.key, std::move(form));
            }
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
    std::multimap<std::string, std::string> declared_;
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
            fail(one.code, one.message);
}

} // namespace reshard::detail

#endif
