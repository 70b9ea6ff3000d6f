// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_PICKLE_HPP
#define RESHARD_FORMAT_PICKLE_PICKLE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Reads pickles, which store the values of Python programs, without Python. No code in a pickle is
/// executed.

namespace reshard::detail {

/// The instructions of a pickle, one byte each.
///
/// \par Source the module pickletools of Python 3.11
enum class pickle_code : unsigned char {
    mark = '(',
    empty_tuple = ')',
    stop = '.',
    pop = '0',
    pop_mark = '1',
    dup = '2',
    binbytes = 'B',
    short_binbytes = 'C',
    binfloat = 'G',
    binint = 'J',
    binint1 = 'K',
    binint2 = 'M',
    none = 'N',
    binpersid = 'Q',
    reduce = 'R',
    binstring = 'T',
    short_binstring = 'U',
    binunicode = 'X',
    empty_list = ']',
    append = 'a',
    build = 'b',
    global = 'c',
    dict = 'd',
    appends = 'e',
    binget = 'h',
    long_binget = 'j',
    list = 'l',
    binput = 'q',
    long_binput = 'r',
    setitem = 's',
    tuple = 't',
    setitems = 'u',
    empty_dict = '}',
    proto = 0x80,
    newobj = 0x81,
    tuple1 = 0x85,
    tuple2 = 0x86,
    tuple3 = 0x87,
    newtrue = 0x88,
    newfalse = 0x89,
    long1 = 0x8a,
    long4 = 0x8b,
    short_binunicode = 0x8c,
    binunicode8 = 0x8d,
    binbytes8 = 0x8e,
    empty_set = 0x8f,
    additems = 0x90,
    frozenset = 0x91,
    newobj_ex = 0x92,
    stack_global = 0x93,
    memoize = 0x94,
    frame = 0x95,
    bytearray8 = 0x96,
};

/// A value of a pickle. The `pickle` owns the data that the value refers to.
struct pickle_value {
    enum class kind : std::uint8_t {
        none,
        boolean,
        integer,      ///< at most 64 bits
        long_integer, ///< more than 64 bits; not read, only the position of its bytes
        real,
        text,
        long_text, ///< more than `most_text_bytes`; not read, only its position in the file
        bytes,     ///< not read, only their position in the file
        tuple,
        size, ///< torch's tuple of extents
        list,
        set,
        dict,
        global,        ///< a class or a function
        unknown,       ///< a class or a function that is not allowed
        object,        ///< made by a class or a function with arguments, which is not called
        persistent_id, ///< an object outside the pickle, by its identifier
    };

    kind type = kind::none;
    /// The number of elements of a tuple, or of bytes of a text. 1 for a bytearray and for a frozen
    /// set.
    std::uint32_t count = 0;
    std::uint64_t position = 0; ///< the number itself, or the position of the value

    static constexpr std::uint64_t most_text_bytes = 4096;

    bool operator==(pickle_value const&) const = default;
};

/// Longer names in dicts are refused: see `named_values`.
inline constexpr std::size_t most_pickled_name_bytes = std::size_t{1} << 16;

/// The deepest nesting for readers that read all values. Deeper values are opaque.
inline constexpr std::size_t most_carried_depth = 64;

/// A number as Python writes it: the shortest text from which the same number is read, but not an
/// integer.
RESHARD_DECL std::string python_text(double value);

/// A key of a dict, and its value.
struct pickle_pair {
    pickle_value key;
    pickle_value value;
};

/// The pairs of a dict, in the order in which they were set. If a key is repeated, its last value
/// is used.
struct pickle_pairs {
    std::span<pickle_value const> values; ///< key, value, key, value

    std::size_t size() const { return values.size() / 2; }
    pickle_pair operator[](std::size_t i) const { return {values[2 * i], values[2 * i + 1]}; }
};

/// The class or function of an object, its arguments, and the state that was set afterwards.
struct pickle_object {
    pickle_value callable;
    pickle_value arguments;
    pickle_value state;
};

/// A pickle, after it was read.
///
/// Its memory grows with the bytes that were read, not with the sizes that these bytes state. Most
/// checkpoints need 5 to 15 bytes of memory per byte, and a pickle that would need more than
/// `most_memory` is refused. Bytes and long texts are not read, and stay in the file.
///
/// A value may occur several times, and may contain itself, so code that follows values must count
/// its steps.
///
/// Each function that expects a kind of value throws an error with errc::corrupt_file for any other
/// kind. It names the file, and the caller's noun, which begins a sentence: "the size of tensor
/// 'w'".
class pickle {
public:
    /// Reads the pickle in a range of a file.
    ///
    /// \param allowed names of the known classes and functions, `module.name`; a `*` at the end
    ///                matches any text without a dot. Objects of other classes and functions are
    ///                opaque (`unknown_class`).
    /// \throws error with errc::unsupported for opcodes that no tensor needs; errc::corrupt_file
    ///         for bytes that are not a pickle of protocols 2 to 5, or end early; it names the file
    ///         and the position in it
    RESHARD_DECL pickle(file_store::file const& file, std::string name, byte_run where,
                        std::span<std::string_view const> allowed);

    pickle_value root() const { return root_; }
    std::string const& file() const { return file_; }

    unsigned protocol() const { return protocol_; }

    /// The number of bytes that were read, without values that stay in the file.
    std::uint64_t bytes_read() const { return bytes_read_; }

    /// The memory that the pickle takes, in bytes.
    RESHARD_DECL std::uint64_t memory() const;

    /// The memory that the pickle and everything made from it may take before a tensor is read, in
    /// bytes.
    std::uint64_t most_memory() const { return most_memory(bytes_read_); }
    static std::uint64_t most_memory(std::uint64_t bytes_read) {
        return (std::uint64_t{96} << 20) + 22 * bytes_read;
    }

    /// The position after the last byte of the pickle.
    std::uint64_t end() const { return end_; }

    RESHARD_DECL std::string_view text(pickle_value value, std::string_view noun) const;
    RESHARD_DECL std::int64_t integer(pickle_value value, std::string_view noun) const;
    RESHARD_DECL bool boolean(pickle_value value, std::string_view noun) const;
    RESHARD_DECL double real(pickle_value value, std::string_view noun) const;
    RESHARD_DECL byte_run bytes(pickle_value value, std::string_view noun) const;

    /// The position of a long text, or of a long whole number: in two's complement, lowest byte
    /// first.
    RESHARD_DECL byte_run unread(pickle_value value, std::string_view noun) const;

    /// The elements of a tuple, a list, a set, or an object that is made from a tuple.
    RESHARD_DECL std::span<pickle_value const> elements(pickle_value value,
                                                        std::string_view noun) const;
    RESHARD_DECL pickle_pairs pairs(pickle_value value, std::string_view noun) const;
    RESHARD_DECL pickle_object const& object(pickle_value value, std::string_view noun) const;

    /// The identifier of an object outside the pickle.
    RESHARD_DECL pickle_value persistent_id(pickle_value value, std::string_view noun) const;

    /// The identifiers of all objects outside the pickle.
    std::span<pickle_value const> persistent_ids() const { return ids_; }

    /// `module.name` of a global, known or not.
    RESHARD_DECL std::string_view global(pickle_value value, std::string_view noun) const;

    /// The name of an unknown class or function, or of the class or function that made an object;
    /// empty for any other value. Nested values are not examined.
    RESHARD_DECL std::optional<std::string_view> unknown_class(pickle_value value) const;

    /// True if the name of an unknown class or function occurs.
    bool has_unknown() const { return has_unknown_; }

    /// The value in a dict for a key that is a text; std::nullopt if the dict lacks the key.
    RESHARD_DECL std::optional<pickle_value> find(pickle_value dict, std::string_view key,
                                                  std::string_view noun) const;
    RESHARD_DECL pickle_value at(pickle_value dict, std::string_view key,
                                 std::string_view noun) const;

    /// True for an object of that class or function.
    RESHARD_DECL bool is_made_by(pickle_value value, std::string_view callable) const;

    /// A member in the state of an object; std::nullopt if it is missing.
    RESHARD_DECL std::optional<pickle_value> find_member(pickle_value object, std::string_view name,
                                                         std::string_view noun) const;
    RESHARD_DECL pickle_value member(pickle_value object, std::string_view name,
                                     std::string_view noun) const;

    /// Describes a value for messages: "the string 'abc'".
    RESHARD_DECL std::string described(pickle_value value) const;

    /// Throws an error that says that `noun` is `value`, and which value was expected.
    [[noreturn]] RESHARD_DECL void refuse(std::string_view noun, pickle_value value,
                                          std::string_view expected) const;

private:
    friend class pickle_reader;
    friend class pickle_stack;

    /// The values of a list or a dict. A dict has two values per entry.
    struct run {
        std::size_t first = 0;
        std::size_t count = 0;
        std::size_t capacity = 0;
    };

    std::string file_;
    pickle_value root_;
    std::uint64_t end_ = 0;
    std::uint64_t bytes_read_ = 0;
    unsigned protocol_ = 0;
    bool has_unknown_ = false;
    std::string characters_;      ///< the characters of texts and names
    vector<pickle_value> values_; ///< elements of tuples and lists; keys and values of dicts
    vector<run> runs_;            ///< the positions of lists and dicts in `values_`
    vector<pickle_object> objects_;
    vector<pickle_value> ids_; ///< the identifiers of objects outside the pickle
    vector<byte_run> bytes_;
};

/// True for a class in the modules of Megatron-Core's enumerations. The names of Python functions
/// begin with a small letter, so functions are excluded.
RESHARD_DECL bool is_enumeration(std::string_view maker);

/// True for an enumerator of such a class, as early releases of Python 3.11 write it: `getattr` of
/// the class and a name.
RESHARD_DECL bool is_enumerator(pickle const& values, pickle_object const& object);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/pickle/impl/pickle.ipp>
#include <reshard/format/pickle/impl/pickle_reader.ipp>
#endif

#endif
