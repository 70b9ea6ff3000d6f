// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_TYPED_PROBLEM_HPP
#define RESHARD_TEST_SUPPORT_TYPED_PROBLEM_HPP

#include <reshard/expr/expression.hpp>
#include <reshard/layout/typed_facts.hpp>
#include <reshard/plan/plan_problem.hpp>

#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Shards that are types as the problem of a plan: the planner is asked in constant expressions, where keys can
/// be no strings.

namespace reshard::test {

using namespace reshard::detail;

template <class Layout, class Numbers>
struct all_ranks;

template <class Layout, class... Numbers>
struct all_ranks<Layout, boost::mp11::mp_list<Numbers...>> {
    using type = typed_ranks<typed::state_dict_of<Layout, Numbers::value>...>;
};

/// What every rank of a `typed::layout` holds.
template <class Layout>
using typed_ranks_of =
    typename all_ranks<Layout,
                       boost::mp11::mp_rename<boost::mp11::mp_iota_c<Layout::ranks.rank_count()>,
                                              boost::mp11::mp_list>>::type;

/// Two sides, and the source of each target tensor: the source tensor of its key by default.
template <class Source, class Target>
class typed_problem {
public:
    constexpr typed_problem() : values_(targets_.all().size()) {}

    constexpr expression source(std::string_view key) const {
        std::size_t const number = number_of(sources_, key);
        detail::keyed_table const& tensor = sources_.all()[number];
        return source_tensor(static_cast<key_id>(number), tensor.shape, tensor.dtype);
    }

    constexpr void define(std::string_view key, expression value) {
        values_[number_of(targets_, key)] = std::move(value);
    }

    /// The problem, which refers to this object.
    constexpr plan_problem problem() {
        plan_problem result{ranks_of(Source{}), ranks_of(Target{}), {}, {}};
        for (detail::keyed_table const& tensor : sources_.all())
            result.sources.push_back({tensor.key, tensor.dtype, &tensor.shards});
        for (std::size_t i = 0; i < values_.size(); ++i) {
            detail::keyed_table const& wanted = targets_.all()[i];
            if (!values_[i])
                values_[i] = source(wanted.key);
            result.targets.push_back(
                {wanted.key, wanted.dtype, &wanted.shards, &values_[i]->pieces, false});
        }
        return result;
    }

private:
    template <class... Ranks>
    static constexpr holder_t ranks_of(typed_ranks<Ranks...>) {
        return sizeof...(Ranks);
    }

    /// \pre the side has that key
    static constexpr std::size_t number_of(detail::keyed_tables const& side, std::string_view key) {
        auto const position = std::ranges::find(side.all(), key, &detail::keyed_table::key);
        return static_cast<std::size_t>(position - side.all().begin());
    }

    detail::keyed_tables sources_{Source{}};
    detail::keyed_tables targets_{Target{}};
    std::vector<std::optional<expression>> values_; ///< by target tensor
};

} // namespace reshard::test

#endif
