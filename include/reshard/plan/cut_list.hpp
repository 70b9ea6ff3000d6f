// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_CUT_LIST_HPP
#define RESHARD_PLAN_CUT_LIST_HPP

#include <reshard/expr/cut_piece.hpp>
#include <reshard/plan/pattern_plan.hpp>
#include <reshard/plan/source_indices.hpp>

#include <cstddef>
#include <cstdint>

/// \file
/// All cuts of one target tensor: its shards, intersected with its pieces and with the source's
/// shards.

namespace reshard::detail {

/// One target tensor with everything that is looked up for it.
class cut_finder {
public:
    constexpr cut_finder(plan_problem const& problem, target_side const& target,
                         source_indices const& sources)
        : problem_(problem),
          target_(target),
          pieces_(target.pieces->target_boxes()),
          sources_(sources) {}

    /// Everything that target shard `shard` is made of.
    ///
    /// \throws error with errc::not_covered when nobody holds some of it, naming the rank that
    ///         wants it
    constexpr void find_sources_of(std::uint32_t shard, placed_pattern& cuts) const {
        bool const is_flat = target_.shards.flat(shard).has_value();
        std::uint8_t number = 0;
        target_.shards.for_each_box(shard, [&](box const& region) {
            std::size_t const first = cuts.size();
            if (!is_empty(region))
                pieces_.for_each_overlap(region, [&](std::uint32_t piece, box const& common) {
                    add_sources({piece, 0, shard, number}, common, cuts);
                });
            check_covered(shard, region, cuts, first);
            number = static_cast<std::uint8_t>(number + is_flat);
        });
    }

    /// What source box `source_box` of tensor `source` gives to the target shards that `wanted`
    /// accepts.
    constexpr void find_targets_of(key_id source, std::uint32_t source_box,
                                   shard_index const& targets, auto&& wanted,
                                   placed_pattern& cuts) const {
        sources_.of(source).for_each_block_of(source_box, [&](box const& held) {
            find_targets_of_block({source, source_box}, held, targets, wanted, cuts);
        });
    }

private:
    /// A box of a source by its numbers.
    struct source_place {
        key_id source;
        std::uint32_t box;
    };

    constexpr void find_targets_of_block(source_place from, box const& held,
                                         shard_index const& targets, auto&& wanted,
                                         placed_pattern& cuts) const {
        for (std::uint32_t i = 0; i < target_.pieces->size(); ++i) {
            if (target_.pieces->source(i) != from.source)
                continue;
            piece const whole = (*target_.pieces)[i];
            auto const given = intersect(held, whole.source_box());
            if (!given)
                continue;
            auto const add = [&](std::uint32_t target_box, box const& common) {
                auto const region =
                    intersect(targets.block_at(target_box, common.offset), whole.target_box());
                cut_between(whole, *region, held, [&](cut const& geometry) {
                    for (std::size_t which = 0; which < targets.replicas(target_box); ++which)
                        if (shard_part const at = targets.replica(target_box, which);
                            wanted(at.shard))
                            cuts.push_back({geometry, {i, from.box, at.shard, at.part}});
                });
            };
            targets.for_each_overlap(reach_of(whole, *given), add);
        }
    }

    static constexpr cut geometry_of(piece const& p) {
        return {p.order, p.source_offset, p.target_offset, p.extent, p.joins};
    }

    /// What a box of the source gives to one of the target: cut to the target first, as the
    /// receiver does, or the two would not cut alike.
    static constexpr void cut_between(piece const& whole, box const& target, box const& source,
                                      auto&& take) {
        cut_to_target(whole, target, [&](piece const& p) {
            if (auto const common = intersect(p.source_box(), source))
                cut_to_source(p, *common, [&](piece const& one) { take(geometry_of(one)); });
        });
    }

    /// A box of the target that holds all that comes from `region` of the source.
    static constexpr box reach_of(piece const& whole, box const& region) {
        box reach;
        cut_to_source(whole, region, [&](piece const& p) {
            reach = reach.ndim() == 0 ? p.target_box() : hull(reach, p.target_box());
        });
        return reach;
    }

    constexpr void add_sources(cut_place place, box const& region, placed_pattern& cuts) const {
        cut_to_target((*target_.pieces)[place.piece], region, [&](piece const& p) {
            if (p.source == zero_source) {
                cuts.push_back({geometry_of(p), place});
                return;
            }
            shard_index const& held = sources_.of(p.source);
            held.for_each_overlap(p.source_box(), [&](std::uint32_t i, box const& common) {
                place.source_box = i;
                cut_to_source(p, common, [&](piece const& one) {
                    cuts.push_back({geometry_of(one), place});
                });
            });
        });
    }

    constexpr void check_covered(std::uint32_t shard, box const& region, placed_pattern const& cuts,
                                 std::size_t first) const {
        index_t found = 0;
        for (std::size_t i = first; i < cuts.size(); ++i)
            found += element_count(cuts.geometry().extent(i));
        if (found != element_count(region))
            fail_not_covered(shard, region, cuts, first);
    }

    [[noreturn]] void fail_not_covered(std::uint32_t shard, box const& region,
                                       placed_pattern const& cuts, std::size_t first) const;

    plan_problem const& problem_;
    target_side const& target_;
    box_index pieces_;
    source_indices const& sources_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/cut_list.ipp>
#endif

#endif
