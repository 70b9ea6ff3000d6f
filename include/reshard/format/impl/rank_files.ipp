// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_RANK_FILES_IPP
#define RESHARD_FORMAT_IMPL_RANK_FILES_IPP

#include <reshard/format/checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/impl/rank_file_names.ipp>
#include <reshard/format/layout_file.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/layout/catalog.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Files of ranks that do not say what they are part of become one checkpoint: a layout file says
/// how their tensors are cut.

namespace reshard::detail {

/// A tensor as the file of a rank has it.
struct rank_tensor {
    holder_t rank = 0;
    checkpoint_tensor local;

    /// The file says where in a larger tensor this is.
    bool is_placed() const {
        index_t stored = 0;
        for (checkpoint_shard const& shard : local.shards)
            stored += element_count(stored_shape(shard));
        return stored < element_count(index_vector(local.shape));
    }
};

using rank_tensors = std::vector<rank_tensor>; ///< of one key, by rank

/// The first byte in which two shards of the same size differ; nothing if they are equal.
inline std::optional<std::uint64_t> first_different_byte(file_store const& files,
                                                         checkpoint_metadata const& opened,
                                                         checkpoint_shard const& a,
                                                         checkpoint_shard const& b) {
    constexpr std::uint64_t window = 1 << 20;
    std::uint64_t const size = a.end - a.begin;
    auto const file_of_a = files.open(opened.files[a.file].path);
    auto const file_of_b = files.open(opened.files[b.file].path);
    std::vector<std::byte> of_a(std::min(size, window)), of_b(of_a.size());
    for (std::uint64_t at = 0; at < size; at += window) {
        std::size_t const count = std::min(size - at, window);
        file_of_a->read(a.begin + at, std::span(of_a).first(count));
        file_of_b->read(b.begin + at, std::span(of_b).first(count));
        auto const end = of_a.begin() + static_cast<std::ptrdiff_t>(count);
        if (auto const place = std::mismatch(of_a.begin(), end, of_b.begin()).first; place != end)
            return at + static_cast<std::uint64_t>(place - of_a.begin());
    }
    return std::nullopt;
}

/// Compares shards of the same box, which several ranks have.
///
/// \param advice the end of the message
/// \throws error with errc::corrupt_file that names both files, the key and the first element that
///         differs
inline void check_replicas(file_store const& files, checkpoint_metadata const& opened,
                           checkpoint_tensor const& tensor, std::string const& advice) {
    std::vector<checkpoint_shard const*> different;
    for (checkpoint_shard const& shard : tensor.shards) {
        auto const same = std::ranges::find_if(different, [&](checkpoint_shard const* known) {
            return known->region == shard.region && known->flat == shard.flat;
        });
        if (same == different.end()) {
            different.push_back(&shard);
            continue;
        }
        auto const byte = first_different_byte(files, opened, **same, shard);
        if (!byte)
            continue;
        auto const element = static_cast<index_t>(*byte) * 8 / bits(tensor.dtype);
        fail(errc::corrupt_file, opened.files[(*same)->file].path.string(), " and ",
             opened.files[shard.file].path.string(), ": both have '", tensor.key,
             "', and differ first in element ", unravel_index(element, stored_shape(shard)),
             " of shape ", stored_shape(shard), advice);
    }
}

/// Places the tensors of ranks in the whole ones, as the rules cut them.
class rank_placer {
public:
    rank_placer(layout_rules const& rules, checkpoint_metadata const& opened)
        : rules_(rules), opened_(opened) {}

    /// The shape of the whole tensor.
    ///
    /// \throws error with errc::corrupt_file for a rank that lacks it, or errc::bad_layout for a
    ///         rule that cuts no axis of it
    index_vector global_shape(rank_tensors const& tensors) const {
        checkpoint_tensor const& first = tensors.front().local;
        index_vector shape = first.shape;
        auto const* const rule = rule_of(first.key);
        if (!rule || tensors.front().is_placed())
            return shape;
        check_present(tensors, *rule);
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (axis_set const cuts = mesh_axes_of(*rule, axis); cuts != 0)
                shape[axis] = sum_of(tensors, cuts, axis);
        return shape;
    }

    /// \throws error with errc::corrupt_file where a rank has another shape than the rule gives it,
    ///         or none of what stages place there
    checkpoint_tensor placed(rank_tensors const& tensors, layout_row const& row) const {
        checkpoint_tensor result = tensors.front().local;
        result.shape = row.shape;
        result.shards.clear();
        std::set<holder_t> ranks;
        for (rank_tensor const& tensor : tensors) {
            ranks.insert(tensor.rank);
            place(tensor, row, result);
        }
        if (rules_.stages)
            for (holder_t const rank : row.shards.holders())
                if (!ranks.contains(rank))
                    refuse(tensors.front(), words("rank ", rank, " does not have it, where ",
                                                  rules_.file, " places it; mend its stages"));
        return result;
    }

    /// The first rule that matches the key counts; null where none does.
    layout_rule const* rule_of(std::string const& key) const {
        auto const rule = std::ranges::find_if(
            rules_.rules, [&](layout_rule const& one) { return one.match.matches(key); });
        return rule == rules_.rules.end() ? nullptr : &*rule;
    }

    [[noreturn]] void refuse(rank_tensor const& tensor, std::string const& text) const {
        fail(errc::corrupt_file, path_of(tensor), " (rank ", tensor.rank, "): '", tensor.local.key,
             "': ", text);
    }

    std::string path_of(rank_tensor const& tensor) const {
        return opened_.files[tensor.local.shards.front().file].path.string();
    }

private:
    /// The axes of the mesh that cut an axis of the tensor.
    axis_set mesh_axes_of(layout_rule const& rule, std::size_t axis) const {
        axis_set axes = 0;
        for (std::size_t i = 0; i < rule.placements.size(); ++i)
            if (rule.placements[i].cuts() && rule.placements[i].axis == axis)
                axes = static_cast<axis_set>(axes | 1U << i);
        return axes;
    }

    /// True for ranks that only differ in their coordinates along these axes.
    bool differ_only_along(axis_set axes, holder_t a, holder_t b) const {
        index_vector const of_a = rules_.ranks.coordinates_of(a);
        index_vector const of_b = rules_.ranks.coordinates_of(b);
        for (std::size_t i = 0; i < of_a.size(); ++i)
            if (!has_axis(axes, i) && of_a[i] != of_b[i])
                return false;
        return true;
    }

    index_t sum_of(rank_tensors const& tensors, axis_set axes, std::size_t axis) const {
        index_t sum = 0;
        for (rank_tensor const& tensor : tensors)
            if (differ_only_along(axes, tensors.front().rank, tensor.rank))
                sum = checked_add(sum, index_t{tensor.local.shape[axis]},
                                  words("axis ", axis, " of '", tensor.local.key, "'"));
        return sum;
    }

    /// Of ranks that a rule cuts a tensor over, all have it or none.
    void check_present(rank_tensors const& tensors, layout_rule const& rule) const {
        axis_set axes = 0;
        for (std::size_t i = 0; i < rule.placements.size(); ++i)
            if (rule.placements[i].cuts())
                axes = static_cast<axis_set>(axes | 1U << i);
        std::set<holder_t> ranks;
        for (rank_tensor const& tensor : tensors)
            ranks.insert(tensor.rank);
        for (holder_t rank = 0; rank < rules_.ranks.rank_count(); ++rank) {
            if (ranks.contains(rank))
                continue;
            for (rank_tensor const& tensor : tensors)
                if (differ_only_along(axes, tensor.rank, rank))
                    refuse(tensor, words("rank ", rank, " does not have it, but ", rules_.file,
                                         " cuts it over both (rule '", rule.match.text(), "')"));
        }
    }

    void place(rank_tensor const& tensor, layout_row const& row, checkpoint_tensor& result) const {
        if (tensor.is_placed()) {
            std::ranges::copy(tensor.local.shards, std::back_inserter(result.shards));
            return;
        }
        std::optional<box> region;
        row.shards.for_each_of(tensor.rank, [&](std::size_t i) { region = row.shards.region(i); });
        index_vector const shape = tensor.local.shape;
        if (!region && element_count(shape) == 0)
            return;
        if (!region)
            refuse(tensor, words(rules_.file, " places nothing of it on this rank"));
        if (region->shape != shape)
            refuse_shape(tensor, row, *region);
        for (checkpoint_shard shard : tensor.local.shards) {
            shard.region = packed_box(*region);
            result.shards.push_back(std::move(shard));
        }
    }

    [[noreturn]] void refuse_shape(rank_tensor const& tensor, layout_row const& row,
                                   box const& region) const {
        index_vector const shape = tensor.local.shape;
        auto const* const rule = rule_of(row.key);
        if (!rule)
            refuse(tensor, words("its shape is ", shape, ", and that of a lower rank is ",
                                 row.shape, "; no rule of ", rules_.file,
                                 " matches it: add one that says along which axis it is cut"));
        refuse(tensor, words("its shape is ", shape, ", but rule '", rule->match.text(), "' of ",
                             rules_.file, " cuts shape ", row.shape, ", the sum of all, so that ",
                             region.shape, " is here; mend the rule, or its split"));
    }

    layout_rules const& rules_;
    checkpoint_metadata const& opened_;
};

/// Puts files of ranks together.
class rank_union {
public:
    rank_union(std::shared_ptr<file_store const> files, std::filesystem::path path,
               layout_rules const& rules)
        : files_(std::move(files)), rules_(rules) {
        result_.format = rank_files_format;
        result_.path = std::move(path);
        result_.writers = rules.ranks.rank_count();
    }

    void add(rank_file const& file, safetensors_options const& options) {
        opened_checkpoint opened = open_unselected(files_, file.path, options);
        checkpoint_metadata& found = opened.metadata;
        files_ = opened.files;
        if (!file.key.empty())
            rename_only(found, file);
        auto const offset = static_cast<holder_t>(result_.files.size());
        std::ranges::move(found.files, std::back_inserter(result_.files));
        std::ranges::move(found.warnings, std::back_inserter(result_.warnings));
        for (checkpoint_tensor& tensor : found.tensors)
            add_tensor(file, offset, std::move(tensor));
        for (auto const& alias : found.aliases)
            ++aliases_[alias];
        add_objects(offset, found.objects, std::move(opened.read_objects));
        if (offset == 0)
            result_.metadata = std::move(found.metadata);
    }

    /// The checkpoint, with the keys that are selected.
    opened_checkpoint take(safetensors_options const& options) {
        check_patterns();
        for (auto const& [key, tensors] : tensors_)
            result_.tensors.push_back(tensors.front().local);
        opened_checkpoint opened{std::move(result_), files_, reader()};
        select_keys(opened, options.only, options.without);
        place_all(opened.metadata);
        for (auto const& [alias, files] : aliases_)
            if (files == tensors_[alias.first].size() && files == tensors_[alias.second].size())
                opened.metadata.aliases.insert(alias);
        return opened;
    }

private:
    static void rename_only(checkpoint_metadata& found, rank_file const& file) {
        if (found.tensors.size() != 1)
            fail(errc::corrupt_file, file.path.string(), ": has ",
                 counted(found.tensors.size(), "tensor"), ", and {key} is for files of one");
        found.tensors.front().key = file.key;
        found.aliases.clear();
    }

    void add_tensor(rank_file const& file, holder_t offset, checkpoint_tensor tensor) {
        for (checkpoint_shard& shard : tensor.shards)
            shard.file += offset;
        rank_tensors& known = tensors_[tensor.key];
        if (!known.empty()) {
            checkpoint_tensor const& first = known.front().local;
            std::string const names = file.path.string() + " and " +
                                      result_.files[first.shards.front().file].path.string() +
                                      ": '" + tensor.key + "'";
            if (known.back().rank == file.rank)
                fail(errc::corrupt_file, names, ": rank ", file.rank, " has it twice");
            if (first.dtype != tensor.dtype)
                fail(errc::corrupt_file, names, ": the data type is ", name(tensor.dtype),
                     " in the former and ", name(first.dtype), " in the latter");
            if (first.shape.size() != tensor.shape.size())
                fail(errc::corrupt_file, names, ": it has ", tensor.shape.size(),
                     " axes in the former and ", first.shape.size(), " in the latter");
        }
        known.push_back({file.rank, std::move(tensor)});
    }

    /// Of values that several ranks have, the first one's is taken.
    void add_objects(holder_t offset, std::vector<checkpoint_object>& objects, object_reader read) {
        key_set keys;
        for (checkpoint_object& object : objects) {
            if (!object_keys_.insert(object.key).second)
                continue;
            keys.insert(object.key);
            object.file += offset;
            result_.objects.push_back(std::move(object));
        }
        if (!keys.empty())
            readers_.emplace_back(std::move(read), std::move(keys));
    }

    object_reader reader() const {
        for (auto const& [read, keys] : readers_)
            if (!read)
                return {};
        return [readers = readers_](key_set const& wanted) {
            std::vector<saved_object> all;
            for (auto const& [read, keys] : readers) {
                key_set of_file;
                std::ranges::set_intersection(keys, wanted, std::inserter(of_file, of_file.end()));
                if (!of_file.empty())
                    std::ranges::move(read(of_file), std::back_inserter(all));
            }
            return all;
        };
    }

    /// A pattern that matches no key of the files is mistyped.
    void check_patterns() const {
        auto const check = [&](key_pattern const& pattern, std::string_view place) {
            if (std::ranges::none_of(tensors_,
                                     [&](auto const& one) { return pattern.matches(one.first); }))
                fail(errc::unknown_key, rules_.file, ": ", place, ": no key of the files matches '",
                     pattern.text(), "'; there is ",
                     tensors_.empty() ? "none" : "'" + tensors_.begin()->first + "'");
        };
        for (std::size_t i = 0; i < rules_.rules.size(); ++i)
            check(rules_.rules[i].match, words("rules[", i, "]"));
        layout_stages const stages = rules_.stages.value_or(layout_stages{});
        for (key_pattern const& pattern : stages.first)
            check(pattern, "stages.first");
        for (key_pattern const& pattern : stages.last)
            check(pattern, "stages.last");
    }

    /// Puts what is known of whole tensors in place of the first rank's.
    void place_all(checkpoint_metadata& opened) const {
        rank_placer const placer(rules_, opened);
        std::vector<catalog_entry> entries;
        for (checkpoint_tensor const& tensor : opened.tensors)
            entries.push_back(catalog_entry(tensor.key, tensor.dtype,
                                            placer.global_shape(tensors_.at(tensor.key))));
        layout_table const table = apply(rules_, catalog(std::move(entries)));
        for (std::size_t i = 0; i < opened.tensors.size(); ++i) {
            checkpoint_tensor& tensor = opened.tensors[i];
            tensor = placer.placed(tensors_.at(tensor.key), table.rows[i]);
            check_replicas(*files_, opened, tensor, advice_for(placer, tensor.key));
        }
    }

    std::string advice_for(rank_placer const& placer, std::string const& key) const {
        if (auto const* const rule = placer.rule_of(key))
            return "; rule '" + rule->match.text() + "' of " + rules_.file +
                   " says that these ranks have the same elements: mend it, or give files of one "
                   "save";
        return "; no rule of " + rules_.file +
               " matches it: add one that says along which axis it is cut";
    }

    std::shared_ptr<file_store const> files_;
    layout_rules const& rules_;
    checkpoint_metadata result_;
    std::map<std::string, rank_tensors> tensors_;
    std::map<std::pair<std::string, std::string>, std::size_t> aliases_; ///< in so many files
    std::set<std::string> object_keys_;
    std::vector<std::pair<object_reader, key_set>> readers_;
};

RESHARD_DECL opened_checkpoint open_rank_files(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path,
                                               safetensors_options const& options) {
    rank_files const description = read_rank_files(options.source_layout);
    auto const found = rank_directory(path, description).find(*files);
    rank_union all(std::move(files), path, description.rules);
    for (rank_file const& file : found)
        all.add(file, options);
    return all.take(options);
}

} // namespace reshard::detail

#endif
