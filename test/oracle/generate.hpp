// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_GENERATE_HPP
#define RESHARD_TEST_ORACLE_GENERATE_HPP

#include "fused_stories.hpp"
#include "layer_stories.hpp"
#include "operations.hpp"
#include "stories.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

/// \file
/// Random programs that are right, over random tensors.

namespace reshard::oracle {

/// Makes one program: a few stories, each a handful of statements.
class generator {
public:
    /// `ranks`: of both sides; 0: a random number for each. The text does not depend on it.
    explicit generator(std::uint64_t seed, std::int64_t ranks = 0, bool may_compute = false)
        : program_(seed * 0x2545f4914f6cdd1du + 17) {
        program_.may_compute = may_compute;
        program_.made.source_ranks = program_.random.between(1, 8);
        program_.made.target_ranks = program_.random.between(1, 8);
        if (ranks > 0)
            program_.made.source_ranks = program_.made.target_ranks = ranks;
    }

    scenario make() {
        random_numbers& random = program_.random;
        program_.is_deep = random.chance(72);
        chain(program_, program_.is_deep ? random.between(3, 6) : random.between(1, 2));
        for (std::int64_t i = random.between(1, 3); i > 0; --i)
            tell_any_story();
        choose_targets();
        lay_out();
        return std::move(program_.made);
    }

private:
    void tell_any_story() {
        switch (program_.random.below(13)) {
        case 0: return chain(program_, program_.random.between(1, 4));
        case 1: return array_story(program_);
        case 2: return star_left_story(program_);
        case 3: return star_right_story(program_);
        case 4:
        case 5: return layer_story(program_);
        case 6: return expert_story(program_);
        case 7: return qkv_story(program_);
        case 8: return ffn_story(program_);
        case 9: return add_story(program_);
        case 10: return remove_story(program_);
        case 11: return old_qkv_story(program_);
        default: return identity_story(program_);
        }
    }

    void choose_targets() {
        for (auto const& [name, value] : program_.variables) {
            if (program_.removed.contains(name))
                continue;
            int const percent = value.must_be_target ? 100
                                : value.is_source    ? 6
                                : value.is_used      ? 15
                                                     : 80;
            if (!program_.random.chance(percent))
                continue;
            program_.made.targets.push_back({key_of(name), value.shape, value.dtype, {}, false});
            target_names_.push_back(name);
            if (value.is_source)
                program_.use(operation::identity);
        }
    }

    wish wish_of(std::string const& name, bool is_target) {
        auto const match = program_.wishes.find(name);
        wish wanted = match == program_.wishes.end() ? wish{} : match->second;
        wanted.may_overlap = is_target;
        wanted.uneven = program_.is_deep && program_.random.chance(85);
        return wanted;
    }

    void lay_out() {
        scenario& scenario = program_.made;
        spreader on_sources(program_.random, scenario.source_ranks);
        spreader on_targets(program_.random, scenario.target_ranks);
        std::set<std::string> uneven_sources;
        for (std::string const& name : program_.sources) {
            auto const& [shape, dtype] = program_.source_facts.at(name);
            tensor tensor{key_of(name), shape, dtype, {}, false};
            on_sources.spread(tensor, wish_of(name, false));
            if (tensor.is_uneven)
                uneven_sources.insert(name);
            scenario.sources.push_back(std::move(tensor));
        }
        for (std::size_t i = 0; i < scenario.targets.size(); ++i) {
            variable const& value = program_.variables.at(target_names_[i]);
            on_targets.spread(scenario.targets[i], wish_of(target_names_[i], true));
            bool const from_uneven =
                std::any_of(value.roots.begin(), value.roots.end(),
                            [&](auto const& root) { return uneven_sources.contains(root); });
            scenario.is_deep = scenario.is_deep ||
                               (value.depth >= 3 && scenario.targets[i].is_uneven && from_uneven);
        }
        program_.random.shuffle(scenario.sources);
        program_.random.shuffle(scenario.targets);
    }

    draft program_;
    names target_names_;
};

} // namespace reshard::oracle

#endif
