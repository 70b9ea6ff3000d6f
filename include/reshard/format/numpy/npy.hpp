// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NUMPY_NPY_HPP
#define RESHARD_FORMAT_NUMPY_NPY_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// NumPy arrays in files: `.npy` has one array, and `.npz` is an archive of several.

namespace reshard::detail {

/// The text of `descr` after the byte order, for the data types of NumPy.
inline constexpr std::pair<std::string_view, data_type> npy_types[] = {
    {"b1", data_type::boolean}, {"i1", data_type::i8},    {"u1", data_type::u8},
    {"i2", data_type::i16},     {"u2", data_type::u16},   {"i4", data_type::i32},
    {"u4", data_type::u32},     {"i8", data_type::i64},   {"u8", data_type::u64},
    {"f2", data_type::f16},     {"f4", data_type::f32},   {"f8", data_type::f64},
    {"c8", data_type::c64},     {"c16", data_type::c128},
};

/// The data type of a `descr` such as `<f4`; std::nullopt for other types.
RESHARD_DECL std::optional<data_type> npy_data_type(std::string_view descr);

/// Opens a `.npy` file: one tensor, whose key is the file's name without the ending. Here and
/// below, arrays of texts are values, and arrays of objects are opaque. Arrays of other unsupported
/// elements are tensors that cannot be read.
RESHARD_DECL opened_checkpoint open_npy(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& path);

/// Opens a `.npz` file, with a tensor for each member. Members may be stored or deflated.
///
/// \throws error as `read_zip`, too
RESHARD_DECL opened_checkpoint open_npz(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& path);

/// A `.npy` file with one tensor.
///
/// \pre    the layout has whole tensors on one rank, here and below
/// \throws error with errc::unsupported if the layout does not have exactly one tensor, and for
///         data types that NumPy does not have, naming the key
RESHARD_DECL checkpoint_plan plan_npy(layout const& target, file_choices const& choices);

/// A `.npz` file with all tensors, not compressed.
RESHARD_DECL checkpoint_plan plan_npz(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/numpy/impl/npy.ipp>
#include <reshard/format/numpy/impl/npy_array.ipp>
#include <reshard/format/numpy/impl/npy_plan.ipp>
#endif

#endif
