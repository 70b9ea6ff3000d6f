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

    void assign(std::string_view key) {
        outline.clear();
        runs.clear();
        for (std::size_t at = 0; at < key.size();) {
            std::size_t const digit = next_digit(key, at);
            outline += key.substr(at, digit - at);
            at = digit + digits_at(key, digit);
            if (at > digit) {
                outline += '0';
                runs.push_back(key.substr(digit, at - digit));
            }
        }
    }

    /// The runs that are fixed in a form, in a row.
    void append_fixed(std::string& fixed, std::string_view form) const {
        for (std::size_t i = 0; i < runs.size(); ++i)
            if (form[i] == '0')
                (fixed += runs[i]) += ' ';
    }
};

/// Patterns by what all keys that they match have in common: the outline, and the runs of digits in
/// which no number is open.
///
/// Which runs those are is the form of a pattern: a `0` for each run that is fixed, a `*` for one
/// that is open.
class pattern_buckets {
public:
    /// Adds pattern number `id`.
    void add(key_pattern const& pattern, std::size_t id) {
        std::string const form = take_apart(pattern);
        std::uint32_t const outline = outlines_.intern(key_.outline);
        if (outline == forms_.size())
            forms_.emplace_back();
        forms_of_outline& forms = forms_[outline];
        std::uint32_t const place = forms.names.intern(form);
        if (place == forms.buckets.size())
            forms.buckets.emplace_back();
        forms.buckets[place].add(fixed_in(form), id);
    }

    /// Calls `visit(patterns)`, with the numbers of those that may match `key`, once for each form of
    /// patterns that have its outline, until it returns false; there may be none.
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

        void add(std::string_view fixed_runs, std::size_t id) {
            std::uint32_t const place = fixed.intern(fixed_runs);
            if (place == patterns.size())
                patterns.emplace_back();
            patterns[place].push_back(id);
        }

        std::span<std::size_t const> find(std::string_view fixed_runs) const {
            auto const place = fixed.find(fixed_runs);
            return place ? std::span<std::size_t const>(patterns[*place])
                         : std::span<std::size_t const>();
        }
    };

    struct forms_of_outline {
        name_table names; ///< the forms themselves
        std::vector<bucket> buckets;
    };

    /// Takes a key that the pattern matches apart; the result is the pattern's form.
    std::string take_apart(key_pattern const& pattern) {
        sample_.clear();
        std::vector<std::size_t> open;
        for (pattern_piece const& piece : pattern.pieces) {
            sample_ += piece.text;
            if (piece.has_number) {
                open.push_back(sample_.size());
                sample_ += '0';
            }
        }
        key_.assign(sample_);
        std::string form;
        std::size_t next = 0; // no run has two open numbers
        for (std::string_view const run : key_.runs) {
            auto const end = static_cast<std::size_t>(run.data() + run.size() - sample_.data());
            bool const is_open = next < open.size() && open[next] < end;
            form += is_open ? '*' : '0';
            next += is_open;
        }
        return form;
    }

    std::string const& fixed_in(std::string_view form) {
        fixed_.clear();
        key_.append_fixed(fixed_, form);
        return fixed_;
    }

    name_table outlines_;
    std::vector<forms_of_outline> forms_; ///< by outline
    outlined_key key_;                    ///< that is looked at
    std::string fixed_, sample_;
};

} // namespace reshard::aoa::detail

#endif
