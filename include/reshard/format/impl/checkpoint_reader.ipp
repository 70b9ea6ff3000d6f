// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_READER_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_READER_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/delta_files.hpp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/impl/tensor_union.ipp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Opens the safetensors files of a checkpoint, one after the other.

namespace reshard::detail {

inline bool exists(file_store const& files, std::filesystem::path const& path) {
    return files.find(path) != file_store::kind::nothing;
}

/// The digests of a file's tensors, in the order of their data, if the file has digests.
class file_digests {
public:
    /// Refers to the header.
    ///
    /// \throws error with errc::corrupt_file that names `file`; all other functions throw it too
    file_digests(safetensors_header const& header, std::string file) : file_(std::move(file)) {
        auto const text = header.metadata.find(std::string(chunk_digests_name));
        if (text != header.metadata.end())
            reader_.emplace(text->second, file_);
    }
    file_digests(file_digests const&) = delete;
    file_digests& operator=(file_digests const&) = delete;

    /// The bytes per chunk; 0 if the file has no digests.
    std::uint64_t chunk_bytes() const { return reader_ ? reader_->chunk_bytes() : 0; }

    /// The digests of the next tensor.
    digest_list next(std::uint64_t bytes) { return reader_ ? reader_->next(bytes) : digest_list(); }

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

    /// Opens another file, which gets the next number, and returns its header.
    safetensors_header open(std::filesystem::path const& path,
                            unified_part part = unified_part::model) {
        open_file file = open_to_read(files_, path);
        safetensors_header header = read_safetensors_header(file, path.string(), options_);
        for (std::string const& warning : header.warnings)
            warn(path, warning);
        result_.files.push_back(
            {path, file.bytes, file_digests(header, path.string()).chunk_bytes()});
        recorded_.push_back(
            {path.filename().string(), result_.files.back().bytes, header.json_digest});
        auto const save = header.metadata.find(std::string(save_id_name));
        saves_.push_back(save == header.metadata.end() ? "" : save->second);
        if (header.metadata.contains(std::string(delta_name)))
            fail(errc::corrupt_file, path.string(), ": contains only the changes of the save ",
                 saves_.back(), "; open its directory, where ", save_record_name,
                 " lists the saves that have the rest");
        if (part == unified_part::model)
            note_aliases(aliases_, header);
        note_fused(header, path);
        add_texts(result_, header.metadata);
        return header;
    }

    /// The rank whose shards each opened file has.
    ///
    /// \pre the files belong to the record
    vector<holder_t> ranks_in(save_record const& record) const {
        std::map<std::string_view, holder_t> ranks;
        for (recorded_file const& file : record.files)
            ranks.emplace(file.name, file.rank);
        vector<holder_t> of_files;
        for (recorded_file const& file : recorded_)
            of_files.push_back(ranks.at(file.name));
        return of_files;
    }

    /// Refuses files of a directory that do not belong to one finished save. Files of other
    /// programs have no save id.
    void check_directory(std::filesystem::path const& directory) {
        std::filesystem::path const record = directory / save_record_name;
        if (exists(files_, record)) {
            save_record const written = read_save_record(files_, record);
            check_save(written, recorded_, saves_, directory.string());
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
                     ", which is written last: ", recorded_[i].name, " belongs to the save ",
                     saves_[i], "; load another checkpoint");
    }

    /// Adds the whole tensors of the last file, except the tensors in `elsewhere`. If no earlier
    /// file has the weight of a master weight, the master weight becomes the weight.
    void add_whole(safetensors_header header, unified_part part = unified_part::model,
                   key_set const& elsewhere = {}) {
        file_digests digests(header, last_name());
        tensors_.begin_file(header.tensors.size());
        bool const is_of_paddle = is_numpy(header) && is_model_;
        if (is_numpy(header) && !is_model_)
            note_numpy(header);
        for (safetensors_entry& entry : header.tensors) {
            bool const is_read = !elsewhere.contains(entry.name);
            if (is_of_paddle)
                entry.dtype = type_of_paddle(entry.dtype);
            bool const is_lone_master = part == unified_part::master_weights &&
                                        !tensors_.contains(entry.name) &&
                                        !tensors_.contains(key_in_part(part, entry.name));
            if (part != unified_part::model && !is_lone_master)
                entry.name = key_in_part(part, entry.name);
            else if ((keeps_weights_ || is_lone_master) && is_read)
                note_weight(entry);
            digest_list of_shard = digests.next(entry.end - entry.begin);
            if (is_read)
                add_whole(std::move(entry), header.data_offset, std::move(of_shard));
        }
        digests.check_end();
    }

    /// Adds the shards of the last file.
    void add_parts(safetensors_header const& header) {
        file_digests digests(header, last_name());
        tensors_.begin_file(header.tensors.size());
        for (file_shard& shard : sharded_contents(header, last_name())) {
            digest_list of_shard = digests.next(shard.end - shard.begin);
            tensors_.add(last_file(), std::move(shard), std::move(of_shard));
        }
        digests.check_end();
    }

    /// Lists the unread files of a directory that belong to the same checkpoint.
    ///
    /// \par Source the Unified Checkpoint of PaddleNLP: with `ignore_merge_optimizer` each rank
    ///             writes a separate file with its tensors
    void find_unread(std::filesystem::path const& directory) {
        vector<std::string> read;
        for (checkpoint_file const& file : result_.files)
            read.push_back(file.path.filename().string());
        result_.unread = unmerged_files(files_, directory, read);
        if (result_.unread.empty())
            return;
        result_.unread_reason =
            "cannot be read and would be lost: optimizer state or master weights of one rank, or "
            "of another save; to convert only the rest, put its files in a separate directory";
        if (options_.from == "huggingface") { // only the model was requested
            warn(directory, "not read, because only the model was requested: " +
                                first_and_more(result_.unread.front(), result_.unread.size()));
            result_.unread.clear();
        }
    }

    /// Warns if a directory also has saves in the older format, which are not read.
    void find_older(std::filesystem::path const& directory) {
        auto const older = older_files(files_, directory);
        if (!older.empty())
            warn(directory, "not read, because the Unified Checkpoint in the directory is used: " +
                                first_and_more(older.front(), older.size()));
    }

    /// From now on, the files belong to a model, and elements have the types that PaddleNLP gives
    /// them.
    void read_model() { is_model_ = true; }

    /// From now on, records the weights in the files for `share_masters`.
    void keep_weights() { keeps_weights_ = true; }

    /// Makes each 32-bit weight its own master weight too, because the checkpoint stores it only
    /// once.
    ///
    /// \par Source the Unified Checkpoint of PaddleNLP: with `skip_save_model_weight` the master
    ///             weights are in the files of the model, or the model has no files
    void share_masters(std::filesystem::path const& directory) {
        for (std::string const& key : weights_)
            aliases_.emplace(key_in_part(unified_part::master_weights, key), key);
        if (!weights_.empty())
            warn(directory,
                 words("model and master weights are stored once: '",
                       key_in_part(unified_part::master_weights, weights_.front()),
                       "' is another name for '", weights_.front(), "'",
                       weights_.size() > 1 ? words(", and likewise for ",
                                                   counted(weights_.size() - 1, "more weight"))
                                           : ""));
        if (!without_master_.empty())
            warn(directory,
                 "the optimizer's index states master weights, but there are none for " +
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
    void add_whole(safetensors_entry entry, std::uint64_t data_offset, digest_list digests) {
        if (std::size_t const axes = entry.shape.size(); axes > max_ndim)
            tensors_.add_unread(last_file(), std::move(entry.name), why_too_many_axes(axes));
        else
            tensors_.add_whole(last_file(),
                               whole_file_shard(std::move(entry), data_offset, last_name()),
                               std::move(digests));
    }

    holder_t last_file() const { return static_cast<holder_t>(result_.files.size() - 1); }
    std::string last_name() const { return result_.files.back().path.string(); }

    void note_weight(safetensors_entry const& weight) {
        if (weight.dtype == data_type::f32)
            weights_.push_back(weight.name);
        else if (weight.dtype == data_type::bf16 || weight.dtype == data_type::f16)
            without_master_.push_back(weight.name);
    }

    /// True if the file has the format `np`, as PaddleNLP marks it. NumPy has no name for bf16.
    static bool is_numpy(safetensors_header const& header) {
        auto const format = header.metadata.find("format");
        return format != header.metadata.end() && format->second == "np";
    }

    /// Warns about 16-bit integers in a single file: PaddleNLP writes bf16 in this way, but the
    /// file may come from any program.
    void note_numpy(safetensors_header const& header) {
        auto const match = std::find_if(
            header.tensors.begin(), header.tensors.end(),
            [](safetensors_entry const& entry) { return entry.dtype == data_type::u16; });
        if (match != header.tensors.end())
            warn(result_.files.back().path,
                 "'" + match->name +
                     "' and other U16 tensors are bfloat16 if PaddleNLP wrote them; " +
                     "open the model's directory to read them as bfloat16");
    }

    /// All files of one save have the same text. Files that were collected from several saves
    /// describe different tensors.
    void note_fused(safetensors_header const& header, std::filesystem::path const& path) {
        auto const text = header.metadata.find(std::string(fused_name));
        if (text != header.metadata.end() && fused_texts_.insert(text->second).second)
            result_.fused.merge(parse_fused(text->second, path.string()));
    }

    file_store const& files_;
    safetensors_options options_;
    checkpoint_metadata result_;
    tensor_union tensors_{result_.files};
    vector<recorded_file> recorded_; ///< one per file
    vector<std::string> saves_;      ///< one per file
    std::map<std::string, std::string> aliases_;
    std::set<std::string> fused_texts_;
    bool is_model_ = false;
    bool keeps_weights_ = false;
    vector<std::string> weights_;        ///< names of 32-bit weights
    vector<std::string> without_master_; ///< names of 16-bit weights
};

} // namespace reshard::detail

#endif
