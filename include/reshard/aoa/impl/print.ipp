// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_PRINT_IPP
#define RESHARD_AOA_IMPL_PRINT_IPP

#include <reshard/aoa/print.hpp>

#include <reshard/aoa/macro/make_key_pattern.hpp>

#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace reshard::aoa::detail {

/// The text itself for number 1, `text_2` for number 2, and so on.
inline std::string numbered(std::string_view text, std::size_t number) {
    return std::string(text) + (number == 1 ? "" : '_' + std::to_string(number));
}

/// Assigns numbers to temporaries with the same preferred name. The next number is the smallest
/// free number.
class number_pool {
public:
    /// The next number for a temporary made in statement `now`.
    std::size_t take(std::size_t now) {
        for (; !busy_.empty() && busy_.top().first < now; busy_.pop())
            free_.push(busy_.top().second);
        if (free_.empty())
            return ++count_;
        std::size_t const number = free_.top();
        free_.pop();
        return number;
    }

    /// Reserves a number until statement `last` has run.
    void keep(std::size_t number, std::size_t last) { busy_.emplace(last, number); }

private:
    template <class T>
    using least_first = std::priority_queue<T, vector<T>, std::greater<T>>;

    std::size_t count_ = 0;
    least_first<std::pair<std::size_t, std::size_t>> busy_; ///< by the last statement that needs it
    least_first<std::size_t> free_;
};

/// Chooses names for temporaries, one after the other.
class fresh_namer {
public:
    fresh_namer(program const& whole_program, std::function<bool(std::string_view)> const& is_taken)
        : whole_(whole_program), is_taken_(is_taken), last_use_(whole_program.fresh_count(), 0) {
        for (std::size_t i = 0; i < whole_program.statements().size(); ++i)
            for (name const& each : whole_program.names(whole_program.statements()[i]))
                if (each.kind == name::kind_type::fresh)
                    last_use_[each.id] = i;
                else if (each.kind == name::kind_type::text)
                    texts_.insert(whole_program.text(each));
    }

    /// The name of a temporary that statement `now` makes.
    std::string make(name const& fresh, std::size_t now) {
        number_pool& numbers = numbers_[whole_.text(fresh)];
        std::size_t const last = last_use_[fresh.id];
        for (;;) {
            std::size_t const number = numbers.take(now);
            std::string candidate = numbered(whole_.text(fresh), number);
            if (is_another(candidate))
                continue; // never free again: the number is not put back
            auto const [position, is_new] = needed_until_.try_emplace(candidate, last);
            if (!is_new && position->second >= now) { // another temporary has this name
                numbers.keep(number, position->second);
                continue;
            }
            position->second = last;
            numbers.keep(number, last);
            return candidate;
        }
    }

private:
    bool is_another(std::string const& candidate) const {
        return texts_.contains(candidate) || (is_taken_ && is_taken_(candidate));
    }

    program const& whole_;
    std::function<bool(std::string_view)> const& is_taken_;
    vector<std::size_t> last_use_; ///< by temporary: the last statement that uses it
    std::unordered_set<std::string_view> texts_;
    std::unordered_map<std::string_view, number_pool> numbers_;
    std::unordered_map<std::string, std::size_t> needed_until_;
};

/// Printable names for the temporaries of a program, by temporary.
///
/// A temporary gets the name that PaddlePaddle's engine would give it. A number is added if a
/// tensor of the program or another live temporary has that name, or if `is_taken` returns true for
/// it.
inline vector<std::string> fresh_names(program const& whole_program,
                                       std::function<bool(std::string_view)> const& is_taken) {
    fresh_namer namer(whole_program, is_taken);
    vector<std::string> names(whole_program.fresh_count());
    for (std::size_t i = 0; i < whole_program.statements().size(); ++i)
        for (name const& each : whole_program.right(whole_program.statements()[i]))
            if (each.kind == name::kind_type::fresh && names[each.id].empty())
                names[each.id] = namer.make(each, i);
    return names;
}

} // namespace reshard::aoa::detail

namespace reshard::aoa {

RESHARD_DECL vector<std::string>
print_lines(program const& whole_program, std::function<bool(std::string_view)> const& is_taken) {
    vector<std::string> const fresh = detail::fresh_names(whole_program, is_taken);
    vector<std::string> lines;
    lines.reserve(whole_program.statements().size());
    for (statement const& statement : whole_program.statements())
        lines.push_back(detail::statement_text(whole_program, statement, [&](name const& each) {
            return each.kind == name::kind_type::fresh
                       ? detail::quoted_name(fresh[each.id])
                       : detail::bare_name_text(whole_program, each);
        }));
    return lines;
}

RESHARD_DECL std::string print(program const& whole_program,
                               std::function<bool(std::string_view)> const& is_taken) {
    std::string text;
    for (std::string const& line : print_lines(whole_program, is_taken))
        text += line + '\n';
    return text;
}

RESHARD_DECL std::string print(program const& whole_program, catalog const& source,
                               catalog const& target) {
    return print(whole_program,
                 [&](std::string_view key) { return source.find(key) || target.find(key); });
}

} // namespace reshard::aoa

#endif
