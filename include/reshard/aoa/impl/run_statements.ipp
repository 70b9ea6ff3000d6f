// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_RUN_STATEMENTS_IPP
#define RESHARD_AOA_IMPL_RUN_STATEMENTS_IPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/aoa/macro/macros.hpp>
#include <reshard/aoa/make_finding.hpp>
#include <reshard/aoa/operation.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/copy/quantiser.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/expr/quantize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

/// \file
/// The first half of `lower`: runs the statements, and gives values to names.

namespace reshard::aoa::detail {

/// Compares the sizes of the heads into which `q, k, v -> d, fused_qkv` cuts queries and keys.
/// Attention multiplies queries and keys, so their heads must be of the same size.
///
/// \par Source the original accepts any numbers that divide the extents
class head_widths {
public:
    /// Examines a statement and its results, in the order of the program; returns the error in the
    /// heads, if any.
    std::optional<std::string> look_at(program const& code, statement const& statement,
                                       std::span<expression const> expressions) {
        if (statement.left != 1 || code.origin(statement.origin).macro != "fused_qkv")
            return std::nullopt;
        heads const found_heads{statement.origin, expressions.size(), expressions[0].shape,
                                shown_name(code, statement, code.left(statement)[0])};
        if (queries_.origin != statement.origin) {
            queries_ = found_heads;
            is_compared_ = false;
            return std::nullopt;
        }
        bool const is_values = std::exchange(is_compared_, true); // values may have another size
        if (is_values || found_heads.shape == queries_.shape)
            return std::nullopt;
        return "fused_qkv cuts " + text(queries_) + " and " + text(found_heads) +
               "; queries and keys must have heads of the same size: are num_heads and "
               "num_key_value_groups right?";
    }

private:
    struct heads {
        std::uint32_t origin = 0; ///< origin of the statement, never 0 for a macro's statement
        std::size_t count = 0;
        index_vector shape = {};
        std::string key = {};
    };

    static std::string text(heads const& of) {
        return "'" + of.key + "' into " + std::to_string(of.count) + " heads of " +
               to_string(of.shape);
    }

    heads queries_;
    bool is_compared_ = false;
};

/// Refuses a fused macro's split of a tensor that does not divide into its pieces. The algebra
/// finds other faults, and the faults of other statements.
///
/// \throws statement_error with errc::shape_mismatch
inline void check_fused_cut(program const& code, statement const& statement,
                            expression const& tensor) {
    std::string const& macro = code.origin(statement.origin).macro;
    if (statement.right < 2 || !macro.starts_with("fused"))
        return;
    attribute const* const sizes = find_attribute(code.attributes(statement), "sizes");
    attribute const* const attribute = find_attribute(code.attributes(statement), "axis");
    auto const* const number = attribute ? std::get_if<index_t>(&attribute->value) : nullptr;
    auto const ndim = static_cast<index_t>(tensor.ndim());
    if (!number || *number < -ndim || *number >= ndim)
        return;
    index_t const axis = *number < 0 ? *number + ndim : *number;
    index_t const extent = tensor.shape[static_cast<std::size_t>(axis)];
    name const& cut = code.left(statement)[0];
    if (sizes) {
        auto const extents = parse_list(*sizes);
        index_t const sum = std::accumulate(extents.begin(), extents.end(), index_t{0});
        if (macro != "fused" || sum == extent)
            return;
        throw statement_error{errc::shape_mismatch,
                              words(macro, " cuts '", shown_name(code, statement, cut),
                                    "' along axis ", axis, " into sizes that sum to ", sum,
                                    ", but the extent there is ", extent),
                              cut.where, shown_key(code, statement, cut)};
    }
    if (extent % static_cast<index_t>(statement.right) == 0)
        return;
    throw statement_error{errc::shape_mismatch,
                          words(macro, " cuts '", shown_name(code, statement, cut), "' along axis ",
                                axis, " into ", statement.right,
                                " equal parts, but the extent there is ", extent),
                          cut.where, shown_key(code, statement, cut)};
}

/// Runs the statements of a program.
class statement_runner {
public:
    explicit statement_runner(lower_context& context) : in_(context) {}

    void run() {
        find_removed();
        for (statement const& statement : in_.code.statements())
            guarded(statement, [&] { run(statement); });
    }

private:
    /// Runs a step for a statement. After an error, adds a finding, and marks the statement's
    /// results as without a value.
    void guarded(statement const& statement, auto const& step) {
        try {
            return step();
        } catch (statement_error const& error) {
            in_.report(error.code, make_finding(in_.code, statement, error));
        } catch (no_value const&) {
        }
        for (name const& bound : in_.code.right(statement))
            if (bound.kind != name::kind_type::nothing)
                in_.names.spoil(bound);
    }

    bool is_single(statement const& statement) const {
        return statement.left == 1 && statement.right == 1;
    }

    /// Finds removed tensors before the statements run: a removal holds for the whole program, also
    /// for earlier uses.
    void find_removed() {
        for (statement const& statement : in_.code.statements())
            if (is_removal(in_.code, statement) &&
                in_.code.left(statement)[0].kind != name::kind_type::pattern) {
                binding& removed = in_.names[in_.code.left(statement)[0]];
                if (std::exchange(removed.is_removed, true))
                    continue;
                removed.where = in_.code.left(statement)[0].where;
                removed.origin = statement.origin;
            }
    }

    void run(statement const& statement) {
        if (in_.code.is_broken(statement))
            return pass_over(statement);
        for (name const& each_name : in_.code.names(statement))
            if (each_name.transposed || each_name.kind == name::kind_type::pattern)
                throw statement_error{errc::bad_macro, "the program has not been expanded",
                                      each_name.where};
        if (is_removal(in_.code, statement))
            return remove(statement);
        if (is_addition(in_.code, statement))
            return add(statement);
        for (name const& each_name : in_.code.names(statement))
            if (each_name.kind == name::kind_type::nothing)
                throw statement_error{errc::syntax,
                                      "'_' must be alone on its side, with one name on the other",
                                      each_name.where};
        if (auto const* const word = find_attribute(in_.code.attributes(statement), "quantize"))
            return quantize(statement, *word);
        if (statement.left > 1 && statement.right > 1)
            throw statement_error{
                errc::syntax,
                words("a statement may have several names on one side only; this one has ",
                      statement.left, " and ", statement.right),
                {}};
        make(statement);
    }

    /// Skips a broken statement: its operands count as read, and its results have no value.
    [[noreturn]] void pass_over(statement const& statement) {
        for (name const& each_name : in_.code.left(statement))
            try {
                in_.names.read(each_name);
            } catch (statement_error const&) {
            } catch (no_value const&) {
            }
        throw no_value{};
    }

    void check_bare(statement const& statement, std::string_view noun) const {
        if (!in_.code.attributes(statement).empty())
            throw statement_error{errc::syntax, words(noun, " takes no attributes"),
                                  in_.code.attributes(statement)[0].where};
    }

    /// The attribute of a removal that says which tensor the removed tensor is a copy of, or null.
    attribute const* copy_in(statement const& statement) const {
        vector<attribute> const& list = in_.code.attributes(statement);
        if (list.size() != 1 || list[0].word != "copy_of")
            check_bare(statement, "a removal");
        else
            check_attribute(list[0]);
        return list.empty() ? nullptr : &list[0];
    }

    void remove(statement const& statement) {
        attribute const* const copied = copy_in(statement);
        name const& removed = in_.code.left(statement)[0];
        std::string const key(in_.code.text(removed));
        if (in_.names[removed].value != binding::none)
            throw statement_error{errc::unknown_key,
                                  words("'", key, "' is removed here, but the statement at ",
                                        place_text(in_.code, in_.names[removed].where),
                                        " makes it"),
                                  removed.where, key};
        binding const& first = in_.names[removed];
        if (first.where.first != removed.where.first)
            in_.warn(statement, "no_effect", key,
                     "'" + key + "' has been removed by the statement at " +
                         place_text(in_.code, first.where));
        else if (in_.source.find_parameter(key) == source_names::none)
            in_.warn(statement, "no_effect", key,
                     "'" + key + "' is not in the source, so nothing is removed" +
                         in_.names.near(key));
        else
            in_.result.map.remove(key);
        if (copied)
            relate_copy(in_, key, *copied);
    }

    void add(statement const& statement) {
        check_bare(statement, "an addition");
        name const& added = in_.code.right(statement)[0];
        std::string const key(in_.code.text(added));
        in_.names[added].is_added = true;
        if (in_.names[added].value != binding::none)
            in_.warn(statement, "no_effect", key,
                     "'" + key +
                         "' is already made by an earlier statement, so adding it has no effect");
        else if (!in_.target || !in_.target->find(key))
            in_.warn(statement, "no_effect", key,
                     words("'", key, "' is not ",
                           in_.target
                               ? "in the target, so the shape of the added tensor is not known" +
                                     in_.names.near(key, *in_.target)
                               : "added: without a target its shape is not known"));
    }

    /// Runs a statement that makes tensors: a rename, concat or split, with the effects of
    /// attributes.
    void make(statement const& statement) {
        read_operands(statement);
        check_results(statement);
        check_scales(in_.code.attributes(statement), in_.suffixes, in_.declared);
        in_.declared.check_matched(in_.code.attributes(statement), in_.source.tensors());
        if (statement.attributes == 0 && is_single(statement))
            rename(statement, operands_[0]);
        else
            make(statement, operands_);
        for (std::uint32_t const id : operands_)
            in_.names.release(id);
    }

    /// Reads all names on the left. Each name without a value is a finding. An array counts as one
    /// name.
    void read_operands(statement const& statement) {
        operands_.clear();
        std::unordered_set<std::uint32_t> visited;
        text_span last;
        for (name const& each_name : in_.code.left(statement))
            try {
                operands_.push_back(read(statement, each_name));
            } catch (statement_error const& problem) {
                if (std::exchange(last, each_name.where) != each_name.where &&
                    visited.insert(each_name.id).second)
                    in_.report(problem.code, make_finding(in_.code, statement, problem));
            } catch (no_value const&) {
            }
        if (operands_.size() < statement.left)
            throw no_value{};
    }

    void rename(statement const& statement, std::uint32_t operand) {
        name const &from = in_.code.left(statement)[0], &to = in_.code.right(statement)[0];
        if (from.kind == to.kind && from.id == to.id)
            in_.note_idle(statement);
        in_.names.bind(to, operand, statement.origin);
    }

    void make(statement const& statement, vector<std::uint32_t> const& operands) {
        auto const right = in_.code.right(statement);
        vector<expression const*> values;
        values.reserve(operands.size());
        for (std::uint32_t const id : operands)
            values.push_back(&in_.names.value(id).tensor);
        check_computed(statement, operands);
        check_fused_cut(in_.code, statement, *values[0]);
        check_fused_again(in_, statement, operands);
        auto const called = [this, &statement](std::size_t k) {
            return shown_name(in_.code, statement, in_.code.names(statement)[k]);
        };
        operation step(std::move(values), called, right.size());
        step.allow(in_.pieces);
        if (find_attribute(in_.code.attributes(statement), "reshape"))
            step.expect(in_.wanted_shape(in_.code.text(right[0])));
        if (auto const* const word = find_attribute(in_.code.attributes(statement), "dequantize")) {
            find_scales(*word, operands);
            step.unpack([this](expression const& value) { return packing_of(value); });
        }
        vector<expression> expressions = step.run(in_.code.attributes(statement));
        if (auto const doubt = heads_.look_at(in_.code, statement, expressions))
            in_.warn(statement, "head_size", first_key(in_.code, statement), *doubt);
        if (is_single(statement) && step.remarks().empty() &&
            !find_attribute(in_.code.attributes(statement), "scales") &&
            !find_attribute(in_.code.attributes(statement), "dequantize") &&
            expressions[0] == in_.names.value(operands[0]).tensor)
            in_.note_idle(statement);
        vector<key_id> sources;
        auto const empty = static_cast<std::size_t>(std::ranges::count_if(
            expressions, [](expression const& tensor) { return !has_source_elements(tensor); }));
        if (empty > 0)
            sources = in_.names.sources_of(operands);
        if (!in_.pieces.take(empty * sources.size()))
            throw statement_error{errc::limit_exceeded, in_.pieces.refusal(), {}};
        vector<bound_value> results;
        for (expression& tensor : expressions) {
            results.push_back({std::move(tensor)});
            bound_value& value = results.back();
            if (!has_source_elements(value.tensor))
                value.sources = sources;
        }
        note_fused(in_, statement, operands, results);
        note_apart(in_, statement, operands, results);
        for (std::size_t i = 0; i < right.size(); ++i)
            in_.names.bind(right[i], in_.names.store(std::move(results[i])), statement.origin);
        if (in_.code.origin(statement.origin).macro.empty())
            for (operation_remark const& said : step.remarks())
                in_.warn(statement, said.code, said.key, said.message);
    }

    /// Warns about state of a tensor that is quantised: it belongs to the values.
    void warn_of_states(statement const& statement, bound_value const& operand) {
        for (state_suffix const& suffix : in_.suffixes)
            operand.for_each_source([&](key_id id) {
                std::string_view const parameter = in_.source.parameter(id);
                key_id const state = in_.source.find_state(parameter, suffix);
                if (state == source_names::none)
                    return;
                std::string const& key = in_.source.entry(state).key;
                binding const* const bound = in_.names.find(key);
                if (!bound || !bound->is_removed)
                    in_.warn(statement, "state", key,
                             words("'", key, "' is the state of '", parameter,
                                   "', and does not follow quantised numbers; to say that it is "
                                   "not needed, remove it:  ",
                                   quoted_name(key), " -> _"));
            });
    }

    /// The interleaving of a tensor that is quantised from an interleaved value.
    ///
    /// \throws statement_error with errc::unsupported if its blocks have rows of several tensors
    std::uint32_t fused_after(bound_value const& value, expression const& tensor,
                              attribute const& scheme) const {
        if (value.fused == bound_value::not_fused)
            return bound_value::not_fused;
        fused_tensor const& fused = in_.fused[value.fused];
        auto const axis = static_cast<std::size_t>(fused.axis);
        bool const has_axis = tensor.ndim() == value.tensor.ndim() && axis < tensor.ndim();
        if (has_axis && tensor.shape[axis] == value.tensor.shape[axis])
            return value.fused;
        if (fused.blocks > 1 && element_count(tensor.shape) > 1)
            throw statement_error{
                errc::unsupported,
                words("the value is interleaved in ", counted(fused.blocks, "part"), " along axis ",
                      fused.axis, " (", fused.macro,
                      "), and its scales cannot be; quantize the tensors before they are fused, "
                      "and fuse their numbers and their scales"),
                scheme.where};
        return bound_value::not_fused;
    }

    /// Refuses to cast or compute numbers that the program has quantised.
    void check_computed(statement const& statement, vector<std::uint32_t> const& operands) const {
        auto const& list = in_.code.attributes(statement);
        auto const word = std::ranges::find_if(list, [](attribute const& each_attribute) {
            return changes_values(each_attribute.word) || each_attribute.word.ends_with("dtype");
        });
        if (word == list.end() || in_.result.map.quantised().empty())
            return;
        for (key_id const id : in_.names.sources_of(operands))
            if (auto const* const from = quantised_from(in_.result.map, id))
                throw statement_error{errc::unsupported,
                                      words("'", from->name, "' is quantised by this program (",
                                            from->scheme, "), so that '", word->word,
                                            "' would change numbers without their scales; write "
                                            "it before 'quantize'"),
                                      word->where, from->name};
    }

    /// Runs a statement with the scheme alone, as `expand_quantize` makes it.
    void quantize(statement const& statement, attribute const& scheme) {
        check_attribute(scheme);
        read_operands(statement);
        check_results(statement);
        auto const right = in_.code.right(statement);
        std::string const key = shown_key(in_.code, statement, right[0]);
        bound_value const& operand = in_.names.value(operands_[0]);
        for (std::uint32_t const used : operands_)
            in_.names.value(used).for_each_source([&](key_id id) {
                if (in_.source.is_stand_in(id))
                    throw statement_error{
                        errc::unknown_key,
                        words("'", key, "' is made of '", in_.source.parameter(id),
                              "', but the source has only the state of that tensor"),
                        in_.code.left(statement)[0].where, key};
            });
        vector<expression> results;
        try {
            auto const& text = std::get<std::string>(scheme.value);
            std::string_view const ending = endings_of(text).front().text;
            std::string_view base = key;
            base.remove_suffix(key.ends_with(ending) ? ending.size() : 0);
            vector<expression> kept;
            for (std::size_t i = 1; i < operands_.size(); ++i)
                kept.push_back(in_.names.value(operands_[i]).tensor);
            results = in_.result.map.quantized(base, operand.tensor, text, std::move(kept));
        } catch (error const& problem) {
            throw statement_error{problem.code(),
                                  words("'", key, "' cannot be quantised: ", problem.what(),
                                        operands_.size() > 1
                                            ? "; without 'axis', all names on the left but the "
                                              "first are scales to keep"
                                            : ""),
                                  scheme.where, key};
        }
        if (results.size() != right.size() || in_.code.attributes(statement).size() != 1)
            throw statement_error{errc::bad_macro, "the program has not been expanded",
                                  scheme.where};
        warn_of_states(statement, operand);
        key_id const first = in_.result.map.quantised().back().first;
        vector<bound_value> made; // before `store` moves the operand
        for (key_id i = 0; i < right.size(); ++i) {
            in_.source.add_computed(in_.result.map.sources()[first + i]);
            bound_value& last = made.emplace_back();
            last.tensor = std::move(results[i]);
            if (!has_source_elements(last.tensor))
                last.sources.push_back(first + i);
            last.fused = fused_after(operand, last.tensor, scheme);
        }
        for (std::size_t i = 0; i < right.size(); ++i)
            in_.names.bind(right[i], in_.names.store(std::move(made[i])), statement.origin);
        for (std::uint32_t const used : operands_)
            in_.names.release(used);
    }

    /// Relates the quantised sources of operands to the scales by which they are multiplied.
    void find_scales(attribute const& word, vector<std::uint32_t> const& operands) {
        for (key_id const id : in_.names.sources_of(operands)) {
            catalog_entry const& entry = in_.source.entry(id);
            if (!may_be_quantised(entry.dtype) || in_.dequantized.contains(id))
                continue;
            try {
                auto const scales = scales_to_dequantize(entry, in_.source.tensors());
                if (!scales)
                    continue;
                for (relation const& related : relations_of(entry.key, *scales))
                    in_.result.map.relate(related);
                in_.dequantized.emplace(id, *scales);
            } catch (error const& problem) {
                throw statement_error{problem.code(), problem.what(), word.where, entry.key};
            }
        }
    }

    std::optional<value_packing> packing_of_source(key_id id) const {
        if (auto const match = in_.dequantized.find(id); match != in_.dequantized.end())
            return match->second.packing;
        auto const& decoded = in_.source.tensors().quantised.decoded;
        bool const is_decoded = find_tensor(decoded, in_.source.entry(id).key) != decoded.end();
        return is_decoded ? std::optional(value_packing::decoded) : std::nullopt;
    }

    /// How the elements of a value are packed; std::nullopt if they are not quantised.
    ///
    /// \throws error with errc::unsupported if its tensors are packed in different ways
    std::optional<value_packing> packing_of(expression const& value) const {
        if (value.pieces.size() == 0) // no elements
            return may_be_dequantized(value.dtype) ? std::optional(value_packing::none)
                                                   : std::nullopt;
        std::optional<value_packing> first;
        for (std::size_t i = 0, others = 0; i < value.pieces.size(); ++i) {
            key_id const id = value.pieces.source(i);
            if (id == zero_source)
                continue;
            auto const packing = packing_of_source(id);
            if (others++ > 0 && packing != first)
                fail(errc::unsupported, "it has elements of '", in_.source.entry(id).key,
                     "' and of tensors that are quantised in another way; dequantize them first");
            first = packing;
        }
        return first;
    }

    std::uint32_t read(statement const& statement, name const& which) {
        binding& bound = in_.names[which];
        bool const is_shadow = bound.value != binding::none && bound.uses == 0 &&
                               bound.source_value == binding::none &&
                               which.kind == name::kind_type::text &&
                               in_.names.source(which) != source_names::none;
        bound.is_shadow = bound.is_shadow || is_shadow;
        if (is_shadow)
            in_.warn(
                statement, "shadowed", std::string(in_.code.text(which)),
                words("'", in_.code.text(which),
                      "' is the result of an earlier statement; the source's tensor of that name "
                      "is not used"));
        return in_.names.read(which);
    }

    /// Refuses results that cannot be bound, and warns about values that are overwritten.
    void check_results(statement const& statement) {
        auto const right = in_.code.right(statement);
        if (name const* const again = repeated_name(right)) {
            std::string const key(in_.code.text(*again));
            throw statement_error{errc::syntax,
                                  words("'", key,
                                        "' occurs twice on the right; each tensor that a statement "
                                        "makes needs its own name"),
                                  again->where, key};
        }
        for (name const& each_name : right) {
            in_.check_bindable(each_name);
            in_.warn_overwritten(statement, each_name);
        }
    }

    lower_context& in_;
    vector<std::uint32_t> operands_; ///< operands of the current statement
    head_widths heads_;
};

/// Runs the statements of a program one after the other, each binding its results.
RESHARD_DECL void run_statements(lower_context& context) { statement_runner(context).run(); }

} // namespace reshard::aoa::detail

#endif
