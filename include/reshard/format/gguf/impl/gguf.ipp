// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/gguf/gguf.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/file_reader.hpp>
#include <reshard/format/gguf/impl/gguf_blocks.ipp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// An element type and its number in a file.
struct gguf_type {
    std::uint32_t number;
    std::string_view name;
    std::optional<data_type> dtype; ///< std::nullopt: quantised
    gguf_block block{};             ///< of a quantised type; no elements: unknown
};

/// \par Source the enumeration `ggml_type` of ggml, in which the missing numbers were withdrawn.
///             Blocks: `GGML_QUANT_SIZES` of gguf 0.19; Q8_1 and Q8_K are never stored
inline constexpr gguf_type gguf_types[] = {
    {0, "F32", data_type::f32},
    {1, "F16", data_type::f16},
    {2, "Q4_0", {}, {32, 18, decode_q4_0}},
    {3, "Q4_1", {}, {32, 20, decode_q4_1}},
    {6, "Q5_0", {}, {32, 22, decode_q5_0}},
    {7, "Q5_1", {}, {32, 24, decode_q5_1}},
    {8, "Q8_0", {}, {32, 34, decode_q8_0}},
    {9, "Q8_1", {}},
    {10, "Q2_K", {}, {256, 84, decode_q2_k}},
    {11, "Q3_K", {}, {256, 110, decode_q3_k}},
    {12, "Q4_K", {}, {256, 144, decode_q4_k}},
    {13, "Q5_K", {}, {256, 176, decode_q5_k}},
    {14, "Q6_K", {}, {256, 210, decode_q6_k}},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}, {256, 66}},
    {17, "IQ2_XS", {}, {256, 74}},
    {18, "IQ3_XXS", {}, {256, 98}},
    {19, "IQ1_S", {}, {256, 50}},
    {20, "IQ4_NL", {}, {32, 18, decode_iq4_nl}},
    {21, "IQ3_S", {}, {256, 110}},
    {22, "IQ2_S", {}, {256, 82}},
    {23, "IQ4_XS", {}, {256, 136, decode_iq4_xs}},
    {24, "I8", data_type::i8},
    {25, "I16", data_type::i16},
    {26, "I32", data_type::i32},
    {27, "I64", data_type::i64},
    {28, "F64", data_type::f64},
    {29, "IQ1_M", {}, {256, 56}},
    {30, "BF16", data_type::bf16},
    {34, "TQ1_0", {}, {256, 54}},
    {35, "TQ2_0", {}, {256, 66}},
    {39, "MXFP4", {}, {32, 17, decode_mxfp4}},
    {40, "NVFP4", {}, {64, 36, decode_nvfp4}},
    {41, "Q1_0", {}, {128, 18}},
};

/// The types of values in a header, with their numbers.
enum gguf_value : std::uint32_t {
    gguf_u8,
    gguf_i8,
    gguf_u16,
    gguf_i16,
    gguf_u32,
    gguf_i32,
    gguf_f32,
    gguf_boolean,
    gguf_string,
    gguf_array,
    gguf_u64,
    gguf_i64,
    gguf_f64,
    gguf_value_types
};

/// The size of a number in bytes; 0 for strings and lists.
constexpr std::size_t bytes_of_gguf_value(std::uint64_t type) {
    constexpr std::size_t bytes[gguf_value_types] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return bytes[type];
}

/// Reads the header of a file section by section, and adds its contents.
class gguf_reader {
public:
    gguf_reader(file_store::file const& file, std::string name, whole_tensors& tensors)
        : file_(file),
          bytes_(file.facts().bytes),
          name_(std::move(name)),
          input_(file, name_, {0, bytes_}),
          all_(tensors) {}

    void read() {
        read_start();
        for (std::uint64_t i = 0; i < value_count_; ++i)
            read_value();
        for (std::uint64_t i = 0; i < tensor_count_; ++i)
            read_tensor();
        add_tensors();
    }

    /// The number of files of the model, as this file states it.
    std::uint64_t files() const { return files_; }

    /// The number of this file, counted from 0, if the file states it.
    std::optional<std::uint64_t> number() const { return number_; }

    /// The number of tensors in all files, if the file states it.
    std::optional<std::uint64_t> tensors_of_all() const { return tensors_of_all_; }

    std::uint64_t tensors() const { return tensor_count_; }

    std::uint64_t version() const { return version_; }

    /// The values that were added, with the positions of their types and contents.
    vector<std::pair<std::string, byte_run>> const& values() const { return values_; }

private:
    /// A tensor, before the position of the data is known.
    struct entry {
        std::string name;
        gguf_type type;
        index_vector shape;
        std::uint64_t offset = 0;

        /// Whether its values are computed from blocks.
        bool is_decoded() const {
            return type.block.decode && !shape.empty() &&
                   shape[shape.size() - 1] % type.block.elements == 0;
        }
    };

    [[noreturn]] void refuse(std::string const& text, errc code = errc::corrupt_file) const {
        fail(code, name_, ": byte ", input_.position(), ": ", text);
    }

    void read_start() {
        std::string magic;
        input_.append(magic, 4);
        if (magic != "GGUF")
            fail(errc::corrupt_file, name_, ": does not begin like a GGUF file");
        version_ = input_.number(4);
        if (version_ == 0x02000000 || version_ == 0x03000000)
            fail(errc::unsupported, name_,
                 ": its numbers are big-endian, but only little-endian ones are supported");
        if (version_ != 2 && version_ != 3)
            fail(errc::unsupported, name_, ": has version ", version_,
                 "; only versions 2 and 3 are supported");
        tensor_count_ = input_.number(8);
        value_count_ = input_.number(8);
    }

    std::string text() {
        std::uint64_t const bytes = input_.number(8);
        std::string match;
        input_.append(match, bytes);
        return match;
    }

    void read_value() {
        std::string key = text();
        std::uint64_t const begin = input_.position();
        std::uint64_t const type = value_type_in();
        std::uint64_t number = 0;
        if (type == gguf_string)
            input_.skip(input_.number(8));
        else if (type == gguf_array)
            skip_array(0);
        else
            number = input_.number(bytes_of_gguf_value(type));
        if (key == "general.alignment")
            alignment_ = checked_alignment(number);
        if (key == "split.count")
            files_ = number;
        if (key == "split.no")
            number_ = number;
        if (key == "split.tensors.count")
            tensors_of_all_ = number;
        if (!keys_.insert(key).second)
            refuse("the name '" + key + "' occurs twice");
        if (key.starts_with("split.") || all_.has(key)) // the first file with the value is used
            return;
        values_.push_back({key, {begin, input_.position()}});
        all_.add_object(std::move(key));
    }

    std::uint64_t value_type_in() {
        std::uint64_t const type = input_.number(4);
        if (type >= gguf_value_types)
            refuse(words("a value has type ", type, ", which is unknown"), errc::unsupported);
        return type;
    }

    std::uint64_t checked_alignment(std::uint64_t alignment) const {
        if (!std::has_single_bit(alignment) || alignment > (1u << 20))
            refuse(words("general.alignment is ", alignment,
                         ", but must be a power of two, at most 2^20"));
        return alignment;
    }

    void skip_array(int depth) {
        if (depth > 8)
            refuse("lists are nested too deeply");
        std::uint64_t const type = value_type_in();
        std::uint64_t const count = input_.number(8);
        if (type != gguf_string && type != gguf_array) {
            std::size_t const bytes = bytes_of_gguf_value(type);
            if (count > bytes_ / bytes)
                refuse(words("a list claims ", count, " numbers, but the file has ", bytes_,
                             " bytes"));
            input_.skip(count * bytes);
        } else
            for (std::uint64_t i = 0; i < count; ++i)
                if (type == gguf_array)
                    skip_array(depth + 1);
                else
                    input_.skip(input_.number(8));
    }

    void read_tensor() {
        entry current_entry;
        current_entry.name = text();
        std::uint64_t const ndim = input_.number(4);
        if (ndim > max_ndim)
            refuse(words("tensor '", current_entry.name, "' has ", ndim, " axes; at most ",
                         max_ndim, " are supported"),
                   errc::limit_exceeded);
        std::uint64_t extents[max_ndim] = {};
        for (std::uint64_t axis = 0; axis < ndim; ++axis)
            extents[axis] = input_.number(8);
        for (std::uint64_t axis = ndim; axis-- > 0;) {
            if (extents[axis] > static_cast<std::uint64_t>(std::numeric_limits<index_t>::max()))
                refuse(words("tensor '", current_entry.name, "': axis ", ndim - 1 - axis, " has ",
                             extents[axis], " elements; at most 2^63 - 1 are supported"));
            current_entry.shape.push_back(static_cast<index_t>(extents[axis]));
        }
        current_entry.type = type_of(input_.number(4));
        current_entry.offset = input_.number(8);
        entries_.push_back(std::move(current_entry));
    }

    /// The type with that number. An unknown type has no name.
    static gguf_type type_of(std::uint64_t number) {
        for (gguf_type const& type : gguf_types)
            if (type.number == number)
                return type;
        return {static_cast<std::uint32_t>(number), {}, {}};
    }

    static std::string why_unread(entry const& current_entry) {
        if (current_entry.type.name.empty())
            return words("it has the type ", current_entry.type.number, ", which is unknown");
        if (index_t const block = current_entry.type.block.elements;
            current_entry.type.block.decode)
            return words("its rows of ",
                         current_entry.shape.empty()
                             ? 1
                             : current_entry.shape[current_entry.shape.size() - 1],
                         " elements are not blocks of ", block, ", in which the quantised type ",
                         current_entry.type.name, " stores them");
        return words("it has the quantised type ", current_entry.type.name,
                     ", which is not supported; convert the model from before it was quantised");
    }

    void add_tensors() {
        std::uint64_t const end = input_.position();
        std::uint64_t const data = aligned(end);
        check_padding(end, std::min(data, bytes_), name_ + ": the header ");
        check_places(data);
        for (entry& element : entries_)
            if (element.type.dtype)
                all_.add(std::move(element.name),
                         {*element.type.dtype,
                          element.shape,
                          {data + element.offset, row_major_strides(element.shape)}});
            else if (element.is_decoded())
                all_.add_decoded(
                    std::move(element.name), element.shape,
                    std::make_shared<gguf_tensor>(name_, data + element.offset, element.type.block),
                    element.type.name);
            else
                all_.add_unread(element.name, element.shape, why_unread(element));
    }

    /// Refuses tensors that exceed the file, or that are not contiguous. If a count in the header
    /// is wrong, the tensors are not at the stated positions. The end of a tensor of unknown type
    /// is not known.
    void check_places(std::uint64_t data) const {
        vector<entry const*> sorted;
        for (entry const& element : entries_)
            sorted.push_back(&element);
        std::ranges::stable_sort(sorted, {}, &entry::offset);
        std::optional<std::uint64_t> next = 0; // std::nullopt after a tensor of unknown size
        for (entry const* const element : sorted) {
            std::string const noun = name_ + ": tensor '" + element->name + "': ";
            auto const bytes = bytes_of(*element, noun);
            std::uint64_t const least = bytes.value_or(0);
            if (data > bytes_ || element->offset > bytes_ - data ||
                least > bytes_ - data - element->offset)
                fail(errc::corrupt_file, noun, least, " bytes at offset ", element->offset,
                     " of the data, which begins at byte ", data, ", exceed the file of ", bytes_,
                     " bytes; was it cut short?");
            if (element->offset != next.value_or(aligned(element->offset)))
                fail(errc::corrupt_file, noun, "begins at byte ", element->offset,
                     " of the data, but the tensors before it end at ",
                     next.value_or(aligned(element->offset)));
            next.reset();
            if (!bytes)
                continue;
            next = aligned(element->offset + *bytes);
            check_padding(data + element->offset + *bytes, std::min(data + *next, bytes_), noun);
        }
        if (next && bytes_ > data && bytes_ - data > *next)
            fail(errc::corrupt_file, name_, ": has ", bytes_ - data - *next, " bytes after its ",
                 counted(static_cast<index_t>(tensor_count_), "tensor"), "; is the file damaged?");
    }

    /// The size of a tensor in bytes; std::nullopt for a type with unknown blocks.
    static std::optional<std::uint64_t> bytes_of(entry const& current_entry,
                                                 std::string const& noun) {
        auto const named = [&] { return noun; };
        if (current_entry.type.dtype)
            return byte_count_of(current_entry.shape, *current_entry.type.dtype, named);
        index_t const elements = element_count_of(current_entry.shape, named);
        gguf_block const& block = current_entry.type.block;
        if (block.elements == 0)
            return std::nullopt;
        bool const has_rest = elements % block.elements != 0;
        return static_cast<std::uint64_t>(elements / block.elements + (has_rest ? 1 : 0)) *
               block.bytes;
    }

    std::uint64_t aligned(std::uint64_t index) const {
        return (index + alignment_ - 1) / alignment_ * alignment_;
    }

    /// Refuses any byte other than zero between the header, the tensors and the end. Such a byte
    /// means that a count or an extent is too small.
    void check_padding(std::uint64_t begin, std::uint64_t end, std::string const& noun) const {
        std::string bytes(static_cast<std::size_t>(end - begin), ' ');
        file_.read(begin, std::as_writable_bytes(std::span(bytes)));
        if (std::size_t const index = bytes.find_first_not_of('\0'); index != bytes.npos)
            fail(errc::corrupt_file, noun, "ends at byte ", begin, ", but byte ", begin + index,
                 " after it is not padding; is the file damaged?");
    }

    file_store::file const& file_;
    std::uint64_t bytes_;
    std::string name_;
    file_reader input_;
    whole_tensors& all_;
    std::uint64_t version_ = 0;
    std::uint64_t tensor_count_ = 0;
    std::uint64_t value_count_ = 0;
    std::uint64_t alignment_ = 32;
    std::uint64_t files_ = 1;
    std::optional<std::uint64_t> number_, tensors_of_all_;
    std::set<std::string> keys_; ///< the keys in the header
    vector<std::pair<std::string, byte_run>> values_;
    vector<entry> entries_;
};

} // namespace reshard::detail

#endif
