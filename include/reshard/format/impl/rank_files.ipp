// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_RANK_FILES_IPP
#define RESHARD_FORMAT_IMPL_RANK_FILES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/impl/layout_rules.ipp>
#include <reshard/format/impl/rank_file_names.ipp>
#include <reshard/format/impl/rank_placement.ipp>
#include <reshard/format/layout_file.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/model/optimizer_state.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Joins files of ranks into one checkpoint, if the files do not describe their layout. A layout
/// file says how their tensors are cut.

namespace reshard::detail {

/// Joins files of ranks.
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
        checkpoint_metadata& metadata = opened.metadata;
        show(opened.files);
        if (!file.key.empty())
            rename_only(metadata, file);
        auto const offset = static_cast<holder_t>(result_.files.size());
        std::ranges::move(metadata.files, std::back_inserter(result_.files));
        std::ranges::move(metadata.warnings, std::back_inserter(result_.warnings));
        for (checkpoint_tensor& tensor : metadata.tensors)
            if (!tensor.is_read())
                unread_.emplace(tensor.key, std::move(tensor));
            else
                add_tensor(file, offset, std::move(tensor));
        for (auto const& alias : metadata.aliases)
            ++aliases_[alias];
        add_objects(offset, metadata.objects, std::move(opened.read_objects));
        add_texts(result_, metadata.metadata);
    }

    /// The checkpoint, with the selected keys.
    opened_checkpoint take(safetensors_options const& options) {
        check_patterns();
        for (auto const& [key, tensors] : tensors_)
            if (!unread_.contains(key))
                result_.tensors.push_back(tensors.front().local);
        for (auto& [key, tensor] : unread_)
            result_.tensors.push_back(std::move(tensor));
        sort_by_key(result_.tensors);
        for (auto const& [alias, files] : aliases_)
            if (files == tensors_[alias.first].size() && files == tensors_[alias.second].size())
                result_.aliases.insert(alias);
        opened_checkpoint opened{std::move(result_), store(), reader()};
        select_keys(opened, options);
        place_all(opened.metadata);
        warn_of_objects(opened.metadata);
        return opened;
    }

private:
    /// The store that shows the files of all ranks.
    std::shared_ptr<file_store const> store() const { return shown_ ? shown_ : files_; }

    /// Adds the files that `next` shows to `store()`.
    void show(std::shared_ptr<file_store const> const& next) {
        if (next == files_)
            return;
        if (!shown_)
            shown_ = std::make_shared<row_major_files>(
                files_, std::map<std::filesystem::path, shown_file>());
        shown_->add(dynamic_cast<row_major_files const&>(*next)); // the type of a file's store
    }

    static void rename_only(checkpoint_metadata& metadata, rank_file const& file) {
        if (metadata.tensors.size() != 1)
            fail(errc::corrupt_file, file.path.string(), ": has ",
                 counted(metadata.tensors.size(), "tensor"),
                 ", but a file name with {key} requires exactly one tensor in each file");
        metadata.tensors.front().key = file.key;
        metadata.aliases.clear();
    }

    void add_tensor(rank_file const& file, holder_t offset, checkpoint_tensor tensor) {
        for (checkpoint_shard& shard : tensor.shards)
            shard.file += offset;
        rank_tensors& tensors = tensors_[tensor.key];
        if (!tensors.empty()) {
            checkpoint_tensor const& first = tensors.front().local;
            std::string const names = file.path.string() + " and " +
                                      result_.files[first.shards.front().file].path.string() +
                                      ": '" + tensor.key + "'";
            if (tensors.back().rank == file.rank)
                fail(errc::corrupt_file, names, ": rank ", file.rank, " has it twice");
            if (first.dtype != tensor.dtype)
                fail(errc::corrupt_file, names, ": the data type is ", name(tensor.dtype),
                     " in the former and ", name(first.dtype), " in the latter");
            if (first.shape.size() != tensor.shape.size())
                fail(errc::corrupt_file, names, ": it has ", tensor.shape.size(),
                     " axes in the former and ", first.shape.size(), " in the latter");
        }
        tensors.push_back({file.rank, std::move(tensor)});
    }

    /// If several ranks have a value, the first rank's value is used.
    void add_objects(holder_t offset, vector<checkpoint_object>& objects, object_reader read) {
        key_set keys;
        for (checkpoint_object& object : objects) {
            if (!object_keys_.insert(object.key).second) {
                repeated_.insert(object.key);
                continue;
            }
            keys.insert(object.key);
            object.file += offset;
            result_.objects.push_back(std::move(object));
        }
        if (!keys.empty())
            readers_.emplace_back(std::move(read), std::move(keys));
    }

    /// Warns about each file that supplies values, if other ranks have values with the same keys.
    void warn_of_objects(checkpoint_metadata& opened) const {
        std::set<holder_t> files;
        for (checkpoint_object const& object : opened.objects)
            if (repeated_.contains(object.key))
                files.insert(object.file);
        for (holder_t const file : files)
            opened.warnings.push_back(values_taken_of(opened.files[file].path));
    }

    object_reader reader() const {
        for (auto const& [read, keys] : readers_)
            if (!read)
                return {};
        return [readers = readers_](key_set const& wanted) {
            vector<saved_object> objects;
            for (auto const& [read, keys] : readers) {
                key_set of_file;
                std::ranges::set_intersection(keys, wanted, std::inserter(of_file, of_file.end()));
                if (!of_file.empty())
                    std::ranges::move(read(of_file), std::back_inserter(objects));
            }
            return objects;
        };
    }

    /// Refuses a pattern that matches no key of the files, because it is probably misspelt.
    void check_patterns() const {
        auto const check = [&](given_pattern pattern, std::string_view location) {
            for (auto const& [key, tensors] : tensors_)
                if (pattern.matches(key))
                    return;
            if (pattern.is_missed())
                fail(errc::unknown_key, rules_.file, ": ", location,
                     ": no key of the files matches '", pattern.text(), "'; the files have ",
                     tensors_.empty() ? "no keys"
                                      : "keys such as '" + tensors_.begin()->first + "'");
        };
        for (std::size_t i = 0; i < rules_.rules.size(); ++i)
            check(given_pattern(rules_.rules[i].match), words("rules[", i, "]"));
        layout_stages const stages = rules_.stages.value_or(layout_stages{});
        for (key_pattern const& pattern : stages.first)
            check(given_pattern(pattern), "stages.first");
        for (key_pattern const& pattern : stages.last)
            check(given_pattern(pattern), "stages.last");
        check_layers(stages);
    }

    /// Refuses stages if a layer has no key in any file.
    void check_layers(layout_stages const& stages) const {
        std::set<index_t> layers;
        for (auto const& [key, tensors] : tensors_)
            if (auto const layer = layer_of(key, stages))
                layers.insert(*layer);
        index_t count = 0;
        for (index_t const of_stage : stages.counts)
            count += of_stage;
        for (index_t layer = 0; layer < count; ++layer)
            if (!layers.contains(layer))
                fail(errc::corrupt_file, rules_.file, ": stages.counts places ",
                     counted(count, "layer"), ", but no file has a key of layer ", layer,
                     ", which begins with '", stages.layer_prefix, layer, stages.layer_suffix, "'");
    }

    /// Replaces each tensor of the first rank by the whole tensor.
    void place_all(checkpoint_metadata& opened) const {
        rank_placer const placer(rules_, opened);
        rows_by_module const cut_rows = rows_of_cut_tensors();
        key_kinds unmatched, unclear;
        vector<catalog_entry> entries;
        for (checkpoint_tensor const& tensor : opened.tensors)
            if (!unread_.contains(tensor.key))
                entries.push_back(
                    entry_of_whole(tensor, placer.global_shape(tensors_.at(tensor.key))));
        layout_rules joined = rules_; // each rank has its shares of fused tensors in one array
        for (layout_rule& rule : joined.rules)
            rule.fused = {};
        layout_table const table = apply(joined, catalog(std::move(entries)));
        auto row = table.rows.begin();
        for (checkpoint_tensor& tensor : opened.tensors) {
            if (unread_.contains(tensor.key))
                continue;
            if (auto const fused = placer.fused_of(*row))
                opened.fused.emplace(tensor.key, *fused);
            rank_tensors const& local = tensors_.at(tensor.key);
            tensor = placer.placed(local, *row++);
            check_replicas(*store(), opened, tensor, advice_for(tensor.key));
            if (has_unsaid_copies(local))
                (may_be_parts(opened, local.front().local, cut_rows) ? unclear : unmatched)
                    .add(tensor.key);
        }
        refuse_unclear(unclear);
        warn_of_unmatched(opened, unmatched);
    }

    /// Whether several ranks have a tensor that has axes and that no rule matches.
    bool has_unsaid_copies(rank_tensors const& tensors) const {
        checkpoint_tensor const& first = tensors.front().local;
        return tensors.size() > 1 && !first.shape.empty() && !tensors.front().is_placed() &&
               !rules_.rule_of(first.key);
    }

    /// Numbers of rows, by the text of keys up to the last dot.
    using rows_by_module = std::map<std::string, std::set<index_t>, std::less<>>;

    static std::string_view module_of(std::string_view key) {
        return key.substr(0, key.rfind('.') + 1);
    }

    /// The numbers of rows in shards of tensors that rules cut along axis 0.
    rows_by_module rows_of_cut_tensors() const {
        rows_by_module rows;
        for (auto const& [key, tensors] : tensors_) {
            auto const* const rule = rules_.rule_of(key);
            index_vector const& shape = tensors.front().local.shape;
            if (rule && !shape.empty() &&
                std::ranges::any_of(rule->placements, [](placement const& placement) {
                    return placement.cuts() && placement.axis == 0;
                }))
                rows[std::string(module_of(key))].insert(shape[0]);
        }
        return rows;
    }

    /// Whether equal tensors of ranks may be shards of a larger tensor: their slices are equal, or
    /// a related tensor that is cut (`a.weight` for `a.bias`) has shards with the same number of
    /// rows.
    bool may_be_parts(checkpoint_metadata const& opened, checkpoint_tensor const& local,
                      rows_by_module const& cut_rows) const {
        std::string_view const module = module_of(local.key);
        auto const rows = cut_rows.find(module);
        if (!module.empty() && rows != cut_rows.end() && rows->second.contains(local.shape[0]))
            return true;
        return !is_number_of_optimizer(local.key) && has_equal_slices(*store(), opened, local);
    }

    /// Whether a key belongs to state that has one number per parameter.
    static bool is_number_of_optimizer(std::string_view key) {
        return std::ranges::any_of(model::paddle_states(), [&](model::state_kind const& kind) {
            return kind.scalar_shape && key.ends_with(kind.suffix);
        });
    }

    void refuse_unclear(key_kinds const& keys) const {
        if (keys.count() == 0)
            return;
        auto const& axes = rules_.ranks.all_axes;
        std::size_t cut = 0; // the first mesh axis with several ranks
        while (axes[cut].extent == 1)
            ++cut;
        std::string const rule = "{\"match\": \"" + keys.first() + "\"";
        fail(errc::bad_layout, rules_.file, ": no rule matches ", keys.text(), ": ",
             keys.count() == 1 ? "it is" : "they are",
             " equal in the files of several ranks: either copies, or shards of a larger tensor "
             "(all elements or rows are equal, or a tensor beside it is cut into the same number "
             "of rows); add ",
             rule, "} to the rules if each rank has the whole tensor, or ", rule,
             ", \"shard\": {\"", axes[cut].name(), "\": 0}} if it is cut along axis 0");
    }

    void warn_of_unmatched(checkpoint_metadata& opened, key_kinds const& keys) const {
        if (keys.count() > 0)
            opened.warnings.push_back(words(rules_.file, ": no rule matches ", keys.text(),
                                            ": the files of several ranks have equal elements, "
                                            "which are taken as copies; add {\"match\": \"",
                                            keys.first(), "\"} to the rules to confirm this"));
    }

    static catalog_entry entry_of_whole(checkpoint_tensor const& tensor,
                                        index_vector const& shape) {
        shard_table shards(shape.size());
        shards.push_back(0, whole(shape), {}, {});
        return entry_of(tensor.key, tensor.dtype, {shape, std::move(shards)});
    }

    std::string advice_for(std::string const& key) const {
        if (auto const* const rule = rules_.rule_of(key))
            return "; rule '" + rule->match.text() + "' of " + rules_.file +
                   " says that these ranks have the same elements: correct it, or give files of "
                   "one save";
        return "; no rule of " + rules_.file +
               " matches it: add one that says along which axis it is cut";
    }

    std::shared_ptr<file_store const> files_;
    std::shared_ptr<row_major_files>
        shown_; ///< the files that are shown by their shards; null: none
    layout_rules const& rules_;
    checkpoint_metadata result_;
    std::map<std::string, rank_tensors> tensors_;
    std::map<std::string, checkpoint_tensor> unread_; ///< tensors that some rank cannot read
    std::map<std::pair<std::string, std::string>, std::size_t>
        aliases_; ///< with the number of files that have them
    std::set<std::string> object_keys_;
    std::set<std::string> repeated_; ///< the keys that several files have
    vector<std::pair<object_reader, key_set>> readers_;
};

RESHARD_DECL opened_checkpoint open_rank_files(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path,
                                               safetensors_options const& options) {
    rank_files const description = read_rank_files(options.source_layout);
    auto const match = rank_directory(path, description).find(*files);
    rank_union rank_union(std::move(files), path, description.rules);
    for (rank_file const& file : match)
        rank_union.add(file, options);
    return rank_union.take(options);
}

} // namespace reshard::detail

#endif
