// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_IPP

#include <reshard/format/gguf/gguf.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/file_reader.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard::detail {

/// A type of elements by its number in a file.
struct gguf_type {
    std::uint32_t number;
    std::string_view name;
    std::optional<data_type> dtype; ///< nothing: quantised
};

/// \par Source the enumeration `ggml_type` of ggml; numbers that are missing were taken back there
inline constexpr gguf_type gguf_types[] = {
    {0, "F32", data_type::f32},
    {1, "F16", data_type::f16},
    {2, "Q4_0", {}},
    {3, "Q4_1", {}},
    {6, "Q5_0", {}},
    {7, "Q5_1", {}},
    {8, "Q8_0", {}},
    {9, "Q8_1", {}},
    {10, "Q2_K", {}},
    {11, "Q3_K", {}},
    {12, "Q4_K", {}},
    {13, "Q5_K", {}},
    {14, "Q6_K", {}},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", {}},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", {}},
    {24, "I8", data_type::i8},
    {25, "I16", data_type::i16},
    {26, "I32", data_type::i32},
    {27, "I64", data_type::i64},
    {28, "F64", data_type::f64},
    {29, "IQ1_M", {}},
    {30, "BF16", data_type::bf16},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {39, "MXFP4", {}},
};

/// Reads a header, one part after the other.
class gguf_reader {
public:
    gguf_reader(std::shared_ptr<file_store const> files, std::filesystem::path const& path)
        : file_(files->open(path)),
          bytes_(file_->facts().bytes),
          name_(path.string()),
          input_(*file_, name_, {0, bytes_}),
          all_(std::move(files), "gguf", path) {
        all_.begin_file(path);
    }

    opened_checkpoint read() {
        read_start();
        for (std::uint64_t i = 0; i < value_count_; ++i)
            read_value();
        for (std::uint64_t i = 0; i < tensor_count_; ++i)
            read_tensor();
        add_tensors();
        opened_checkpoint opened = all_.take();
        opened.metadata.metadata = std::move(texts_);
        opened.metadata.unread = std::move(unread_);
        if (!opened.metadata.unread.empty())
            opened.metadata.unread_reason =
                "are of quantised types, which are not read; convert from the model before it was "
                "quantised";
        return opened;
    }

private:
    /// A tensor before it is known where the data begin.
    struct entry {
        std::string name;
        gguf_type type;
        index_vector shape;
        std::uint64_t offset = 0;
    };

    [[noreturn]] void refuse(std::string const& text, errc code = errc::corrupt_file) const {
        fail(code, name_, ": byte ", input_.position(), ": ", text);
    }

    void read_start() {
        std::string magic;
        input_.append(magic, 4);
        if (magic != "GGUF")
            fail(errc::corrupt_file, name_, ": does not begin as a GGUF file does");
        auto const version = input_.number(4);
        if (version != 2 && version != 3)
            fail(errc::unsupported, name_, ": is of version ", version,
                 ", and those of 2 and 3 are read");
        tensor_count_ = input_.number(8);
        value_count_ = input_.number(8);
    }

    std::string text() {
        std::uint64_t const bytes = input_.number(8);
        std::string found;
        input_.append(found, bytes);
        return found;
    }

    /// The types of values in a header.
    enum value_type : std::uint32_t {
        u8,
        i8,
        u16,
        i16,
        u32,
        i32,
        f32,
        boolean,
        string,
        array,
        u64,
        i64,
        f64,
        value_types
    };

    static std::size_t bytes_of(std::uint64_t type) {
        constexpr std::size_t bytes[value_types] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        return bytes[type];
    }

    std::string number_text(std::uint64_t type) {
        std::size_t const bytes = bytes_of(type);
        std::uint64_t const number = input_.number(bytes);
        switch (type) {
        case boolean: return number ? "true" : "false";
        case f32: return std::to_string(std::bit_cast<float>(static_cast<std::uint32_t>(number)));
        case f64: return std::to_string(std::bit_cast<double>(number));
        case i8:
        case i16:
        case i32:
        case i64: {
            std::size_t const unused = 64 - 8 * bytes;
            return std::to_string(static_cast<std::int64_t>(number << unused) >> unused);
        }
        default: return std::to_string(number);
        }
    }

    void read_value() {
        std::string const key = text();
        std::uint64_t const type = value_type_in();
        std::string value = type == string  ? text()
                            : type == array ? skip_array(0)
                                            : number_text(type);
        if (key == "general.alignment")
            alignment_ = aligned_to(value);
        if (!texts_.emplace(key, std::move(value)).second)
            refuse("the value '" + key + "' stands twice");
    }

    std::uint64_t value_type_in() {
        std::uint64_t const type = input_.number(4);
        if (type >= value_types)
            refuse(words("a value of type ", type, ", which is not known"), errc::unsupported);
        return type;
    }

    std::uint64_t aligned_to(std::string const& value) const {
        std::uint64_t alignment = 0;
        for (char const digit : value.substr(0, 10))
            alignment = digit >= '0' && digit <= '9'
                            ? 10 * alignment + static_cast<std::uint64_t>(digit - '0')
                            : 0;
        if (!std::has_single_bit(alignment) || alignment > (1u << 20))
            refuse("general.alignment is " + value + ", and should be a power of two");
        return alignment;
    }

    std::string skip_array(int depth) {
        if (depth > 8)
            refuse("a list in a list in a list, and deeper");
        std::uint64_t const type = value_type_in();
        std::uint64_t const count = input_.number(8);
        if (type != string && type != array) {
            std::size_t const bytes = bytes_of(type);
            if (count > bytes_ / bytes)
                refuse(words("a list of ", count, " numbers, in a file of ", bytes_, " bytes"));
            input_.skip(count * bytes);
        } else
            for (std::uint64_t i = 0; i < count; ++i)
                if (type == array)
                    skip_array(depth + 1);
                else
                    input_.skip(input_.number(8));
        return words("a list of ", count);
    }

    void read_tensor() {
        entry one;
        one.name = text();
        std::uint64_t const ndim = input_.number(4);
        if (ndim > max_ndim)
            refuse(words("tensor '", one.name, "' has ", ndim, " axes; at most ", max_ndim,
                         " are possible"),
                   errc::limit_exceeded);
        std::uint64_t extents[max_ndim] = {};
        for (std::uint64_t axis = 0; axis < ndim; ++axis)
            extents[axis] = input_.number(8);
        for (std::uint64_t axis = ndim; axis-- > 0;) {
            if (extents[axis] > static_cast<std::uint64_t>(std::numeric_limits<index_t>::max()))
                refuse(words("tensor '", one.name, "': axis ", ndim - 1 - axis, " has ",
                             extents[axis], " elements"));
            one.shape.push_back(static_cast<index_t>(extents[axis]));
        }
        one.type = type_of(input_.number(4), one.name);
        one.offset = input_.number(8);
        entries_.push_back(std::move(one));
    }

    gguf_type type_of(std::uint64_t number, std::string const& tensor) const {
        for (gguf_type const& type : gguf_types)
            if (type.number == number)
                return type;
        refuse(words("tensor '", tensor, "' has the type ", number, ", which is not known"),
               errc::unsupported);
    }

    void add_tensors() {
        std::uint64_t const end = input_.position();
        std::uint64_t const data = (end + alignment_ - 1) / alignment_ * alignment_;
        for (entry& one : entries_) {
            std::string const what = name_ + ": tensor '" + one.name + "': ";
            index_t const elements = element_count_of(one.shape, [&] { return what; });
            if (!one.type.dtype) {
                unread_.push_back("tensor '" + one.name + "' (" + std::string(one.type.name) + " " +
                                  to_string(one.shape) + ")");
                continue;
            }
            auto const bytes = static_cast<std::uint64_t>(byte_count(elements, *one.type.dtype));
            if (data > bytes_ || one.offset > bytes_ - data || bytes > bytes_ - data - one.offset)
                fail(errc::corrupt_file, what, bytes, " bytes from ", one.offset,
                     " of the data on, which begin at ", data, ", exceed the file of ", bytes_);
            all_.add(
                std::move(one.name),
                {*one.type.dtype, one.shape, {data + one.offset, row_major_strides(one.shape)}});
        }
    }

    std::unique_ptr<file_store::file> file_;
    std::uint64_t bytes_;
    std::string name_;
    file_reader input_;
    whole_tensors all_;
    std::uint64_t tensor_count_ = 0;
    std::uint64_t value_count_ = 0;
    std::uint64_t alignment_ = 32;
    std::map<std::string, std::string> texts_;
    std::vector<entry> entries_;
    std::vector<std::string> unread_;
};

RESHARD_DECL opened_checkpoint open_gguf(std::shared_ptr<file_store const> files,
                                         std::filesystem::path const& path) {
    return gguf_reader(std::move(files), path).read();
}

} // namespace reshard::detail

#endif
