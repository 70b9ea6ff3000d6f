// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_PICKLE_READER_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_PICKLE_READER_IPP

#include <reshard/format/pickle/pickle.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/file_reader.hpp>
#include <reshard/format/pickle/impl/pickle_stack.ipp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace reshard::detail {

/// True if one of the names matches `name`; see `pickle`.
inline bool is_allowed(std::span<std::string_view const> allowed, std::string_view name) {
    return std::any_of(allowed.begin(), allowed.end(), [&](std::string_view text) {
        if (!text.ends_with('*'))
            return text == name;
        text.remove_suffix(1);
        return name.starts_with(text) && name.find('.', text.size()) == name.npos;
    });
}

/// Executes the opcodes of a pickle. They only assemble values.
class pickle_reader : pickle_stack {
public:
    using kind = pickle_value::kind;

    pickle_reader(pickle& result, file_store::file const& file, byte_run where,
                  std::span<std::string_view const> allowed)
        : pickle_stack(result), input_(file, result.file_, where), allowed_(allowed) {}

    void read() {
        std::uint64_t const begin = input_.position();
        reserve(input_.left());
        if (input_.byte() != static_cast<unsigned char>(pickle_code::proto))
            refuse("does not begin a pickle of protocol 2 or later");
        result_.protocol_ = input_.byte();
        check_protocol(result_.protocol_);
        constexpr std::uint64_t between_looks = 4096; // a check takes the time of several opcodes
        for (std::uint64_t i = 1; step(static_cast<pickle_code>(begin_code())); ++i)
            if (i % between_looks == 0)
                check_memory(input_.position() - begin - skipped_);
        result_.end_ = input_.position();
        result_.bytes_read_ = result_.end_ - begin - skipped_;
        check_memory(result_.bytes_read_);
    }

private:
    unsigned char begin_code() {
        code_at_ = input_.position();
        return input_.byte();
    }

    void check_protocol(unsigned protocol) const {
        if (protocol < 2 || protocol > 5)
            refuse("begins a pickle of protocol " + std::to_string(protocol) +
                       "; only protocols 2 to 5 are supported",
                   errc::unsupported);
    }

    /// Executes one opcode; false at the end.
    bool step(pickle_code code) {
        switch (code) {
        case pickle_code::stop: result_.root_ = pop(); return false;
        case pickle_code::proto: check_protocol(input_.byte()); return true;
        case pickle_code::frame: // a hint for readers that read in steps
            input_.number(8);
            return true;
        default: break;
        }
        if (!push_scalar(code) && !push_text(code) && !push_container(code) && !fill(code) &&
            !make(code) && !keep(code))
            refuse("is the opcode " + std::to_string(static_cast<unsigned>(code)) +
                       ", which is not supported in a checkpoint",
                   errc::unsupported);
        return true;
    }

    void push_integer(std::int64_t number) {
        push({kind::integer, 0, static_cast<std::uint64_t>(number)});
    }

    bool push_scalar(pickle_code code) {
        switch (code) {
        case pickle_code::none: return push({}), true;
        case pickle_code::newtrue: return push({kind::boolean, 0, 1}), true;
        case pickle_code::newfalse: return push({kind::boolean, 0, 0}), true;
        case pickle_code::binint:
            return push_integer(static_cast<std::int32_t>(input_.number(4))), true;
        case pickle_code::binint1:
            return push_integer(static_cast<std::int64_t>(input_.number(1))), true;
        case pickle_code::binint2:
            return push_integer(static_cast<std::int64_t>(input_.number(2))), true;
        case pickle_code::long1: return push_long(input_.byte()), true;
        case pickle_code::binfloat:
            return push({kind::real, 0, boost::endian::endian_reverse(input_.number(8))}), true;
        default: return false;
        }
    }

    /// Reads a number in two's complement. The last byte has the sign.
    void push_long(std::uint64_t bytes) {
        if (bytes > 8)
            return push_skipped(kind::long_integer, bytes);
        std::uint64_t const number = input_.number(static_cast<std::size_t>(bytes));
        std::uint64_t const unused = 64 - 8 * bytes;
        push_integer(bytes == 0 ? 0 : static_cast<std::int64_t>(number << unused) >> unused);
    }

    bool push_text(pickle_code code) {
        switch (code) {
        case pickle_code::short_binunicode:
        case pickle_code::short_binstring: return push_text_of(input_.byte()), true;
        case pickle_code::binunicode:
        case pickle_code::binstring: return push_text_of(input_.number(4)), true;
        case pickle_code::binunicode8: return push_text_of(input_.number(8)), true;
        case pickle_code::short_binbytes: return push_skipped(kind::bytes, input_.byte()), true;
        case pickle_code::binbytes: return push_skipped(kind::bytes, input_.number(4)), true;
        case pickle_code::binbytes8: return push_skipped(kind::bytes, input_.number(8)), true;
        case pickle_code::bytearray8: return push_skipped(kind::bytes, input_.number(8), 1), true;
        default: return false;
        }
    }

    void push_text_of(std::uint64_t bytes) {
        if (bytes > pickle_value::most_text_bytes)
            return push_skipped(kind::long_text, bytes);
        std::size_t const index = result_.characters_.size();
        input_.append(result_.characters_, bytes);
        push({kind::text, static_cast<std::uint32_t>(bytes), index});
    }

    /// Pushes a value whose bytes stay in the file.
    void push_skipped(kind type, std::uint64_t bytes, std::uint32_t count = 0) {
        result_.bytes_.push_back(input_.skip(bytes));
        skipped_ += bytes;
        push({type, count, result_.bytes_.size() - 1});
    }

    bool push_container(pickle_code code) {
        switch (code) {
        case pickle_code::mark: return marks_.push_back(stack_.size()), true;
        case pickle_code::empty_tuple: return push({kind::tuple, 0, 0}), true;
        case pickle_code::tuple1: return push_tuple(take(1)), true;
        case pickle_code::tuple2: return push_tuple(take(2)), true;
        case pickle_code::tuple3: return push_tuple(take(3)), true;
        case pickle_code::tuple: return push_tuple(above_mark()), true;
        case pickle_code::empty_list: return push_run(kind::list, {}), true;
        case pickle_code::list: return push_run(kind::list, above_mark()), true;
        case pickle_code::empty_set: return push_run(kind::set, {}), true;
        case pickle_code::frozenset: return push_run(kind::set, above_mark(), 1), true;
        case pickle_code::empty_dict: return push_run(kind::dict, {}), true;
        case pickle_code::dict: return push_run(kind::dict, above_mark()), true;
        default: return false;
        }
    }

    bool fill(pickle_code code) {
        switch (code) {
        case pickle_code::append: return fill_with(kind::list, take(1)), true;
        case pickle_code::appends: return fill_with(kind::list, above_mark()), true;
        case pickle_code::additems: return fill_with(kind::set, above_mark()), true;
        case pickle_code::setitem: return fill_with(kind::dict, take(2)), true;
        case pickle_code::setitems: return fill_with(kind::dict, above_mark()), true;
        default: return false;
        }
    }

    /// Adds the values on top of the stack to the container below them.
    void fill_with(kind type, std::span<pickle_value const> values) {
        if (stack_.size() - values.size() <= floor())
            refuse("adds to a value, but there is none");
        pickle_value container = stack_[stack_.size() - values.size() - 1];
        if (container.type == kind::object && result_.unknown_class(container))
            container = added_to(container, type);
        else if (type == kind::list && result_.is_made_by(container, "collections.deque"))
            container = list_of_deque(container);
        if (container.type != type)
            refuse(std::string("adds to ") + result_.described(container) + ", which is not a " +
                   (type == kind::dict  ? "dict"
                    : type == kind::set ? "set"
                                        : "list"));
        if (type == kind::dict && values.size() % 2 != 0)
            refuse("adds an odd number of keys and values");
        extend(container, values);
        drop(values.size());
    }

    bool make(pickle_code code) {
        switch (code) {
        case pickle_code::global: {
            std::string const module = input_.line();
            return push_global(module + "." + input_.line()), true;
        }
        case pickle_code::stack_global: return push_stack_global(), true;
        case pickle_code::reduce:
        case pickle_code::newobj: {
            pickle_value const arguments = pop();
            return push_object(pop(), arguments), true;
        }
        case pickle_code::newobj_ex: {
            pickle_value const names = pop();
            pickle_value const arguments = pop();
            return push_object_of_names(pop(), arguments, names), true;
        }
        case pickle_code::build: return set_state(pop()), true;
        case pickle_code::binpersid:
            result_.ids_.push_back(pop());
            return push({kind::persistent_id, 0, result_.ids_.size() - 1}), true;
        default: return false;
        }
    }

    void push_stack_global() {
        pickle_value const name = pop();
        pickle_value const module = pop();
        std::string const noun = words("byte ", code_at_, ": a name");
        push_global(std::string(result_.text(module, noun)) + "." +
                    std::string(result_.text(name, noun)));
    }

    void push_global(std::string const& name) {
        // In the pickle of a copy, a name with a line break would become opcodes.
        bool const is_known = name.find('\n') == name.npos && is_allowed(allowed_, name);
        result_.has_unknown_ = result_.has_unknown_ || !is_known;
        std::size_t const index = result_.characters_.size();
        result_.characters_ += name;
        push({is_known ? kind::global : kind::unknown, static_cast<std::uint32_t>(name.size()),
              index});
    }

    /// Named arguments are only accepted for unknown classes.
    void push_object_of_names(pickle_value callable, pickle_value arguments, pickle_value names) {
        bool const has_names =
            result_.pairs(names, words("byte ", code_at_, ": named arguments")).size() != 0;
        if (has_names && !result_.unknown_class(callable))
            refuse("makes an object with named arguments, which is not supported",
                   errc::unsupported);
        push_object(callable, has_names ? push_pair(arguments, names) : arguments);
    }

    /// The list or dict of the values that are added to an object of an unknown class. It is
    /// appended to the object's arguments.
    pickle_value added_to(pickle_value object, kind type) {
        auto const [match, is_new] = added_.try_emplace({object.position, type});
        if (is_new) {
            result_.runs_.emplace_back();
            match->second = {type, 0, result_.runs_.size() - 1};
            pickle_value const made_of = result_.objects_[object.position].arguments;
            result_.objects_[object.position].arguments = push_pair(made_of, match->second);
        }
        return match->second;
    }

    /// True if a class gets a tuple as its only argument.
    bool has_one_tuple(pickle_value arguments) const {
        return arguments.count == 1 && result_.values_[arguments.position].type == kind::tuple;
    }

    /// True if a class gets a dict as its only argument.
    bool has_one_dict(pickle_value arguments) const {
        return arguments.count == 1 && result_.values_[arguments.position].type == kind::dict;
    }

    /// Python makes a deque without arguments, or from () and its maximum length, and adds the
    /// elements afterwards. Here, the deque is made from a list.
    pickle_value deque_arguments(pickle_value arguments) {
        vector<pickle_value>& values = result_.values_;
        auto const span = std::span(values).subspan(arguments.position, arguments.count);
        if (span.size() > 2 ||
            (!span.empty() && (span[0].type != kind::tuple || span[0].count > 0)))
            return arguments;
        pickle_value const most = span.size() == 2 ? span[1] : pickle_value{};
        push_run(kind::list, {});
        return push_pair(pop(), most);
    }

    pickle_value list_of_deque(pickle_value deque) const {
        pickle_value const arguments = result_.objects_[deque.position].arguments;
        return arguments.count > 0 ? result_.values_[arguments.position] : deque;
    }

    /// Makes an object. A dict of another class becomes a plain dict, and a `torch.Size` becomes a
    /// tuple.
    void push_object(pickle_value callable, pickle_value arguments) {
        if (callable.type == kind::object && result_.unknown_class(callable)) {
            arguments = push_pair(callable, arguments); // such as a method of the object
            callable = result_.objects_[callable.position].callable;
        }
        if (callable.type != kind::global && callable.type != kind::unknown)
            // not left to `global`: making its noun for millions of objects would take too long
            result_.refuse(words("byte ", code_at_, ": the callee"), callable,
                           "the name of a class or a function");
        std::string_view const name = result_.global(callable, {});
        if (arguments.type != kind::tuple)
            result_.refuse(words("byte ", code_at_, ": the arguments"), arguments, "a tuple");
        if (name == "torch.Size" && has_one_tuple(arguments)) {
            pickle_value const extents = result_.values_[arguments.position];
            return push({kind::size, extents.count, extents.position});
        }
        bool const is_ordered = name == "collections.OrderedDict";
        if (is_ordered && arguments.count > 0)
            refuse("makes an ordered dict from a list, as Python 2 does", errc::unsupported);
        if (is_ordered || name == "collections.defaultdict")
            return push_run(kind::dict, {});
        if (name == "collections.Counter" && has_one_dict(arguments))
            return push(result_.values_[arguments.position]);
        if (name == "collections.deque")
            arguments = deque_arguments(arguments);
        result_.objects_.push_back({callable, arguments, {}});
        if (is_enumerator(result_, result_.objects_.back()))
            result_.objects_.back().callable.type = kind::global;
        push({kind::object, 0, result_.objects_.size() - 1});
    }

    /// Sets the state of the top value. The state of a dict is ignored.
    void set_state(pickle_value state) {
        pickle_value const target = top();
        if (target.type == kind::object)
            result_.objects_[target.position].state = state;
        else if (target.type != kind::dict)
            refuse("sets the state of " + result_.described(target));
    }

    bool keep(pickle_code code) {
        switch (code) {
        case pickle_code::pop:
            if (stack_.size() == floor() && !marks_.empty())
                marks_.pop_back();
            else
                pop();
            return true;
        case pickle_code::pop_mark: return drop(above_mark().size()), true;
        case pickle_code::dup: return push(top()), true;
        case pickle_code::memoize: return memorize(next_number()), true;
        case pickle_code::binput: return memorize(input_.number(1)), true;
        case pickle_code::long_binput: return memorize(input_.number(4)), true;
        case pickle_code::binget: return push(remembered(input_.number(1))), true;
        case pickle_code::long_binget: return push(remembered(input_.number(4))), true;
        default: return false;
        }
    }

    file_reader input_;
    std::span<std::string_view const> allowed_;
    std::uint64_t skipped_ = 0; ///< bytes of values that stay in the file
    /// The values that are added to objects of unknown classes, by the index of the object, and
    /// list or dict.
    std::map<std::pair<std::uint64_t, kind>, pickle_value> added_;
};

RESHARD_DECL pickle::pickle(file_store::file const& file, std::string name, byte_run where,
                            std::span<std::string_view const> allowed)
    : file_(std::move(name)) {
    pickle_reader(*this, file, where, allowed).read();
}

} // namespace reshard::detail

#endif
