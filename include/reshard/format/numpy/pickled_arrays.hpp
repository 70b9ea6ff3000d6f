// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NUMPY_PICKLED_ARRAYS_HPP
#define RESHARD_FORMAT_NUMPY_PICKLED_ARRAYS_HPP

#include <reshard/core/error.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/numpy/npy.hpp>
#include <reshard/format/pickle/encoded_bytes.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// \file
/// NumPy arrays in a pickle. The elements are in the file, between the opcodes.

namespace reshard::detail {

/// NumPy arrays in a pickle.
class pickled_arrays {
public:
    /// \param encoded receives bytes that are stored as texts; if it is null, such bytes are
    ///                refused
    explicit pickled_arrays(pickle const& values, files_with_encoded_bytes* encoded = nullptr)
        : values_(values), encoded_(encoded) {}

    bool is_array(pickle_value value) const {
        value = without_name(value);
        return is_reconstructed(value) || is_of_buffer(value);
    }

    /// The same number for values that are the same NumPy array, under any names. Different
    /// arrays may share bytes, because Python has only one bytes object for each one-byte value.
    ///
    /// \pre `is_array(value)`
    std::uint64_t identity(pickle_value value) const { return without_name(value).position; }

    /// The position of an array in the file, or in the shown file of `files_with_encoded_bytes`.
    ///
    /// \pre `is_array(value)`
    file_tensor array(pickle_value value, std::string const& noun) const {
        value = without_name(value);
        if (is_of_buffer(value)) { // bytes, type, shape, order
            auto const parts = parts_of(values_.object(value, noun).arguments, 4, value, noun);
            return placed(parts[1], parts[2], parts[0], values_.text(parts[3], noun) == "F", noun);
        }
        // version, shape, type, order, bytes
        auto const parts = parts_of(values_.object(value, noun).state, 5, value, noun);
        return placed(parts[2], parts[1], parts[4], values_.boolean(parts[3], noun), noun);
    }

private:
    /// The array of a value. A tensor that is not at the top level of its file is a tuple of its
    /// name and its array.
    pickle_value without_name(pickle_value value) const {
        if (!values_.is_made_by(value, "builtins.tuple") &&
            !values_.is_made_by(value, "__builtin__.tuple"))
            return value;
        auto const pair = values_.elements(value, {});
        return pair.size() == 2 ? pair[1] : value;
    }

    bool is_reconstructed(pickle_value value) const {
        return values_.is_made_by(value, "numpy._core.multiarray._reconstruct") ||
               values_.is_made_by(value, "numpy.core.multiarray._reconstruct");
    }
    bool is_of_buffer(pickle_value value) const {
        return values_.is_made_by(value, "numpy._core.numeric._frombuffer") ||
               values_.is_made_by(value, "numpy.core.numeric._frombuffer");
    }

    std::span<pickle_value const> parts_of(pickle_value parts, std::size_t count,
                                           pickle_value array, std::string const& noun) const {
        auto const elements = values_.elements(parts, noun);
        if (elements.size() != count)
            values_.refuse(noun, array, "a NumPy array");
        return elements;
    }

    /// The data type of `dtype('f4')`. Its state begins with a version and the byte order.
    data_type type_of(pickle_value dtype, std::string const& noun) const {
        pickle_object const& object = values_.object(dtype, noun);
        auto const arguments = values_.elements(object.arguments, noun);
        if (arguments.empty())
            values_.refuse(noun, dtype, "a data type");
        std::string const name(values_.text(arguments[0], noun));
        std::string order = "|";
        if (object.state.type == pickle_value::kind::tuple && object.state.count > 1)
            order = values_.text(values_.elements(object.state, noun)[1], noun);
        if (name == "u2" && order == "<")
            return data_type::bf16;
        auto const match = npy_data_type(order + name);
        if (!match)
            fail(errc::unsupported, values_.file(), ": ", noun, ": elements of type '", order, name,
                 "' are not supported");
        return *match;
    }

    file_tensor placed(pickle_value dtype, pickle_value shape, pickle_value bytes, bool is_fortran,
                       std::string const& noun) const {
        file_tensor result{type_of(dtype, noun), torch_extents(values_, shape, noun), {}};
        std::string const named = values_.file() + ": " + noun + ": ";
        std::uint64_t const needed =
            byte_count_of(result.shape, result.dtype, [&] { return named; });
        result.elements = {place_of(bytes, needed, noun), is_fortran && needed > 0
                                                              ? column_major_strides(result.shape)
                                                              : row_major_strides(result.shape)};
        return result;
    }

    /// The position of `needed` bytes. In protocol 2, the bytes are a text, or a call that makes
    /// empty bytes.
    std::uint64_t place_of(pickle_value bytes, std::uint64_t needed,
                           std::string const& noun) const {
        if (values_.is_made_by(bytes, "_codecs.encode"))
            return place_of_text(bytes, needed, noun);
        bool const is_empty = values_.is_made_by(bytes, "__builtin__.bytes") &&
                              values_.elements(values_.object(bytes, noun).arguments, noun).empty();
        byte_run const there =
            is_empty ? byte_run{} : values_.bytes(bytes, noun + ": the elements");
        if (there.size() != needed)
            fail(errc::corrupt_file, values_.file(), ": ", noun, ": its shape and type need ",
                 needed, " bytes, but ", there.size(), " are present");
        return there.begin;
    }

    std::uint64_t place_of_text(pickle_value encoded, std::uint64_t needed,
                                std::string const& noun) const {
        auto const parts = parts_of(values_.object(encoded, noun).arguments, 2, encoded, noun);
        if (!encoded_)
            fail(errc::unsupported, values_.file(), ": ", noun,
                 ": its elements are encoded as text, as protocol 2 does; save it with protocol 4");
        if (values_.text(parts[1], noun) != "latin1")
            values_.refuse(noun + ": the encoding of its elements", parts[1], "'latin1'");
        return encoded_->add(values_, parts[0], needed, noun);
    }

    pickle const& values_;
    files_with_encoded_bytes* encoded_;
};

} // namespace reshard::detail

#endif
