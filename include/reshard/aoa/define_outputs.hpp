// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DEFINE_OUTPUTS_HPP
#define RESHARD_AOA_DEFINE_OUTPUTS_HPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The second half of `lower`: the keys of the target, or what the program leaves over, are
/// defined.

namespace reshard::aoa::detail {

/// The statements of a program whose placeholders match nothing, by the keys that they would make.
class missing_makers {
public:
    /// Refers to the program, which must live as long.
    explicit missing_makers(program const& code);

    /// Advice for a user who wants `parameter`, which no statement makes: to look at the statement
    /// that would make it, if there is one that matches nothing, or else to add it.
    std::string advice(std::string_view parameter);

private:
    void add(statement const& one, name const& made);

    program const& code_;
    pattern_index index_;
    std::vector<std::size_t> makers_;          ///< by pattern, which unmatched statement
    mutable std::int64_t searches_left_ = 256; ///< each looks at many patterns
};

/// Says what each output of a program is, from what its names are in the end.
class output_definer {
public:
    explicit output_definer(lower_context& context) : in_(context) {}

    /// Defines each key of the target, in order.
    void define_targets();

    /// Defines each tensor that nothing reads: the source's, and what statements have made.
    ///
    /// \par Source 4.10 of the description of AOA; there `a -> c, axis=0` does not count as reading
    ///             `a`
    void define_exports();

private:
    /// Runs a step for a key, and tells whether it went well; an error becomes a finding at the
    /// name that binds the key, if one does.
    template <class Step>
    bool guarded(std::string const& key, Step const& step) {
        try {
            step();
            return true;
        } catch (error const& problem) {
            binding const* const made = in_.names.find(key);
            binding const* const bound =
                made ? made : in_.names.find(parameter_of(key, in_.suffixes));
            in_.report(problem.code(),
                       {reshard::detail::severity::error,
                        std::string(reshard::name(problem.code())), key, problem.what(),
                        bound ? bound->where : text_span{}, bound ? bound->origin : 0});
            return false;
        }
    }

    /// Counts what a definition makes: a copy of the value.
    void count_pieces(bound_value const& value);

    /// The parameter that a key is the state of, if the program makes it or the other side has it.
    state_suffix const* followed(std::string_view key) const;

    bool is_made(std::string_view key) const;

    void define_target(catalog_entry const& wanted);

    /// Whether a key of the target that no statement makes may be left as it is.
    bool is_left(std::string const& key, binding const* bound) const;

    /// The tensor of the source that a key of the target is when no statement makes it.
    expression identity(std::string const& key, std::string_view parameter);

    /// The value, if it is made of tensors that the source has.
    expression const& real(std::string const& key, bound_value const& value) const;

    bool is_removed(std::string_view key) const;

    void define(catalog_entry const& wanted, expression value);

    /// What to do about a tensor of type `made` that the target wants in another type.
    std::string cast_advice(catalog_entry const& wanted, data_type made) const;

    void note_dropped(name const& one);

    void relate(std::string_view parameter, std::string const& key, state_suffix const& state);

    /// Whether a key of the source is left over under its own name.
    bool is_exported(std::string_view key) const;

    /// The first key of each value that is left over: of tied weights the one that has the state.
    void find_first_names();

    /// What a statement has made and none has read, with its states.
    void add_made(name const& one, std::vector<std::string>& keys);

    void define_export(std::string const& key);

    lower_context& in_;
    std::optional<missing_makers> makers_; ///< made when the first key is missing
    std::map<value_identity, std::string_view> first_names_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/define_outputs.ipp>
#endif

#endif
