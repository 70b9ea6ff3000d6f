// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_INFER_SOURCE_IPP
#define RESHARD_AOA_IMPL_INFER_SOURCE_IPP

#include <reshard/aoa/reverse.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/impl/partial_shape.ipp>
#include <reshard/aoa/make_finding.hpp>
#include <reshard/aoa/scale_suffix.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/aoa/version_table.hpp>
#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace reshard::aoa {

namespace detail {

/// Infers shapes and types: follows a program forwards from known facts, then backwards from its
/// results.
class source_inferrer {
public:
    source_inferrer(inference& result, program const& code, vector<known_tensor> const& tensors,
                    source_names const& source_names)
        : result_(result),
          code_(code),
          made_(source_names),
          versions_(code_),
          facts_(versions_.size()),
          lost_by_(versions_.size()) {
        for (known_tensor const& tensor : tensors)
            known_.emplace(tensor.entry.key, &tensor);
    }

    void run() {
        for (std::uint32_t v = 0; v < versions_.size(); ++v)
            begin(v);
        for (statement const& statement : code_.statements())
            if (has_value(statement))
                go_on(statement);
        for (auto statements = code_.statements().rbegin(); statements != code_.statements().rend();
             ++statements)
            if (has_value(*statements))
                go_back(*statements);
        collect();
        result_.tensors = catalog(std::move(entries_));
    }

private:
    static constexpr std::uint32_t none = version_table::none;

    bool has_value(statement const& statement) const {
        return !is_removal(code_, statement) && !is_addition(code_, statement);
    }

    void fail_at(statement const& statement, statement_error const& error) {
        if (!result_.first_error)
            result_.first_error = error.code;
        result_.findings.push_back(make_finding(code_, statement, error));
    }

    /// The number of the target tensor that equals a value, or `none`.
    key_id kept(std::uint32_t version) const {
        name const& called = versions_.called(version);
        bool const may_be = called.kind == name::kind_type::text && versions_.is_last(version) &&
                            versions_.added_by(called.id) == none;
        return may_be ? made_.find_parameter(code_.text(called)) : source_names::none;
    }

    /// Sets the facts about a value that are known before any statement runs.
    void begin(std::uint32_t version) {
        partial_shape& facts = facts_[version];
        if (key_id const id = kept(version); id != source_names::none)
            facts = {made_.entry(id).shape, made_.entry(id).dtype, id};
        if (versions_.maker(version) != none)
            return;
        auto const match = known_.find(code_.text(versions_.called(version)));
        if (match != known_.end())
            facts = {match->second->entry.shape, type_of(*match->second), facts.like};
    }

    /// Sets unknown facts from `shape`.
    static void settle(partial_shape& facts, partial_shape const& shape) {
        if (!facts.shape)
            facts.shape = shape.shape;
        if (!facts.dtype)
            facts.dtype = shape.dtype;
        if (facts.like == source_names::none)
            facts.like = shape.like;
    }

    vector<partial_shape> facts_of(statement const& statement, std::size_t first,
                                   std::size_t count) const {
        vector<partial_shape> result;
        for (std::size_t k = first; k < first + count; ++k)
            result.push_back(facts_[versions_.at(statement, k)]);
        return result;
    }

    void go_on(statement const& statement) {
        key_id const id = made_.find_parameter(code_.text(code_.right(statement)[0]));
        index_vector const* const wanted =
            id == source_names::none ? nullptr : &made_.entry(id).shape;
        auto const results =
            open_results(code_, statement, facts_of(statement, 0, statement.left), wanted);
        for (std::size_t k = 0; k < results.size(); ++k)
            settle(facts_[versions_.at(statement, statement.left + k)], results[k]);
    }

    void go_back(statement const& statement) {
        try {
            open_operands const operands =
                infer_operands(code_, statement, facts_of(statement, 0, statement.left),
                               facts_of(statement, statement.left, statement.right));
            for (std::size_t k = 0; k < operands.facts.size(); ++k)
                settle(facts_[versions_.at(statement, k)], operands.facts[k]);
            note_losses(statement);
            if (operands.are_assumed && !code_.origin(statement.origin).macro.starts_with("fused"))
                result_.findings.push_back(
                    {severity::warning, "assumed",
                     std::string(code_.text(code_.right(statement)[0])),
                     "the tensors that make up '" +
                         std::string(code_.text(code_.right(statement)[0])) +
                         "' are assumed to be of equal size; a target would determine their sizes",
                     statement.where, statement.origin});
        } catch (statement_error const& error) {
            fail_at(statement, error);
        } catch (error const&) {
            return; // `lower` reports the error with more details
        }
    }

    static bool is_open(partial_shape const& facts) { return !facts.shape || !facts.dtype; }

    /// Records the statement after which a type or a shape is unknown, also for the values before
    /// it.
    void note_losses(statement const& current_statement) {
        statement const* by = &current_statement;
        key_id like = source_names::none;
        for (std::size_t k = current_statement.left;
             k < current_statement.left + current_statement.right; ++k) {
            std::uint32_t const result = versions_.at(current_statement, k);
            by = is_open(facts_[result]) ? lost_by_[result] : by;
            like = like == source_names::none ? facts_[result].like : like;
        }
        for (std::size_t k = 0; k < current_statement.left; ++k) {
            lost_by_[versions_.at(current_statement, k)] = by;
            settle(facts_[versions_.at(current_statement, k)], {std::nullopt, std::nullopt, like});
        }
    }

    /// Refuses a tensor with elements in the target if its shape or type is unknown.
    void refuse_open(std::uint32_t version) {
        partial_shape const& facts = facts_[version];
        statement const* const by = lost_by_[version];
        if (!by || facts.like == source_names::none || has_target())
            return; // the tensor is not needed, or an error has been reported
        bool const is_cast = facts.shape.has_value();
        std::string const key(code_.text(versions_.called(version)));
        attribute const* const step = last_step(*by, is_cast);
        fail_at(*by, {errc::unsupported,
                      words("the ", is_cast ? "data type" : "shape", " that '", key,
                            "' has before this ",
                            is_cast ? "cast"
                            : step  ? step->word
                                    : "statement",
                            " is unknown; give a target that lists '", key,
                            "', or tensors like those that the program read (option like)",
                            is_cast && step ? other_cast(*step) : std::string()),
                      step ? step->where : by->where, key});
    }

    /// The last attribute that casts or, without `is_cast`, the last other attribute that changes a
    /// tensor; null if the statement has none.
    attribute const* last_step(statement const& statement, bool is_cast) const {
        attribute const* last = nullptr;
        for (attribute const& each : code_.attributes(statement))
            if (is_step(each) && is_cast == each.word.ends_with("dtype"))
                last = &each;
        return last;
    }

    /// Advice on how the program can state the type before a cast.
    static std::string other_cast(attribute const& cast) {
        auto const* const text = std::get_if<std::string>(&cast.value);
        return text ? words(", or write  src_dtype=\"...\", dst_dtype=\"", *text, "\"") : "";
    }

    /// Whether all tensors that the reversed program has to make are known.
    bool has_target() const {
        return std::ranges::any_of(known_,
                                   [](auto const& entries) { return entries.second->is_wanted; });
    }

    /// The statement that removes a tensor of the source, or `none`.
    std::uint32_t removed_by(std::string_view key) const {
        auto const id = code_.find(key);
        return id ? versions_.removed_by(*id) : none;
    }

    /// Whether a statement binds the name of the source tensor `key`, and no statement reads the
    /// source tensor.
    bool is_replaced(std::string_view key) const {
        auto const id = code_.find(key);
        return id && versions_.source(*id) == none &&
               (versions_.last(*id) != none || versions_.added_by(*id) != none);
    }

    /// Whether a known tensor is a tensor of the source. Without a target, removed and replaced
    /// tensors are in the source, too.
    bool is_wanted(std::string_view key) const {
        auto const match = known_.find(key);
        return match != known_.end() &&
               (match->second->is_wanted ||
                (!has_target() && (removed_by(key) != none || is_replaced(key))));
    }

    /// Refuses removed tensors without any description. A target that does not list such a tensor
    /// does not need it.
    void refuse_removed() {
        for (statement const& statement : code_.statements()) {
            std::string const key(
                is_removal(code_, statement) ? code_.text(code_.left(statement)[0]) : "");
            if (key.empty() || has_target() || known_.contains(key) ||
                made_.find(key) != source_names::none)
                continue;
            fail_at(statement,
                    {errc::not_invertible,
                     words("'", key,
                           "' cannot be recovered: this statement removes it, and it cannot come "
                           "back as zeros (option allow_removed), because its shape and data type "
                           "are unknown; give a target that lists it, or tensors like those that "
                           "the program read (option like)"),
                     code_.left(statement)[0].where, key});
        }
    }

    void collect() {
        refuse_removed();
        for (auto const& [key, entry] : known_)
            if (is_wanted(key))
                add_known(*entry);
        for (std::uint32_t id = 0; id < code_.text_count(); ++id)
            if (std::uint32_t const version = versions_.source(id);
                version != none && !is_wanted(code_.text(versions_.called(version))))
                add_inferred(version);
        for (catalog_entry const& entry : made_.tensors())
            if (!is_wanted(entry.key) && is_untouched(entry.key))
                entries_.push_back(entry);
    }

    static std::optional<data_type> type_of(known_tensor const& tensor) {
        return tensor.is_typed ? std::optional(tensor.entry.dtype) : std::nullopt;
    }

    void add_known(known_tensor const& tensor) {
        entries_.push_back(tensor.entry);
        if (tensor.is_typed)
            return;
        auto const id = code_.find(tensor.entry.key);
        std::uint32_t const version = id ? versions_.source(*id) : none;
        if (version != none && facts_[version].dtype)
            entries_.back().dtype = *facts_[version].dtype;
        else if (key_id const same = made_.find(tensor.entry.key); same != source_names::none)
            entries_.back().dtype = made_.entry(same).dtype;
    }

    /// Adds a tensor that a statement reads, and its states, which its result has.
    void add_inferred(std::uint32_t version) {
        partial_shape const& facts = facts_[version];
        std::string const key(code_.text(versions_.called(version)));
        if (is_open(facts))
            return refuse_open(version);
        if (facts.like == source_names::none)
            return; // the target has no element of it
        if (!made_.is_stand_in(facts.like))
            add(key, *facts.dtype, *facts.shape);
        std::string const like(made_.parameter(facts.like));
        for (state_suffix const& each : made_.suffixes()) {
            key_id const id = made_.find(key_of_state(like, each));
            std::string const called = key_of_state(key, each);
            if (id == source_names::none || called.empty())
                continue;
            catalog_entry const& state = made_.entry(id);
            add(called, state.dtype,
                each.scalar ? state.shape
                : each.block.empty()
                    ? *facts.shape
                    : scale_counts(*facts.shape, {block_in(facts.shape->size(), each.block)}));
        }
        for (scale_pattern const& pattern : patterns_)
            add_scales(pattern, key, *facts.shape, like);
    }

    /// Adds the scales that a pattern names for a tensor, if its result has scales.
    void add_scales(scale_pattern const& pattern, std::string const& key, index_vector const& shape,
                    std::string const& like) {
        auto const own = pattern.scales_of(key), result = pattern.scales_of(like);
        key_id const tensor = made_.find(like);
        key_id const scales = result ? made_.find(*result) : source_names::none;
        if (!own || tensor == source_names::none || scales == source_names::none)
            return;
        catalog_entry const& entry = made_.entry(scales);
        auto const form = form_of_scales(made_.entry(tensor), entry, pattern.facts());
        if (form && form->ndim() == shape.size())
            add(*own, entry.dtype, scale_counts(shape, *form));
    }

    void add(std::string key, data_type dtype, index_vector const& shape) {
        if (!is_wanted(key))
            entries_.push_back(
                {std::move(key), dtype, shape, index_vector::filled(shape.size(), 1)});
    }

    /// Whether a target tensor comes unchanged from the source tensor of the same name.
    bool is_untouched(std::string_view key) const {
        auto const is_made = [&](std::string_view name) {
            auto const id = code_.find(name);
            return id && (versions_.last(*id) != none || versions_.added_by(*id) != none);
        };
        auto const is_scaled = [&](scale_pattern const& pattern) {
            auto const tensor = pattern.tensor_of(key);
            auto const id = tensor ? code_.find(*tensor) : std::nullopt;
            return id && versions_.last(*id) != none;
        };
        return !is_made(key) &&
               !any_parameter(key, made_.suffixes(),
                              [&](std::string_view parameter, state_suffix const&) {
                                  return is_made(parameter);
                              }) &&
               std::ranges::none_of(patterns_, is_scaled);
    }

    inference& result_;
    program const& code_;
    source_names const& made_;
    vector<scale_pattern> const patterns_ = scale_patterns(code_);
    version_table versions_;
    vector<partial_shape> facts_;
    vector<statement const*> lost_by_; ///< by value: the statement that loses its type or shape
    std::map<std::string_view, known_tensor const*> known_;
    vector<catalog_entry> entries_;
};

} // namespace detail

RESHARD_DECL catalog catalog_of(vector<known_tensor> const& tensors) {
    vector<catalog_entry> entries;
    for (known_tensor const& tensor : tensors)
        entries.push_back(tensor.entry);
    return catalog(std::move(entries));
}

RESHARD_DECL inference infer_source(program const& expanded, vector<known_tensor> const& tensors,
                                    catalog const& target) {
    inference result;
    auto const with_scales = detail::with_scales(expanded.state_suffixes(), expanded);
    detail::source_inferrer(result, expanded, tensors, detail::source_names(target, with_scales))
        .run();
    return result;
}

} // namespace reshard::aoa

#endif
