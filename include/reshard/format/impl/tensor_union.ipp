// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_TENSOR_UNION_IPP
#define RESHARD_FORMAT_IMPL_TENSOR_UNION_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/sharded_safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Joins the tensors of several files of a checkpoint.

namespace reshard::detail {

/// A set of tensors that grows file by file.
class tensor_union {
public:
    explicit tensor_union(vector<checkpoint_file> const& files) : files_(files) {}

    /// Makes room for the tensors of the next file, in which each key occurs once.
    void begin_file(std::size_t tensors) {
        if (!tensors_.empty() && std::exchange(is_first_, false))
            for (std::uint32_t i = 0; i < tensors_.size(); ++i)
                numbers_.append(tensors_[i].key, i);
        std::size_t const needed = tensors_.size() + tensors;
        if (needed > tensors_.capacity())
            tensors_.reserve(is_first_ ? needed : std::max(needed, 2 * tensors_.capacity()));
    }

    /// Whether a file before the last one has a tensor with that key.
    bool contains(std::string_view key) const {
        auto const key_at = [&](std::uint32_t i) { return std::string_view(tensors_[i].key); };
        return !is_first_ && numbers_.find(key, key_at);
    }

    /// Adds a whole tensor, which no other file may have.
    void add_whole(holder_t file, file_shard shard, digest_list digests) {
        check_new(file, shard.key);
        append(file, std::move(shard), std::move(digests));
    }

    /// Adds a tensor that cannot be read, and that no other file may have.
    void add_unread(holder_t file, std::string key, std::string reason) {
        check_new(file, key);
        checkpoint_tensor& tensor = tensors_.emplace_back();
        tensor.key = std::move(key);
        tensor.dtype = data_type::u8;
        tensor.unread = std::move(reason);
        stated_by_.push_back(file);
    }

    /// Adds a shard of a tensor.
    void add(holder_t file, file_shard shard, digest_list digests) {
        std::uint32_t const number = number_of(shard.key);
        if (number == tensors_.size())
            return append(file, std::move(shard), std::move(digests));
        checkpoint_tensor& tensor = tensors_[number];
        check_same(tensor, file, shard);
        if (shard.global_shape)
            state(number, file, *shard.global_shape);
        else if (stated_by_[number] == nobody)
            grow(tensor.shape, shard.region);
        tensor.shards.push_back(stored(file, shard, std::move(digests)));
    }

    /// The tensors, sorted by key.
    ///
    /// \throws error with errc::corrupt_file if a shard exceeds the shape that another file states
    vector<checkpoint_tensor> take() {
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

    void check_new(holder_t file, std::string const& key) {
        std::uint32_t const number = number_of(key);
        if (number == tensors_.size())
            return;
        checkpoint_tensor const& tensor = tensors_[number];
        refuse(key, tensor.is_read() ? tensor.shards.front().file : stated_by_[number], file,
               "it is in both, but no metadata says that these are shards");
    }

    /// The index of the tensor with that key, or the number of tensors. In the first file, no key
    /// occurs twice, and no table is needed.
    std::uint32_t number_of(std::string_view key) {
        auto const count = static_cast<std::uint32_t>(tensors_.size());
        if (is_first_)
            return count;
        return numbers_.find_or_append(
            key, [&](std::uint32_t i) -> std::string_view { return tensors_[i].key; },
            [&] { return count; });
    }

    static checkpoint_shard stored(holder_t file, file_shard const& shard, digest_list digests) {
        return {file,      shard.region,       shard.flat,  shard.begin,
                shard.end, std::move(digests), shard.cycles};
    }

    void append(holder_t file, file_shard shard, digest_list digests) {
        checkpoint_tensor& tensor = tensors_.emplace_back();
        tensor.key = std::move(shard.key);
        tensor.dtype = shard.dtype;
        tensor.shape = shard.global_shape ? *shard.global_shape : extents_to_end(shard.region);
        tensor.shards.push_back(stored(file, shard, std::move(digests)));
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

    void check_same(checkpoint_tensor const& tensor, holder_t file, file_shard const& shard) const {
        holder_t const first = tensor.shards.front().file;
        if (tensor.dtype != shard.dtype)
            refuse(shard.key, first, file,
                   words("the data type is ", code(shard.dtype), " in the former and ",
                         code(tensor.dtype), " in the latter"));
        if (tensor.shape.size() != shard.region.ndim())
            refuse(shard.key, first, file,
                   words("it has ", counted(shard.region.ndim(), "axis"), " in the former and ",
                         tensor.shape.size(), " in the latter"));
    }

    void state(std::uint32_t number, holder_t file, index_vector const& shape) {
        checkpoint_tensor& tensor = tensors_[number];
        holder_t& stated_by = stated_by_[number];
        if (stated_by != nobody && tensor.shape != shape)
            refuse(tensor.key, stated_by, file,
                   words("the global shape is ", shape, " in the former and ", tensor.shape,
                         " in the latter"));
        if (stated_by == nobody)
            stated_by = file;
        tensor.shape = shape;
    }

    void check_inside(checkpoint_tensor const& tensor, holder_t stated_by) const {
        for (checkpoint_shard const& shard : tensor.shards)
            for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis)
                if (shard.region.end(axis) > tensor.shape[axis])
                    refuse(tensor.key, stated_by, shard.file,
                           words("axis ", axis, ": a shard of the former ends at ",
                                 shard.region.end(axis), ", beyond the global extent ",
                                 tensor.shape[axis], " that the latter states"));
    }

    vector<checkpoint_file> const& files_;
    vector<checkpoint_tensor> tensors_;
    vector<holder_t> stated_by_; ///< the file that states each tensor's shape, or why it is unread
    bool is_first_ = true;       ///< true until a second file begins
    key_index numbers_;          ///< indices of tensors; filled from the second file on
};

} // namespace reshard::detail

#endif
