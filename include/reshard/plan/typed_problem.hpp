// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_PROBLEM_HPP
#define RESHARD_PLAN_TYPED_PROBLEM_HPP

#include <reshard/expr/expression.hpp>
#include <reshard/layout/typed_facts.hpp>
#include <reshard/plan/part_index.hpp>
#include <reshard/plan/plan_problem.hpp>

#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Layouts known as types, as the problem that a plan is made from: plans in constant expressions.

namespace reshard {

/// Who holds what, as a type: one `typed_state_dict` a rank.
template <class... Ranks>
struct typed_ranks {};

namespace detail {

template <class Layout, class Numbers>
struct all_ranks;

template <class Layout, class... Numbers>
struct all_ranks<Layout, boost::mp11::mp_list<Numbers...>> {
    using type = typed_ranks<typed_state_dict_of<Layout, Numbers::value>...>;
};

} // namespace detail

/// What every rank of a `typed_layout` holds.
template <class Layout>
using typed_ranks_of = typename detail::all_ranks<
    Layout, boost::mp11::mp_rename<boost::mp11::mp_iota_c<Layout::ranks.rank_count()>,
                                   boost::mp11::mp_list>>::type;

namespace detail {

/// One tensor and its shards, without a string of its own.
struct keyed_table {
    std::string_view key;
    data_type dtype{};
    index_vector shape;
    shard_table shards;
};

/// All tensors of one side, sorted by key; numbers are places in the list.
class keyed_tables {
public:
    template <class... Ranks>
    constexpr explicit keyed_tables(typed_ranks<Ranks...>) : holders_(sizeof...(Ranks)) {
        holder_t rank = 0;
        (add(rank++, Ranks{}), ...);
    }

    constexpr holder_t holders() const { return holders_; }
    constexpr std::vector<keyed_table> const& all() const { return tables_; }

    /// \throws error with errc::unknown_key
    constexpr std::size_t number_of(std::string_view key) const {
        std::size_t const place = lower_bound(key);
        if (place == tables_.size() || tables_[place].key != key)
            fail_tensor(errc::unknown_key, key, "is held by no rank of that side");
        return place;
    }

private:
    template <class... Shards>
    constexpr void add([[maybe_unused]] holder_t rank, typed_state_dict<Shards...>) {
        (add(rank, facts_of<Shards>()), ...);
    }

    constexpr void add(holder_t rank, shard_facts const& shard) {
        std::size_t const place = lower_bound(shard.key);
        if (place == tables_.size() || tables_[place].key != shard.key)
            tables_.insert(tables_.begin() + static_cast<std::ptrdiff_t>(place),
                           {shard.key, shard.dtype, shard.global_shape,
                            shard_table(shard.global_shape.size())});
        keyed_table& table = tables_[place];
        if (table.shape != shard.global_shape)
            fail_tensor(errc::shape_mismatch, shard.key, "has two global shapes on two ranks");
        if (table.dtype != shard.dtype)
            fail_tensor(errc::dtype_mismatch, shard.key, "has two data types on two ranks");
        table.shards.push_back(rank, shard.region, shard.flat);
    }

    constexpr std::size_t lower_bound(std::string_view key) const {
        auto const place = std::lower_bound(
            tables_.begin(), tables_.end(), key,
            [](keyed_table const& table, std::string_view sought) { return table.key < sought; });
        return static_cast<std::size_t>(place - tables_.begin());
    }

    holder_t holders_;
    std::vector<keyed_table> tables_;
};

} // namespace detail

namespace detail {

/// True where the shards, replicas aside, are all of the tensor, each element once.
constexpr bool is_held(keyed_table const& tensor) {
    return !find_cover_fault(whole(tensor.shape), index_parts(tensor.shards).boxes);
}

} // namespace detail

template <class... Ranks>
inline constexpr bool is_covered<typed_ranks<Ranks...>> = [] {
    detail::keyed_tables const all(typed_ranks<Ranks...>{});
    return std::all_of(all.all().begin(), all.all().end(), detail::is_held);
}();

/// Layouts of two sides as types, and what each target tensor is made of.
///
/// ```
/// static_assert([] {
///     typed_problem<typed_ranks<q_rank, k_rank>, typed_ranks<fused_rank>> job;
///     job.define("qk", concat({job.source("q"), job.source("k")}, 0));
///     return make_plan(job.problem()).transfers.size() == 2;
/// }());
/// ```
///
/// A target tensor without a definition is the source tensor of its key.
template <class Source, class Target>
class typed_problem {
public:
    constexpr typed_problem() : values_(targets_.all().size()) {}

    /// The source tensor of that key as an expression.
    ///
    /// \throws error with errc::unknown_key; in a constant expression, that does not compile
    constexpr expression source(std::string_view key) const {
        std::size_t const number = sources_.number_of(key);
        detail::keyed_table const& tensor = sources_.all()[number];
        return source_tensor(static_cast<key_id>(number), tensor.shape, tensor.dtype);
    }

    /// Defines the target tensor `key`.
    ///
    /// \throws error with errc::unknown_key when no rank of the target wants it
    constexpr void define(std::string_view key, expression value) {
        values_[targets_.number_of(key)] = std::move(value);
    }

    /// The problem, which refers to this object.
    ///
    /// \throws error with errc::unknown_key for a target tensor that is neither defined nor in the
    ///         source, with errc::shape_mismatch or errc::dtype_mismatch where its definition
    ///         differs
    constexpr plan_problem problem() {
        plan_problem result{sources_.holders(), targets_.holders(), {}, {}};
        for (detail::keyed_table const& tensor : sources_.all())
            result.sources.push_back({tensor.key, tensor.dtype, &tensor.shards});
        for (std::size_t i = 0; i < values_.size(); ++i)
            result.targets.push_back(target_of(targets_.all()[i], values_[i]));
        return result;
    }

private:
    constexpr target_side target_of(detail::keyed_table const& wanted,
                                    std::optional<expression>& value) const {
        if (!value)
            value = source(wanted.key);
        if (value->shape != wanted.shape)
            detail::fail_tensor(errc::shape_mismatch, wanted.key,
                                "is wanted in the shape " + to_string(wanted.shape) +
                                    " and defined in " + to_string(value->shape));
        if (value->dtype != wanted.dtype)
            detail::fail_tensor(errc::dtype_mismatch, wanted.key,
                                "is wanted as " + std::string(name(wanted.dtype)) +
                                    " and defined as " + std::string(name(value->dtype)));
        return {wanted.key, wanted.dtype, &wanted.shards, &value->pieces, false};
    }

    detail::keyed_tables sources_{Source{}};
    detail::keyed_tables targets_{Target{}};
    std::vector<std::optional<expression>> values_; ///< by target tensor
};

} // namespace reshard

#endif
