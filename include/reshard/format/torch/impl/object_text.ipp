// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_OBJECT_TEXT_IPP
#define RESHARD_FORMAT_TORCH_IMPL_OBJECT_TEXT_IPP

#include <reshard/format/torch/torch_save.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard::detail {

/// An archive in memory, as a file.
class archive_file : public file_store::file {
public:
    archive_file(std::string_view bytes, std::string const& name) : bytes_(bytes), name_(name) {}

    file_store::identity facts() const override { return {.bytes = bytes_.size()}; }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        if (position > bytes_.size() || target.size() > bytes_.size() - position)
            fail(errc::corrupt_file, name_, ": ends before byte ", position + target.size());
        std::memcpy(target.data(), bytes_.data() + position, target.size());
    }

private:
    std::string_view bytes_;
    std::string const& name_;
};

/// Bytes between quotes; those that are no printable characters by their numbers.
/// A whole number in two's complement, the lowest byte first: `0x10f`, `-0x1`.
inline std::string hexadecimal(std::string bytes) {
    bool const is_negative = !bytes.empty() && (byte_at(bytes, bytes.size() - 1) & 0x80u) != 0;
    bool carries = is_negative;
    std::string digits; // the lowest first
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        unsigned byte = is_negative ? ~byte_at(bytes, i) & 0xffu : byte_at(bytes, i);
        byte += carries ? 1u : 0u;
        carries = byte > 0xff;
        for (unsigned const digit : {byte & 15u, byte >> 4 & 15u})
            digits.push_back("0123456789abcdef"[digit]);
    }
    digits.resize(std::max<std::size_t>(digits.find_last_not_of('0') + 1, 1), '0');
    std::ranges::reverse(digits);
    return (is_negative ? "-0x" : "0x") + digits;
}

inline std::string quoted_bytes(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "'";
    for (char const one : bytes) {
        auto const number = static_cast<unsigned char>(one);
        if (number < 0x20 || number >= 0x7f)
            text += {'\\', 'x', digits[number >> 4], digits[number & 15]};
        else
            text += one == '\'' || one == '\\' ? std::string{'\\', one} : std::string{one};
    }
    return text + "'";
}

/// A text between quotes, in which characters stay what they are.
inline std::string quoted_text(std::string_view characters) {
    std::string text = "'";
    for (char const one : characters)
        text += one == '\'' || one == '\\' ? std::string{'\\', one} : std::string{one};
    return text + "'";
}

/// The bytes that Python has for a text in Latin-1.
inline std::string latin1_bytes(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const first = static_cast<unsigned char>(text[i]);
        bool const has_two = (first & 0xfe) == 0xc2 && i + 1 < text.size();
        bytes += has_two ? static_cast<char>((first & 3) << 6 | (text[++i] & 0x3f)) : text[i];
    }
    return bytes;
}

/// Writes values as text.
class object_writer {
public:
    object_writer(torch_archive const& archive, file_store::file const& file,
                  std::string const& what)
        : archive_(archive), values_(archive.values()), file_(file), what_(what) {}

    std::string text() { return put(values_.root(), 0); }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_depth = 64, most_steps = std::size_t{1} << 24,
                                 most_bytes = std::size_t{1} << 28;

    std::string put(pickle_value value, std::size_t depth) {
        if (depth > most_depth || ++steps_ > most_steps)
            fail(errc::corrupt_file, values_.file(), ": ", what_,
                 ": values within values; is one of them within itself?");
        std::string text =
            archive_.is_tensor(value) ? tensor_text(value) : text_of_kind(value, depth);
        if (text.size() > most_bytes)
            fail(errc::limit_exceeded, values_.file(), ": ", what_, ": is more than ", most_bytes,
                 " bytes as text");
        return text;
    }

    std::string text_of_kind(pickle_value value, std::size_t depth) {
        switch (value.what) {
        case kind::none: return "None";
        case kind::boolean: return value.place != 0 ? "True" : "False";
        case kind::integer: return std::to_string(values_.integer(value, what_));
        case kind::real: return real_text(values_.real(value, what_));
        case kind::long_integer: return hexadecimal(bytes_of(values_.unread(value, what_)));
        case kind::text:
        case kind::long_text: return quoted_text(characters_of(value));
        case kind::bytes: return "b" + quoted_bytes(bytes_of(values_.bytes(value, what_)));
        case kind::tuple: return "(" + list_text(value, depth) + ")";
        case kind::size: return "torch.Size(" + list_text(value, depth) + ")";
        case kind::list: return "[" + list_text(value, depth) + "]";
        case kind::set: return set_text(value, depth);
        case kind::dict: return dict_text(values_.pairs(value, what_), depth);
        case kind::global: return name_text(value);
        case kind::object: return object_text(values_.object(value, what_), depth);
        default:
            fail(errc::unsupported, values_.file(), ": ", what_, " has ", values_.described(value),
                 ", which is not read");
        }
    }

    /// The shortest one that is read as the same number, and not as a whole one.
    static std::string real_text(double value) {
        std::array<char, 32> digits{};
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        std::string text(digits.data(), end);
        return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
    }

    std::string bytes_of(byte_run where) const {
        std::string bytes(where.size(), ' ');
        file_.read(where.begin, std::as_writable_bytes(std::span(bytes)));
        return bytes;
    }

    std::string characters_of(pickle_value text) const {
        return text.what == kind::long_text ? bytes_of(values_.unread(text, what_))
                                            : std::string(values_.text(text, what_));
    }

    static std::string joined(std::vector<std::string> const& texts) {
        std::string text;
        for (std::string const& one : texts)
            text += (text.empty() ? "" : ", ") + one;
        return text;
    }

    std::vector<std::string> texts_of(pickle_value value, std::size_t depth) {
        std::vector<std::string> texts;
        for (pickle_value const one : values_.elements(value, what_))
            texts.push_back(put(one, depth + 1));
        return texts;
    }

    std::string list_text(pickle_value value, std::size_t depth) {
        return joined(texts_of(value, depth));
    }

    std::string set_text(pickle_value value, std::size_t depth) {
        auto texts = texts_of(value, depth);
        std::ranges::sort(texts);
        return "set(" + joined(texts) + ")";
    }

    /// A key that stands twice has its last value.
    std::string dict_text(pickle_pairs members, std::size_t depth) {
        std::map<std::string, std::string> texts;
        for (std::size_t i = 0; i < members.size(); ++i)
            texts[put(members[i].key, depth + 1)] = put(members[i].value, depth + 1);
        std::string text;
        for (auto const& [key, value] : texts)
            text += (text.empty() ? "" : ", ") + key + ": " + value;
        return "{" + text + "}";
    }

    /// Names of Python 2, which protocol 2 has, are those of Python 3.
    std::string name_text(pickle_value value) const {
        constexpr std::string_view old = "__builtin__.";
        std::string_view const name = values_.global(value, what_);
        if (!name.starts_with(old))
            return std::string(name);
        std::string_view const last = name.substr(old.size());
        return "builtins." + std::string(last == "xrange"    ? "range"
                                         : last == "long"    ? "int"
                                         : last == "unicode" ? "str"
                                                             : last);
    }

    /// What is made of bytes as Latin-1, `_codecs.encode` and `bytearray`.
    std::optional<std::string> made_of_latin1(std::string const& callable,
                                              std::span<pickle_value const> arguments) const {
        if (callable == "builtins.bytes" && arguments.empty()) // of protocol 2
            return "b''";
        bool const is_bytes = callable == "_codecs.encode" || callable == "builtins.bytearray";
        if (!is_bytes || arguments.empty())
            return std::nullopt;
        if (arguments[0].what == kind::bytes)
            return "b" + quoted_bytes(bytes_of(values_.bytes(arguments[0], what_)));
        if (callable == "builtins.bytearray" && values_.is_made_by(arguments[0], "_codecs.encode"))
            return made_of_latin1(
                "_codecs.encode",
                values_.elements(values_.object(arguments[0], what_).arguments, what_));
        bool const is_text =
            arguments[0].what == kind::text || arguments[0].what == kind::long_text;
        if (arguments.size() != 2 || !is_text || arguments[1].what != kind::text)
            return std::nullopt;
        std::string_view const code = values_.text(arguments[1], what_);
        if (code != "latin1" && code != "latin-1")
            return std::nullopt;
        return "b" + quoted_bytes(latin1_bytes(characters_of(arguments[0])));
    }

    std::string object_text(pickle_object const& object, std::size_t depth) {
        std::string const callable = put(object.callable, depth + 1);
        auto const arguments = values_.elements(object.arguments, what_);
        if (auto const bytes = made_of_latin1(callable, arguments))
            return *bytes;
        bool const is_set = callable == "builtins.set" || callable == "builtins.frozenset";
        if (is_set && arguments.size() == 1 &&
            (arguments[0].what == kind::list || arguments[0].what == kind::tuple))
            return set_text(arguments[0], depth);
        std::string text = callable + "(" + list_text(object.arguments, depth) + ")";
        if (object.state.what != kind::none)
            text += " with " + put(object.state, depth + 1);
        return text;
    }

    /// Its type, its shape and the bytes of its elements.
    std::string tensor_text(pickle_value value) const {
        file_tensor const tensor = archive_.tensor(value, what_);
        auto const size = static_cast<std::size_t>(bits(tensor.dtype)) / 8;
        auto const count = static_cast<std::size_t>(element_count(tensor.shape));
        if (count > most_bytes / size)
            fail(errc::limit_exceeded, values_.file(), ": ", what_, " has a tensor of ", count,
                 " elements");
        std::string bytes(count * size, ' ');
        for (std::size_t i = 0; i < bytes.size(); i += size) {
            index_vector const index = unravel_index(static_cast<index_t>(i / size), tensor.shape);
            index_t place = 0;
            for (std::size_t axis = 0; axis < index.size(); ++axis)
                place += index[axis] * tensor.elements.strides[axis];
            file_.read(tensor.elements.begin + static_cast<std::uint64_t>(place) * size,
                       std::as_writable_bytes(std::span(bytes)).subspan(i, size));
        }
        return words("tensor(", code(tensor.dtype), " ", tensor.shape, ", ", quoted_bytes(bytes),
                     ")");
    }

    torch_archive const& archive_;
    pickle const& values_;
    file_store::file const& file_;
    std::string const& what_;
    std::size_t steps_ = 0;
};

RESHARD_DECL std::string text_of(saved_object const& object, std::string const& file) {
    archive_file const bytes(object.archive, file);
    std::string const what = "object '" + object.key + "'";
    torch_archive const archive(bytes, file + ": " + what, {0, object.archive.size()});
    return object_writer(archive, bytes, what).text();
}

} // namespace reshard::detail

#endif
