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
/// Converts a checkpoint to another checkpoint. The data goes from files to files, in windows.

namespace reshard {

namespace detail {

/// Measures the largest growth of this process's memory since the watch was created.
///
/// \par Units  bytes, in whole pages
/// \par Source VmHWM of Linux. Each watch resets it; if the system does not allow that, it is the
///             peak since the process started. Pages of mapped files count
class memory_watch {
public:
    memory_watch();
    index_t most_bytes() const;

private:
    index_t before_ = 0;
};

/// The reason why `convert` cannot write a checkpoint's values that are not tensors in a format;
/// empty if it can. Values that cannot be read do not count.
///
/// \param format by its name; empty: safetensors
RESHARD_DECL std::string lost_objects(checkpoint const& source, std::string const& format);

/// Names the checkpoint's values that contain tensors, which are lost if the values are omitted.
/// Empty if there are no such values, or if a warning named them when the checkpoint was opened.
RESHARD_DECL std::string tensors_lost_with_objects(checkpoint const& source);

/// The texts of other libraries in the metadata of safetensors files: the carried texts, and the
/// names of the omitted texts.
struct carried_texts {
    std::map<std::string, std::string> texts = {}; ///< for each written file
    vector<std::string> no_place = {};             ///< names that the format cannot hold
    vector<std::string> differing = {};            ///< names that files of the source disagree on
    vector<std::string> misread = {};              ///< names that readers would mistake for keys
};

/// \param format by its name; empty: safetensors
RESHARD_DECL carried_texts texts_of(checkpoint_metadata const& source, mapping const& program,
                                    std::string const& format);

} // namespace detail

/// The options of a conversion.
struct convert_options {
    /// The program of the new tensors; by default, all tensors of the source. If the program is a
    /// function, it gets the catalogs of the source and of `wanted`.
    any_program program = {};
    /// The layout of the new tensors. Without a layout, all tensors of the program are written to a
    /// Hugging Face directory.
    std::optional<layout> wanted = {};
    detail::write_options writing = {};
    detail::progress_function progress = {};
    detail::wait_duration deadline = 0.0; ///< as `options::deadline`
    bool verify = true;                   ///< as `options::verify`
    /// The most bytes of a new tensor that a process builds in memory at a time, if it reads the
    /// source in another order (a transpose). Parts of the source of a larger tensor are read
    /// several times.
    ///
    /// \par Units bytes; at least a MiB
    index_t memory_budget = index_t{512} << 20;
    /// If true, files beside the source that hold no tensors, such as a configuration or a
    /// tokenizer, are copied, except to a single file. Texts in the metadata of safetensors files
    /// are carried to new safetensors files.
    bool carry = true;
    /// If true, values of the source that are not tensors are written to the new checkpoint; in
    /// formats other than `torch_dcp`, `megatron_torch_dist` and `torch_save` they are an error. If
    /// false, they are omitted. Values of a GGUF header are written to GGUF files alone.
    bool objects = true;
    /// A GGUF file, or its directory. The header of a new GGUF file gets the values of this file
    /// instead of the source's. Without it, a source that has no such values gets them from the
    /// `config.json` and the tokenizer beside it, unless `carry` is false.
    std::filesystem::path header_like = {};
    /// Maps old keys of such values to new keys. No other value may have one of the new keys.
    std::map<std::string, std::string> object_names = {};
    /// The treatment of keys that only `wanted` or only the program has. By default, a key that the
    /// program lacks is an error, and a key that `wanted` lacks is not written.
    std::optional<strictness> strict = {};
    bool cut_fused = false; ///< as `options::cut_fused`
    /// If true, this library's files have one tensor for all copies that the program makes of it,
    /// and list the other names. If false, each copy is a tensor, except copies that `model::tie`
    /// relates, and copies that the source stores once if the same ranks hold equal shards of both.
    /// A file of one rank (`write_options::per_rank`) has all that the rank holds. A Hugging Face
    /// directory has all tensors except an output layer that its `config.json` ties.
    bool share_copies = false;
};

/// The result of a conversion, over all ranks.
///
/// \par Units bytes
struct convert_report {
    index_t keys = 0;
    index_t bytes = 0; ///< of tensors written
    /// The part of `bytes` that a delta takes from its base (`write_options::base`).
    index_t reused = 0;
    /// Bytes read from the source. Verified chunks count whole. Reads that only compare replicas do
    /// not count.
    index_t bytes_read = 0;
    index_t bytes_moved = 0; ///< between processes; 0: each reads the files itself
    /// The largest growth of memory on any rank during the conversion.
    index_t peak_extra_bytes = 0;
    /// Keys that `options.strict` reports, and omitted values.
    strict_verdict keys_judged = {};
    index_t objects = 0;              ///< carried values that are not tensors
    vector<std::string> carried = {}; ///< the files that were copied beside the tensors
    /// Files beside a replaced checkpoint that stay, since the source has no such files.
    vector<std::string> kept = {};
    /// The aliases in the new files, with their keys.
    std::map<std::string, std::string> aliases = {};
    /// The removed files of earlier writers of this target that died.
    vector<std::string> removed = {};
    /// Sentences for people about: interleaved tensors that are contiguous in the target, which has
    /// them whole; changes of `config.json` for tied word embeddings; directories beside the source
    /// that were not copied; values that the header of a GGUF file gets or lacks.
    vector<std::string> notes = {};
};

namespace detail {

/// The aliases of a conversion, and the resulting change to a Hugging Face `config.json`.
struct tied_names {
    std::map<std::string, std::string> aliases; ///< with their keys
    std::optional<std::string> config = {};     ///< the new text, if it has to change
    vector<std::string> outdated = {};          ///< files beside the tensors that are not copied
    vector<std::string> notes = {};
};

/// Decides which names become aliases. In a Hugging Face directory each name is a tensor, except
/// for the output layer and the word embeddings of a model whose `config.json` has the flag
/// `tie_word_embeddings`. The flag is corrected. If the program dequantizes all tensors, the
/// description of their quantisation is removed; if the program quantises linear layers by one
/// scheme, it is written. Nothing else in the file changes.
///
/// \par Source for names without tensors, Hugging Face transformers reads only this flag; it reads
///             no tensor of a tied output layer
RESHARD_DECL tied_names tie_names(checkpoint const& source, mapping const& program,
                                  convert_options const& options);

} // namespace detail

/// Writes a checkpoint at `target`. `options.program` makes its tensors from the tensors of
/// `source`.
///
/// With a layout `options.wanted`, sharded safetensors are written, and process `r % size` plays
/// rank `r` of the layout. Each process reads the bytes that its files need, and compares its share
/// of the replicas that the program uses. Tensors without a source are zeros.
///
/// \throws error, and `target` is unchanged: as `problem_of`, `make_plan` and `checkpoint_writer`;
///         errc::overlap if replicas differ, naming both files, the key and the first different
///         element; errc::not_covered or errc::overlap if the layout lacks elements of a tensor, or
///         its shards share elements, unless `options.writing.partial` is set; errc::unknown_key
///         for a key that `options.strict` refuses; errc::bad_layout for a fused tensor that the
///         layout cuts into another number of parts than the tensor's. The message begins with the
///         path of the source, or of the target if the layout is wrong
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
