// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_TYPED_REDISTRIBUTE_IPP
#define RESHARD_BIND_IMPL_TYPED_REDISTRIBUTE_IPP

#include <reshard/bind/typed_redistribute.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/copy/conversions.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/plan/planned_job.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace reshard::detail {

inline layout layout_of(typed_tensors const& tensors) {
    layout layout = reshard::layout_of(shardings_of(tensors.keys, tensors.kinds));
    layout.holders = tensors.ranks;
    return layout;
}

/// By key: the index of the tensor in a layout.
inline vector<std::uint32_t> places_in(layout const& layout, std::span<hashed_key const> keys) {
    vector<std::uint32_t> places;
    places.reserve(keys.size());
    for (hashed_key const& key : keys)
        places.push_back(static_cast<std::uint32_t>(layout.find(key.text) - layout.tensors.data()));
    return places;
}

/// Lists the transfers of one rank, pattern by pattern.
class typed_lister {
public:
    typed_lister(typed_tables const& tables, holder_t me, planned_job& planned_job)
        : tables_(tables),
          me_(me),
          made_(planned_job),
          sources_(places_in(planned_job.source, tables.source.keys)) {}

    void list() {
        add_sides();
        vector<std::uint32_t> const places = places_in(made_.target, tables_.target.keys);
        vector<std::uint32_t> number(places.size());
        for (std::uint32_t i = 0; i < places.size(); ++i)
            number[places[i]] = i;
        for (std::uint32_t t = 0; t < number.size(); ++t)
            add_transfers(t, number[t]);
    }

private:
    /// This rank's transfers for a kind of tensors; their sources are operands.
    struct own_pattern {
        std::uint32_t number = 0;
        vector<transfer> transfers;
    };

    void add_sides() {
        layout const &source = made_.source, &target = made_.target;
        made_.problem.source_holders = source.holders;
        made_.problem.target_holders = target.holders;
        for (tensor_layout const& layout : source.tensors) {
            auto const index = static_cast<std::uint32_t>(made_.problem.sources.size());
            made_.problem.sources.push_back(
                {layout.key, layout.dtype, source.shards_of(layout), layout.spread, index});
            made_.whole.source_dtypes.push_back(layout.dtype);
        }
        for (tensor_layout const& layout : target.tensors) {
            made_.problem.targets.push_back({layout.key, layout.dtype, target.shards_of(layout),
                                             nullptr, false, layout.spread});
            made_.whole.target_dtypes.push_back(layout.dtype);
        }
    }

    void add_transfers(std::uint32_t target, std::size_t number) {
        std::uint32_t const* const operands =
            tables_.operands.data() + tables_.first_operand[number];
        own_pattern const& own = pattern_of(*tables_.contents[number], target, operands);
        made_.whole.pattern_of.push_back(own.number);
        for (transfer transfer : own.transfers) {
            transfer.target_key = target;
            if (transfer.source_key != zero_source)
                transfer.source_key = sources_[operands[transfer.source_key]];
            made_.whole.transfers.push_back(transfer);
        }
    }

    /// \param target   a tensor with that pattern
    /// \param operands the sources of the tensor
    own_pattern const& pattern_of(pattern_content const& content, std::uint32_t target,
                                  std::uint32_t const* operands) {
        auto const [position, is_new] = own_.try_emplace(&content);
        own_pattern& own = position->second;
        if (!is_new)
            return own;
        index_vector const shape = made_.target.shape_of(made_.target.tensors[target]);
        pattern cuts(shape.size());
        for (typed_transfer const& t : content.transfers) {
            if (t.source_holder != me_ && t.target_holder != me_)
                continue;
            bool const is_zeros = t.source_holder == no_holder;
            own.transfers.push_back({t.source_holder, t.target_holder,
                                     is_zeros ? zero_source : t.operand, 0, t.source_shard,
                                     t.target_shard, static_cast<std::uint32_t>(cuts.size()),
                                     t.source_part, t.target_part,
                                     chain_number(made_.whole.chains, content.chains[t.chain])});
            cuts.push_back(content.cut_of(
                t, is_zeros ? index_vector() : shape_of_source(operands[t.operand]), shape));
        }
        own.number = static_cast<std::uint32_t>(made_.whole.patterns.size());
        made_.whole.patterns.push_back(std::move(cuts));
        return own;
    }

    index_vector const& shape_of_source(std::uint32_t number) const {
        return made_.source.shape_of(made_.source.tensors[sources_[number]]);
    }

    typed_tables const& tables_;
    holder_t me_;
    planned_job& made_;
    vector<std::uint32_t> sources_; ///< by number in the typed layout: the index in the layout
    std::map<pattern_content const*, own_pattern> own_;
};

template <class View>
void check_typed_side(side<View> const& side, layout const& layout, std::string_view noun,
                      holder_t ranks) {
    if (side.layout)
        fail(errc::usage, "a typed plan has a layout of the ", noun,
             ", but the call gives another one; omit it");
    if (layout.holders > ranks)
        fail(errc::bad_layout, "the layout of the ", noun, " is for ", layout.holders,
             " ranks, and the group has ", ranks);
}

/// A digest that is equal on all ranks with the same plan.
inline std::uint64_t digest_of(typed_tables const& plan, planned_job const& planned_job) {
    hasher digest;
    digest.add(digest_of(planned_job.source));
    digest.add(digest_of(planned_job.target));
    for (std::size_t i = 0; i < plan.contents.size(); ++i)
        if (i == 0 || plan.contents[i] != plan.contents[i - 1])
            digest.add(digest_of(*plan.contents[i]));
    for (std::uint32_t const source : plan.operands)
        digest.add(source);
    return digest.value();
}

RESHARD_DECL made_plan listed_plan(typed_tables const& plan, source_tensors const& have,
                                   target_tensors const& want, group_place at) {
    auto shared = std::make_shared<planned_job>();
    shared->source = layout_of(plan.source);
    shared->target = layout_of(plan.target);
    check_typed_side(have, shared->source, "source", at.ranks);
    check_typed_side(want, shared->target, "target", at.ranks);
    shared->conversions = &all_conversions();
    typed_lister(plan, at.me, *shared).list();
    std::uint64_t const digest = digest_of(plan, *shared);
    return {std::move(shared), digest};
}

} // namespace reshard::detail

#endif
