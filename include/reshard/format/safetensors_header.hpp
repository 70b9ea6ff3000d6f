// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_HEADER_HPP
#define RESHARD_FORMAT_SAFETENSORS_HEADER_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/format/safetensors_fault.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What the header of a safetensors file says, and whether it fits the file.

namespace reshard {

namespace detail {

/// One tensor of a safetensors file, as its header has it.
///
/// \par Shape unlimited, and extents may exceed `index_t`, since a header may say so where an
///            extent is 0
/// \par Units `begin` and `end` in bytes from the beginning of the data
struct safetensors_entry {
    std::string name;
    data_type dtype{};
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(safetensors_entry const&) const = default;
};

/// The header of a safetensors file.
struct safetensors_header {
    std::vector<safetensors_entry> tensors;      ///< in the order of their data
    std::map<std::string, std::string> metadata; ///< what stands under `__metadata__`
    std::uint64_t data_offset = 0;               ///< where the data begins, in bytes of the file
    std::vector<std::string> warnings;           ///< what the format's text does not allow
};

/// How much a reader lets pass.
enum class safetensors_mode {
    strict,     ///< the text of the format
    compatible, ///< what the reference reader accepts; what the text forbids is a warning
};

/// How a header is read.
struct safetensors_options {
    safetensors_mode mode = safetensors_mode::strict;
    std::uint64_t max_header_bytes = 100'000'000;
    std::size_t max_depth = 127; ///< of arrays and objects within one another

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.mode, self.max_header_bytes, self.max_depth);
    }
};

} // namespace detail

/// `[2, 3]`.
RESHARD_DECL std::string to_string(std::vector<std::uint64_t> const& extents);

namespace detail {

/// `a * b`, or nothing where it does not fit 64 bits.
constexpr std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
    if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a)
        return std::nullopt;
    return a * b;
}

/// The bits of a tensor, or nothing where some product from the left does not fit 64 bits.
///
/// A zero helps only the extents behind it: [0, 2^64 - 1, 2] has none, [2^64 - 1, 2, 0] too many.
constexpr std::optional<std::uint64_t> bit_count(std::vector<std::uint64_t> const& shape,
                                                 data_type dtype) {
    std::optional<std::uint64_t> product = 1;
    for (std::uint64_t const extent : shape)
        if (product)
            product = multiply(*product, extent);
    return product ? multiply(*product, static_cast<std::uint64_t>(bits(dtype))) : std::nullopt;
}

inline std::string quoted(safetensors_entry const& tensor) {
    return "tensor '" + tensor.name + "': ";
}

/// Refuses a tensor whose bytes are not exactly what shape and data type ask for.
RESHARD_DECL void check_size(safetensors_entry const& tensor, std::string_view file);

/// Sorts the tensors by their data.
RESHARD_DECL void sort_by_data(std::vector<safetensors_entry>& tensors);

/// Refuses tensors that do not cover the data of the file exactly: in order, without gap or
/// overlap.
///
/// \pre       `tensors` is sorted by its data, and `data_offset <= file_bytes`
/// \throws    error with errc::corrupt_file that names the file, the tensor and both numbers
/// \par Source `Metadata::validate` of the reference reader, the same checks in the same order
RESHARD_DECL void check_data(safetensors_header const& header, std::uint64_t file_bytes,
                             std::string_view file);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/safetensors_header.ipp>
#endif

#endif
