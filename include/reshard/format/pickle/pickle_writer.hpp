// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_PICKLE_WRITER_HPP
#define RESHARD_FORMAT_PICKLE_PICKLE_WRITER_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/os/file_store.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

/// \file
/// Writes pickles of protocol 2, which Python programs read.

namespace reshard::detail {

/// Writes a pickle value by value, in the order of Python's machine: the parts of a value are
/// written before the value, as in `begin(); integer(1); text("a"); tuple();`.
class pickle_writer {
public:
    RESHARD_DECL pickle_writer();

    void none() { code(pickle_code::none); }
    void boolean(bool value) { code(value ? pickle_code::newtrue : pickle_code::newfalse); }
    RESHARD_DECL void integer(std::int64_t value);

    /// Writes a whole number of at most 255 bytes in two's complement, lowest byte first.
    RESHARD_DECL void long_integer(std::string_view bytes);
    RESHARD_DECL void real(double value);

    /// Writes a text. Each text is written once; repetitions refer to its number.
    RESHARD_DECL void text(std::string_view value);

    /// Writes a class or a function.
    RESHARD_DECL void global(std::string_view module, std::string_view name);

    /// Begins the elements of a tuple, of an existing list, or the keys and values of a dict.
    void begin() { code(pickle_code::mark); }
    void tuple() { code(pickle_code::tuple); }
    void empty_tuple() { code(pickle_code::empty_tuple); }
    void empty_list() { code(pickle_code::empty_list); }
    void append_all() { code(pickle_code::appends); }
    void empty_dict() { code(pickle_code::empty_dict); }
    void set_all() { code(pickle_code::setitems); }

    /// Writes a tuple of numbers.
    RESHARD_DECL void integers(index_vector const& values);

    /// Calls the function that was written before the last value. The last value is the tuple of
    /// its arguments.
    void call() { code(pickle_code::reduce); }

    /// Calls a function with the values that `arguments` writes.
    void call(std::string_view module, std::string_view name, auto&& arguments) {
        global(module, name);
        begin();
        arguments();
        tuple();
        call();
    }

    /// Makes an object of the class that was written before the last value. The last value is the
    /// tuple of arguments.
    void make() { code(pickle_code::newobj); }

    /// Sets the last value as the state of the value before it.
    void set_state() { code(pickle_code::build); }

    /// Replaces the last value, an identifier, by the object outside the pickle that it identifies.
    void persistent_id() { code(pickle_code::binpersid); }

    /// Writes an object of a class that is made without arguments; `members` writes its state.
    void object(std::string_view module, std::string_view name, auto&& members) {
        global(module, name);
        empty_tuple();
        make();
        dict(members);
        set_state();
    }

    /// Writes a dict, whose keys and values `members` writes.
    void dict(auto&& members) {
        empty_dict();
        begin();
        members();
        set_all();
    }

    /// Returns the pickle of the single value that was written.
    RESHARD_DECL std::string take();

private:
    void code(pickle_code code) { text_ += static_cast<char>(code); }
    RESHARD_DECL void number(std::uint64_t value, int bytes);

    /// Writes a repeated value as a reference to its number. Records the number of a new value.
    RESHARD_DECL bool repeat(std::string const& value);
    RESHARD_DECL void remember();

    std::string text_;
    std::unordered_map<std::string, std::uint32_t> known_; ///< numbers of values by written form
};

/// Classes and functions whose values are carried to other files. A reader in Python calls them.
/// Each one only makes a plain value from its arguments.
inline constexpr std::string_view carried_makers[] = {
    "_codecs.encode",
    "_io.BytesIO", // the extra state of Transformer Engine
    "argparse.Namespace",
    "collections.OrderedDict",
    "collections.defaultdict",
    "collections.Counter",
    "collections.deque",
    "megatron.core.rerun_state_machine.Call",
    "megatron.core.rerun_state_machine.Caller",
    "megatron.core.rerun_state_machine.QuickStats",
    "megatron.core.rerun_state_machine.RerunDiagnostic",
    "megatron.core.rerun_state_machine.RerunErrorInjector",
    "megatron.core.rerun_state_machine.RerunMode",
    "megatron.core.rerun_state_machine.RerunState",
    "megatron.core.rerun_state_machine.RerunValidationStatus",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy._core.numeric._frombuffer",
    "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy.dtype",
    "numpy.ndarray",
    "pathlib.PosixPath",
    "pathlib._local.PosixPath",
    "signal.Signals",
    "torch.Size",
    "torch.device",
    "torch.serialization._get_layout",
    "builtins.bytes",
    "builtins.dict",
    "builtins.list",
    "builtins.tuple",
    "builtins.set",
    "builtins.frozenset",
    "builtins.complex",
    "builtins.bytearray",
    "builtins.range",
    "builtins.slice",
    "builtins.int",
    "builtins.float",
    "builtins.bool",
    "builtins.str",
    "__builtin__.bytes",
    "__builtin__.dict",
    "__builtin__.list",
    "__builtin__.tuple",
    "__builtin__.set",
    "__builtin__.frozenset",
    "__builtin__.complex",
    "__builtin__.bytearray",
    "__builtin__.xrange",
    "__builtin__.slice",
    "__builtin__.long",
    "__builtin__.int",
    "__builtin__.float",
    "__builtin__.bool",
    "__builtin__.unicode",
};

/// The pickle of a value. Classes and functions in it stay names. Dicts of other classes become
/// plain dicts.
///
/// A reader in Python calls the functions that the pickle names: `carried_makers`, enumeration
/// classes of Megatron-Core with one number or one text, and `getattr` of such a class and a name.
///
/// \param file the file from which `values` was read
/// \param noun names the value in messages: "object 'lr'"
/// \param is_left_out true for a value that None replaces
/// \throws error with errc::unsupported for objects outside the pickle, and for objects of any
///         other class or function; errc::corrupt_file for values within themselves
RESHARD_DECL std::string copy_of(pickle_value value, pickle const& values,
                                 file_store::file const& file, std::string const& noun,
                                 std::function<bool(pickle_value)> const& is_left_out = {});

/// Writes the same value into a pickle that may have several values.
RESHARD_DECL void copy_to(pickle_writer& out, pickle_value value, pickle const& values,
                          file_store::file const& file, std::string const& noun);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/pickle/impl/pickle_copy.ipp>
#include <reshard/format/pickle/impl/pickle_writer.ipp>
#endif

#endif
