// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_IPP

#include <reshard/format/checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/dcp/dcp.hpp>
#include <reshard/format/delta_files.hpp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/impl/directory_hint.ipp>
#include <reshard/format/impl/seen_formats.ipp>
#include <reshard/format/megatron/torch_dist.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/format/paddle/paddle.hpp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace reshard {

namespace detail {

inline bool is_there(file_store const& files, std::filesystem::path const& path) {
    return files.find(path) != file_store::kind::nothing;
}

/// What was found instead of a checkpoint.
inline std::string found_instead(std::vector<std::filesystem::path> const& paths) {
    constexpr std::size_t most = 3;
    if (paths.empty())
        return "an empty directory";
    std::string text = "a directory with ";
    for (std::size_t i = 0; i < std::min(most, paths.size()); ++i)
        text += (i ? ", '" : "'") + paths[i].filename().string() + "'";
    return text +
           (paths.size() > most ? " and " + std::to_string(paths.size() - most) + " more" : "");
}

/// The names that `test` accepts, for a message; nothing where there is none.
inline std::string names_among(std::vector<std::filesystem::path> const& paths, auto&& test) {
    std::vector<std::string> names;
    for (std::filesystem::path const& path : paths)
        if (std::string const name = path.filename().string(); test(name))
            names.push_back(name);
    return names.empty() ? "" : first_and_more("'" + names.front() + "'", names.size());
}

/// What a directory lacks that has shards of torch or of PaddlePaddle; nothing for any other.
///
/// \par Source file names of torch.distributed.checkpoint, `__RANK_NUMBER.distcp`, and of Flex
///             Checkpoint, `RANK_SAVE.distcp` with `SAVE.metadata`
inline std::string lost_metadata(std::vector<std::filesystem::path> const& all) {
    constexpr std::string_view ending = ".distcp";
    auto const is_shard = [&](std::string_view name) { return name.ends_with(ending); };
    std::string const shards = names_among(all, is_shard);
    if (shards.empty())
        return {};
    auto const has = [&](std::string_view name) {
        return !names_among(all, [&](std::string_view one) { return one == name; }).empty();
    };
    std::string const ours = "of torch.distributed.checkpoint", theirs = "of PaddlePaddle";
    std::string writer = has(megatron_common_name) ? "of Megatron-Core" : ours;
    std::string lacking(dcp_metadata_name);
    for (std::filesystem::path const& path : all) {
        std::string const name = path.filename().string();
        std::size_t const line = name.find('_');
        if (is_shard(name) && line != 0 && line != name.npos) {
            writer = theirs;
            lacking = name.substr(line + 1, name.size() - line - 1 - ending.size()) + ".metadata";
            break;
        }
    }
    return "this save " + writer + " is not finished, or lost " + lacking + ", which " +
           (writer == theirs ? "" : "is written last and ") + "says what is in " + shards +
           "; give another checkpoint";
}

/// What is wrong with a directory that has files of a checkpoint, and not all; nothing for any
/// other.
inline std::string lost_part(file_store const& files, std::filesystem::path const& directory,
                             std::vector<std::filesystem::path> const& all) {
    if (std::string text = lost_metadata(all); !text.empty())
        return text;
    if (files.find(directory / "zero") == file_store::kind::directory)
        return "zero has no PARAMETER/fp32.pt, which a Universal Checkpoint of DeepSpeed has for "
               "each parameter: ds_to_universal.py was not finished; run it again";
    std::string const of_ranks = names_among(all, [](std::string_view name) {
        return name.ends_with(".pt") &&
               (name.starts_with("mp_rank_") || name.starts_with("zero_pp_rank_"));
    });
    if (!of_ranks.empty())
        return "this is a checkpoint of DeepSpeed for its own ranks, with " + of_ranks +
               ", which is not read; make a Universal Checkpoint of it with ds_to_universal.py";
    std::string const parts = names_among(all, [](std::string_view name) {
        return name.starts_with("pytorch_model-") && name.ends_with(".bin");
    });
    return parts.empty() ? ""
                         : std::string(torch_index_name) +
                               " is missing, which says which tensors are in " + parts;
}

/// What a directory is that is no checkpoint, and what to give in its place.
inline std::string no_checkpoint(file_store const& files, std::filesystem::path const& directory,
                                 std::vector<std::filesystem::path> const& all) {
    std::string const hint = directory_hint(files, directory, all);
    return "this is " + found_instead(all) + ", not a checkpoint" +
           (hint.empty() ? ", which has safetensors files" : "; " + hint);
}

inline checkpoint_files find_in_directory(file_store const& files,
                                          std::filesystem::path const& directory,
                                          std::string_view from) {
    if (from != "huggingface" && is_unified(files, directory) &&
        !is_there(files, directory / save_record_name))
        return {checkpoint_kind::unified, {directory}};
    for (auto const& [name, kind] : {std::pair{hf_index_name, checkpoint_kind::index},
                                     std::pair{hf_single_name, checkpoint_kind::single}})
        if (is_there(files, directory / name))
            return {kind, {directory / name}};
    auto const all = files.list(directory);
    checkpoint_files found{checkpoint_kind::sharded, {}};
    for (std::filesystem::path const& path : all)
        if (path.extension() == ".safetensors" && files.find(path) == file_store::kind::file)
            found.paths.push_back(path);
    if (!found.paths.empty())
        return found;
    if (std::string const text = lost_part(files, directory, all); !text.empty())
        fail(errc::corrupt_file, directory.string(), ": ", text);
    fail(errc::unsupported, directory.string(), ": ", no_checkpoint(files, directory, all));
}

/// Refuses a file that says what is in others beside it, and one that such a file speaks of.
inline void check_stands_alone(file_store const& files, std::filesystem::path const& path) {
    std::filesystem::path const around =
        path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    auto const seen = see_format(files, around);
    if (seen && (path.filename() == seen->mark || path.extension() == ".distcp"))
        fail(errc::unsupported, path.string(), ": this is a file of a checkpoint of the format ",
             seen->format, "; give its directory, ", around.string());
}

/// What stands at `path`.
///
/// \throws error with errc::missing_file where nothing does, with errc::unsupported where it is no
///         checkpoint; it says what was found
inline checkpoint_files find_checkpoint(file_store const& files, std::filesystem::path const& path,
                                        std::string_view from) {
    if (!is_there(files, path))
        fail(errc::missing_file, path.string(), ": there is no such file or directory");
    if (files.find(path) == file_store::kind::directory)
        return find_in_directory(files, path, from);
    if (path.extension() != ".safetensors" && !is_safetensors(from)) {
        check_stands_alone(files, path);
        fail(errc::unsupported, path.string(),
             ": this is a file whose name does not end in .safetensors (or .pt, .pth, .bin, .ckpt, "
             ".npy, .npz, .gguf, .pdparams, .pdopt), not a checkpoint; say what it is by --from");
    }
    return {checkpoint_kind::file, {path}};
}

/// Tensors that grow file by file.
class tensor_union {
public:
    explicit tensor_union(std::vector<checkpoint_file> const& files) : files_(files) {}

    /// Makes room for the tensors of a file, each of which has another key.
    void begin_file(std::size_t tensors) {
        if (!tensors_.empty() && std::exchange(is_first_, false))
            for (std::uint32_t i = 0; i < tensors_.size(); ++i)
                numbers_.append(tensors_[i].key, i);
        std::size_t const all = tensors_.size() + tensors;
        if (all > tensors_.capacity())
            tensors_.reserve(is_first_ ? all : std::max(all, 2 * tensors_.capacity()));
    }

    /// Adds a tensor that must not stand in another file.
    void add_whole(holder_t file, file_shard shard, digest_list digests) {
        if (std::uint32_t const number = number_of(shard.key); number < tensors_.size())
            refuse(shard.key, tensors_[number].shards.front().file, file,
                   "it is in both, and no metadata says that these are shards");
        append(file, std::move(shard), std::move(digests));
    }

    /// Adds a shard of a tensor.
    void add(holder_t file, file_shard shard, digest_list digests) {
        std::uint32_t const number = number_of(shard.key);
        if (number == tensors_.size())
            return append(file, std::move(shard), std::move(digests));
        checkpoint_tensor& one = tensors_[number];
        check_same(one, file, shard);
        if (shard.global_shape)
            state(number, file, *shard.global_shape);
        else if (stated_by_[number] == nobody)
            grow(one.shape, shard.region);
        one.shards.push_back(stored(file, shard, std::move(digests)));
    }

    /// The tensors, sorted by key.
    ///
    /// \throws error with errc::corrupt_file where a shard exceeds the shape that another file
    ///         states
    std::vector<checkpoint_tensor> take() {
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            if (tensors_[i].shards.size() > 1 && stated_by_[i] != nobody)
                check_inside(tensors_[i], stated_by_[i]);
            element_count_of(tensors_[i].shape, [&] {
                return words("tensor '", tensors_[i].key, "' in ",
                             path(tensors_[i].shards.front().file), ": ");
            });
        }
        sort_by_key(tensors_);
        return std::move(tensors_);
    }

private:
    static constexpr holder_t nobody = static_cast<holder_t>(-1);

    std::string path(holder_t file) const { return files_[file].path.string(); }

    [[noreturn]] void refuse(std::string const& key, holder_t first, holder_t second,
                             std::string const& text) const {
        fail(errc::corrupt_file, path(second), " and ", path(first), ": tensor '", key,
             "': ", text);
    }

    /// The place of the tensor of that key, or the one behind the last. In the first file, no key
    /// stands twice, and no table is needed.
    std::uint32_t number_of(std::string_view key) {
        auto const count = static_cast<std::uint32_t>(tensors_.size());
        if (is_first_)
            return count;
        return numbers_.find_or_append(
            key, [&](std::uint32_t i) -> std::string_view { return tensors_[i].key; },
            [&] { return count; });
    }

    static checkpoint_shard stored(holder_t file, file_shard const& shard, digest_list digests) {
        return {file, shard.region, shard.flat, shard.begin, shard.end, std::move(digests)};
    }

    void append(holder_t file, file_shard shard, digest_list digests) {
        checkpoint_tensor& one = tensors_.emplace_back();
        one.key = std::move(shard.key);
        one.dtype = shard.dtype;
        one.shape = shard.global_shape ? *shard.global_shape : extents_to_end(shard.region);
        one.shards.push_back(stored(file, shard, std::move(digests)));
        stated_by_.push_back(shard.global_shape ? file : nobody);
    }

    static packed_vector extents_to_end(packed_box const& region) {
        packed_vector shape = region.shape;
        grow(shape, region);
        return shape;
    }

    static void grow(packed_vector& shape, packed_box const& region) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            shape[axis] = std::max(shape[axis], region.end(axis));
    }

    void check_same(checkpoint_tensor const& one, holder_t file, file_shard const& shard) const {
        holder_t const first = one.shards.front().file;
        if (one.dtype != shard.dtype)
            refuse(shard.key, first, file,
                   words("the data type is ", code(shard.dtype), " in the former and ",
                         code(one.dtype), " in the latter"));
        if (one.shape.size() != shard.region.ndim())
            refuse(shard.key, first, file,
                   words("it has ", counted(shard.region.ndim(), "axis"), " in the former and ",
                         one.shape.size(), " in the latter"));
    }

    void state(std::uint32_t number, holder_t file, index_vector const& shape) {
        checkpoint_tensor& one = tensors_[number];
        holder_t& stated_by = stated_by_[number];
        if (stated_by != nobody && one.shape != shape)
            refuse(one.key, stated_by, file,
                   words("the global shape is ", shape, " in the former and ", one.shape,
                         " in the latter"));
        if (stated_by == nobody)
            stated_by = file;
        one.shape = shape;
    }

    void check_inside(checkpoint_tensor const& one, holder_t stated_by) const {
        for (checkpoint_shard const& shard : one.shards)
            for (std::size_t axis = 0; axis < one.shape.size(); ++axis)
                if (shard.region.end(axis) > one.shape[axis])
                    refuse(one.key, stated_by, shard.file,
                           words("axis ", axis, ": a shard of the former ends at ",
                                 shard.region.end(axis), ", beyond the global extent ",
                                 one.shape[axis], " that the latter states"));
    }

    std::vector<checkpoint_file> const& files_;
    std::vector<checkpoint_tensor> tensors_;
    std::vector<holder_t> stated_by_; ///< the file that states the global shape of each tensor
    bool is_first_ = true;            ///< no second file was begun
    key_index numbers_;               ///< of the tensors, from the second file on
};

/// The digests that a file has of its tensors, in the order of their data, if it has any.
class file_digests {
public:
    /// Refers to the header.
    ///
    /// \throws error with errc::corrupt_file that names `file`, as all its functions
    file_digests(safetensors_header const& header, std::string file) : file_(std::move(file)) {
        auto const text = header.metadata.find(std::string(chunk_digests_name));
        if (text != header.metadata.end())
            reader_.emplace(text->second, file_);
    }
    file_digests(file_digests const&) = delete;
    file_digests& operator=(file_digests const&) = delete;

    /// 0: the file has none.
    std::uint64_t chunk_bytes() const { return reader_ ? reader_->chunk_bytes() : 0; }

    /// Those of the next tensor.
    digest_list next(file_shard const& shard) {
        return reader_ ? reader_->next(shard.end - shard.begin) : digest_list();
    }

    void check_end() const {
        if (reader_)
            reader_->check_end();
    }

    std::string const& file() const { return file_; }

private:
    std::string file_;
    std::optional<digest_reader> reader_;
};

/// Opens the files of one checkpoint, one after the other.
class checkpoint_reader {
public:
    checkpoint_reader(file_store const& files, std::filesystem::path const& path,
                      safetensors_options const& options)
        : files_(files), options_(options) {
        result_.path = path;
    }
    checkpoint_reader(checkpoint_reader const&) = delete;
    checkpoint_reader& operator=(checkpoint_reader const&) = delete;

    /// The header of one more file, which gets the next number.
    safetensors_header open(std::filesystem::path const& path,
                            unified_part part = unified_part::model) {
        open_file file = open_to_read(files_, path);
        safetensors_header header = read_safetensors_header(file, path.string(), options_);
        for (std::string const& warning : header.warnings)
            warn(path, warning);
        result_.files.push_back(
            {path, file.bytes, file_digests(header, path.string()).chunk_bytes()});
        found_.push_back(
            {path.filename().string(), result_.files.back().bytes, header.json_digest});
        auto const save = header.metadata.find(std::string(save_id_name));
        saves_.push_back(save == header.metadata.end() ? "" : save->second);
        if (header.metadata.contains(std::string(delta_name)))
            fail(errc::corrupt_file, path.string(), ": has only what changed in the save ",
                 saves_.back(), "; open its directory, where ", save_record_name,
                 " says which saves have the rest");
        if (part == unified_part::model)
            note_aliases(aliases_, header);
        note_fused(header, path);
        if (result_.files.size() == 1)
            std::copy_if(header.metadata.begin(), header.metadata.end(),
                         std::inserter(result_.metadata, result_.metadata.end()),
                         [](auto const& one) { return !is_own_name(one.first); });
        return header;
    }

    /// Whose shards each of the files has that were opened.
    ///
    /// \pre they are those of the record
    std::vector<holder_t> ranks_in(save_record const& record) const {
        std::map<std::string_view, holder_t> ranks;
        for (recorded_file const& file : record.files)
            ranks.emplace(file.name, file.rank);
        std::vector<holder_t> of_files;
        for (recorded_file const& file : found_)
            of_files.push_back(ranks.at(file.name));
        return of_files;
    }

    /// Refuses files of a directory that are not those of one finished save. Files of others have
    /// no save.
    void check_directory(std::filesystem::path const& directory) {
        std::filesystem::path const record = directory / save_record_name;
        if (is_there(files_, record)) {
            save_record const written = read_save_record(files_, record);
            check_save(written, found_, saves_, directory.string());
            result_.save = written.save;
            result_.writers = written.ranks;
            if (written.facts.this_layout_only)
                result_.this_layout_only = ranks_in(written);
            aliases_ = written.aliases;
            return;
        }
        for (std::size_t i = 0; i < saves_.size(); ++i)
            if (!saves_[i].empty())
                fail(errc::corrupt_file, directory.string(),
                     ": this save is not finished, or lost ", save_record_name,
                     ", which is written last: ", found_[i].name, " belongs to the save ",
                     saves_[i], "; load another checkpoint");
    }

    /// Adds the tensors of the last file, whole ones.
    void add_whole(safetensors_header header, unified_part part = unified_part::model) {
        file_digests digests(header, last_name());
        tensors_.begin_file(header.tensors.size());
        bool const is_of_paddle = is_numpy(header) && is_model_;
        if (is_numpy(header) && !is_model_)
            note_numpy(header);
        for (safetensors_entry& entry : header.tensors) {
            if (is_of_paddle)
                entry.dtype = type_of_paddle(entry.dtype);
            if (part != unified_part::model)
                entry.name = key_in_part(part, entry.name);
            else if (keeps_weights_)
                note_weight(entry);
            file_shard shard =
                whole_file_shard(std::move(entry), header.data_offset, digests.file());
            digest_list of_shard = digests.next(shard);
            tensors_.add_whole(last_file(), std::move(shard), std::move(of_shard));
        }
        digests.check_end();
    }

    /// The same where they are shards.
    void add_parts(safetensors_header const& header) {
        file_digests digests(header, last_name());
        tensors_.begin_file(header.tensors.size());
        for (file_shard& shard : sharded_contents(header, last_name())) {
            digest_list of_shard = digests.next(shard);
            tensors_.add(last_file(), std::move(shard), std::move(of_shard));
        }
        digests.check_end();
    }

    /// Names the files of a directory that hold more of the same checkpoint.
    ///
    /// \par Source the Unified Checkpoint of PaddleNLP: with `ignore_merge_optimizer` each rank
    ///             writes a file of its own, of the tensors as they are there
    void find_unread(std::filesystem::path const& directory) {
        std::vector<std::string> read;
        for (checkpoint_file const& file : result_.files)
            read.push_back(file.path.filename().string());
        result_.unread = unmerged_files(files_, directory, read);
        if (result_.unread.empty())
            return;
        result_.unread_reason =
            "hold optimizer state or master weights of one rank each, or of another save, which "
            "are not read and would be lost; to convert the rest alone, give its files in a "
            "directory of their own";
        if (options_.from == "huggingface") { // the model alone was asked for
            warn(directory, "not read, as the model alone is wanted: " +
                                first_and_more(result_.unread.front(), result_.unread.size()));
            result_.unread.clear();
        }
    }

    /// The rule for a directory that was saved to before and after the change of formats: what is
    /// newer counts.
    void find_older(std::filesystem::path const& directory) {
        auto const older = older_files(files_, directory);
        if (!older.empty())
            warn(directory, "not read, for the Unified Checkpoint beside it counts: " +
                                first_and_more(older.front(), older.size()));
    }

    /// From now on files are those of a model: elements have the types that PaddleNLP gives them.
    void read_model() { is_model_ = true; }

    /// From now on notes which weights there are, for `share_masters`.
    void keep_weights() { keeps_weights_ = true; }

    /// The weights of 32 bits, which are there once, are their own master weights.
    ///
    /// \par Source the Unified Checkpoint of PaddleNLP: with `skip_save_model_weight` the master
    ///             weights stand in the files of the model, or the model has no files
    void share_masters(std::filesystem::path const& directory) {
        for (std::string const& key : weights_)
            aliases_.emplace(key_in_part(unified_part::master_weights, key), key);
        if (!weights_.empty())
            warn(directory,
                 words("model and master weights are stored once: '",
                       key_in_part(unified_part::master_weights, weights_.front()),
                       "' is another name of '", weights_.front(), "'",
                       weights_.size() > 1
                           ? words(", and so of ", counted(weights_.size() - 1, "more weight"))
                           : ""));
        if (!without_master_.empty())
            warn(directory,
                 "the optimizer's index says that there are master weights, but none is "
                 "there of " +
                     first_and_more("'" + without_master_.front() + "'", without_master_.size()));
    }

    void warn(std::filesystem::path const& path, std::string const& text) {
        result_.warnings.push_back(path.string() + ": " + text);
    }

    checkpoint_metadata take(std::string_view format) {
        result_.format = format;
        result_.tensors = tensors_.take();
        add_aliases(result_, aliases_);
        return std::move(result_);
    }

    file_store const& files() const { return files_; }
    bool is_strict() const { return options_.mode == safetensors_mode::strict; }

private:
    holder_t last_file() const { return static_cast<holder_t>(result_.files.size() - 1); }
    std::string last_name() const { return result_.files.back().path.string(); }

    void note_weight(safetensors_entry const& weight) {
        if (weight.dtype == data_type::f32)
            weights_.push_back(weight.name);
        else if (weight.dtype == data_type::bf16 || weight.dtype == data_type::f16)
            without_master_.push_back(weight.name);
    }

    /// PaddleNLP says so of its files. NumPy has no name for bfloat16.
    static bool is_numpy(safetensors_header const& header) {
        auto const format = header.metadata.find("format");
        return format != header.metadata.end() && format->second == "np";
    }

    /// A file that stands alone may be anybody's.
    void note_numpy(safetensors_header const& header) {
        auto const found = std::find_if(
            header.tensors.begin(), header.tensors.end(),
            [](safetensors_entry const& entry) { return entry.dtype == data_type::u16; });
        if (found != header.tensors.end())
            warn(result_.files.back().path,
                 "'" + found->name + "' and others of U16 are bfloat16 if PaddleNLP wrote them, " +
                     "and are read so with the directory of the model");
    }

    /// Files of one save say the same; files that were put together speak of other tensors each.
    void note_fused(safetensors_header const& header, std::filesystem::path const& path) {
        auto const text = header.metadata.find(std::string(fused_name));
        if (text != header.metadata.end() && fused_texts_.insert(text->second).second)
            result_.fused.merge(parse_fused(text->second, path.string()));
    }

    file_store const& files_;
    safetensors_options options_;
    checkpoint_metadata result_;
    tensor_union tensors_{result_.files};
    std::vector<recorded_file> found_; ///< by file
    std::vector<std::string> saves_;   ///< the same
    std::map<std::string, std::string> aliases_;
    std::set<std::string> fused_texts_;
    bool is_model_ = false;
    bool keeps_weights_ = false;
    std::vector<std::string> weights_;        ///< those of 32 bits
    std::vector<std::string> without_master_; ///< those of less
};

/// Keys of an index, which outlives them, sorted.
using index_keys = std::vector<std::string_view>;

/// The tensors that the index puts into each file.
inline std::map<std::string_view, index_keys> keys_by_file(hf_index const& index) {
    std::map<std::string_view, index_keys> files;
    index_keys* last = nullptr;
    std::string_view last_file;
    for (auto const& [key, file] : index.weight_map) {
        if (!last || last_file != file)
            last = &files[last_file = file];
        last->push_back(key);
    }
    return files;
}

/// Refuses an index whose file is not there.
inline void check_present(file_store const& files, std::filesystem::path const& index,
                          std::string_view file, index_keys const& keys) {
    if (!is_there(files, index.parent_path() / file))
        fail(errc::missing_file, index.string(), ": '", keys.front(), "'",
             keys.size() > 1 ? " and " + counted(keys.size() - 1, "more tensor") + " are listed in "
                             : " is listed in ",
             file, ", but there is no such file");
}

/// Refuses a tensor of the index that its file does not have; what is the other way round is a
/// warning in compatible mode.
inline void check_agrees(checkpoint_reader& reader, std::filesystem::path const& index,
                         std::string_view file, index_keys const& keys,
                         safetensors_header const& header) {
    index_keys names;
    names.reserve(header.tensors.size());
    for (safetensors_entry const& entry : header.tensors)
        names.push_back(entry.name);
    if (names == keys)
        return;
    for (std::string_view const name : names)
        if (!std::binary_search(keys.begin(), keys.end(), name)) {
            std::string const text =
                words("'", name, "' is in ", file, ", but the index does not list it there");
            if (reader.is_strict())
                fail(errc::corrupt_file, index.string(), ": ", text);
            reader.warn(index, text);
        }
    std::sort(names.begin(), names.end());
    for (std::string_view const key : keys)
        if (!std::binary_search(names.begin(), names.end(), key))
            fail(errc::corrupt_file, index.string(), ": '", key, "' should be in ", file,
                 ", but is not");
}

inline void check_total(checkpoint_reader& reader, std::filesystem::path const& path,
                        hf_index const& index, std::uint64_t there) {
    if (index.total_bytes && static_cast<std::uint64_t>(*index.total_bytes) != there)
        reader.warn(path, "total_size is " + std::to_string(*index.total_bytes) +
                              ", but the tensors have " + counted(there, "byte"));
}

/// Adds the tensors of the files that an index lists.
inline hf_index add_index(checkpoint_reader& reader, std::filesystem::path const& path,
                          unified_part part = unified_part::model) {
    hf_index index = parse_hf_index(read_text_file(reader.files(), path), path.string(),
                                    part == unified_part::optimizer);
    auto const files = keys_by_file(index);
    for (auto const& [file, keys] : files)
        check_present(reader.files(), path, file, keys);
    std::uint64_t bytes = 0;
    for (auto const& [file, keys] : files) {
        safetensors_header header = reader.open(path.parent_path() / file, part);
        check_agrees(reader, path, file, keys, header);
        bytes += header.tensors.empty() ? 0 : header.tensors.back().end;
        reader.add_whole(std::move(header), part);
    }
    check_total(reader, path, index, bytes);
    return index;
}

inline checkpoint_metadata open_index(checkpoint_reader& reader,
                                      std::filesystem::path const& path) {
    add_index(reader, path);
    reader.check_directory(path.parent_path());
    reader.find_unread(path.parent_path());
    return reader.take("huggingface");
}

/// Adds a part of a Unified Checkpoint, and says whether its index tells of master weights.
inline bool add_part(checkpoint_reader& reader, std::filesystem::path const& path,
                     unified_part part) {
    if (path.extension() == ".json")
        return add_index(reader, path, part).has_masters.value_or(false);
    reader.add_whole(reader.open(path, part), part);
    return false;
}

inline checkpoint_metadata open_unified(checkpoint_reader& reader,
                                        std::filesystem::path const& directory) {
    auto const find = [&](unified_part part) { return find_part(reader.files(), directory, part); };
    auto const model = find(unified_part::model);
    auto const masters = find(unified_part::master_weights);
    auto const optimizer = find(unified_part::optimizer);
    if (!model)
        check_no_model(reader.files(), directory);
    if (!model || !masters)
        reader.keep_weights();
    if (model)
        add_part(reader, *model, unified_part::model);
    if (masters)
        add_part(reader, *masters, model ? unified_part::master_weights : unified_part::model);
    bool const says_masters = optimizer && add_part(reader, *optimizer, unified_part::optimizer);
    if (masters ? !model : says_masters)
        reader.share_masters(directory);
    reader.find_unread(directory);
    reader.find_older(directory);
    checkpoint_metadata opened = reader.take(unified_format);
    for (auto const& part : {model, masters, optimizer})
        if (part && part->extension() == ".json")
            opened.indexes.push_back(part->filename().string());
    return opened;
}

inline checkpoint_metadata open_single(checkpoint_reader& reader, std::filesystem::path const& path,
                                       std::string_view format) {
    safetensors_header header = reader.open(path);
    bool const has_parts = is_sharded(header);
    if (has_parts)
        reader.add_parts(header);
    else
        reader.add_whole(std::move(header));
    if (format == "huggingface") {
        reader.check_directory(path.parent_path());
        reader.find_unread(path.parent_path());
    }
    return reader.take(has_parts ? "sharded_safetensors" : format);
}

/// Refuses a file of several that does not say where its tensors belong.
[[noreturn]] inline void refuse_unsharded(std::filesystem::path const& path,
                                          std::vector<std::filesystem::path> const& all) {
    if (std::string const lost = lost_index(all); !lost.empty())
        fail(errc::corrupt_file, path.parent_path().string(), ": ", lost);
    fail(errc::corrupt_file, path.string(), ": the file has no ", sharding_info_name,
         ", so where its tensors belong is not known; there ", all.size() == 1 ? "is " : "are ",
         counted(all.size(), "safetensors file"), " and no ", hf_index_name, "; give ",
         all.size() == 1 ? "the file" : "one of them", " itself");
}

inline checkpoint_metadata open_sharded(checkpoint_reader& reader,
                                        std::vector<std::filesystem::path> const& paths) {
    file_counter counter;
    for (std::filesystem::path const& path : paths) {
        safetensors_header const header = reader.open(path);
        if (!is_sharded(header))
            refuse_unsharded(path, paths);
        counter.add(header.metadata, path.string());
        reader.add_parts(header);
    }
    reader.check_directory(paths.front().parent_path());
    counter.check_complete(paths.front().parent_path().string());
    return reader.take("sharded_safetensors");
}

RESHARD_DECL std::set<std::string> names_in(checkpoint_metadata const& opened) {
    std::set<std::string> names{std::string(save_record_name), std::string(hf_index_name)};
    for (checkpoint_file const& file : opened.files)
        names.insert(file.path.filename().string());
    names.insert(opened.indexes.begin(), opened.indexes.end());
    return names;
}

/// Files of a directory that another library has saved to, beside its checkpoint, which may hold
/// tensors of their own: the state of an optimizer, another form of the same model.
inline std::vector<std::string> other_tensors(file_store const& files,
                                              checkpoint_metadata const& found) {
    if (!found.save.empty() || files.find(found.path) != file_store::kind::directory)
        return {};
    std::set<std::string> known = names_in(found);
    known.insert(found.unread.begin(), found.unread.end());
    auto const older = older_files(files, found.path);
    known.insert(older.begin(), older.end());
    std::vector<std::string> others;
    for (std::filesystem::path const& path : files.list(found.path))
        if (std::string const name = path.filename().string();
            !known.contains(name) && may_hold_tensors(name) && !name.ends_with(".json") &&
            files.find(path) == file_store::kind::file)
            others.push_back("'" + name + "'");
    return others;
}

/// Says what is left out when the tensors are read, so that it is not lost unseen.
inline opened_checkpoint with_warnings(opened_checkpoint opened) {
    checkpoint_metadata& found = opened.metadata;
    if (auto const others = other_tensors(*opened.files, found); !others.empty())
        found.warnings.push_back(found.path.string() + ": " +
                                 first_and_more(others.front(), others.size()) +
                                 (others.size() == 1 ? " may have tensors of its own, and is"
                                                     : " may have tensors of their own, and are") +
                                 " not read: this is the checkpoint of the format " + found.format);
    if (!found.unread.empty())
        found.warnings.push_back(found.path.string() + ": " +
                                 first_and_more(found.unread.front(), found.unread.size()) + " " +
                                 found.unread_reason);
    return opened;
}

/// Refuses a path that has no file by which the format is known that was asked for; it names the
/// file, and what is there.
///
/// \throws error with errc::usage for a format that there is not, errc::unsupported
inline void check_asked(file_store const& files, std::filesystem::path const& path,
                        std::string const& format) {
    auto const known = names_of_read_formats();
    if (!std::ranges::binary_search(known, format))
        fail(errc::usage, "'", format, "' is no format that is read; there are ", either_of(known));
    if (!is_there(files, path) || has_marks(files, path, format))
        return;
    std::string const text = format + " was asked for, " + missing_marks(files, path, format);
    if (auto const seen = see_format(files, path))
        fail(errc::unsupported, path.string(), ": ", text, "; it looks like ", seen->format,
             ", which ", seen->is_file ? "the end of its name says" : "has " + seen->mark);
    if (files.find(path) == file_store::kind::file)
        fail(errc::unsupported, path.string(), ": ", text);
    auto const all = files.list(path);
    std::string const lost = lost_part(files, path, all);
    fail(errc::unsupported, path.string(), ": ", text, "; ",
         lost.empty() ? no_checkpoint(files, path, all) : lost);
}

RESHARD_DECL opened_checkpoint open_files(std::shared_ptr<file_store const> files,
                                          std::filesystem::path const& path,
                                          safetensors_options const& options) {
    std::string const& from = options.from;
    if (!from.empty())
        check_asked(*files, path, from);
    auto opened = open_other(files, path, from);
    if (!opened) {
        files = store_of_checkpoint(std::move(files), path);
        checkpoint_metadata metadata = open_in(*files, path, options);
        opened = {std::move(metadata), std::move(files)};
    }
    if (!from.empty() && opened->metadata.format != from)
        fail(errc::unsupported, path.string(), ": is of the format ", opened->metadata.format,
             ", and not ", from);
    return with_warnings(std::move(*opened));
}

} // namespace detail

RESHARD_DECL checkpoint_metadata open_checkpoint(std::filesystem::path const& path,
                                                 detail::safetensors_options const& options) {
    return detail::open_files(detail::files_of_system(), path, options).metadata;
}

RESHARD_DECL checkpoint_metadata detail::open_in(file_store const& files,
                                                 std::filesystem::path const& path,
                                                 safetensors_options const& options) {
    detail::checkpoint_files const found = detail::find_checkpoint(files, path, options.from);
    detail::checkpoint_reader reader(files, path, options);
    if (found.kind != detail::checkpoint_kind::file &&
        found.kind != detail::checkpoint_kind::sharded)
        reader.read_model();
    switch (found.kind) {
    case detail::checkpoint_kind::file:
        return detail::open_single(reader, found.paths.front(), "safetensors");
    case detail::checkpoint_kind::index: return detail::open_index(reader, found.paths.front());
    case detail::checkpoint_kind::single:
        return detail::open_single(reader, found.paths.front(), "huggingface");
    case detail::checkpoint_kind::unified: return detail::open_unified(reader, found.paths.front());
    default: return detail::open_sharded(reader, found.paths);
    }
}

} // namespace reshard

#endif
