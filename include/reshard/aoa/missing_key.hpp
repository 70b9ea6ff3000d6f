// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MISSING_KEY_HPP
#define RESHARD_AOA_MISSING_KEY_HPP

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/aoa/statement_text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What to do about a key of the target that nothing yields.

namespace reshard::aoa {

/// The statements of a program whose placeholders match nothing, by the keys that they would make.
class missing_makers {
public:
    /// Refers to the program, which must live as long.
    explicit missing_makers(program const& code) : code_(code) {
        for (statement const& one : code.unmatched())
            for (name const& made : code.right(one))
                if (made.kind == name::kind_type::pattern)
                    add(one, made);
    }

    /// Advice for somebody who wants `parameter`, which no statement makes: to look at the statement
    /// that would make it, if there is one that matches nothing, or else to add it.
    std::string advice(std::string_view parameter) {
        statement const* maker = nullptr;
        if (searches_left_-- > 0)
            index_.for_each_match(parameter, [&](std::size_t pattern, auto const&) {
                maker = &code_.unmatched()[makers_[pattern]];
                return false;
            });
        if (maker)
            return "the statement at " + place_text(code_, maker->where) +
                   " would make it, and its placeholders match nothing";
        std::string const add =
            "write  _ -> " + detail::quoted_name(parameter) + "  if it has no source";
        std::size_t const count = code_.unmatched().size();
        if (count == 0)
            return add;
        return "the placeholders of " + std::to_string(count) +
               (count == 1 ? " statement" : " statements") + " match nothing, the first at " +
               place_text(code_, code_.unmatched().front().where) + "; or " + add;
    }

private:
    void add(statement const& one, name const& made) {
        try {
            index_.add(make_key_pattern(
                code_.pattern(made), [](segment const&) { return std::optional<std::size_t>(); }));
            makers_.push_back(static_cast<std::size_t>(&one - code_.unmatched().data()));
        } catch (statement_error const&) {
            return; // numbers that touch: no key can be told to be that name
        }
    }

    program const& code_;
    pattern_index index_;
    std::vector<std::size_t> makers_;          ///< by pattern, which unmatched statement
    mutable std::int64_t searches_left_ = 256; ///< each looks at many patterns
};

} // namespace reshard::aoa

#endif
