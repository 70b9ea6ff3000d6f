// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_QUANTISER_HPP
#define RESHARD_COPY_QUANTISER_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Quantises a tensor: its values in f32 become the tensors that a quantisation scheme stores.

namespace reshard::detail {

struct quantisation_scheme;

/// A tensor that quantising makes.
struct quantised_tensor {
    std::string suffix; ///< its key is the key of the tensor, followed by this
    data_type dtype{};
    index_vector shape;
    bool is_scale = false;
    bool is_constant = false; ///< its bytes depend on the shape and the maximum alone; unit 0 has
                              ///< them all
};

/// The names of all schemes, separated by commas.
RESHARD_DECL std::string quantisation_schemes();

/// The end of the key of a tensor of a scheme.
struct scheme_ending {
    std::string_view text;
    bool is_scale = false;
};

/// The endings of the keys of a scheme's tensors, the weight first.
///
/// \throws error with errc::usage for an unknown scheme
RESHARD_DECL vector<scheme_ending> endings_of(std::string_view scheme);

/// Quantises a tensor of one shape by one scheme.
///
/// The elements in row-major order are a sequence of units, each of which is quantised alone. The
/// bytes of each tensor are those of the units, one after the other.
///
/// \par Source transformers 5.24 (`Fp8Quantize`), compressed-tensors 0.20 (`calculate_qparams` of
///             minimum and maximum, `compress`), bitsandbytes 0.50 (`quantize_4bit`), gguf 0.19.
///             The bytes are equal; `impl/quantiser.ipp` lists what those leave undefined
class quantiser {
public:
    /// \throws error with errc::usage for an unknown scheme, with errc::shape_mismatch for a shape
    ///         that does not fit the scheme
    quantiser(std::string_view scheme, index_vector shape);

    /// The weight first.
    vector<quantised_tensor> const& tensors() const { return tensors_; }

    /// Whether a tensor that it makes depends on the largest magnitude of all elements.
    bool needs_maximum() const;

    /// By axis: the extents of boxes that can be quantised alone, 0 for the whole axis. A box whose
    /// bounds are multiples of these, or the tensor's ends, can be quantised as a tensor of its
    /// own, with the same result, except in constant tensors.
    index_vector const& block() const { return block_; }

    /// The extent along an axis that a block has in a tensor: pairs of numbers, for example, take
    /// half of the columns, and scales one.
    ///
    /// \pre the tensor has the axes of the value, and elements
    index_t extent_of_block(std::size_t which, std::size_t axis) const;

    /// Whether blocks are runs of all elements, which may begin and end within rows. Then the
    /// tensors do not have the axes of the value.
    bool crosses_rows() const;

    /// At least 1, also for a tensor without elements.
    index_t units() const { return units_; }

    /// The first element of a unit; `first_element(units())` is the number of elements.
    index_t first_element(index_t unit) const;

    /// The same in the bytes of a tensor.
    std::uint64_t first_byte(std::size_t which, index_t unit) const;

    /// Quantises consecutive whole units.
    ///
    /// A value beyond the range of given scales becomes the largest number.
    ///
    /// \param values  the elements of these units
    /// \param maximum the result of `largest_of` for all elements, if `needs_maximum()`
    /// \param bytes   for each tensor, gets the bytes of these units
    /// \param kept    for each tensor, empty, or scales to use instead of new ones: bytes of these
    ///                units, or of a constant tensor all bytes
    /// \throws error with errc::unsupported for an infinity or NaN, and for values that need a
    ///         scale beyond the range of its type; with errc::corrupt_file for a given scale that
    ///         is not finite
    void run(index_t first_unit, std::span<float const> values, float maximum,
             std::span<std::span<std::byte> const> bytes,
             std::span<std::span<std::byte const> const> kept = {}) const;

private:
    friend struct quantiser_run;

    quantisation_scheme const* scheme_;
    index_vector shape_;
    index_t elements_ = 0;
    index_t rows_ = 1;          ///< of a matrix, or of the tensor
    index_t columns_ = 1;       ///< the last extent
    index_t unit_elements_ = 0; ///< of the first unit
    index_t matrix_units_ = 0;  ///< 0: all units but the last have equally many elements
    index_t units_ = 1;
    index_vector block_;
    vector<quantised_tensor> tensors_;
};

/// The largest absolute value; 0 if there are no values. NaN exceeds infinity.
RESHARD_DECL float largest_of(std::span<float const> values);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/quantiser.ipp>
#endif

#endif
