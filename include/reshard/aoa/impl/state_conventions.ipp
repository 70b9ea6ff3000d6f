// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_STATE_CONVENTIONS_IPP
#define RESHARD_AOA_IMPL_STATE_CONVENTIONS_IPP

#include <reshard/aoa/source_names.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/impl/state_words.ipp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::aoa::detail {

/// The part of a key that an optimizer puts in front.
struct optimizer_container {
    std::size_t size = 0;       ///< size with the last separator; 0: not an optimizer's key
    bool has_any_state = false; ///< any name may be a state's
};

/// The segment that begins at an index, without its separator. Empty for the last segment, since it
/// contains no other segments.
inline std::string_view segment_at(std::string_view key, std::size_t index) {
    std::size_t const end = next_separator(key, index);
    return end == key.size() ? std::string_view() : key.substr(index, end - index);
}

/// Whether the segment `state` at the beginning of a key is a trainer's name for all its data,
/// including models and optimizers, and not a name for the states of parameters.
inline bool is_trainer_state(std::string_view key, std::string_view next) {
    return (!next.empty() && is_optimizer(next)) ||
           (is_model(next) && !is_state_name(last_segment(key)));
}

inline optimizer_container container_of(std::string_view key) {
    constexpr int most_before = 2; // for example `app.optim.` or `chained_0.optimizer.`
    optimizer_container container;
    std::size_t index = 0;
    for (int before = 0; before <= most_before || container.size > 0; ++before) {
        std::string_view const segment = segment_at(key, index);
        if (segment.empty())
            break;
        auto const next = [&] { return segment_at(key, index + segment.size() + 1); };
        bool const is_inside = container.size > 0, may_open = is_inside || index == 0;
        bool const opens =
            is_optimizer(segment) ||
            (may_open && (segment == "state" ? is_inside || !is_trainer_state(key, next())
                                             : is_optimizer_class(segment)));
        if (!opens && is_inside && !is_number(segment) && next() != "state")
            break;
        index += segment.size() + 1;
        if (opens || is_inside)
            container.size = index;
        if (opens && holds_states(segment))
            container.has_any_state = true;
        if (opens && segment == "state")
            break;
    }
    return container;
}

/// Adds the readings of a key in which the state comes before a number and the parameter, as in
/// `fp32_groups.0.P`, or in which it is joined with the parameter, as in `P_exp_avg`.
///
/// \param size the size of the container before them
inline void add_joined(std::string_view key, std::size_t size,
                       std::function<void(state_reading const&)> const& add) {
    std::size_t const first = next_separator(key, size), second = next_separator(key, first + 1);
    if (second < key.size() && is_number(key.substr(first + 1, second - first - 1)))
        add({key.substr(0, second + 1),
             key.substr(second + 1),
             {},
             key.substr(size, first - size),
             true});
    std::string_view const segment = last_segment(key);
    if (segment.find('_') == segment.npos || is_state_name(segment))
        return;
    for (std::string_view const name : state_names)
        if (name.size() > 2 && key.size() > size + name.size() + 1 && key.ends_with(name) &&
            key[key.size() - name.size() - 1] == '_')
            add({key.substr(0, size), key.substr(size, key.size() - size - name.size() - 1),
                 key.substr(key.size() - name.size() - 1), name, true});
}

/// As `optimizer_readings`, for a key with a known container.
inline vector<state_reading> readings_inside(std::string_view key,
                                             optimizer_container const& container) {
    vector<state_reading> readings;
    if (container.size == 0 || container.size >= key.size())
        return readings;
    std::string_view const inside = key.substr(container.size);
    auto const add = [&](state_reading const& reading) {
        if (!reading.name.empty() && !reading.parameter.empty() &&
            (container.has_any_state || is_state_name(reading.name)))
            readings.push_back(reading);
    };
    std::size_t const last = inside.find_last_of(separators),
                      first = inside.find_first_of(separators);
    if (last != inside.npos) {
        add({key.substr(0, container.size), inside.substr(0, last), inside.substr(last),
             inside.substr(last + 1)});
        add({key.substr(0, container.size + first + 1),
             inside.substr(first + 1),
             {},
             inside.substr(0, first)});
    }
    add_joined(key, container.size, add);
    return readings;
}

RESHARD_DECL vector<state_reading> optimizer_readings(std::string_view key) {
    return readings_inside(key, container_of(key));
}

RESHARD_DECL vector<std::size_t> container_sizes(std::string_view key) {
    vector<std::size_t> sizes{0};
    for (std::size_t index = 0;;) {
        std::string_view const segment = segment_at(key, index);
        if (segment.empty() || is_number(segment) || (sizes.size() >= 3 && !is_model(segment)))
            break;
        sizes.push_back(index += segment.size() + 1);
    }
    return sizes;
}

/// The readings of a key without an optimizer's name: `P.exp_avg` or `exp_avg/P`. Excludes short
/// names, since layers use them, too.
inline vector<state_reading> bare_readings(std::string_view key) {
    vector<state_reading> readings;
    auto const add = [&](state_reading const& reading) {
        if (reading.name.size() > 2 && is_state_name(reading.name))
            readings.push_back(reading);
    };
    if (std::size_t const first = next_separator(key, 0); first < key.size()) {
        std::string_view const name = last_segment(key);
        std::size_t const last = key.size() - name.size() - 1;
        add({{}, key.substr(0, last), key.substr(last), name});
        add({key.substr(0, first + 1), key.substr(first + 1), {}, key.substr(0, first)});
    }
    add_joined(key, 0, add);
    return readings;
}

/// The rank of the text before a model's parameters, from its first and its last word; 0 is the
/// likeliest.
inline std::size_t rank_of(std::string_view container) {
    if (container.empty())
        return 0;
    auto const rank = [](std::string_view word) {
        auto const position = std::ranges::find(model_names, word);
        return static_cast<std::size_t>(position - std::begin(model_names));
    };
    return 1 + rank(segment_at(container, 0)) * (std::size(model_names) + 1) +
           rank(last_segment(container.substr(0, container.size() - 1)));
}

RESHARD_DECL std::optional<std::string_view>
most_voted(std::map<std::string_view, std::size_t> const& values) {
    auto const likeliness = [](auto const& element) {
        return std::pair(element.second, ~rank_of(element.first));
    };
    if (values.empty())
        return std::nullopt;
    auto const best = std::ranges::max_element(values, {}, likeliness);
    bool const is_tied = std::ranges::count(values, likeliness(*best), likeliness) > 1;
    return is_tied ? std::nullopt : std::optional(best->first);
}

/// Finds states in a catalog.
class convention_finder {
public:
    explicit convention_finder(catalog const& keys) : keys_(keys) {
        for (catalog_entry const& entry : keys)
            note(entry);
        if (!parameters_.empty())
            for (catalog_entry const& entry : keys)
                vote(entry.key);
        for (auto const& [owner, vote] : votes_)
            containers_.emplace(owner, most_voted(vote));
    }

    /// Adds the kinds of state in the catalog, once for each possible naming of the parameters.
    void add_to(vector<state_suffix>& suffixes) {
        for (state_entry const& entry : states_) {
            auto readings = optimizer_readings(entry.entry->key);
            if (readings.empty())
                readings = bare_readings(entry.entry->key);
            for (state_reading const& each : readings)
                if (look_at(entry, each))
                    break;
        }
        for (auto const& [where, kind] : kinds_)
            add(suffixes, where, kind);
    }

private:
    /// A tensor that may be a state.
    struct state_entry {
        catalog_entry const* entry;
        std::string_view owner; ///< the container of its optimizer
    };

    static constexpr std::size_t most_parameters = 512; ///< limit for each optimizer

    void note(catalog_entry const& entry) {
        std::string_view const key = entry.key;
        optimizer_container const container = container_of(key);
        std::string_view const owner = key.substr(0, container.size);
        auto const readings = readings_inside(key, container);
        if (!readings.empty() || !bare_readings(key).empty())
            states_.push_back({&entry, owner});
        if (readings.empty() || counts_[owner]++ >= most_parameters)
            return;
        for (state_reading const& reading : readings)
            parameters_[reading.parameter].insert(owner);
    }

    /// Votes for a container if an optimizer's keys may contain the name of the parameter `key`.
    void vote(std::string_view key) {
        if (container_of(key).size > 0)
            return;
        for (std::size_t const size : container_sizes(key))
            if (auto const match = parameters_.find(key.substr(size)); match != parameters_.end())
                for (std::string_view const owner : match->second)
                    ++votes_[owner][key.substr(0, size)];
    }

    /// The text around the parameters in the keys of one kind of state.
    struct around {
        std::string_view prefix, suffix, container;

        auto operator<=>(around const&) const = default;
    };

    struct counts {
        std::size_t all = 0, same_shape = 0, single = 0;
        std::size_t misses = 0; ///< keys whose parameter was not found
    };

    static constexpr std::size_t most_counted = 32, most_misses = 1024; ///< for each kind of state

    /// Counts a reading of a key. Returns true if the catalog has the reading's parameter.
    bool look_at(state_entry const& state, state_reading const& reading) {
        catalog_entry const& entry = *state.entry;
        auto const owner = containers_.find(state.owner);
        if (owner != containers_.end() && !owner->second)
            return false;
        std::string_view const model = owner != containers_.end() ? *owner->second : "";
        counts& kind = kinds_[{reading.prefix, reading.suffix, model}];
        if (kind.all == most_counted || kind.misses == most_misses)
            return kind.all == most_counted;
        bool const is_alone =
            !reading.is_joined && owner == containers_.end() && !state.owner.empty() &&
            is_state_name(reading.name); // the parameters are in another checkpoint
        catalog_entry const* const parameter =
            is_alone ? nullptr : keys_.find(std::string(model) + std::string(reading.parameter));
        if (!is_alone && (!parameter || parameter == &entry)) {
            ++kind.misses;
            return false;
        }
        bool const is_single = element_count(entry.shape) == 1;
        ++kind.all;
        kind.same_shape += is_alone ? !is_single : parameter->shape == entry.shape;
        kind.single += is_single;
        return !is_alone;
    }

    static void add(vector<state_suffix>& suffixes, around const& where, counts const& kind) {
        bool const is_identical = 2 * kind.same_shape > kind.all,
                   is_scalar = 2 * kind.single > kind.all;
        if (!is_identical && !is_scalar)
            return;
        state_suffix added{
            std::string(where.suffix),    !is_identical, {}, std::string(where.prefix),
            std::string(where.container), true};
        bool const is_stated = std::ranges::any_of(suffixes, [&](state_suffix const& suffix) {
            return !suffix.is_found && suffix.prefix.empty() && where.prefix.empty() &&
                   suffix.suffix == where.suffix;
        });
        for (bool is_first = true; !is_stated; is_first = false) {
            if (std::ranges::find(suffixes, added) == suffixes.end())
                suffixes.push_back(added);
            if (!is_first || added.container.empty())
                break;
            added.container.clear();
        }
    }

    catalog const& keys_;
    vector<state_entry> states_;
    std::map<std::string_view, std::size_t> counts_;                    ///< by optimizer
    std::map<std::string_view, std::set<std::string_view>> parameters_; ///< optimizers by parameter
    std::map<std::string_view, std::map<std::string_view, std::size_t>> votes_; ///< by optimizer
    std::map<std::string_view, std::optional<std::string_view>> containers_;    ///< by optimizer
    std::map<around, counts> kinds_;
};

RESHARD_DECL vector<state_suffix> with_conventions(vector<state_suffix> suffixes,
                                                   catalog const& source, catalog const* target) {
    convention_finder(source).add_to(suffixes);
    if (target)
        convention_finder(*target).add_to(suffixes);
    return suffixes;
}

} // namespace reshard::aoa::detail

#endif
