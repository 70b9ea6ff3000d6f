// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_PICKLE_COPY_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_PICKLE_COPY_IPP

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace reshard::detail {

/// Writes values, and the values inside them.
class pickle_copier {
public:
    pickle_copier(pickle_writer& out, pickle const& values, file_store::file const& file,
                  std::string const& noun, std::function<bool(pickle_value)> const& is_left_out)
        : values_(values), file_(file), what_(noun), is_left_out_(is_left_out), out_(out) {}

    void copy(pickle_value value) { put(value, 0); }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_steps = std::size_t{1} << 24;

    void put(pickle_value value, std::size_t depth) {
        if (is_left_out_ && is_left_out_(value))
            return out_.none();
        if (depth > most_carried_depth || ++steps_ > most_steps)
            fail(errc::corrupt_file, values_.file(), ": ", what_,
                 ": the values are nested too deeply; does one contain itself?");
        switch (value.type) {
        case kind::none: return out_.none();
        case kind::boolean: return out_.boolean(value.position != 0);
        case kind::integer: return out_.integer(values_.integer(value, what_));
        case kind::long_integer: return out_.long_integer(bytes_at(values_.unread(value, what_)));
        case kind::real: return out_.real(values_.real(value, what_));
        case kind::text: return out_.text(values_.text(value, what_));
        case kind::long_text: return put_text(bytes_at(values_.unread(value, what_)));
        case kind::bytes: return put_bytes(value);
        case kind::tuple: return put_tuple(values_.elements(value, what_), depth);
        case kind::size: return put_made_of("torch", "Size", value, false, depth);
        case kind::list: return put_list(values_.elements(value, what_), depth);
        case kind::set:
            return put_made_of("__builtin__", value.count ? "frozenset" : "set", value, true,
                               depth);
        case kind::dict: return put_dict(values_.pairs(value, what_), depth);
        case kind::global: return put_global(value);
        case kind::object: return put_object(value, depth);
        default: refuse(value);
        }
    }

    [[noreturn]] void refuse(pickle_value value) const {
        fail(errc::unsupported, values_.file(), ": ", what_, " has ", values_.described(value),
             ", which cannot be copied; omit values that are not tensors (--no-objects)");
    }

    void put_elements(std::span<pickle_value const> elements, std::size_t depth) {
        out_.begin();
        for (pickle_value const value : elements)
            put(value, depth + 1);
    }

    void put_tuple(std::span<pickle_value const> elements, std::size_t depth) {
        put_elements(elements, depth);
        out_.tuple();
    }

    void put_list(std::span<pickle_value const> elements, std::size_t depth) {
        out_.empty_list();
        put_elements(elements, depth);
        out_.append_all();
    }

    /// Writes an object that a class makes from a list or a tuple.
    void put_made_of(std::string_view module, std::string_view name, pickle_value value,
                     bool is_list, std::size_t depth) {
        auto const elements = values_.elements(value, what_);
        out_.call(module, name,
                  [&] { is_list ? put_list(elements, depth) : put_tuple(elements, depth); });
    }

    void put_dict(pickle_pairs members, std::size_t depth) {
        out_.dict([&] {
            for (std::size_t i = 0; i < members.size(); ++i) {
                put(members[i].key, depth + 1);
                put(members[i].value, depth + 1);
            }
        });
    }

    void put_global(pickle_value value) {
        std::string_view const name = values_.global(value, what_);
        std::size_t const dot = name.rfind('.');
        out_.global(name.substr(0, dot), name.substr(dot + 1));
    }

    bool is_carried(pickle_object const& object) const {
        std::string_view const maker = values_.global(object.callable, what_);
        if (is_enumerator(values_, object))
            return object.state.type == kind::none;
        if (!is_enumeration(maker))
            return std::ranges::find(carried_makers, maker) != std::end(carried_makers);
        auto const arguments = values_.elements(object.arguments, what_);
        return arguments.size() == 1 && object.state.type == kind::none &&
               (arguments[0].type == kind::integer || arguments[0].type == kind::text);
    }

    void put_object(pickle_value value, std::size_t depth) {
        pickle_object const& object = values_.object(value, what_);
        if (!is_carried(object))
            refuse(value);
        put(object.callable, depth + 1);
        put(object.arguments, depth + 1);
        out_.call();
        if (object.state.type == kind::none)
            return;
        put(object.state, depth + 1);
        out_.set_state();
    }

    std::string bytes_at(byte_run where) const {
        std::string bytes(where.size(), ' ');
        file_.read(where.begin, std::as_writable_bytes(std::span(bytes)));
        return bytes;
    }

    void put_text(std::string const& text) {
        if (text.size() > std::numeric_limits<std::uint32_t>::max())
            fail(errc::limit_exceeded, values_.file(), ": ", what_, " has ", text.size(),
                 " bytes as a string, more than a pickle of protocol 2 allows; omit values that "
                 "are not tensors (--no-objects)");
        out_.text(text);
    }

    void put_bytes(pickle_value value) {
        byte_run const where = values_.bytes(value, what_);
        if (value.count == 0)
            return put_encoded(where);
        out_.call("__builtin__", "bytearray", [&] { put_encoded(where); });
    }

    /// Writes bytes as Python does in protocol 2: as a text in which the number of each character
    /// is a byte.
    void put_encoded(byte_run where) {
        std::string text;
        for (char const character : bytes_at(where)) {
            auto const number = static_cast<unsigned char>(character);
            if (number < 0x80)
                text += character;
            else {
                text += static_cast<char>(0xc0 | number >> 6);
                text += static_cast<char>(0x80 | (number & 0x3f));
            }
        }
        out_.call("_codecs", "encode", [&] {
            put_text(text);
            out_.text("latin1");
        });
    }

    pickle const& values_;
    file_store::file const& file_;
    std::string const& what_;
    std::function<bool(pickle_value)> const& is_left_out_;
    pickle_writer& out_;
    std::size_t steps_ = 0;
};

RESHARD_DECL std::string copy_of(pickle_value value, pickle const& values,
                                 file_store::file const& file, std::string const& noun,
                                 std::function<bool(pickle_value)> const& is_left_out) {
    pickle_writer out;
    pickle_copier(out, values, file, noun, is_left_out).copy(value);
    return out.take();
}

RESHARD_DECL void copy_to(pickle_writer& out, pickle_value value, pickle const& values,
                          file_store::file const& file, std::string const& noun) {
    std::function<bool(pickle_value)> const leaves_out_none;
    pickle_copier(out, values, file, noun, leaves_out_none).copy(value);
}

} // namespace reshard::detail

#endif
