// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_OPENED_CHECKPOINT_HPP
#define RESHARD_FORMAT_OPENED_CHECKPOINT_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A checkpoint of any format, before its data is read.

namespace reshard::detail {

/// Keys of values that are not tensors.
using key_set = std::set<std::string, std::less<>>;

/// Reads the values with these keys, which are not tensors.
using object_reader = std::function<vector<saved_object>(key_set const& keys)>;

/// The metadata of a checkpoint, and the store of the files that have its shards at the positions
/// in the metadata.
struct opened_checkpoint {
    checkpoint_metadata metadata;
    std::shared_ptr<file_store const> files;
    /// Reads values that are not tensors, for other formats. Empty if they cannot be carried over.
    object_reader read_objects{};
    /// Why tensors are incomplete, by key. Some of their shards are in missing files.
    std::map<std::string, std::string> incomplete{};
};

/// Removes tensors and other values that are not selected. In the format of Megatron-Core, the
/// common state of ranks is one file. It stays whole if at least one of its values is selected, and
/// a warning says so.
///
/// \throws error with errc::unknown_key for a pattern that matches nothing, and if no tensor is
///         selected, unless `options` accepts values alone
RESHARD_DECL void select_keys(opened_checkpoint& opened, safetensors_options const& options);

/// Warns that only the file of one rank supplies the values that are not tensors.
inline std::string values_taken_of(std::filesystem::path const& file) {
    return file.string() +
           ": values that are not tensors come from this file, not from the files of other ranks";
}

/// The reason why a tensor with more than `max_ndim` axes is not read.
inline std::string why_too_many_axes(std::size_t axes) {
    return words("it has ", axes, " axes; at most ", max_ndim, " are supported");
}

/// The text of an error after its subject `noun`, such as "tensor 'w'"; the whole text if it has
/// another subject.
RESHARD_DECL std::string text_behind(std::string_view text, std::string_view noun);

class decoded_files;
class decoded_tensor;

/// Assembles a checkpoint of whole tensors. A tensor may be stored anywhere in the files, in one or
/// several pieces.
class whole_tensors {
public:
    RESHARD_DECL whole_tensors(std::shared_ptr<file_store const> files, std::string_view format,
                               std::filesystem::path path);

    file_store const& files() const { return *files_; }

    /// Declares that the files are archives with deflated members. Tensors may then lie after the
    /// end of a file, as `files_with_inflated` shows it.
    RESHARD_DECL void show_inflated();

    /// Declares that the files belong to ranks. Several files may then have a shard of a key, and a
    /// tensor is unread if one of its shards cannot be read.
    void expect_parts() { expects_parts_ = true; }

    /// Begins a file; the next tensors are in it.
    RESHARD_DECL void begin_file(std::filesystem::path const& path);

    /// Adds a tensor of the last file.
    ///
    /// \throws error with errc::corrupt_file for a key that occurs twice; it names the file
    RESHARD_DECL void add(std::string key, file_tensor const& tensor);

    /// Adds a tensor of f32 of the last file, whose elements are computed when they are read.
    ///
    /// \param stored_as how the file stores them, such as `Q4_K`
    RESHARD_DECL void add_decoded(std::string key, index_vector const& shape,
                                  std::shared_ptr<decoded_tensor const> values,
                                  std::string_view stored_as);

    /// Adds a tensor of the last file. Its elements, in row-major order, are in `parts`.
    ///
    /// \pre each part has one axis and the same data type, and together they have all elements of
    ///      the shape
    RESHARD_DECL void add(std::string key, index_vector const& shape,
                          std::span<file_tensor const> parts);

    /// Adds a box of a tensor of that shape. Other files may have other boxes of it.
    ///
    /// \throws error with errc::corrupt_file if an earlier file states another shape or data type;
    ///         it names both files
    RESHARD_DECL void add_part(std::string const& key, index_vector const& shape, box const& region,
                               file_tensor const& tensor);

    /// Adds a tensor of the last file that cannot be read, with the reason.
    RESHARD_DECL void add_unread(std::string key, index_vector const& shape, std::string reason);

    /// True for a key that was added.
    bool has(std::string const& key) const { return keys_.contains(key); }

    /// The result of `read()` for a tensor of the last file; empty if the tensor cannot be read. An
    /// unreadable tensor is listed as unread.
    ///
    /// \param noun the subject in errors of `read`: "tensor 'w'"
    /// \throws error as `read`, except for errc::unsupported and errc::limit_exceeded
    std::optional<file_tensor> readable(std::string const& key, std::string_view noun,
                                        auto&& read) {
        try {
            return read();
        } catch (error const& problem) {
            if (problem.code() != errc::unsupported && problem.code() != errc::limit_exceeded)
                throw;
            add_unread(key, {}, text_behind(problem.what(), noun));
            return std::nullopt;
        }
    }

    /// Adds another name of a tensor.
    RESHARD_DECL void add_alias(std::string alias, std::string const& key);

    /// Adds a value of the last file that is not a tensor.
    RESHARD_DECL void add_object(std::string key, bool is_none = false, bool holds_tensors = false);

    /// Adds a value of the last file that is neither read nor written, with the reason.
    RESHARD_DECL void add_opaque(std::string key, std::string reason, bool holds_tensors = false);

    /// Adds a warning; its text begins with its file.
    void warn(std::string text) { result_.warnings.push_back(std::move(text)); }

    RESHARD_DECL opened_checkpoint take();

private:
    void check_new(std::string const& key);
    void add_unread_part(std::string const& key, std::string reason);
    void forget_unread_parts();
    void end_file();
    checkpoint_tensor& begin_tensor(std::string key, data_type dtype, index_vector const& shape);
    checkpoint_shard& add_shard(checkpoint_tensor& tensor, file_tensor const& file_tensor);

    std::shared_ptr<file_store const> files_;
    std::shared_ptr<decoded_files> decoded_; ///< null, or `files_`
    bool shows_inflated_ = false;
    bool expects_parts_ = false;
    checkpoint_metadata result_;
    std::map<std::string, holder_t> keys_;            ///< with the file of each
    std::map<std::string, std::size_t> parted_;       ///< indices of tensors added shard by shard
    std::map<std::string, std::string> unread_parts_; ///< with the reasons
    std::map<std::string, std::string> aliases_;
    std::map<std::filesystem::path, shown_file> shown_;
    shown_file last_;
    vector<strided_bytes> places_; ///< the tensors of the last file
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/opened_checkpoint.ipp>
#endif

#endif
