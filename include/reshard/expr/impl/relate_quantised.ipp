// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_RELATE_QUANTISED_IPP
#define RESHARD_EXPR_IMPL_RELATE_QUANTISED_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>

#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/impl/same_elements.ipp>
#include <reshard/expr/impl/scale_forms.ipp>
#include <reshard/expr/impl/scaled_sources.ipp>
#include <reshard/expr/reshape.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace reshard::detail {

/// Does the work of `relate_quantised`.
class quantised_carrier {
public:
    explicit quantised_carrier(mapping& program) : program_(program) {}

    vector<scale_finding> run() {
        if (program_.quantised().empty())
            return {};
        for (mapping_output const& output : program_.outputs())
            for (key_id const id : scaled_sources::sources_of(output.value))
                if (quantised_from(program_, id))
                    outputs_[id].push_back(&output);
        for (mapping_output const& output : program_.outputs())
            if (quantised_value const* const from = numbers_in(output.value))
                judge(output, *from);
        for (relation& relation : relations_)
            program_.relate(std::move(relation));
        return std::move(findings_);
    }

private:
    /// The value whose numbers an output has; null if it has none.
    quantised_value const* numbers_in(expression const& value) const {
        for (key_id const id : scaled_sources::sources_of(value))
            if (quantised_value const* const from = quantised_from(program_, id);
                from && from->first == id)
                return from;
        return nullptr;
    }

    /// How the numbers share the scales of a tensor.
    ///
    /// \pre the numbers have axes
    static block_form form_of(quantiser const& by, std::size_t which) {
        std::size_t const ndim = by.tensors()[0].shape.size();
        block_form form{index_vector::filled(ndim, 0)};
        if (by.tensors()[which].is_constant) { // one for the tensor
            form.count = form.block;
            form.count[ndim - 1] = 1;
            return form;
        }
        for (std::size_t axis = 0; axis < ndim; ++axis)
            if (by.block()[axis] > 0)
                form.block[axis] = by.extent_of_block(0, axis);
        return form;
    }

    void judge(mapping_output const& output, quantised_value const& from) {
        quantiser const by(from.scheme, from.value.shape);
        if (element_count(output.value.shape) == 0 || by.tensors()[0].shape.size() == 0)
            return;
        try {
            if (by.crosses_rows())
                return find_all(output, from, by);
            for (std::size_t which = 1; which < by.tensors().size(); ++which)
                if (by.tensors()[which].is_scale)
                    relate(output, from, which, by);
                else if (!is_whole_source(output.value, program_.sources()))
                    warn_of_extents(output, from, by.tensors()[which].suffix);
            if (is_packed(by))
                check_rows(output, from, by);
        } catch (error const& problem) {
            add(output, severity::error, problem.code(), problem.what());
        }
    }

    void warn_of_extents(mapping_output const& output, quantised_value const& from,
                         std::string_view suffix) {
        add(output, severity::warning, errc::shape_mismatch,
            words("it is not the whole of '", from.name, "', but '", from.name, suffix,
                  "' has the extents of that tensor; move, cut or join the values before "
                  "'quantize'"));
    }

    /// Whether several numbers are one element, or scales are among the numbers.
    static bool is_packed(quantiser const& by) {
        return by.tensors().size() == 1 || by.tensors()[0].dtype == data_type::u8 ||
               by.tensors()[0].dtype == data_type::i32;
    }

    /// Checks numbers whose blocks cross rows. All tensors of their value have to stay whole.
    ///
    /// \throws error
    void find_all(mapping_output const& output, quantised_value const& from, quantiser const& by) {
        auto const is_whole = [&](expression const& value, std::size_t which) {
            quantised_tensor const& tensor = by.tensors()[which];
            expression const all =
                source_tensor(from.first + static_cast<key_id>(which), tensor.shape, tensor.dtype);
            return element_count(value.shape) == element_count(tensor.shape) &&
                   is_made_as(reshape(all, value.shape), value, program_.sources());
        };
        if (!is_whole(output.value, 0))
            fail(errc::unsupported, "it is not the whole of '", from.name, "', and blocks of '",
                 from.scheme, "' cross rows; move, cut or join the values before 'quantize'");
        for (std::size_t which = 1; which < by.tensors().size(); ++which)
            find_scales(output, from, which, by.tensors()[which].shape,
                        [&](mapping_output const& each) { return is_whole(each.value, which); });
    }

    /// Checks that packed blocks stay along the last axis.
    ///
    /// \throws error
    void check_rows(mapping_output const& output, quantised_value const& from,
                    quantiser const& by) const {
        index_vector const before = form_of(by, 0).block;
        index_vector const after = wanted_scales(output, from, by, 0).form.block;
        index_t const block = before[before.size() - 1];
        if (after.size() == 0 || after[after.size() - 1] != block)
            fail(errc::bad_layout, "blocks of ", counted(block, "element"),
                 " lie along the last axis of the numbers of '", from.name,
                 "', which must stay the last; move the values before 'quantize'");
    }

    /// The scales that the numbers of an output need.
    ///
    /// \throws error as `scales_and_form`
    made_scales wanted_scales(mapping_output const& output, quantised_value const& first,
                              quantiser const& by, std::size_t which) const {
        data_type const dtype = by.tensors()[which].dtype;
        made_scales scales =
            scales_and_form(output.value, form_of(by, which), dtype, [&](key_id id) {
                quantised_value const* const from = quantised_from(program_, id);
                if (!from || from->first != id || from->scheme != first.scheme)
                    fail(errc::unsupported, "it has elements of '", program_.sources().key(id),
                         "' as well, which are not quantised as '", first.scheme,
                         "'; join the values before 'quantize'");
                quantiser const of(from->scheme, from->value.shape);
                return scale_source{id + static_cast<key_id>(which), dtype, of.tensors()[0].shape,
                                    form_of(of, which)};
            });
        index_vector const& shape = output.value.shape;
        for (std::size_t axis = 0; axis < shape.size() && first.scheme != "fp8_block"; ++axis)
            if (index_t const block = scales.form.block[axis];
                block > 1 && shape[axis] % block != 0)
                fail(errc::shape_mismatch, "axis ", axis, " ends at ", shape[axis],
                     ", inside a block of ", block, "; cut at multiples of ", block);
        return scales;
    }

    /// Relates an output to the output that has its scales.
    ///
    /// \throws error
    void relate(mapping_output const& output, quantised_value const& from, std::size_t which,
                quantiser const& by) {
        made_scales wanted;
        try {
            wanted = wanted_scales(output, from, by, which);
        } catch (error const& problem) {
            if (problem.code() != errc::overlap || !by.tensors()[which].is_constant)
                throw;
            return relate_numbers(output, from, which, by); // tensors with a scale each are joined
        }
        mapping_output const* const scales =
            find_scales(output, from, which, wanted.scales.shape, [&](mapping_output const& has) {
                index_vector const& shape = has.value.shape;
                bool const may_be_reshaped = shape.size() != wanted.scales.ndim();
                return (shape == wanted.scales.shape || may_be_reshaped) &&
                       has.value.dtype == wanted.scales.dtype &&
                       element_count(shape) == element_count(wanted.scales.shape) &&
                       is_made_as(reshape(wanted.scales, shape), has.value, program_.sources());
            });
        if (auto form = scales ? with_axes_of(wanted.form, output.value.shape, scales->value.shape)
                               : std::nullopt)
            relations_.push_back(
                {relation::kind::scale, output.key, scales->key, form->block, form->count});
    }

    /// Finds the scales of joined tensors that have one scale each, in the order of the tensors.
    void relate_numbers(mapping_output const& output, quantised_value const& from,
                        std::size_t which, quantiser const& by) {
        vector<key_id> const wanted = sources_in_order(output.value, static_cast<key_id>(which));
        find_scales(output, from, which, {std::ssize(wanted)}, [&](mapping_output const& scales) {
            return scales.value.dtype == by.tensors()[which].dtype &&
                   element_count(scales.value.shape) == std::ssize(wanted) &&
                   sources_in_order(scales.value, 0) == wanted;
        });
    }

    /// The source tensors of a value in the order of its elements, plus a number.
    static vector<key_id> sources_in_order(expression const& value, key_id plus) {
        vector<std::pair<index_t, key_id>> first;
        index_vector const strides = row_major_strides(value.shape);
        for (std::size_t i = 0; i < value.pieces.size(); ++i)
            first.emplace_back(linear_offset(value.pieces.target_box(i).offset, strides),
                               value.pieces.source(i) + plus);
        std::ranges::sort(first);
        vector<key_id> sources;
        for (auto const& [at, id] : first)
            if (sources.empty() || sources.back() != id)
                sources.push_back(id);
        return sources;
    }

    /// The output with scales of which `is_right` is true. Scales that were given need none: who
    /// gave them has them.
    ///
    /// \throws error with errc::unknown_key or errc::bad_layout if there is none
    mapping_output const* find_scales(mapping_output const& output, quantised_value const& from,
                                      std::size_t which, index_vector const& shape,
                                      auto const& is_right) {
        auto const& outputs = outputs_[from.first + static_cast<key_id>(which)];
        auto const endings = endings_of(from.scheme);
        std::string_view const suffix = endings[which].text;
        auto const own = with_ending(output.key, endings[0].text, suffix);
        mapping_output const* const named = own ? program_.find(*own) : nullptr;
        auto const match = std::ranges::find_if(outputs, [&](mapping_output const* const each) {
            return (!named || each == named) && is_right(*each);
        });
        if (match != outputs.end() && (named || !own || !(*match)->key.ends_with(suffix)))
            return *match;
        if (match != outputs.end())
            fail(errc::bad_layout, "its scales are in '", (*match)->key,
                 "', and a reader expects '", *own,
                 "'; rename them in the same way:  ", (*match)->key, " -> ", *own);
        if (!outputs.empty())
            fail(errc::bad_layout, "no output has '", from.name, suffix,
                 "' in the order of the numbers of '", output.key, "', which need the shape ",
                 shape, "; move it as its numbers, or move the values before 'quantize'");
        if (from.kept.empty())
            fail(errc::unknown_key, "no output has '", from.name, suffix,
                 "', without which its numbers mean nothing");
        return nullptr;
    }

    void add(mapping_output const& output, severity level, errc code, std::string_view why) {
        findings_.push_back({level, code, output.key,
                             words("'", output.key, "' is quantised by this program: ", why)});
    }

    mapping& program_;
    std::unordered_map<key_id, vector<mapping_output const*>> outputs_; ///< by quantised source
    vector<relation> relations_;
    vector<scale_finding> findings_;
};

RESHARD_DECL vector<scale_finding> relate_quantised(mapping& program) {
    return quantised_carrier(program).run();
}

} // namespace reshard::detail

#endif
