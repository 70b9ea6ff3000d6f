// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_REVERSE_IPP
#define RESHARD_AOA_IMPL_REVERSE_IPP

#include <reshard/aoa/reverse.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/impl/recovery.ipp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/make_finding.hpp>
#include <reshard/aoa/reassembler.hpp>
#include <reshard/aoa/scale_suffix.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace reshard::aoa {

namespace detail {

RESHARD_DECL lost_elements::lost_elements(vector<loss> const& losses) {
    for (loss const& loss : losses)
        by_key_.emplace(loss.key, &loss);
}

RESHARD_DECL std::string lost_elements::describe(catalog_entry const& of) const {
    auto const match = by_key_.find(of.key);
    if (match == by_key_.end()) // for example if a type cannot be cast back
        return "; no element is lost, but no reversible statement has all of them";
    loss const& loss = *match->second;
    if (loss.type == loss::kind::removed)
        return {};
    bool const is_all = loss.boxes.size() == 1 && loss.boxes[0] == whole(of.shape);
    return (loss.type == loss::kind::rounded ? "; rounded: " : "; lost: ") +
           (is_all ? "all" : boxes_text(loss)) + " of " + to_string(of.shape);
}

/// The tensors of a mapping's target, with one part each.
inline catalog outputs_of(mapping const& map) {
    vector<catalog_entry> entries;
    entries.reserve(map.outputs().size());
    for (mapping_output const& output : map.outputs())
        entries.push_back({output.key, output.value.dtype, output.value.shape,
                           index_vector::filled(output.value.ndim(), 1)});
    return catalog(std::move(entries));
}

/// Adds the errors from lowering the reversed program; most of them are about states.
inline void add_errors(reversal& result, vector<finding> findings) {
    for (finding& finding : findings) {
        if (finding.level != severity::error)
            continue;
        result.first_error = errc::not_invertible;
        finding.code = reshard::name(errc::not_invertible);
        finding.message = "in the reverse program, " + finding.message;
        result.findings.push_back(std::move(finding));
    }
}

/// Both sides of a program: its sources, its results, and the mapping between them.
struct reverse_sides {
    source_names source;
    source_names made;
    mapping const& forward;
    bool is_target_known; ///< false: `made` is what the program leaves
};

/// Reverses an expanded program that has been lowered without error.
class reverser {
public:
    reverser(reversal& result, reverse_sides const& sides, reverse_options const& options)
        : result_(result),
          code_(result.code),
          source_(sides.source),
          made_(sides.made),
          forward_(sides.forward),
          options_(options),
          found_(code_, source_, made_, {options.allow_rounding, sides.is_target_known}),
          lost_(result.losses),
          reverse_statement_(result.code),
          parts_(result.code, reverse_statement_, sides.forward) {}

    void run() {
        for (catalog_entry const& entry : source_.tensors())
            want(entry);
        if (result_.first_error)
            return;
        found_.find_needed();
        auto const count = static_cast<std::uint32_t>(code_.statements().size());
        for (std::uint32_t i = 0; i < count; ++i)
            if (found_.is_needed(i))
                note_copies(i);
        for (std::uint32_t id = 0; id < code_.text_count(); ++id)
            leave_out(id);
        if (result_.first_error)
            return;
        for (std::uint32_t i = count; i-- > 0;)
            if (found_.is_needed(i))
                reverse_statement_.add_inverse(code_.statements()[i], found_.inverse(i),
                                               results(i));
        for (auto const& [id, by] : empty_)
            reverse_statement_.add_bare({}, text_name(id), code_.statements()[by]);
        for (put_together const& together : whole_)
            reverse_statement_.add(together.temporary, text_name(together.id), {},
                                   code_.statements()[together.by]);
        reverse_statement_.replace_statements();
    }

private:
    static constexpr std::uint32_t none = recovery::none;

    static name text_name(std::uint32_t id) { return {name::kind_type::text, false, id, {}}; }

    void report(statement const& statement, statement_error const& error) {
        if (!result_.first_error)
            result_.first_error = error.code;
        result_.findings.push_back(make_finding(code_, statement, error));
    }

    /// Reports a source tensor that cannot be recovered; `reason` follows its key in the message.
    void lose(catalog_entry const& entry, std::uint32_t by, std::string const& reason,
              text_span where = {}) {
        std::string const& key = entry.key;
        statement_error const error{errc::not_invertible,
                                    words("'", key, "' cannot be recovered: ", reason,
                                          by != none ? lost_.describe(entry) : std::string()),
                                    where, key};
        if (by != none)
            return report(code_.statements()[by], error);
        if (!result_.first_error)
            result_.first_error = error.code;
        result_.findings.push_back(
            {severity::error, std::string(reshard::name(error.code)), key, error.message, {}, 0});
    }

    /// Requests a source tensor. The state of a parameter follows the parameter.
    void want(catalog_entry const& entry) {
        if (source_.is_state(entry.key) && !code_.find(entry.key))
            return;
        auto const id = code_.find(parameter_name(entry.key));
        std::uint32_t const version = id ? found_.versions().source(*id) : none;
        if (version != none && !found_.is_recoverable(version)) {
            loss_reason const& reason = found_.reason(version);
            if (!put_together_again(entry, *id, reason.statement))
                lose(entry, reason.statement, reason.error.message, reason.error.where);
            return;
        }
        if (version != none)
            return found_.want(version);
        want_unread(entry, id);
    }

    /// Reassembles a tensor that has lost no elements, but that no statement recovers. Adds a
    /// tensor that has no elements. Returns false if neither is possible.
    bool put_together_again(catalog_entry const& entry, std::uint32_t id, std::uint32_t by) {
        if (lost_.has(entry.key) || code_.text(text_name(id)) != entry.key)
            return false;
        if (element_count(entry.shape) == 0) {
            empty_.emplace_back(id, by);
            return true;
        }
        auto const temporary = parts_.write(entry, code_.statements()[by]);
        if (temporary)
            whole_.push_back({*temporary, id, by});
        return temporary.has_value();
    }

    /// The name that statements use for a key: the parameter's name if the source has only its
    /// state.
    std::string parameter_name(std::string_view key) const {
        auto const is_read = [&](std::string_view called) {
            auto const id = code_.find(called);
            return id && found_.versions().source(*id) != none;
        };
        std::string match(key);
        if (!is_read(key))
            any_parameter(key, source_.suffixes(),
                          [&](std::string_view parameter, state_suffix const&) {
                              if (is_read(parameter))
                                  match = parameter;
                              return match != key;
                          });
        for (scale_pattern const& pattern : patterns_)
            if (auto const tensor = pattern.tensor_of(key);
                match == key && tensor && !is_read(key) && is_read(*tensor))
                match = *tensor;
        return match;
    }

    /// Requests a source tensor that no statement reads.
    void want_unread(catalog_entry const& entry, std::optional<std::uint32_t> id) {
        version_table const& versions = found_.versions();
        std::uint32_t const removed = id ? versions.removed_by(*id) : none;
        std::uint32_t const added = id ? versions.added_by(*id) : none;
        std::uint32_t const bound = id ? versions.last(*id) : none;
        bool const is_empty = element_count(entry.shape) == 0;
        if (removed == none && added == none && bound == none) {
            if (made_.find(entry.key) == source_names::none)
                lose(entry, none, "no statement reads it, and it is not a tensor of the target");
            return;
        }
        std::uint32_t const by = removed != none ? removed
                                 : bound != none ? versions.maker(bound)
                                                 : added;
        if (is_empty || options_.allow_removed) {
            empty_.emplace_back(*id, by);
            return;
        }
        lose(entry, by,
             removed != none
                 ? "this statement removes it; it can come back as zeros (option allow_removed)"
                 : "nothing reads it, and this statement makes the tensor '" + entry.key +
                       "' of the target instead; it can come back as zeros "
                       "(option allow_removed)");
    }

    void note(statement const& statement, std::string key, std::string message) {
        if (!options_.allow_copies)
            return report(statement,
                          {errc::not_invertible, message + " (option allow_copies)", {}, key});
        result_.findings.push_back({severity::note, "copy", std::move(key), std::move(message),
                                    statement.where, statement.origin});
    }

    /// Notes results of a reversed statement whose values are recovered from elsewhere.
    void note_copies(std::uint32_t i) {
        statement const& statement = code_.statements()[i];
        std::unordered_set<std::uint32_t> visited;
        for (std::size_t k = 0; k < statement.left; ++k)
            if (!visited.insert(found_.versions().at(statement, k)).second || !found_.gives(i, k)) {
                std::string const key(code_.text(code_.left(statement)[k]));
                note(statement, key,
                     words("'", key,
                           "' can be recovered from several copies; the one that this statement "
                           "makes is not used"));
            }
    }

    /// The statement that makes the last value of a text, or `none`.
    std::uint32_t last_maker(std::uint32_t id) const {
        std::uint32_t const last = found_.versions().last(id);
        return last == none ? none : found_.versions().maker(last);
    }

    /// The statement that makes or adds a target tensor from which nothing is recovered, or `none`.
    std::uint32_t statement_that_leaves_out(std::uint32_t id) const {
        std::string const key(code_.text(text_name(id)));
        if (made_.find_parameter(key) == source_names::none || parts_.reads(key))
            return none;
        std::uint32_t const maker = last_maker(id);
        return maker == none             ? found_.versions().added_by(id)
               : found_.is_needed(maker) ? none
                                         : maker;
    }

    /// Removes a target tensor from which nothing is recovered, because it was added or is a copy.
    void leave_out(std::uint32_t id) {
        std::string const key(code_.text(text_name(id)));
        std::uint32_t const by = statement_that_leaves_out(id), maker = last_maker(id);
        if (by == none)
            return;
        statement const statement = code_.statements()[by];
        std::string const kept = maker != none ? twin_of(key) : std::string();
        if (maker != none)
            note(statement, key,
                 "nothing is recovered from '" + key +
                     "': all of its elements are recovered from elsewhere" +
                     (kept.empty() ? ""
                                   : "; it must equal '" + kept +
                                         "', which is checked only when the program runs (option "
                                         "take_first)"));
        if (kept.empty())
            reverse_statement_.add_bare(text_name(id), {}, statement);
        else
            reverse_statement_.add(text_name(id), {}, {{"copy_of", kept, '"', {}}}, statement);
    }

    /// Another name of a target tensor that is not removed; empty if there is none.
    std::string twin_of(std::string const& key) const {
        if (options_.take_first || !options_.allow_copies)
            return {};
        std::set<std::string> twins;
        for (relation const& element : forward_.relations())
            if (element.type == relation::kind::alias &&
                (element.key == key || element.companion == key)) {
                for (relation const& relation : forward_.relations())
                    if (relation.type == relation::kind::alias && relation.key == element.key)
                        twins.insert({relation.key, relation.companion});
            }
        for (std::string const& twin : twins)
            if (auto const id = code_.find(twin);
                twin != key && id && statement_that_leaves_out(*id) == none)
                return twin;
        return {};
    }

    /// The names that a reversed statement binds; std::nullopt for a copy.
    vector<std::optional<name>> results(std::uint32_t i) {
        statement const statement = code_.statements()[i];
        vector<std::optional<name>> names;
        std::unordered_set<std::uint32_t> visited;
        for (std::size_t k = 0; k < statement.left; ++k) {
            name const called = code_.left(statement)[k];
            bool const is_new = visited.insert(found_.versions().at(statement, k)).second;
            names.push_back(is_new && found_.gives(i, k) ? std::optional(called) : std::nullopt);
        }
        return names;
    }

    reversal& result_;
    program const& code_;
    source_names const& source_;
    source_names const& made_;
    mapping const& forward_;
    reverse_options const& options_;
    vector<scale_pattern> const patterns_ = scale_patterns(code_);
    recovery found_;
    lost_elements lost_;
    reverse_statement reverse_statement_;
    reassembler parts_;
    /// A reassembled tensor; it is a temporary until the end of the program.
    struct put_together {
        name temporary;
        std::uint32_t id; ///< text number of the tensor
        std::uint32_t by; ///< the statement that cannot recover it
    };
    vector<put_together> whole_;
    /// Texts of tensors to add, and the statements that lose their elements.
    vector<std::pair<std::uint32_t, std::uint32_t>> empty_;
};

/// Adds an error for each statement that dequantizes or quantizes.
inline void refuse_quantised(reversal& result) {
    program const& code = result.code;
    constexpr std::pair<std::string_view, std::string_view> reasons[] = {
        {"dequantize", "as the scales are not kept"}, {"quantize", "which rounds the values"}};
    for (statement const& statement : code.statements())
        for (auto const& [text, reason] : reasons)
            if (auto const* const word = find_attribute(code.attributes(statement), text)) {
                std::string const key = shown_key(code, statement, code.left(statement)[0]);
                result.findings.push_back(
                    make_finding(code, statement,
                                 {errc::not_invertible,
                                  words("'", key, "' cannot be recovered: nothing undoes '", text,
                                        "', ", reason),
                                  word->where, key}));
                result.first_error = errc::not_invertible;
            }
}

} // namespace detail

RESHARD_DECL reversal reverse_all(program const& expanded, catalog const& source,
                                  catalog const* target, reverse_options const& options) {
    lowering forward = lower_all(expanded, source, target, options.lowering);
    erase_if(forward.findings, [](finding const& finding) {
        return finding.code == "replaced"; // a separate error follows: nothing recovers the tensor
    });
    reversal result{expanded, std::move(forward.findings), forward.first_error};
    if (!result.first_error &&
        (reshard::detail::dequantizes(forward.map) || !forward.map.quantised().empty()))
        detail::refuse_quantised(result);
    if (result.first_error)
        return result;
    result.losses = detail::losses_of(forward.map);
    catalog const catalog = target ? *target : detail::outputs_of(forward.map);
    auto const suffixes = detail::with_scales(expanded.state_suffixes(), expanded);
    detail::reverse_sides const sides{detail::source_names(source, suffixes),
                                      detail::source_names(catalog, suffixes), forward.map,
                                      target != nullptr};
    detail::reverser(result, sides, options).run();
    if (!result.first_error)
        detail::add_errors(result,
                           lower_all(result.code, catalog, &source, options.lowering).findings);
    return result;
}

RESHARD_DECL program reverse(program const& expanded, catalog const& source, catalog const* target,
                             reverse_options const& options) {
    reversal result = reverse_all(expanded, source, target, options);
    if (result.first_error)
        for (finding const& finding : result.findings)
            if (finding.level == detail::severity::error)
                fail(*result.first_error, describe(result.code, finding));
    return std::move(result.code);
}

} // namespace reshard::aoa

#endif
