// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TENSOR_UNION_HPP
#define RESHARD_FORMAT_TENSOR_UNION_HPP

#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/file_shard.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

/// \file
/// Puts the contents of files together to tensors, and names the two files that contradict one
/// another.

namespace reshard::detail {

/// Tensors that grow file by file.
class tensor_union {
public:
    explicit tensor_union(std::vector<checkpoint_file> const& files) : files_(files) {}

    /// Adds a tensor that must not stand in another file.
    void add_whole(holder_t file, file_shard const& shard);

    /// Adds a shard of a tensor.
    void add(holder_t file, file_shard const& shard);

    /// The tensors, sorted by key.
    ///
    /// \throws error with errc::corrupt_file where a shard exceeds the shape that another file
    ///         states
    std::vector<checkpoint_tensor> take();

private:
    struct entry {
        checkpoint_tensor tensor;
        std::optional<holder_t> stated_by; ///< the file that states the global shape
    };

    std::string path(holder_t file) const;

    [[noreturn]] void refuse(std::string const& key, holder_t first, holder_t second,
                             std::string const& text) const;

    static index_vector extents_to_end(box const& region);

    static void grow(index_vector& shape, box const& region);

    void check_same(entry const& one, holder_t file, file_shard const& shard) const;

    void state(entry& one, holder_t file, index_vector const& shape) const;

    void check_inside(entry const& one) const;

    std::vector<checkpoint_file> const& files_;
    std::vector<entry> entries_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/tensor_union.ipp>
#endif

#endif
