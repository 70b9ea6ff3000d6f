// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_PROBLEM_IPP
#define RESHARD_PLAN_IMPL_PROBLEM_IPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/problem.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard {

namespace detail {

/// Walks over elements that are sorted by key. The elements and their keys are scattered in memory,
/// so the walk prefetches each element some steps before it reads the element.
template <class T>
class key_walk {
public:
    explicit key_walk(auto const& elements) {
        elements_.reserve(elements.size());
        for (T const& element : elements)
            elements_.push_back(&element);
    }

    /// The element with that key, or null. Usually the next element has the key, without a search.
    T const* find(std::string_view key) {
        if (next_ == elements_.size() || elements_[next_]->key != key)
            next_ = index_of(key);
        return next_ == elements_.size() ? nullptr : &next();
    }

    /// \pre there is one more element
    T const& next() {
        if (next_ + 2 * ahead < elements_.size())
            fetch(*elements_[next_ + 2 * ahead], *elements_[next_ + ahead]);
        return *elements_[next_++];
    }

private:
    static constexpr std::size_t ahead = 12, line = 64; // steps, bytes

    std::size_t index_of(std::string_view key) const {
        auto const position = std::lower_bound(
            elements_.begin(), elements_.end(), key,
            [](T const* element, std::string_view sought) { return element->key < sought; });
        bool const exists = position != elements_.end() && (*position)->key == key;
        return exists ? static_cast<std::size_t>(position - elements_.begin()) : elements_.size();
    }

    static void fetch(T const& far, T const& near) {
        for (std::size_t byte = 0; byte < sizeof(T); byte += line)
            __builtin_prefetch(reinterpret_cast<char const*>(&far) + byte);
        __builtin_prefetch(near.key.data());
    }

    vector<T const*> elements_;
    std::size_t next_ = 0;
};

inline source_side source_of(mapping_source const& wanted, layout const& source,
                             tensor_layout const* layout) {
    if (!layout)
        return {wanted.key, wanted.dtype, tensor_shards(), no_spread};
    if (index_vector const& shape = source.shape_of(*layout); shape != wanted.shape)
        fail_tensor(errc::shape_mismatch, wanted.key,
                    "has the shape " + to_string(shape) +
                        " in the source, but the program was made for " + to_string(wanted.shape));
    if (layout->dtype != wanted.dtype)
        fail_tensor(errc::dtype_mismatch, wanted.key,
                    "is " + std::string(name(layout->dtype)) +
                        " in the source, but the program was made for " +
                        std::string(name(wanted.dtype)));
    return {wanted.key, wanted.dtype, source.shards_of(*layout), layout->spread,
            static_cast<std::uint32_t>(layout - source.tensors.data())};
}

/// Names where an output's shape and type come from: the source, if it has that tensor unchanged.
inline std::string_view maker_of(mapping const& program, mapping_output const& output) {
    expression const& value = output.value;
    if (!is_source_box(value))
        return "the program yields ";
    mapping_source const& from = program.sources()[value.pieces.source(0)];
    bool const is_whole = from.key == output.key && from.shape == value.shape;
    return is_whole ? "the source has " : "the program yields ";
}

inline target_side target_of(layout const& target, tensor_layout const& wanted,
                             mapping const& program, mapping_output const* output) {
    std::string const& key = wanted.key;
    index_vector const& shape = target.shape_of(wanted);
    if (!output)
        fail_tensor(errc::unknown_key, key,
                    "is " + wanted_by_rank(target.shards_of(wanted)) +
                        ", but neither the program nor the source yields it" +
                        did_you_mean_key(key, program.outputs(), &mapping_output::key) +
                        "; to leave it as it is, write '_ -> " + key + "'");
    if (output->value.shape != shape)
        fail_tensor(errc::shape_mismatch, key,
                    "has the shape " + to_string(shape) + " in the target, but " +
                        std::string(maker_of(program, *output)) + to_string(output->value.shape));
    if (output->value.dtype != wanted.dtype)
        fail_tensor(errc::dtype_mismatch, key,
                    "is " + std::string(name(wanted.dtype)) + " in the target, but " +
                        std::string(maker_of(program, *output)) +
                        std::string(name(output->value.dtype)) + "; to cast it, write '" + key +
                        " -> " + key + ", dtype=\"" + std::string(name(wanted.dtype)) + "\"'");
    return {key,           wanted.dtype, target.shards_of(wanted), &output->value.pieces,
            output->added, wanted.spread};
}

inline vector<source_side> sources_of(mapping const& program, layout const& source) {
    vector<source_side> sides;
    sides.reserve(program.sources().size());
    key_walk<tensor_layout> walk(source.tensors);
    for (mapping_source const& wanted : program.sources())
        sides.push_back(source_of(wanted, source, walk.find(wanted.key)));
    return sides;
}

/// Finds targets that differ only in their keys and in the keys of their sources. So equal tensors
/// are planned once, for any number of tensors.
///
/// Refers to both lists, which must outlive it.
class example_finder {
public:
    example_finder(vector<source_side> const& sources, vector<target_side>& targets)
        : sources_(sources), targets_(targets) {}

    /// Compares the last target with all targets before it.
    void number_last() {
        target_side& target = targets_.back();
        std::uint32_t const number =
            numbers_.number(digest_of(target), [&](std::uint32_t candidate) {
                return are_equal(targets_[first_[candidate]], target);
            });
        if (number == first_.size())
            first_.push_back(static_cast<std::uint32_t>(targets_.size() - 1));
        target.example = first_[number];
        if (target.pieces->size() > 0)
            target.first_source = target.pieces->source(0);
    }

private:
    /// A digest of most values that `are_equal` compares.
    std::uint64_t digest_of(target_side const& target) const {
        hasher digest;
        digest.add(std::uint64_t{target.spread} << 32 |
                   static_cast<std::uint64_t>(target.dtype) << 1 | std::uint64_t{target.added});
        for (std::size_t i = 0; i < target.pieces->size(); ++i)
            if (key_id const source = target.pieces->source(i); source != zero_source)
                digest.add(std::uint64_t{sources_[source].spread} << 32 |
                           static_cast<std::uint64_t>(sources_[source].dtype));
        if (target.pieces->is_whole()) // then the spread distinguishes nearly all targets
            return digest.value();
        for (std::size_t i = 0; i < target.pieces->size(); ++i) {
            piece const p = (*target.pieces)[i];
            digest.add(digest_of_all(p.target_offset, p.extent, p.source_offset));
        }
        return digest.value();
    }

    bool are_equal(target_side const& a, target_side const& b) const {
        if (a.spread != b.spread || a.spread == no_spread || a.dtype != b.dtype ||
            a.added != b.added || !a.pieces->same_but_sources(*b.pieces))
            return false;
        for (std::size_t i = 0; i < a.pieces->size(); ++i)
            if (!are_sources_equal(a.pieces->source(i), b.pieces->source(i)))
                return false;
        return a.pieces->size() == 1 || first_uses(*a.pieces) == first_uses(*b.pieces);
    }

    bool are_sources_equal(key_id a, key_id b) const {
        if (a == b)
            return true;
        return a != zero_source && b != zero_source && sources_[a].spread != no_spread &&
               sources_[a].spread == sources_[b].spread && sources_[a].dtype == sources_[b].dtype;
    }

    vector<source_side> const& sources_;
    vector<target_side>& targets_;
    class_table numbers_;
    vector<std::uint32_t> first_; ///< by number
};

inline vector<target_side> targets_of(mapping const& program, layout const& target,
                                      vector<source_side> const& sources) {
    vector<target_side> sides;
    sides.reserve(target.tensors.size());
    example_finder examples(sources, sides);
    key_walk<tensor_layout> tensors(target.tensors);
    key_walk<mapping_output> outputs(program.outputs());
    while (sides.size() < target.tensors.size()) {
        tensor_layout const& wanted = tensors.next();
        sides.push_back(target_of(target, wanted, program, outputs.find(wanted.key)));
        examples.number_last(); // while the output is in the cache
    }
    return sides;
}

/// A box of a holder.
struct held_box {
    holder_t holder;
    box region;

    auto operator<=>(held_box const&) const = default;
};

/// The distinct boxes of all holders, in the order of the holders.
inline vector<held_box> boxes_by_holder(tensor_shards const& shards) {
    vector<held_box> boxes;
    for (std::size_t i = 0; i < shards.size(); ++i)
        for (box const& box : shards.boxes(i))
            if (!is_empty(box))
                boxes.push_back({shards.holder(i), box});
    sort_by(boxes, [](held_box const& a, held_box const& b) { return a < b; });
    boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
    return boxes;
}

/// The boxes of one holder.
inline std::span<held_box const> boxes_of(vector<held_box> const& boxes, holder_t holder) {
    auto const first = std::lower_bound(
        boxes.begin(), boxes.end(), holder,
        [](held_box const& entry, holder_t wanted) { return entry.holder < wanted; });
    auto last = first;
    while (last != boxes.end() && last->holder == holder)
        ++last;
    return {first, last};
}

/// \pre the boxes share no elements
inline bool have_all(std::span<held_box const> boxes, box const& wanted) {
    index_t count = 0;
    for (held_box const& entry : boxes)
        if (auto const common = intersect(entry.region, wanted))
            count += element_count(*common);
    return count >= element_count(wanted);
}

inline box hull_of(std::span<held_box const> boxes) {
    box full_box = boxes.front().region;
    for (held_box const& entry : boxes)
        full_box = hull(full_box, entry.region);
    return full_box;
}

/// The axis along which a holder lacks some of the scales that it wants; the first axis if the
/// missing scales are between others.
///
/// \pre the holder has some of the scales
inline std::size_t lacking_axis(std::span<held_box const> boxes, box const& wanted) {
    box const box = hull_of(boxes);
    for (std::size_t axis = 0; axis < wanted.ndim(); ++axis)
        if (box.offset[axis] > wanted.offset[axis] || box.end(axis) < wanted.end(axis))
            return axis;
    return 0;
}

/// Advice on how to cut a tensor along an axis so that each rank has the scales of its elements.
inline std::string cut_advice(relation const& scaled, std::size_t axis) {
    block_form const form{scaled.block, scaled.count};
    std::string const text = "do not cut '" + scaled.companion + "'";
    if (form.block[axis] == 0)
        return text + ", which belongs to all of '" + scaled.key + "' along axis " +
               std::to_string(axis);
    std::string const both = words("along axis ", axis, ", cut '", scaled.key, "' and its scales ");
    std::string const cuts =
        form.block[axis] == 1
            ? words("at the same offsets: ", counted(form.count_of(axis), "scale"),
                    form.count_of(axis) == 1 ? " belongs" : " belong", " to one element")
            : words("between blocks of ", form.block[axis]);
    return both + cuts +
           ", or give each rank the scales of every block that it holds elements of: " + text;
}

/// The first axis along which a box begins or ends inside a block, or axis 0.
inline std::size_t torn_axis(box const& region, block_form const& form) {
    for (std::size_t axis = 0; axis < region.ndim(); ++axis)
        if (index_t const block = form.block[axis];
            block > 0 && (region.offset[axis] % block != 0 || region.end(axis) % block != 0))
            return axis;
    return 0;
}

/// Describes the scales that a holder of `region` lacks, if it has `boxes` of the scales.
inline std::string scales_text(relation const& scaled, holder_t holder, box const& region,
                               std::span<held_box const> boxes) {
    block_form const form{scaled.block, scaled.count};
    box const wanted = scales_of_box(region, form);
    std::size_t const axis =
        boxes.empty() ? torn_axis(region, form) : axis_of_scales(form, lacking_axis(boxes, wanted));
    return words("'", scaled.key, "': rank ", holder, " holds ", to_string(region),
                 ", whose scales are ", to_string(wanted), " of '", scaled.companion, "', but ",
                 boxes.empty() ? std::string("it holds none of these")
                               : "of these it holds only " + to_string(hull_of(boxes)),
                 "; ", cut_advice(scaled, axis));
}

/// Describes the fault in how a tensor and its scales are spread; empty if there is none.
inline std::string scales_fault(relation const& scaled, layout const& target,
                                tensor_layout const& tensor, tensor_layout const& scales) {
    block_form const form{scaled.block, scaled.count};
    tensor_shards const shards = target.shards_of(tensor);
    auto const held = boxes_by_holder(target.shards_of(scales));
    for (std::size_t i = 0; i < shards.size(); ++i) {
        if (shards.flat(i))
            continue;
        auto const boxes = boxes_of(held, shards.holder(i));
        for (box const& region : shards.boxes(i))
            if (!is_empty(region) && !have_all(boxes, scales_of_box(region, form)))
                return scales_text(scaled, shards.holder(i), region, boxes);
    }
    return {};
}

/// Whether `scales` is the shape of scales for each block of a tensor of shape `shape`.
inline bool are_scales(relation const& scaled, index_vector const& shape,
                       index_vector const& scales) {
    auto const is_form = [](index_vector const& numbers) {
        return std::all_of(numbers.begin(), numbers.end(),
                           [](index_t number) { return number >= 0; });
    };
    return scaled.type == relation::kind::scale && scaled.block.size() == shape.size() &&
           (scaled.count.empty() || scaled.count.size() == shape.size()) && is_form(scaled.block) &&
           is_form(scaled.count) && scale_counts(shape, {scaled.block, scaled.count}) == scales;
}

/// How a tensor and its scales are spread. It decides whether each holder has its scales.
struct scaled_spreads {
    std::uint32_t tensor;
    std::uint32_t scales;
    block_form form;

    bool operator==(scaled_spreads const&) const = default;
};

/// The `scaled_spreads` in which `scales_fault` found no fault.
class sound_spreads {
    static std::uint64_t digest(scaled_spreads const& spreads) {
        return digest_of_all(spreads.tensor, spreads.scales, spreads.form.block,
                             spreads.form.count);
    }

    auto equals(scaled_spreads const& spreads) const {
        return [&](std::uint32_t i) { return values_[i] == spreads; };
    }

public:
    bool contains(scaled_spreads const& spreads) const {
        return numbers_.find_number(digest(spreads), equals(spreads)) != class_table::none;
    }

    /// \pre `!contains(spreads)`
    void add(scaled_spreads spreads) {
        numbers_.number(digest(spreads), equals(spreads));
        values_.push_back(std::move(spreads));
    }

private:
    vector<scaled_spreads> values_;
    class_table numbers_;
};

RESHARD_DECL vector<scales_apart> find_scales_apart(mapping const& program, layout const& target) {
    vector<scales_apart> aparts;
    key_index apart_places;
    auto const key_at = [&](std::uint32_t i) -> std::string_view { return aparts[i].key; };
    sound_spreads sound;
    for (relation const& relation : program.relations()) {
        tensor_layout const* const tensor = target.find(relation.key);
        tensor_layout const* const scales = target.find(relation.companion);
        if (!tensor || !scales || apart_places.find(relation.key, key_at) ||
            !are_scales(relation, target.shape_of(*tensor), target.shape_of(*scales)))
            continue;
        scaled_spreads spreads{tensor->spread, scales->spread, {relation.block, relation.count}};
        if (sound.contains(spreads))
            continue;
        std::string fault = scales_fault(relation, target, *tensor, *scales);
        if (fault.empty()) {
            sound.add(std::move(spreads));
        } else {
            apart_places.append(relation.key, static_cast<std::uint32_t>(aparts.size()));
            aparts.push_back({relation.key, std::move(fault)});
        }
    }
    return aparts;
}

RESHARD_DECL void check_scales(mapping const& program, layout const& target) {
    auto const scales_apart = find_scales_apart(program, target);
    if (!scales_apart.empty())
        fail(errc::bad_layout, scales_apart.front().message);
}

/// The reason why an output cannot be read; empty if it can.
inline std::string why_unread(mapping_output const& output, mapping const& program,
                              layout const& source) {
    auto const& pieces = output.value.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces.source(i) == zero_source)
            continue;
        std::string const key(program.sources().key(pieces.source(i)));
        auto const match = source.unread.find(key);
        if (match != source.unread.end())
            return words("'", output.key, "'",
                         key == output.key ? "" : " is made of '" + key + "', which",
                         " cannot be read: ", match->second, "; omit it (--without '", key, "')");
    }
    return {};
}

RESHARD_DECL vector<unread_use> find_unread(mapping const& program, layout const& source,
                                            layout const* target) {
    vector<unread_use> uses;
    if (source.unread.empty())
        return uses;
    for (mapping_output const& output : program.outputs()) {
        if (target && !target->find(output.key))
            continue;
        std::string text = why_unread(output, program, source);
        if (!text.empty())
            uses.push_back({output.key, std::move(text)});
    }
    return uses;
}

RESHARD_DECL void check_readable(mapping const& program, layout const& source,
                                 layout const* target) {
    auto const unread = find_unread(program, source, target);
    if (!unread.empty())
        fail(errc::unsupported, unread.front().message,
             unread.size() > 1 ? words(" (and ", unread.size() - 1, " more cannot be read)") : "");
}

} // namespace detail

RESHARD_DECL detail::plan_problem problem_of(mapping const& program, layout const& source,
                                             layout const& target) {
    detail::check_readable(program, source, &target);
    auto sources = detail::sources_of(program, source);
    auto targets = detail::targets_of(program, target, sources);
    return {source.holders, target.holders, std::move(sources), std::move(targets)};
}

} // namespace reshard

#endif
