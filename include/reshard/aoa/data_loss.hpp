// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/aoa/check.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/vector.hpp>

#ifndef RESHARD_AOA_DATA_LOSS_HPP
#define RESHARD_AOA_DATA_LOSS_HPP

#include <reshard/aoa/statement_trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

/// \file
/// Finds the statements of a program that destroy elements.

namespace reshard::aoa::detail {

/// For each version of a name, the first matching statement among the statements that depend on
/// that version.
///
/// One pass from the last version to the first is enough: a statement's results come after its
/// operands.
class downstream {
public:
    static constexpr std::uint32_t none = name_chain::none;

    /// \param is_wanted says whether a statement matches
    downstream(program const& code, name_chain const& chain, auto const& is_wanted)
        : code_(code), first_(chain.version_count(), none), source_(code.text_count(), none) {
        for (auto version = static_cast<std::uint32_t>(chain.version_count()); version-- > 0;) {
            chain.for_each_reader(version, [&](statement const& reader) {
                first_[version] = std::min(first_[version], found_at(chain, reader, is_wanted));
            });
            name const& called = chain.name_of(version);
            if (chain.maker(version) == none && called.kind == name::kind_type::text)
                source_[called.id] = version;
        }
    }

    /// The number of the first matching statement that depends on the source tensor `key`, or
    /// `none`.
    std::uint32_t of(std::string_view key) const {
        auto const id = code_.find(key);
        return !id || source_[*id] == none ? none : first_[source_[*id]];
    }

private:
    std::uint32_t found_at(name_chain const& chain, statement const& reader,
                           auto const& is_wanted) const {
        if (is_wanted(reader))
            return static_cast<std::uint32_t>(&reader - chain.statements().data());
        std::uint32_t index = none;
        for (std::uint32_t i = reader.left; i < reader.left + reader.right; ++i)
            if (std::uint32_t const result = chain.version(reader, i); result != none)
                index = std::min(index, first_[result]);
        return index;
    }

    program const& code_;
    vector<std::uint32_t> first_;  ///< by version
    vector<std::uint32_t> source_; ///< by text: the version of the source tensor
};

/// Finds the statements that destroy information. Searches the program only if there are losses.
class data_loss_finder {
public:
    data_loss_finder(program const& code, lowering const& lowered)
        : code_(code), lowered_(lowered) {
        for (std::size_t i = 0; i < lowered.dropped.size(); ++i) {
            piece_list const& pieces = lowered.dropped[i].value.pieces;
            for (std::size_t k = 0; k < pieces.size(); ++k)
                if (pieces.source(k) != zero_source)
                    dropped_[pieces.source(k)].emplace_back(i, pieces[k].source_box());
        }
    }

    data_loss find(loss const& lost) {
        mapping_source const& source = lowered_.map.sources()[lost.source];
        data_loss result{lost, reshard::detail::describe(lost, source)};
        if (lost.type == loss::kind::removed)
            place(result, removal_of(lost.key));
        else if (lost.type == loss::kind::rounded)
            place(result, rounding_of(lost.key, *lost.step));
        else if (dropped_value const* const value = dropped_of(lost)) {
            result.where = value->where;
            result.origin = value->origin;
        } else
            place(result, cut_of(lost.key));
        return result;
    }

    /// Whether all lost elements of a tensor are in values that no statement or target uses.
    bool is_dropped(loss const& lost, source_usage const& used) const {
        auto const match = dropped_.find(lost.source);
        if (lost.type != loss::kind::unused || match == dropped_.end())
            return false;
        box_list boxes = used.read;
        for (auto const& [value, region] : match->second)
            boxes.push_back(region);
        return !loss_beyond(boxes, lost.source, lowered_.map.sources()[lost.source]);
    }

private:
    static constexpr std::uint32_t none = downstream::none;

    void place(data_loss& result, std::uint32_t number) const {
        if (number == none)
            return;
        result.where = code_.statements()[number].where;
        result.origin = code_.statements()[number].origin;
    }

    dropped_value const* dropped_of(loss const& lost) const {
        auto const match = dropped_.find(lost.source);
        if (match != dropped_.end())
            for (auto const& [value, region] : match->second)
                for (box const& gap : lost.boxes)
                    if (intersect(region, gap))
                        return &lowered_.dropped[value];
        return nullptr;
    }

    std::uint32_t removal_of(std::string_view key) {
        if (!std::exchange(has_removals_, true))
            for (std::uint32_t i = 0; i < code_.statements().size(); ++i) {
                statement const& statement = code_.statements()[i];
                if (statement.left == 1 && statement.right == 1 &&
                    code_.right(statement)[0].kind == name::kind_type::nothing)
                    removals_.emplace(code_.text(code_.left(statement)[0]), i);
            }
        auto const match = removals_.find(key);
        return match == removals_.end() ? none : match->second;
    }

    std::uint32_t rounding_of(std::string_view key, chain_step const& step) {
        bool const computes = step.computes != chain_step::operation::none;
        auto const [position, is_new] = roundings_.try_emplace({step.dtype, computes});
        if (is_new)
            position->second.emplace(code_, chain(), [&](statement const& statement) {
                return std::ranges::any_of(
                    code_.attributes(statement), [&](attribute const& each_one) {
                        auto const* const text = std::get_if<std::string>(&each_one.value);
                        if (computes)
                            return changes_values(each_one.word);
                        return (each_one.word == "dtype" || each_one.word == "dst_dtype") && text &&
                               *text == reshard::name(step.dtype);
                    });
            });
        return position->second->of(key);
    }

    /// The statement that takes only some elements of the tensor.
    std::uint32_t cut_of(std::string_view key) {
        if (!cuts_)
            cuts_.emplace(code_, chain(), [&](statement const& statement) {
                return std::ranges::any_of(
                    code_.attributes(statement), [](attribute const& each_one) {
                        return each_one.word == "slice" || each_one.word == "resize";
                    });
            });
        return cuts_->of(key);
    }

    name_chain const& chain() {
        if (!chain_)
            chain_.emplace(code_, code_.statements());
        return *chain_;
    }

    program const& code_;
    lowering const& lowered_;
    /// For each source tensor: the dropped values that contain elements of it, and the boxes of
    /// these elements.
    std::unordered_map<key_id, vector<std::pair<std::size_t, box>>> dropped_;
    std::unordered_map<std::string_view, std::uint32_t> removals_;
    bool has_removals_ = false; ///< whether `removals_` has been filled
    std::map<std::pair<data_type, bool>, std::optional<downstream>> roundings_;
    std::optional<downstream> cuts_;
    std::optional<name_chain> chain_;
};

} // namespace reshard::aoa::detail

#endif
