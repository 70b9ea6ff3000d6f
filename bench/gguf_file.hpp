// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_GGUF_FILE_HPP
#define RESHARD_BENCH_GGUF_FILE_HPP

#include <reshard/storage.hpp>

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

/// \file
/// Writes GGUF files, which the library only reads.

namespace bench {

/// A file of whole f32 or f16 tensors, without metadata.
class gguf_file {
public:
    explicit gguf_file(std::string const& path) : file_(path, std::ios::binary) {}

    /// \param bytes the elements of all tensors, one after the other
    void write(std::vector<reshard::shard_descriptor> const& tensors,
               std::span<std::byte const> bytes) {
        file_ << "GGUF";
        number<std::uint32_t>(3);
        number<std::uint64_t>(tensors.size());
        number<std::uint64_t>(0);
        std::uint64_t offset = 0;
        for (reshard::shard_descriptor const& tensor : tensors)
            offset += describe(tensor, offset);
        while (file_.tellp() % alignment != 0)
            file_.put(0);
        file_.write(reinterpret_cast<char const*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
        file_.close();
        if (!file_)
            throw std::runtime_error("a GGUF file cannot be written");
    }

private:
    static constexpr int alignment = 32; ///< also of tensors, whose sizes must be multiples of it

    template <class Number>
    void number(Number value) {
        file_.write(reinterpret_cast<char const*>(&value), sizeof value); // little endian
    }

    /// Writes the description of a tensor, and returns the bytes of its elements.
    std::uint64_t describe(reshard::shard_descriptor const& tensor, std::uint64_t offset) {
        auto const& shape = tensor.global_shape;
        number<std::uint64_t>(tensor.key.size());
        file_ << tensor.key;
        number(static_cast<std::uint32_t>(shape.size()));
        for (std::size_t axis = shape.size(); axis-- > 0;)
            number(static_cast<std::uint64_t>(shape[axis]));
        number<std::uint32_t>(tensor.dtype == reshard::data_type::f32 ? 0 : 1);
        number(offset);
        return static_cast<std::uint64_t>(byte_count(reshard::element_count(shape), tensor.dtype));
    }

    std::ofstream file_;
};

} // namespace bench

#endif
