// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_PATTERN_BUCKETS_HPP
#define RESHARD_AOA_MACRO_PATTERN_BUCKETS_HPP

#include <reshard/aoa/macro/key_pattern.hpp>
#include <reshard/aoa/name_table.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Which of many patterns a key may match, without looking at the others.

namespace reshard::aoa::detail {

/// A key taken apart into its outline and the runs of digits that the outline leaves out.
struct outlined_key {
    std::string outline;
    std::vector<std::string_view> runs;

    void assign(std::string_view key);

    /// The runs that are fixed in a form, in a row.
    void append_fixed(std::string& fixed, std::string_view form) const;
};

/// Patterns by what all keys that they match have in common: the outline, and the runs of digits in
/// which no number is open.
///
/// Which runs those are is the form of a pattern: a `0` for each run that is fixed, a `*` for one
/// that is open.
class pattern_buckets {
public:
    /// Adds pattern number `id`.
    void add(key_pattern const& pattern, std::size_t id);

    /// Calls `visit(patterns)`, with the numbers of those that may match `key`, once for each form
    /// of patterns that have its outline, until it returns false; there may be none.
    template <class Visit>
    void for_each_form(std::string_view key, Visit const& visit) {
        key_.assign(key);
        auto const outline = outlines_.find(key_.outline);
        if (!outline)
            return;
        forms_of_outline const& forms = forms_[*outline];
        for (std::uint32_t i = 0; i < forms.buckets.size(); ++i)
            if (!visit(forms.buckets[i].find(fixed_in(forms.names[i]))))
                return;
    }

private:
    /// The patterns of one form by their fixed runs.
    struct bucket {
        name_table fixed;
        std::vector<std::vector<std::size_t>> patterns;

        void add(std::string_view fixed_runs, std::size_t id);

        std::span<std::size_t const> find(std::string_view fixed_runs) const;
    };

    struct forms_of_outline {
        name_table names; ///< the forms themselves
        std::vector<bucket> buckets;
    };

    /// Takes a key that the pattern matches apart; the result is the pattern's form.
    std::string take_apart(key_pattern const& pattern);

    std::string const& fixed_in(std::string_view form);

    name_table outlines_;
    std::vector<forms_of_outline> forms_; ///< by outline
    outlined_key key_;                    ///< that is looked at
    std::string fixed_, sample_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/pattern_buckets.ipp>
#endif

#endif
