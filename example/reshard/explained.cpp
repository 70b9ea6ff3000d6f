// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "explained.hpp"

#include <reshard/aoa/statement_trace.hpp>
#include <reshard/expr/explain.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// The ranks of a layout that hold elements of a box, ascending.
reshard::vector<holder_t> ranks_of(layout const& layout, std::string const& key,
                                   box const& region) {
    tensor_layout const* const tensor = layout.find(key);
    std::set<holder_t> ranks;
    detail::tensor_shards const shards =
        tensor ? layout.shards_of(*tensor) : detail::tensor_shards();
    for (std::size_t i = 0; tensor && i < shards.size(); ++i)
        for (box const& box : shards.boxes(i))
            if (auto const common = intersect(box, region);
                common && !reshard::detail::is_empty(*common))
                ranks.insert(shards.holder(i));
    return {ranks.begin(), ranks.end()};
}

/// Adds the byte range of a piece in its file, from its first to its last element.
void find_bytes(explained& explained, checkpoint_metadata const& checkpoint, std::size_t tensor,
                std::size_t number) {
    detail::checkpoint_shard const& shard = checkpoint.tensors[tensor].shards[number];
    box const source = detail::relative_to(explained.geometry.source_box(), shard.region.offset);
    index_vector last = source.offset;
    for (std::size_t axis = 0; axis < last.size(); ++axis)
        last[axis] += source.shape[axis] - 1;
    index_t const skipped = shard.flat ? shard.flat->begin : 0;
    index_t const element_bits = bits(explained.geometry.stored);
    auto const number_of = [&](index_vector const& position) {
        return detail::ravel_index(detail::held_index(shard.cycles, position),
                                   detail::held_shape(shard.region, shard.cycles));
    };
    index_t const begin = number_of(source.offset) - skipped;
    index_t const end = number_of(last) - skipped + 1;
    explained.file = checkpoint.files[shard.file].path.filename().string();
    explained.first_byte = static_cast<index_t>(shard.begin) + begin * element_bits / 8;
    explained.last_byte = static_cast<index_t>(shard.begin) + (end * element_bits + 7) / 8;
}

/// Makes pieces with all known details, cut at the borders of shards if the source is a checkpoint.
class explainer {
public:
    explainer(source_spec const& source, job const& full_job, bool cuts_at_ranks)
        : source_(source),
          all_(full_job),
          cuts_at_ranks_(cuts_at_ranks),
          trace_(full_job.code()),
          lines_(statement_lines(full_job.code(), source.held)) {}

    /// The pieces that fill a box of a target tensor, by target offset.
    reshard::vector<explained> target(std::string const& key, std::optional<box> const& region) {
        reshard::vector<explained> explaineds;
        for (piece const& piece : reshard::explain(all_.map(), key, region))
            add(piece, key, explaineds);
        std::stable_sort(explaineds.begin(), explaineds.end(),
                         [](explained const& a, explained const& b) {
                             return a.geometry.target_offset < b.geometry.target_offset;
                         });
        return explaineds;
    }

    /// The pieces that use a box of a source tensor, by source offset.
    reshard::vector<explained> source(std::string const& key, std::optional<box> const& region) {
        reshard::vector<explained> explaineds;
        for (detail::destination const& destination :
             reshard::detail::explain_source(all_.map(), key, region))
            add(destination.part, destination.key, explaineds);
        std::stable_sort(explaineds.begin(), explaineds.end(),
                         [](explained const& a, explained const& b) {
                             return a.geometry.source_offset < b.geometry.source_offset;
                         });
        return explaineds;
    }

private:
    void add(piece const& piece, std::string const& target,
             reshard::vector<explained>& explaineds) {
        std::size_t const first = explaineds.size();
        add_pieces(piece, target, explaineds);
        for (std::size_t i = first; i < explaineds.size(); ++i)
            complete(explaineds[i]);
    }

    /// Adds the ranks that hold a piece, and its statements as the user wrote them.
    void complete(explained& explained) {
        box const source = explained.geometry.source_box(),
                  target = explained.geometry.target_box();
        if (!source_.checkpoint && !explained.source_key.empty())
            explained.source_ranks = ranks_of(source_.held, explained.source_key, source);
        if (all_.target)
            explained.target_ranks = ranks_of(*all_.target, explained.target_key, target);
        for (std::size_t const i : numbers(explained.source_key, explained.target_key)) {
            aoa::text_span const where = all_.code().statements()[i].where;
            if (std::ranges::find(explained.written, where) == explained.written.end())
                explained.written.push_back(where);
        }
    }

    void add_pieces(piece const& piece, std::string const& target,
                    reshard::vector<explained>& explaineds) {
        if (piece.source == detail::zero_source)
            return explaineds.push_back({piece, target, {}, {}, 0, 0, statements({}, target)});
        std::string const key(all_.map().sources().key(piece.source));
        tensor_layout const* const layout = source_.held.find(key);
        if (!layout || (!source_.checkpoint && !cuts_at_ranks_)) // the program may quantize it
            return explaineds.push_back({piece, target, key, {}, 0, 0, statements(key, target)});
        for (detail::located_piece const& located :
             detail::locate(piece, detail::listed(source_.held.spread_of(*layout)))) {
            explaineds.push_back({located.part, target, key, {}, 0, 0, statements(key, target)});
            if (source_.checkpoint)
                find_bytes(explaineds.back(), *source_.checkpoint,
                           static_cast<std::size_t>(layout - source_.held.tensors.data()),
                           located.shard);
        }
    }

    reshard::vector<std::size_t> const& numbers(std::string const& source,
                                                std::string const& target) {
        auto const [match, is_new] = numbers_.try_emplace({source, target});
        if (is_new)
            match->second =
                source.empty() ? trace_.leading_to(target) : trace_.between(source, target);
        return match->second;
    }

    reshard::vector<std::string> statements(std::string const& source, std::string const& target) {
        reshard::vector<std::string> texts;
        for (std::size_t const i : numbers(source, target))
            texts.push_back(lines_[i]);
        return texts;
    }

    source_spec const& source_;
    job const& all_;
    bool cuts_at_ranks_; ///< also cuts at shards if the source is a layout
    aoa::statement_trace trace_;
    reshard::vector<std::string> lines_;
    /// Statement numbers by source key and target key.
    std::map<std::pair<std::string, std::string>, reshard::vector<std::size_t>> numbers_;
};

/// The axis along which two offsets differ, if it is the only one; else the number of axes.
std::size_t only_difference(index_vector const& a, index_vector const& b) {
    std::size_t index = a.size();
    for (std::size_t axis = 0; axis < a.size(); ++axis)
        if (a[axis] != b[axis]) {
            if (index < a.size())
                return a.size();
            index = axis;
        }
    return index;
}

/// Whether two pieces have the same tensors, holders and operations.
bool are_identical(explained const& a, explained const& b) {
    piece const &p = a.geometry, &q = b.geometry;
    return !p.joins.any() && !q.joins.any() && p.source == q.source && p.stored == q.stored &&
           p.order == q.order && p.steps == q.steps && a.target_key == b.target_key &&
           a.file == b.file && a.source_ranks == b.source_ranks && a.target_ranks == b.target_ranks;
}

/// Joins two pieces if the second continues the first on both sides.
bool joins_to(explained& a, explained const& b) {
    piece &p = a.geometry, q = b.geometry;
    std::size_t const axis = only_difference(p.target_offset, q.target_offset);
    if (!are_identical(a, b) || axis >= p.extent.size())
        return false;
    index_t const extent = q.extent[axis];
    q.extent[axis] = p.extent[axis];
    q.target_offset[axis] -= p.extent[axis];
    if (p.source != detail::zero_source)
        q.source_offset[static_cast<std::size_t>(
            detail::axes_of(p.order, p.extent.size())[axis])] -= p.extent[axis];
    if (p != q)
        return false;
    p.extent[axis] += extent;
    a.first_byte = std::min(a.first_byte, b.first_byte);
    a.last_byte = std::max(a.last_byte, b.last_byte);
    return true;
}

} // namespace

reshard::vector<explained> explain_target(source_spec const& source, job const& full_job,
                                          std::string const& key, std::optional<box> const& region,
                                          bool cuts_at_ranks) {
    return explainer(source, full_job, cuts_at_ranks).target(key, region);
}

reshard::vector<explained> explain_source(source_spec const& source, job const& full_job,
                                          std::string const& key, std::optional<box> const& region,
                                          bool cuts_at_ranks) {
    return explainer(source, full_job, cuts_at_ranks).source(key, region);
}

reshard::vector<explained> joined(reshard::vector<explained> pieces) {
    std::size_t const ndim = pieces.empty() ? 0 : pieces[0].geometry.ndim();
    for (std::size_t axis = ndim; axis-- > 0;) {
        std::ranges::stable_sort(pieces, {}, [axis](explained const& explained) {
            index_vector offset = explained.geometry.target_offset;
            index_t const along = std::exchange(offset[axis], 0);
            return std::tuple(explained.target_key, offset, along);
        });
        reshard::vector<explained> rows;
        for (explained& explained : pieces)
            if (rows.empty() || !joins_to(rows.back(), explained))
                rows.push_back(std::move(explained));
        pieces = std::move(rows);
    }
    return pieces;
}

} // namespace tool
