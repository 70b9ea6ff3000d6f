// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_EXPERIMENT_HPP
#define RESHARD_TEST_SUPPORT_EXPERIMENT_HPP

#include "oracle/world.hpp"
#include "support/all_ranks.hpp"
#include "support/memory.hpp"
#include "support/trials.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/redistribute.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

/// \file
/// A scenario run by the library, with all ranks in one process, beside what the oracle says of it.

namespace reshard::test {

using namespace reshard::detail;

/// The number of programs that each property is tried on.
inline constexpr std::uint64_t program_count = trials(2000);

inline layout source_layout(oracle::scenario const& scenario) {
    return layout_of(scenario.sources, scenario.source_ranks);
}

inline layout target_layout(oracle::scenario const& scenario) {
    return layout_of(scenario.targets, scenario.target_ranks);
}

/// What the text of a scenario says, by way of the whole front end.
inline mapping mapping_of(oracle::scenario const& scenario) {
    catalog const source = catalog_of(source_layout(scenario));
    catalog const target = catalog_of(target_layout(scenario));
    auto const expanded = aoa::expand(aoa::parse(scenario.text, "program"), source, &target);
    return aoa::lower(expanded.code, source, &target);
}

/// Redistributes the tensors of all ranks of one side to those of the other.
inline void redistribute(std::vector<rank_memory>& from, std::vector<rank_memory>& to,
                         mapping const& program) {
    std::vector<const_state_dict> source;
    std::vector<state_dict> target;
    for (rank_memory& memory : from)
        source.push_back(memory.shards());
    for (rank_memory& memory : to)
        target.push_back(memory.shards());
    reshard::test::redistribute_ranks(source, target, program);
}

/// The tensors of a scenario in memory, and what the oracle says that the targets become.
class experiment {
public:
    explicit experiment(oracle::scenario const& scenario)
        : experiment(scenario, oracle::world_of(scenario).sources,
                     oracle::answers(scenario, oracle::world_of(scenario))) {}

    /// The same with other values, of which somebody knows what they become.
    experiment(oracle::scenario const& scenario, std::map<std::string, oracle::array> const& before,
               std::map<std::string, std::optional<oracle::array>> const& after)
        : all_(scenario),
          sources_(memory_of(scenario.sources, scenario.source_ranks)),
          targets_(memory_of(scenario.targets, scenario.target_ranks)),
          expected_(targets_) {
        for (rank_memory& memory : sources_)
            memory.fill(before);
        for (rank_memory& memory : expected_)
            memory.fill(after);
    }

    void run(mapping const& program) { redistribute(sources_, targets_, program); }

    std::int64_t elements() const {
        std::int64_t count = 0;
        for (rank_memory const& memory : targets_)
            count += memory.elements();
        return count;
    }

    /// The number of ranks that have other bytes than they should, each with a message.
    std::int64_t differences() const {
        std::int64_t count = 0;
        for (std::size_t rank = 0; rank < targets_.size(); ++rank)
            if (auto const where = targets_[rank].difference(expected_[rank])) {
                ++count;
                BOOST_TEST_MESSAGE("rank " << rank << " differs: " << *where << "\n" << all_.text);
            }
        return count;
    }

private:
    oracle::scenario const& all_;
    std::vector<rank_memory> sources_;
    std::vector<rank_memory> targets_;
    std::vector<rank_memory> expected_;
};

/// What many programs add up to.
struct tally {
    std::int64_t programs = 0;
    std::int64_t elements = 0;
    std::int64_t differences = 0;

    std::string text() const {
        return std::to_string(programs) + " programs, " + std::to_string(elements) +
               " elements compared, " + std::to_string(differences) + " differences";
    }
};

} // namespace reshard::test

#endif
