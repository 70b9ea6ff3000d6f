// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_WRITER_HPP
#define RESHARD_FORMAT_SAFETENSORS_WRITER_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/safetensors_header.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Where each tensor goes in a safetensors file, and the bytes of its header.

namespace reshard::detail {

/// A tensor that is to be written.
struct safetensors_tensor {
    std::string name;
    data_type dtype{};
    index_vector shape;

    bool operator==(safetensors_tensor const&) const = default;
};

/// A safetensors file before its data.
struct safetensors_layout {
    std::string header;                     ///< the first bytes of the file, the length included
    std::vector<safetensors_entry> tensors; ///< in the order of their data
    std::vector<std::size_t> order;         ///< for each of `tensors`, its number in what was given
    std::uint64_t data_bytes = 0;

    std::uint64_t file_bytes() const { return header.size() + data_bytes; }
};

RESHARD_DECL void check_name(std::string_view name, std::string_view file);

/// The entry of a tensor whose data begins at `begin`.
RESHARD_DECL safetensors_entry entry_of(safetensors_tensor const& tensor, std::uint64_t begin,
                                        std::string_view file);

RESHARD_DECL std::string json_of(safetensors_entry const& tensor);

RESHARD_DECL std::string json_of(std::map<std::string, std::string> const& metadata);

/// The file that holds `tensors`, each row-major, one after the other without a gap.
///
/// \post       `parse_safetensors_header` accepts it in strict mode
/// \throws     error with errc::unsupported for a name or a size that the format does not have,
///             with errc::bad_layout for a name that stands twice, with errc::limit_exceeded for a
///             header of more than 100 MB; it names `file`
/// \par Source the order, the form and the padding of the reference writer, so that the data begins
///             at a multiple of 8 bytes; there metadata has no order, here it is sorted
RESHARD_DECL safetensors_layout plan_safetensors(std::span<safetensors_tensor const> tensors,
                                                 std::map<std::string, std::string> const& metadata,
                                                 std::string_view file);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/safetensors_writer.ipp>
#endif

#endif
