// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CONVERT_HPP
#define RESHARD_STORAGE_CONVERT_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/strictness.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/target_files.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

/// \file
/// Converts a checkpoint to another checkpoint, without tensors in between.

namespace reshard {

namespace detail {

/// The most memory that this process has needed since the watch was made.
///
/// \par Units  bytes, in whole pages
/// \par Source VmHWM of Linux, which each watch resets; if the system does not allow that, it is
///             the peak since the process started. Pages of mapped files count.
class memory_watch {
public:
    memory_watch();
    index_t most_bytes() const;

private:
    index_t before_ = 0;
};

/// The reason why `convert` to a format refuses the values of a checkpoint that are not tensors;
/// empty if it does not. Values that cannot be read do not count.
///
/// \param format by its name; empty: safetensors
RESHARD_DECL std::string lost_objects(checkpoint const& source, std::string const& format);

/// Names the values of a checkpoint that are not tensors, but hold tensors, which are lost if the
/// values are omitted. Empty if there are none, or if opening the checkpoint gave a warning.
RESHARD_DECL std::string tensors_lost_with_objects(checkpoint const& source);

/// The treatment of the texts that other libraries put into the metadata of safetensors files.
struct carried_texts {
    std::map<std::string, std::string> texts = {}; ///< for each written file
    vector<std::string> no_place = {};             ///< names that the format cannot hold
    vector<std::string> differing = {};            ///< names that files of the source disagree on
    vector<std::string> misread = {};              ///< readers would take them for names of tensors
};

/// \param format by its name; empty: safetensors
RESHARD_DECL carried_texts texts_of(checkpoint_metadata const& source, mapping const& program,
                                    std::string const& format);

} // namespace detail

/// The options of a conversion.
struct convert_options {
    /// The program of the new tensors; by default, all tensors of the source. A function gets the
    /// catalog of the source, and the catalog of `wanted` if it is given.
    any_program program = {};
    /// The layout of the new tensors. Without one, a Hugging Face directory of all that the program
    /// yields is written.
    std::optional<layout> wanted = {};
    detail::write_options writing = {};
    detail::progress_function progress = {};
    detail::wait_duration deadline = 0.0; ///< as `options::deadline`
    bool verify = true;                   ///< as `options::verify`
    /// The most bytes of a new tensor that a process puts together in memory at a time, if the
    /// source is read in another order, as for a transpose. For a larger tensor, parts of the
    /// source are read several times.
    ///
    /// \par Units bytes; at least a MiB
    index_t memory_budget = index_t{512} << 20;
    /// If true, files beside the source that hold no tensors, such as a configuration or a
    /// tokenizer, are copied beside the new checkpoint, unless that is a single file. Texts in the
    /// metadata of safetensors files are carried to new safetensors files.
    bool carry = true;
    /// If true, values of the source that are not tensors are carried to formats that can hold them
    /// (`torch_dcp`, `megatron_torch_dist`, `torch_save`); for other formats they are an error. If
    /// false, they are omitted.
    bool objects = true;
    /// New keys of such values, by their old keys. No other value may have one of the new keys.
    std::map<std::string, std::string> object_names = {};
    /// The treatment of keys that only `wanted` or only the program has. By default, a key that the
    /// program does not yield is an error, and a key that `wanted` lacks is not written.
    std::optional<strictness> strict = {};
    bool cut_fused = false; ///< as `options::cut_fused`
    /// If true, copies that the program makes of one tensor are written once in files of this
    /// library, and the files list the other names. If false, each copy is a tensor, with two
    /// exceptions: copies that the source stores once, if the same ranks shall hold equal shards of
    /// both, and copies that `model::tie` relates. A file of one rank (`write_options::per_rank`)
    /// has all that the rank holds. A Hugging Face directory has all tensors except an output layer
    /// that its `config.json` ties.
    bool share_copies = false;
};

/// The result of a conversion, over all ranks.
///
/// \par Units bytes
struct convert_report {
    index_t keys = 0;
    index_t bytes = 0; ///< of tensors written
    /// Of these, the bytes that the base of a delta has (`write_options::base`), and that were not
    /// written.
    index_t reused = 0;
    /// Bytes read of the source's files. Verified chunks count whole; reads that compare replicas
    /// do not count.
    index_t bytes_read = 0;
    index_t bytes_moved = 0; ///< between processes: 0, each reads the files itself
    /// The largest growth of a rank's memory during the conversion.
    index_t peak_extra_bytes = 0;
    /// Keys that `options.strict` reports, and omitted values.
    strict_verdict keys_judged = {};
    index_t objects = 0;              ///< carried values that are not tensors
    vector<std::string> carried = {}; ///< the files that were copied beside the tensors
    /// Files beside a replaced checkpoint that the source does not have: they stay.
    vector<std::string> kept = {};
    /// Other names of tensors, with their keys: they are not separate tensors in the new files.
    std::map<std::string, std::string> aliases = {};
    /// The removed files of earlier writers of the target that died.
    vector<std::string> removed = {};
    /// Sentences for people: interleaved tensors that were written one after the other, since the
    /// target has them whole; the new text of `config.json` about tied word embeddings; directories
    /// beside the source that were not copied.
    vector<std::string> notes = {};
};

namespace detail {

/// The names that a conversion writes once, and the change that this makes to the `config.json` of
/// a Hugging Face directory.
struct tied_names {
    std::map<std::string, std::string> aliases; ///< names without tensors, with their keys
    std::optional<std::string> config = {};     ///< its new text, if it has to change
    vector<std::string> notes = {};
};

/// In a Hugging Face directory each name of the source is a tensor. The exception are the output
/// layer and the word embedding of a model whose `config.json` has `tie_word_embeddings`. The flag
/// is corrected, and nothing else in the file changes.
///
/// \par Source Hugging Face transformers reads nothing else about names without tensors, and reads
///             no tensor of a tied output layer
RESHARD_DECL tied_names tie_names(checkpoint const& source, mapping const& program,
                                  convert_options const& options);

} // namespace detail

/// Writes a checkpoint at `target` whose tensors are made of the tensors of `source`, as `program`
/// says.
///
/// With the layout `options.wanted`, sharded safetensors are written, and process `r % size` plays
/// rank `r` of the layout. Every process reads the bytes that its files need from the mapped
/// source, and compares its share of the replicas of the tensors that are used. Tensors without a
/// source are zeros.
///
/// \throws error, and `target` is unchanged: as `problem_of`, `make_plan` and `checkpoint_writer`;
///         errc::overlap for replicas that differ, naming both files, the key and the first
///         different element; errc::not_covered or errc::overlap for a layout that lacks elements
///         of a tensor, or whose shards share elements, unless it may be `partial`;
///         errc::unknown_key if `options.strict` says so; errc::bad_layout for a fused tensor that
///         the layout cuts into another number of parts than it was made for. The message begins
///         with the path of the source, or of the target if the layout is wrong
RESHARD_DECL convert_report convert(solo const& alone, checkpoint const& source,
                                    std::filesystem::path const& target,
                                    convert_options const& options = {});

/// The same over a communicator.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above, on every rank; errc::ranks_disagree
RESHARD_DECL convert_report convert(mpi_group const& world, checkpoint const& source,
                                    std::filesystem::path const& target,
                                    convert_options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/convert.ipp>
#include <reshard/storage/impl/tied_config.ipp>
#endif

#endif
