// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_DESTRUCTION_IPP
#define RESHARD_AOA_IMPL_DESTRUCTION_IPP

#include <reshard/aoa/destruction.hpp>

#include <reshard/core/config.hpp>

#include <algorithm>
#include <variant>

namespace reshard::aoa::detail {

RESHARD_DECL std::uint32_t downstream::of(std::string_view key) const {
    auto const id = code_.find(key);
    return !id || source_[*id] == none ? none : first_[source_[*id]];
}

RESHARD_DECL destruction_finder::destruction_finder(program const& code, lowering const& lowered)
    : code_(code), lowered_(lowered) {
    for (std::size_t i = 0; i < lowered.dropped.size(); ++i) {
        piece_list const& pieces = lowered.dropped[i].value.pieces;
        for (std::size_t k = 0; k < pieces.size(); ++k)
            if (pieces.source(k) != zero_source)
                dropped_[pieces.source(k)].emplace_back(i, pieces[k].source_box());
    }
}

RESHARD_DECL destruction destruction_finder::find(loss const& lost) {
    mapping_source const& source = lowered_.map.sources()[lost.source];
    destruction result{lost, reshard::detail::describe(lost, source)};
    if (lost.what == loss::kind::removed)
        place(result, removal_of(lost.key));
    else if (lost.what == loss::kind::rounded)
        place(result, rounding_of(lost.key, *lost.dtype));
    else if (dropped_value const* const value = dropped_of(lost)) {
        result.where = value->where;
        result.origin = value->origin;
    } else
        place(result, cut_of(lost.key));
    return result;
}

RESHARD_DECL bool destruction_finder::is_dropped(loss const& lost, source_usage const& used) const {
    auto const found = dropped_.find(lost.source);
    if (lost.what != loss::kind::unused || found == dropped_.end())
        return false;
    box_list all = used.read;
    for (auto const& [value, region] : found->second)
        all.push_back(region);
    return !loss_beyond(all, lost.source, lowered_.map.sources()[lost.source]);
}

RESHARD_DECL void destruction_finder::place(destruction& result, std::uint32_t number) const {
    if (number == none)
        return;
    result.where = code_.statements()[number].where;
    result.origin = code_.statements()[number].origin;
}

RESHARD_DECL dropped_value const* destruction_finder::dropped_of(loss const& lost) const {
    auto const found = dropped_.find(lost.source);
    if (found != dropped_.end())
        for (auto const& [value, region] : found->second)
            for (box const& gap : lost.boxes)
                if (intersect(region, gap))
                    return &lowered_.dropped[value];
    return nullptr;
}

RESHARD_DECL std::uint32_t destruction_finder::removal_of(std::string_view key) {
    if (removals_.empty())
        for (std::uint32_t i = 0; i < code_.statements().size(); ++i) {
            statement const& one = code_.statements()[i];
            if (one.left == 1 && one.right == 1 &&
                code_.right(one)[0].kind == name::kind_type::nothing)
                removals_.emplace(code_.text(code_.left(one)[0]), i);
        }
    auto const found = removals_.find(key);
    return found == removals_.end() ? none : found->second;
}

RESHARD_DECL std::uint32_t destruction_finder::rounding_of(std::string_view key, data_type dtype) {
    auto const [place, is_new] = roundings_.try_emplace(dtype);
    if (is_new)
        place->second.emplace(code_, chain(), [&](statement const& one) {
            return std::ranges::any_of(code_.attributes(one), [&](attribute const& each_one) {
                auto const* const text = std::get_if<std::string>(&each_one.value);
                return (each_one.word == "dtype" || each_one.word == "dst_dtype") && text &&
                       *text == reshard::name(dtype);
            });
        });
    return place->second->of(key);
}

RESHARD_DECL std::uint32_t destruction_finder::cut_of(std::string_view key) {
    if (!cuts_)
        cuts_.emplace(code_, chain(), [&](statement const& one) {
            return std::ranges::any_of(code_.attributes(one), [](attribute const& each_one) {
                return each_one.word == "slice" || each_one.word == "resize";
            });
        });
    return cuts_->of(key);
}

RESHARD_DECL name_chain const& destruction_finder::chain() {
    if (!chain_)
        chain_.emplace(code_, code_.statements());
    return *chain_;
}

} // namespace reshard::aoa::detail

#endif
