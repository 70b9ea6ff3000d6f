// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fold/fold.hpp"
#include "fold/fold_layers.hpp"
#include "fold/fold_macros.hpp"
#include "fold/folded_line.hpp"
#include "report.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/core/error.hpp>

#include <optional>
#include <set>

namespace tool {

using namespace reshard;

namespace {

/// Shortens a program. A candidate is accepted if it has the same mapping.
struct folding {
    catalog const& source;
    catalog const& target;
    aoa::lower_options const& options;
    std::optional<mapping> meant = {}; ///< std::nullopt if the program is invalid

    /// The mapping of a program; std::nullopt if the program is invalid.
    std::optional<mapping> meaning_of(name_list const& lines) const {
        try {
            auto const expanded = aoa::expand(aoa::parse(joined_lines(lines)), source, &target);
            return aoa::lower(expanded.code, source, &target, options);
        } catch (error const&) {
            return std::nullopt;
        }
    }

    bool holds(reshard::vector<folded_line> const& lines) const {
        return meaning_of(texts_of(lines)) == meant;
    }

    /// Folds all groups of statements at once, or else each group that can be folded.
    std::optional<reshard::vector<folded_line>>
    shorter(reshard::vector<folded_line> const& lines) const {
        constexpr std::size_t most_groups = 100;
        std::set<std::size_t> left_out;
        auto const now = [&] {
            return by_layers(
                lines, [&](std::string const& name) { return is_tensor(name); },
                [&](std::size_t group) { return !left_out.contains(group); });
        };
        if (auto elements = now(); holds(elements))
            return elements;
        std::size_t const groups = count_groups(lines);
        for (std::size_t group = 0; group < groups; ++group)
            left_out.insert(group);
        for (std::size_t group = 0; group < groups && groups <= most_groups; ++group) {
            left_out.erase(group);
            if (!holds(now()))
                left_out.insert(group);
        }
        auto some = now();
        return holds(some) ? std::optional(std::move(some)) : std::nullopt;
    }

    bool is_tensor(std::string const& name) const { return source.find(name) || target.find(name); }
};

} // namespace

reshard::vector<std::string> fold(reshard::vector<std::string> const& lines, catalog const& source,
                                  catalog const& target, aoa::lower_options const& options) {
    folding goal{source, target, options};
    goal.meant = goal.meaning_of(lines);
    if (!goal.meant)
        return lines;
    reshard::vector<folded_line> const plain = lines_of(lines);
    auto const is_tensor = [&](std::string const& name) { return goal.is_tensor(name); };
    for (auto const& some : {with_macros(plain, is_tensor), plain})
        if (auto const shorter = goal.shorter(some); shorter && shorter->size() < lines.size())
            return texts_of(*shorter);
    return lines;
}

} // namespace tool
