// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_PICKLE_READER_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_PICKLE_READER_IPP

#include <reshard/format/pickle/pickle.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/file_reader.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace reshard::detail {

/// True where one of the names stands for `name`; see `pickle`.
inline bool is_allowed(std::span<std::string_view const> allowed, std::string_view name) {
    return std::any_of(allowed.begin(), allowed.end(), [&](std::string_view one) {
        if (!one.ends_with('*'))
            return one == name;
        one.remove_suffix(1);
        return name.starts_with(one) && name.find('.', one.size()) == name.npos;
    });
}

/// Runs the codes of a pickle, which only put values together.
class pickle_reader {
public:
    using kind = pickle_value::kind;

    pickle_reader(pickle& result, file_store::file const& file, byte_run where,
                  std::span<std::string_view const> allowed)
        : result_(result), input_(file, result.file_, where), allowed_(allowed) {}

    void read() {
        std::uint64_t const begin = input_.position();
        reserve(input_.left());
        if (input_.byte() != static_cast<unsigned char>(pickle_code::proto))
            refuse("is not the first one of a pickle of protocol 2 or later");
        result_.protocol_ = input_.byte();
        check_protocol(result_.protocol_);
        constexpr std::uint64_t between_looks = 4096; // a look takes as long as some codes
        for (std::uint64_t i = 1; step(static_cast<pickle_code>(begin_code())); ++i)
            if (i % between_looks == 0)
                check_memory(input_.position() - begin - skipped_);
        result_.end_ = input_.position();
        result_.bytes_read_ = result_.end_ - begin - skipped_;
        check_memory(result_.bytes_read_);
    }

private:
    [[noreturn]] void refuse(std::string const& text, errc code = errc::corrupt_file) const {
        fail(code, result_.file_, ": byte ", code_at_, " ", text);
    }

    /// Refuses what takes far more memory than the state of any training: lists are moved as they
    /// grow, so that there may be two of each for a moment.
    void check_memory(std::uint64_t bytes_read) const {
        std::uint64_t const taken =
            result_.memory() + (stack_.size() + memo_.size()) * sizeof(pickle_value) +
            sparse_memo_.size() * 4 * sizeof(pickle_value) + marks_.size() * sizeof(std::size_t);
        if (taken > pickle::most_memory(bytes_read) / 2)
            fail(errc::limit_exceeded, result_.file_, ": byte ", code_at_, ": the ", bytes_read,
                 " bytes of the pickle up to here would take ", taken,
                 " bytes of memory; it is not a checkpoint, or damaged");
    }

    /// Takes addresses for what large pickles have a byte, so that nothing is copied when it grows;
    /// memory comes with what is there.
    void reserve(std::uint64_t bytes) {
        auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 1u << 28));
        result_.values_.reserve(count / 4);
        result_.objects_.reserve(count / 40);
        memo_.reserve(count / 10);
    }

    unsigned char begin_code() {
        code_at_ = input_.position();
        return input_.byte();
    }

    void check_protocol(unsigned protocol) const {
        if (protocol < 2 || protocol > 5)
            refuse("begins a pickle of protocol " + std::to_string(protocol) +
                       "; those of 2 to 5 are read",
                   errc::unsupported);
    }

    /// False at the end.
    bool step(pickle_code code) {
        switch (code) {
        case pickle_code::stop: result_.root_ = pop(); return false;
        case pickle_code::proto: check_protocol(input_.byte()); return true;
        case pickle_code::frame: // a hint for who reads in steps
            input_.number(8);
            return true;
        default: break;
        }
        if (!push_scalar(code) && !push_text(code) && !push_container(code) && !fill(code) &&
            !make(code) && !keep(code))
            refuse("is the code " + std::to_string(static_cast<unsigned>(code)) +
                       ", which no checkpoint that is read here has",
                   errc::unsupported);
        return true;
    }

    void push(pickle_value value) { stack_.push_back(value); }
    void push_integer(std::int64_t number) {
        push({kind::integer, 0, static_cast<std::uint64_t>(number)});
    }

    /// The value on top, above the last mark.
    pickle_value& top() {
        if (stack_.size() <= floor())
            refuse("takes a value where there is none");
        return stack_.back();
    }

    pickle_value pop() {
        pickle_value const value = top();
        stack_.pop_back();
        return value;
    }

    std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

    /// The values above the last mark, which is taken away; they stay on the stack until `drop`.
    std::span<pickle_value const> above_mark() {
        if (marks_.empty())
            refuse("takes all values up to a mark, and there is none");
        std::size_t const first = marks_.back();
        marks_.pop_back();
        return std::span<pickle_value const>(stack_).subspan(first);
    }

    void drop(std::size_t count) { stack_.resize(stack_.size() - count); }

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

    /// Two's complement, the last byte has the sign.
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
        std::size_t const place = result_.characters_.size();
        input_.append(result_.characters_, bytes);
        push({kind::text, static_cast<std::uint32_t>(bytes), place});
    }

    /// A value whose bytes stay in the file.
    void push_skipped(kind what, std::uint64_t bytes, std::uint32_t count = 0) {
        result_.bytes_.push_back(input_.skip(bytes));
        skipped_ += bytes;
        push({what, count, result_.bytes_.size() - 1});
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

    void push_tuple(std::span<pickle_value const> elements) {
        std::size_t const first = result_.values_.size();
        result_.values_.insert(result_.values_.end(), elements.begin(), elements.end());
        std::size_t const count = elements.size();
        drop(count);
        push({kind::tuple, static_cast<std::uint32_t>(count), first});
    }

    void push_run(kind what, std::span<pickle_value const> values, std::uint32_t frozen = 0) {
        if (what == kind::dict && values.size() % 2 != 0)
            refuse("makes a dict of an odd number of keys and values");
        result_.runs_.emplace_back();
        pickle_value const run{what, frozen, result_.runs_.size() - 1};
        std::size_t const count = values.size();
        extend(run, values);
        drop(count);
        push(run);
    }

    /// Adds values behind those that a list or a dict has, at another place where others follow
    /// them.
    void extend(pickle_value container, std::span<pickle_value const> values) {
        std::vector<pickle_value>& all = result_.values_;
        pickle::run& run = result_.runs_[container.place];
        if (run.first + run.capacity == all.size()) {
            all.resize(run.first + run.count);
            run.capacity = run.count;
        }
        if (run.count + values.size() > run.capacity) {
            bool const is_last = run.first + run.count == all.size();
            std::size_t const needed = run.count + values.size();
            std::size_t const capacity = is_last ? needed : std::max(needed, 2 * run.capacity);
            std::size_t const first = is_last ? run.first : all.size();
            all.resize(first + capacity);
            std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(run.first), run.count,
                        all.begin() + static_cast<std::ptrdiff_t>(first));
            run = {first, run.count, capacity};
        }
        std::copy(values.begin(), values.end(),
                  all.begin() + static_cast<std::ptrdiff_t>(run.first + run.count));
        run.count += values.size();
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

    /// The values on top; they stay on the stack until `drop`.
    std::span<pickle_value const> take(std::size_t count) {
        if (stack_.size() - floor() < count)
            refuse("takes " + std::to_string(count) + " values where there are fewer");
        return std::span<pickle_value const>(stack_).last(count);
    }

    /// Adds values that lie above a container to it.
    void fill_with(kind what, std::span<pickle_value const> values) {
        if (stack_.size() - values.size() <= floor())
            refuse("adds to a value where there is none");
        pickle_value container = stack_[stack_.size() - values.size() - 1];
        if (what == kind::list && result_.is_made_by(container, "collections.deque"))
            container = list_of_deque(container);
        if (container.what != what)
            refuse(std::string("adds to ") + result_.described(container) + ", which is no " +
                   (what == kind::dict  ? "dict"
                    : what == kind::set ? "set"
                                        : "list"));
        if (what == kind::dict && values.size() % 2 != 0)
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
            if (result_.pairs(names, words("byte ", code_at_, ": named arguments")).size() != 0)
                refuse("makes an object of named arguments", errc::unsupported);
            pickle_value const arguments = pop();
            return push_object(pop(), arguments), true;
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
        std::string const what = words("byte ", code_at_, ": a name");
        push_global(std::string(result_.text(module, what)) + "." +
                    std::string(result_.text(name, what)));
    }

    void push_global(std::string const& name) {
        // A name with an end of a line would be codes in the pickle of a copy.
        if (name.find('\n') != name.npos || !is_allowed(allowed_, name))
            refuse("names '" + name +
                       "', which is none of the classes and functions that such a file may have; "
                       "nothing of it was run",
                   errc::unsupported);
        std::size_t const place = result_.characters_.size();
        result_.characters_ += name;
        push({kind::global, static_cast<std::uint32_t>(name.size()), place});
    }

    /// True for the arguments of a class that is made of a tuple.
    bool has_one_tuple(pickle_value arguments) const {
        return arguments.count == 1 && result_.values_[arguments.place].what == kind::tuple;
    }

    /// True for the arguments of a class that is made of a dict.
    bool has_one_dict(pickle_value arguments) const {
        return arguments.count == 1 && result_.values_[arguments.place].what == kind::dict;
    }

    /// Python makes a deque of nothing, or of () and its greatest length, and adds to it then; it
    /// is made of a list here.
    pickle_value deque_arguments(pickle_value arguments) {
        std::vector<pickle_value>& all = result_.values_;
        auto const given = std::span(all).subspan(arguments.place, arguments.count);
        if (given.size() > 2 ||
            (!given.empty() && (given[0].what != kind::tuple || given[0].count > 0)))
            return arguments;
        pickle_value const most = given.size() == 2 ? given[1] : pickle_value{};
        push_run(kind::list, {});
        all.insert(all.end(), {pop(), most});
        return {kind::tuple, 2, all.size() - 2};
    }

    pickle_value list_of_deque(pickle_value deque) const {
        pickle_value const arguments = result_.objects_[deque.place].arguments;
        return arguments.count > 0 ? result_.values_[arguments.place] : deque;
    }

    /// A dict of another class is a dict, and a size is a tuple.
    void push_object(pickle_value callable, pickle_value arguments) {
        if (callable.what != kind::global) // words for each of millions would take their time
            result_.refuse(words("byte ", code_at_, ": what is called"), callable,
                           "the name of a class or a function");
        std::string_view const name = result_.global(callable, {});
        if (arguments.what != kind::tuple)
            result_.refuse(words("byte ", code_at_, ": the arguments"), arguments, "a tuple");
        if (name == "torch.Size" && has_one_tuple(arguments)) {
            pickle_value const extents = result_.values_[arguments.place];
            return push({kind::size, extents.count, extents.place});
        }
        bool const is_ordered = name == "collections.OrderedDict";
        if (is_ordered && arguments.count > 0)
            refuse("makes an ordered dict of a list, as Python 2 does", errc::unsupported);
        if (is_ordered || name == "collections.defaultdict")
            return push_run(kind::dict, {});
        if (name == "collections.Counter" && has_one_dict(arguments))
            return push(result_.values_[arguments.place]);
        if (name == "collections.deque")
            arguments = deque_arguments(arguments);
        result_.objects_.push_back({callable, arguments, {}});
        push({kind::object, 0, result_.objects_.size() - 1});
    }

    /// What is set to a dict, beside what it has, is of no use.
    void set_state(pickle_value state) {
        pickle_value const target = top();
        if (target.what == kind::object)
            result_.objects_[target.place].state = state;
        else if (target.what != kind::dict)
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
        case pickle_code::memoize: return memorize(memo_.size()), true;
        case pickle_code::binput: return memorize(input_.number(1)), true;
        case pickle_code::long_binput: return memorize(input_.number(4)), true;
        case pickle_code::binget: return push(remembered(input_.number(1))), true;
        case pickle_code::long_binget: return push(remembered(input_.number(4))), true;
        default: return false;
        }
    }

    /// Writers count on; a number beyond the next is of another writer, and its memory is a table.
    void memorize(std::uint64_t number) {
        if (number == memo_.size())
            memo_.push_back(top());
        else if (number < memo_.size())
            memo_[number] = top();
        else
            sparse_memo_[number] = top();
    }

    pickle_value remembered(std::uint64_t number) const {
        if (number < memo_.size())
            return memo_[number];
        auto const found = sparse_memo_.find(number);
        if (found == sparse_memo_.end())
            refuse("asks for value " + std::to_string(number) + ", which nothing was kept as");
        return found->second;
    }

    pickle& result_;
    file_reader input_;
    std::span<std::string_view const> allowed_;
    std::uint64_t code_at_ = 0; ///< position of the code that is run
    std::uint64_t skipped_ = 0; ///< bytes of values that stay in the file
    std::vector<pickle_value> stack_;
    std::vector<std::size_t> marks_; ///< sizes of the stack
    std::vector<pickle_value> memo_;
    std::unordered_map<std::uint64_t, pickle_value> sparse_memo_;
};

RESHARD_DECL pickle::pickle(file_store::file const& file, std::string name, byte_run where,
                            std::span<std::string_view const> allowed)
    : file_(std::move(name)) {
    pickle_reader(*this, file, where, allowed).read();
}

} // namespace reshard::detail

#endif
