// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_OBJECT_TEXT_IPP
#define RESHARD_FORMAT_TORCH_IMPL_OBJECT_TEXT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/gguf/gguf.hpp>
#include <reshard/format/pickle/encoded_bytes.hpp>
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

namespace reshard::detail {

/// A whole number in two's complement, lowest byte first: `0x10f`, `-0x1`.
inline std::string hexadecimal(std::string bytes) {
    bool const is_negative = !bytes.empty() && (byte_at(bytes, bytes.size() - 1) & 0x80u) != 0;
    bool carries = is_negative;
    std::string digits; // the lowest digit first
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

/// Writes values as text.
class object_writer {
public:
    object_writer(torch_archive const& archive, file_store::file const& file,
                  std::string const& noun, std::size_t most_bytes)
        : archive_(archive),
          values_(archive.values()),
          file_(file),
          what_(noun),
          most_bytes_(most_bytes) {}

    std::string text() {
        put(values_.root(), 0);
        return std::move(text_);
    }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_steps = std::size_t{1} << 24;

    /// Counts all text, even discarded text. Otherwise, a small file that repeats a text many times
    /// could be written for hours.
    void add(std::string_view text) {
        check_room(text.size());
        made_ += text.size();
        text_ += text;
    }

    void check_room(std::size_t bytes) const {
        if (bytes > most_bytes_ - made_)
            fail(errc::limit_exceeded, values_.file(), ": ", what_, ": exceeds ", most_bytes_,
                 " bytes as text");
    }

    void put(pickle_value value, std::size_t depth) {
        if (depth > most_carried_depth || ++steps_ > most_steps)
            fail(errc::corrupt_file, values_.file(), ": ", what_,
                 ": the values are nested too deeply; does one contain itself?");
        if (archive_.is_tensor(value))
            put_tensor(value);
        else if (auto const bytes = made_of_bytes(value))
            put_bytes(*bytes);
        else
            put_kind(value, depth);
    }

    void put_kind(pickle_value value, std::size_t depth) {
        switch (value.type) {
        case kind::none: return add("None");
        case kind::boolean: return add(value.position != 0 ? "True" : "False");
        case kind::integer: return add(std::to_string(values_.integer(value, what_)));
        case kind::real: return add(python_text(values_.real(value, what_)));
        case kind::long_integer: return add(hexadecimal(bytes_of(values_.unread(value, what_))));
        case kind::text:
        case kind::long_text: return put_text(characters_of(value));
        case kind::tuple: return put_elements("(", value, ")", depth);
        case kind::size: return put_elements("torch.Size(", value, ")", depth);
        case kind::list: return put_elements("[", value, "]", depth);
        case kind::set: return put_set(value, depth);
        case kind::dict: return put_dict(values_.pairs(value, what_), depth);
        case kind::global: return add(name_of(value));
        case kind::object: return put_object(values_.object(value, what_), depth);
        default:
            fail(errc::unsupported, values_.file(), ": ", what_, " has ", values_.described(value),
                 ", which is not supported");
        }
    }

    /// Reads bytes. Refuses them if their text does not fit: it is at least half as long as the
    /// bytes.
    std::string bytes_of(byte_run where) const {
        check_room(where.size() / 2);
        std::string bytes(where.size(), ' ');
        file_.read(where.begin, std::as_writable_bytes(std::span(bytes)));
        return bytes;
    }

    std::string characters_of(pickle_value text) const {
        return text.type == kind::long_text ? bytes_of(values_.unread(text, what_))
                                            : std::string(values_.text(text, what_));
    }

    void put_escaped(char character) {
        if (character == '\'' || character == '\\')
            add("\\");
        add({&character, 1});
    }

    /// Writes a text between quotes, with unchanged characters.
    void put_text(std::string_view characters) {
        add("'");
        for (char const character : characters)
            put_escaped(character);
        add("'");
    }

    /// Writes bytes between quotes. Unprintable bytes become numbers.
    void put_quoted_bytes(std::string_view bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        add("'");
        for (char const character : bytes) {
            auto const number = static_cast<unsigned char>(character);
            if (number >= 0x20 && number < 0x7f)
                put_escaped(character);
            else
                add(std::string{'\\', 'x', digits[number >> 4], digits[number & 15]});
        }
        add("'");
    }

    void put_bytes(std::string_view bytes) {
        add("b");
        put_quoted_bytes(bytes);
    }

    void put_elements(std::string_view begin, pickle_value value, std::string_view end,
                      std::size_t depth) {
        add(begin);
        bool is_first = true;
        for (pickle_value const pickle_value : values_.elements(value, what_)) {
            add(std::exchange(is_first, false) ? "" : ", ");
            put(pickle_value, depth + 1);
        }
        add(end);
    }

    /// Texts of several values, one after the other.
    struct value_texts {
        std::string text;
        vector<std::size_t> ends = {0}; ///< the first element is 0, the beginning

        std::size_t size() const { return ends.size() - 1; }
        std::string_view operator[](std::size_t i) const {
            return std::string_view(text).substr(ends[i], ends[i + 1] - ends[i]);
        }
    };

    value_texts texts_of(std::span<pickle_value const> values, std::size_t depth) {
        value_texts texts;
        std::size_t const begin = text_.size();
        for (pickle_value const value : values) {
            put(value, depth);
            texts.ends.push_back(text_.size() - begin);
        }
        texts.text = text_.substr(begin);
        text_.resize(begin);
        return texts;
    }

    void put_set(pickle_value value, std::size_t depth) {
        add("set(");
        value_texts const texts = texts_of(values_.elements(value, what_), depth + 1);
        vector<std::string_view> sorted;
        for (std::size_t i = 0; i < texts.size(); ++i)
            sorted.push_back(texts[i]);
        std::ranges::sort(sorted);
        for (std::size_t i = 0; i < sorted.size(); ++i)
            (text_ += i == 0 ? "" : ", ") += sorted[i];
        add(")");
    }

    /// Writes a dict. A repeated key has its last value.
    void put_dict(pickle_pairs members, std::size_t depth) {
        add("{");
        value_texts const texts = texts_of(members.values, depth + 1);
        std::map<std::string_view, std::string_view> sorted;
        for (std::size_t i = 0; i < texts.size(); i += 2)
            sorted[texts[i]] = texts[i + 1];
        for (bool is_first = true; auto const& [key, value] : sorted) {
            text_ += std::exchange(is_first, false) ? "" : ", ";
            ((text_ += key) += ": ") += value;
        }
        add("}");
    }

    /// Modules that have other names in a newer Python or NumPy.
    static constexpr std::pair<std::string_view, std::string_view> renamed[] = {
        {"__builtin__.xrange", "builtins.range"}, {"__builtin__.long", "builtins.int"},
        {"__builtin__.unicode", "builtins.str"},  {"__builtin__.", "builtins."},
        {"numpy.core.", "numpy._core."},          {"pathlib._local.", "pathlib."},
    };

    /// A name in the form of Python 3 and the newest NumPy.
    std::string name_of(pickle_value value) const {
        std::string_view const name = values_.global(value, what_);
        for (auto const& [old, now] : renamed)
            if (old.ends_with('.') ? name.starts_with(old) : name == old)
                return std::string(now) + std::string(name.substr(old.size()));
        return std::string(name);
    }

    /// The content of bytes, or of a value that is made of bytes: by `_codecs.encode` of a text in
    /// Latin-1, or as a bytearray. std::nullopt for any other value.
    std::optional<std::string> made_of_bytes(pickle_value value) const {
        if (value.type == kind::bytes)
            return bytes_of(values_.bytes(value, what_));
        if (value.type != kind::object)
            return std::nullopt;
        pickle_object const& object = values_.object(value, what_);
        std::string const callable = name_of(object.callable);
        auto const arguments = values_.elements(object.arguments, what_);
        bool const is_class = callable == "builtins.bytes" || callable == "builtins.bytearray";
        if (is_class && arguments.empty())
            return "";
        if (callable == "builtins.bytearray" && arguments.size() == 1 && is_bytes(arguments[0]))
            return made_of_bytes(arguments[0]);
        return callable == "builtins.bytearray" || callable == "_codecs.encode" ? encoded(arguments)
                                                                                : std::nullopt;
    }

    /// True for bytes, and for an encoded text in Latin-1.
    bool is_bytes(pickle_value value) const {
        return value.type == kind::bytes || values_.is_made_by(value, "_codecs.encode");
    }

    /// The bytes for arguments that are a text and the name of Latin-1; std::nullopt for others.
    std::optional<std::string> encoded(std::span<pickle_value const> arguments) const {
        if (arguments.size() != 2 || arguments[1].type != kind::text ||
            (arguments[0].type != kind::text && arguments[0].type != kind::long_text))
            return std::nullopt;
        std::string_view const code = values_.text(arguments[1], what_);
        if (code != "latin1" && code != "latin-1")
            return std::nullopt;
        return latin1_bytes(characters_of(arguments[0]));
    }

    /// A NumPy array, in any pickled form.
    struct array {
        pickle_value dtype;
        pickle_value shape;
        pickle_value elements; ///< bytes, or a list of values
        bool is_fortran = false;
    };

    std::optional<array> array_of(pickle_object const& object, std::string const& callable) const {
        auto const is_array = [](array const& current_array) {
            return current_array.dtype.type == kind::object &&
                   current_array.shape.type == kind::tuple;
        };
        std::optional<array> result;
        if (callable == "numpy._core.numeric._frombuffer") { // buffer, dtype, shape, order
            auto const elements = values_.elements(object.arguments, what_);
            if (elements.size() == 4 && elements[3].type == kind::text)
                result = {elements[1], elements[2], elements[0],
                          values_.text(elements[3], what_) == "F"};
        } else if (callable == "numpy._core.multiarray._reconstruct" &&
                   object.state.type == kind::tuple) { // version, shape, dtype, order, elements
            auto const elements = values_.elements(object.state, what_);
            if (elements.size() == 5 && elements[3].type == kind::boolean)
                result = {elements[2], elements[1], elements[4], elements[3].position != 0};
        }
        return result && is_array(*result) ? result : std::nullopt;
    }

    /// Writes an array's type, its shape, and its elements in memory order.
    void put_array(array const& current_array, std::size_t depth) {
        add(current_array.is_fortran ? "numpy.fortran_array(" : "numpy.array(");
        put(current_array.dtype, depth + 1);
        add(", ");
        put(current_array.shape, depth + 1);
        add(", ");
        put(current_array.elements, depth + 1);
        add(")");
    }

    void put_object(pickle_object const& object, std::size_t depth) {
        std::string const callable = name_of(object.callable);
        auto const arguments = values_.elements(object.arguments, what_);
        bool const is_set = callable == "builtins.set" || callable == "builtins.frozenset";
        if (is_set && arguments.size() == 1 &&
            (arguments[0].type == kind::list || arguments[0].type == kind::tuple))
            return put_set(arguments[0], depth);
        if (auto const element = array_of(object, callable))
            return put_array(*element, depth);
        put_elements(callable + "(", object.arguments, ")", depth);
        if (object.state.type == kind::none)
            return;
        add(" with ");
        put(object.state, depth + 1);
    }

    /// Writes a tensor's type, its shape and the bytes of its elements.
    void put_tensor(pickle_value value) {
        file_tensor const tensor = archive_.tensor(value, what_);
        auto const size = static_cast<std::size_t>(bits(tensor.dtype)) / 8;
        auto const count = static_cast<std::size_t>(element_count(tensor.shape));
        if (count > (most_bytes_ - made_) / size)
            fail(errc::limit_exceeded, values_.file(), ": ", what_, " has a tensor of ", count,
                 " elements, too many for text");
        std::string bytes(count * size, ' ');
        for (std::size_t i = 0; i < bytes.size(); i += size) {
            index_vector const index = unravel_index(static_cast<index_t>(i / size), tensor.shape);
            index_t position = 0;
            for (std::size_t axis = 0; axis < index.size(); ++axis)
                position += index[axis] * tensor.elements.strides[axis];
            file_.read(tensor.elements.begin + static_cast<std::uint64_t>(position) * size,
                       std::as_writable_bytes(std::span(bytes)).subspan(i, size));
        }
        add(words("tensor(", code(tensor.dtype), " ", tensor.shape, ", "));
        put_quoted_bytes(bytes);
        add(")");
    }

    torch_archive const& archive_;
    pickle const& values_;
    file_store::file const& file_;
    std::string const& what_;
    std::size_t most_bytes_;
    std::string text_;
    std::size_t made_ = 0; ///< bytes of text, including discarded text
    std::size_t steps_ = 0;
};

RESHARD_DECL std::string text_of(saved_object const& object, std::string const& file,
                                 std::size_t most_bytes) {
    if (is_gguf_value(object))
        return gguf_text_of(object, most_bytes);
    archive_file const bytes(object.archive, file);
    std::string const noun = "object '" + object.key + "'";
    torch_archive const archive(bytes, file + ": " + noun, {0, object.archive.size()});
    return object_writer(archive, bytes, noun, most_bytes).text();
}

} // namespace reshard::detail

#endif
