// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_GENERATE_HPP
#define RESHARD_TEST_ORACLE_GENERATE_HPP

#include "scenario.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Random programs that are right, over random tensors.

namespace reshard::oracle {

/// Makes one program: a few stories, each a handful of statements.
class generator {
public:
    /// `ranks`: of both sides; 0: a random number for each. The text does not depend on it.
    explicit generator(std::uint64_t seed, std::int64_t ranks = 0)
        : random_(seed * 0x2545f4914f6cdd1du + 17) {
        made_.source_ranks = random_.between(1, 8);
        made_.target_ranks = random_.between(1, 8);
        if (ranks > 0)
            made_.source_ranks = made_.target_ranks = ranks;
    }

    scenario make() {
        deep_ = random_.chance(72);
        chain(deep_ ? random_.between(3, 6) : random_.between(1, 2));
        for (std::int64_t i = random_.between(1, 3); i > 0; --i)
            tell_any_story();
        choose_targets();
        lay_out();
        return std::move(made_);
    }

private:
    /// A tensor that has a name.
    struct variable {
        numbers shape;
        std::string dtype;
        int depth = 0;               ///< operations on the way from the sources
        std::set<std::string> roots; ///< source keys
        bool is_source = false;
        bool is_used = false;
        bool must_be_target = false;
    };

    using names = std::vector<std::string>;

    // What tensors are like.

    std::int64_t an_extent() { return random_.chance(4) ? 0 : random_.between(1, 6); }

    numbers a_shape() {
        numbers shape;
        for (std::int64_t ndim = random_.between(0, 5); ndim > 0; --ndim)
            shape.push_back(count_of(shape) > 60 ? random_.between(1, 2) : an_extent());
        return shape;
    }

    /// At least two axes, and one that can be cut unevenly.
    numbers a_large_shape() {
        numbers shape{random_.between(3, 7), random_.between(1, 6)};
        for (std::int64_t more = random_.between(0, 3); more > 0; --more)
            shape.push_back(random_.between(1, 2));
        random_.shuffle(shape);
        return shape;
    }

    std::string a_dtype() {
        static names const all{"float32", "float32", "bfloat16", "float64", "int64",
                               "int32",   "float16", "int16",    "int8",    "uint8"};
        return random_.pick(all);
    }

    std::string a_wide_dtype() {
        static names const all{"float32", "bfloat16", "float16", "float64",
                               "int32",   "int64",    "int16"};
        return random_.pick(all);
    }

    std::string a_name(std::string const& stem) {
        std::string const number = std::to_string(++last_number_);
        if (random_.chance(8))
            return "\"" + stem + "/" + number + "-odd name\"";
        return random_.chance(30) ? stem + "_" + number + ".w" : stem + "." + number + ".weight";
    }

    /// The key of a name as it stands in a statement.
    static std::string key_of(std::string const& name) {
        return name.front() == '"' ? name.substr(1, name.size() - 2) : name;
    }

    std::string new_source(numbers const& shape, std::string const& dtype, std::string name = {}) {
        if (name.empty())
            name = a_name("s");
        variables_[name] = {shape, dtype, 0, {name}, true, false, false};
        source_facts_[name] = {shape, dtype};
        source_names_.push_back(name);
        return name;
    }

    // How statements are written.

    void say(std::string const& statement) {
        static names const blanks{"\n", "\n", "\n", "  # so it is\n", "\n\n", "\r\n"};
        made_.text += statement + random_.pick(blanks);
    }

    static std::string list(names const& all) {
        std::string text;
        for (std::string const& name : all)
            text += (text.empty() ? "" : ", ") + name;
        return text;
    }

    template <class Numbers>
    static std::string bracketed(Numbers const& all) {
        std::string text;
        for (std::int64_t const number : all)
            text += (text.empty() ? "[" : ", ") + std::to_string(number);
        return text.empty() ? "[]" : text + "]";
    }

    /// `axis=1`, or the same counted from the end.
    std::string axis_text(std::size_t axis, std::size_t ndim) {
        auto const forward = static_cast<std::int64_t>(axis);
        return ", axis=" + std::to_string(random_.chance(20)
                                              ? forward - static_cast<std::int64_t>(ndim)
                                              : forward);
    }

    void use(operation what) { made_.used.insert(what); }

    /// Binds `name` to a tensor made of others.
    void bind(std::string const& name, numbers const& shape, std::string const& dtype,
              names const& of, int operations = 1) {
        variable made{shape, dtype, 0, {}, false, false, false};
        for (std::string const& source : of) {
            variable& from = variables_.at(source);
            from.is_used = true;
            made.depth = std::max(made.depth, from.depth + operations);
            made.roots.insert(from.roots.begin(), from.roots.end());
        }
        variables_[name] = std::move(made);
    }

    void log(step what) {
        for (names* side : {&what.left, &what.right})
            for (std::string& name : *side)
                name = key_of(name);
        made_.steps.push_back(std::move(what));
    }

    // The stories.

    void tell_any_story() {
        switch (random_.below(12)) {
        case 0: return chain(random_.between(1, 4));
        case 1: return array_story();
        case 2: return star_left_story();
        case 3: return star_right_story();
        case 4:
        case 5: return layer_story();
        case 6: return expert_story();
        case 7: return qkv_story();
        case 8: return ffn_story();
        case 9: return add_story();
        case 10: return remove_story();
        default: return identity_story();
        }
    }

    /// One operation after the other, mostly on what came last.
    void chain(std::int64_t length) {
        numbers const shape = deep_ ? a_large_shape() : a_shape();
        std::string at = new_source(shape, deep_ ? a_wide_dtype() : a_dtype());
        bool const is_long = length >= 3;
        for (std::int64_t i = 0; i < length; ++i)
            at = any_operation(at);
        if (is_long)
            variables_.at(at).must_be_target = true;
    }

    /// Applies something to a tensor; the result is the name of what to go on with.
    std::string any_operation(std::string const& name) {
        variable const from = variables_.at(name);
        bool const is_large = count_of(from.shape) > 250;
        switch (from.shape.empty() ? random_.below(3) : random_.below(9)) {
        case 0: return rename(name);
        case 1:
        case 2: return change(name);
        case 3: return change(name);
        case 4:
        case 5: return is_large ? split(name) : concat(name);
        case 6: return even_split(name);
        default: return split(name);
        }
    }

    std::string result_name(std::string const& from) {
        if (variables_.at(from).must_be_target || !random_.chance(8))
            return a_name("t");
        return from;
    }

    std::string rename(std::string const& from) {
        variable const old = variables_.at(from);
        std::string const to = a_name("t");
        use(operation::rename);
        say(from + " -> " + to);
        log({operation::rename, {from}, {to}, 0, {}, {}, {}});
        bind(to, old.shape, old.dtype, {from});
        return to;
    }

    bool can_cast(variable const& from) const {
        return from.dtype != "int8" && from.dtype != "uint8";
    }

    /// Permutes, casts, transposes, or several of that in one statement.
    std::string change(std::string const& from) {
        variable now = variables_.at(from);
        std::string const to = result_name(from);
        std::string text = from;
        std::string attributes;
        names at{from};
        int operations = 0;
        std::vector<step> steps;
        if (random_.chance(35)) {
            text += "^T";
            use(operation::transpose);
            std::reverse(now.shape.begin(), now.shape.end());
            numbers order;
            for (std::size_t axis = now.shape.size(); axis-- > 0;)
                order.push_back(static_cast<std::int64_t>(axis));
            steps.push_back({operation::permute, at, {to}, 0, {}, order, {}});
        }
        int const what = static_cast<int>(random_.below(4)); // permute, cast, both, both reversed
        bool const permutes_first = what == 0 || what == 2;
        if (permutes_first)
            attributes += permute(now, steps, {from, to});
        if (what != 0)
            attributes += cast(now, steps, {from, to});
        if (what == 3)
            attributes += permute(now, steps, {from, to});
        operations = static_cast<int>(steps.size());
        for (std::size_t i = 0; i < steps.size(); ++i) {
            steps[i].left = {i == 0 ? from : to};
            log(steps[i]);
        }
        say(text + " -> " + to + attributes);
        bind(to, now.shape, now.dtype, {from}, operations);
        return to;
    }

    std::string permute(variable& now, std::vector<step>& steps, names const& ends) {
        numbers order(now.shape.size(), 0);
        std::iota(order.begin(), order.end(), 0);
        bool const is_reverse = random_.chance(20);
        if (is_reverse)
            std::reverse(order.begin(), order.end());
        else
            random_.shuffle(order);
        numbers shape;
        for (std::int64_t const axis : order)
            shape.push_back(now.shape[static_cast<std::size_t>(axis)]);
        now.shape = shape;
        use(operation::permute);
        steps.push_back({operation::permute, {ends[0]}, {ends[1]}, 0, {}, order, {}});
        return ", permute=\"" + (is_reverse ? "[]" : bracketed(order)) + "\"";
    }

    std::string cast(variable& now, std::vector<step>& steps, names const& ends) {
        now.dtype = a_wide_dtype();
        use(operation::cast);
        steps.push_back({operation::cast, {ends[0]}, {ends[1]}, 0, {}, {}, now.dtype});
        return ", dtype=\"" + now.dtype + "\"";
    }

    std::size_t an_axis(numbers const& shape) {
        return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(shape.size())));
    }

    std::string concat(std::string const& name) {
        variable const from = variables_.at(name);
        std::size_t const axis = an_axis(from.shape);
        names operands{name};
        std::int64_t extent = from.shape[axis];
        for (std::int64_t more = random_.between(1, 2); more > 0; --more) {
            numbers shape = from.shape;
            shape[axis] = random_.between(0, 4);
            bool const is_again = random_.chance(15);
            operands.push_back(is_again ? name : new_source(shape, from.dtype));
            extent += variables_.at(operands.back()).shape[axis];
        }
        random_.shuffle(operands);
        numbers shape = from.shape;
        shape[axis] = extent;
        std::string const to = a_name("t");
        use(operation::concat);
        say(list(operands) + " -> " + to + axis_text(axis, shape.size()));
        log({operation::concat, operands, {to}, axis, {}, {}, {}});
        bind(to, shape, from.dtype, operands);
        return to;
    }

    std::string even_split(std::string const& name) {
        variable const from = variables_.at(name);
        std::size_t const axis = an_axis(from.shape);
        numbers counts;
        for (std::int64_t parts = 2; parts <= 4; ++parts)
            if (from.shape[axis] % parts == 0)
                counts.push_back(parts);
        if (counts.empty())
            return split(name);
        std::int64_t const parts = random_.pick(counts);
        names to;
        for (std::int64_t i = 0; i < parts; ++i)
            to.push_back(a_name("t"));
        use(operation::even_split);
        say(name + " -> " + list(to) + axis_text(axis, from.shape.size()));
        log({operation::even_split, {name}, to, axis, {}, {}, {}});
        numbers shape = from.shape;
        shape[axis] /= parts;
        for (std::string const& one : to)
            bind(one, shape, from.dtype, {name});
        return random_.pick(to);
    }

    std::string split(std::string const& name) {
        variable const from = variables_.at(name);
        std::size_t const axis = an_axis(from.shape);
        numbers sizes;
        std::int64_t left = from.shape[axis];
        for (std::int64_t more = random_.between(1, 3); more > 0; --more) {
            sizes.push_back(random_.between(0, left));
            left -= sizes.back();
        }
        sizes.push_back(left);
        random_.shuffle(sizes);
        names to;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            to.push_back(a_name("t"));
        use(operation::sized_split);
        say(name + " -> " + list(to) + axis_text(axis, from.shape.size()) + ", sizes=\"" +
            bracketed(sizes) + "\"");
        log({operation::sized_split, {name}, to, axis, sizes, {}, {}});
        std::size_t largest = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            numbers shape = from.shape;
            shape[axis] = sizes[i];
            bind(to[i], shape, from.dtype, {name});
            if (sizes[i] > sizes[largest])
                largest = i;
        }
        return to[largest];
    }

    /// `w[0:3] -> x` and `x -> w[2:4]`.
    void array_story() {
        use(operation::array);
        numbers shape = a_large_shape();
        std::size_t const axis = an_axis(shape);
        std::int64_t const first = random_.between(0, 2);
        std::int64_t const count = random_.between(2, 3);
        std::string const stem = "v" + std::to_string(++last_number_);
        std::string const written =
            stem + "[" + std::to_string(first) + ":" + std::to_string(first + count) + "]";
        std::string const dtype = a_dtype();
        std::string const whole = random_.chance(50) ? a_name("t") : std::string();
        names parts;
        for (std::int64_t i = first; i < first + count; ++i)
            parts.push_back(stem + "_" + std::to_string(i));
        numbers joined = shape;
        joined[axis] *= count;
        if (whole.empty()) {
            std::string const source = new_source(joined, dtype);
            say(source + " -> " + written + axis_text(axis, shape.size()));
            log({operation::even_split, {source}, parts, axis, {}, {}, {}});
            for (std::string const& part : parts)
                bind(part, shape, dtype, {source});
            return;
        }
        for (std::string const& part : parts)
            new_source(shape, dtype, part);
        say(written + " -> " + whole + axis_text(axis, shape.size()));
        log({operation::concat, parts, {whole}, axis, {}, {}, {}});
        bind(whole, joined, dtype, parts);
    }

    /// A few numbers, ascending, among them some of two digits.
    numbers some_ids(std::int64_t least) {
        numbers all{0, 1, 2, 3, 7, 9, 10, 11, 12, 100};
        random_.shuffle(all);
        all.resize(static_cast<std::size_t>(random_.between(least, 4)));
        std::sort(all.begin(), all.end());
        return all;
    }

    void star_left_story() {
        use(operation::star);
        numbers const shape = a_large_shape();
        std::size_t const axis = an_axis(shape);
        std::string const stem = "e" + std::to_string(++last_number_) + ".";
        std::string const dtype = a_dtype();
        names parts;
        std::int64_t extent = 0;
        for (std::int64_t const id : some_ids(2)) {
            numbers own = shape;
            own[axis] = random_.between(0, 3);
            extent += own[axis];
            parts.push_back(new_source(own, dtype, stem + std::to_string(id) + ".w"));
        }
        numbers all = shape;
        all[axis] = extent;
        std::string const to = a_name("t");
        say(stem + "*.w -> " + to + axis_text(axis, shape.size()));
        log({operation::concat, parts, {to}, axis, {}, {}, {}});
        bind(to, all, dtype, parts);
    }

    void star_right_story() {
        use(operation::star);
        numbers const shape = a_large_shape();
        std::size_t const axis = an_axis(shape);
        std::string const stem = "f" + std::to_string(++last_number_) + ".";
        names parts;
        for (std::int64_t const id : some_ids(2))
            parts.push_back(stem + std::to_string(id) + ".w");
        numbers all = shape;
        all[axis] *= static_cast<std::int64_t>(parts.size());
        std::string const from = new_source(all, a_dtype());
        say(from + " -> " + stem + "*.w" + axis_text(axis, shape.size()));
        log({operation::even_split, {from}, parts, axis, {}, {}, {}});
        for (std::string const& part : parts) {
            bind(part, shape, variables_.at(from).dtype, {from});
            variables_.at(part).must_be_target = true;
        }
    }

    static std::string with(std::string text, std::string const& tag, std::int64_t id) {
        for (auto at = text.find(tag); at != std::string::npos; at = text.find(tag))
            text.replace(at, tag.size(), std::to_string(id));
        return text;
    }

    /// Every layer has two tensors, which are joined, transposed, cast or only renamed.
    void layer_story() {
        use(operation::layer_id);
        std::string const stem = "l" + std::to_string(++last_number_) + ".";
        numbers const layers = some_ids(1);
        numbers const shape = a_large_shape();
        std::size_t const axis = an_axis(shape);
        std::string const dtype = a_wide_dtype();
        auto const what = random_.below(4);
        std::int64_t const shift = random_.chance(20) ? 1 : 0;
        std::string const dollar = stem + "$LAYER_ID";
        std::string const to = "m" + dollar + (shift ? " + 1" : "") + ".w";
        std::string const to_dtype = a_wide_dtype();
        for (std::int64_t const id : layers) {
            std::string const a = new_source(shape, dtype, stem + std::to_string(id) + ".a");
            std::string const made = "m" + stem + std::to_string(id + shift) + ".w";
            numbers joined = shape;
            if (what == 0) {
                std::string const b = new_source(shape, dtype, stem + std::to_string(id) + ".b");
                joined[axis] *= 2;
                log({operation::concat, {a, b}, {made}, axis, {}, {}, {}});
                bind(made, joined, dtype, {a, b});
            } else if (what == 1) {
                std::reverse(joined.begin(), joined.end());
                numbers order;
                for (std::size_t i = shape.size(); i-- > 0;)
                    order.push_back(static_cast<std::int64_t>(i));
                log({operation::permute, {a}, {made}, 0, {}, order, {}});
                bind(made, joined, dtype, {a});
            } else {
                log({what == 2 ? operation::cast : operation::rename,
                     {a},
                     {made},
                     0,
                     {},
                     {},
                     to_dtype});
                bind(made, shape, what == 2 ? to_dtype : dtype, {a});
            }
        }
        switch (what) {
        case 0:
            use(operation::concat);
            return say(dollar + ".a, " + dollar + ".b -> " + to + axis_text(axis, shape.size()));
        case 1: use(operation::transpose); return say(dollar + ".a^T -> " + to);
        case 2:
            use(operation::cast);
            return say(dollar + ".a -> " + to + ", dtype='" + to_dtype + "'");
        default: use(operation::rename); return say(dollar + ".a -> " + to);
        }
    }

    /// Some layers have experts, others have none.
    void expert_story() {
        use(operation::expert_id);
        use(operation::layer_id);
        std::string const stem = "x" + std::to_string(++last_number_) + ".";
        numbers const shape = a_large_shape();
        std::string const dtype = a_dtype();
        bool const turns = random_.chance(50);
        numbers turned = shape;
        numbers order;
        for (std::size_t i = shape.size(); i-- > 0;)
            order.push_back(static_cast<std::int64_t>(i));
        if (turns)
            std::reverse(turned.begin(), turned.end());
        numbers const layers = some_ids(2);
        for (std::size_t i = 1; i < layers.size(); ++i)
            for (std::int64_t const expert : some_ids(1)) {
                std::string const tail =
                    stem + std::to_string(layers[i]) + ".e." + std::to_string(expert) + ".w";
                std::string const made = "y" + tail;
                std::string const from = new_source(shape, dtype, tail);
                log({turns ? operation::permute : operation::rename,
                     {from},
                     {made},
                     0,
                     {},
                     order,
                     {}});
                bind(made, turned, dtype, {from});
            }
        new_source(shape, dtype, stem + std::to_string(layers[0]) + ".w"); // a dense layer
        std::string const dollar = stem + "$LAYER_ID.e.$EXPERT_ID.w";
        use(turns ? operation::transpose : operation::rename);
        say(dollar + (turns ? "^T" : "") + " -> y" + dollar);
    }

    void qkv_story() {
        use(operation::fused_qkv);
        made_.only_text = true;
        std::int64_t const groups = random_.between(1, 3);
        std::int64_t const heads = groups * random_.between(1, 3);
        std::int64_t const head = random_.between(1, 2);
        std::size_t const axis = static_cast<std::size_t>(random_.below(2));
        std::string const dtype = a_dtype();
        numbers shape{random_.between(1, 4), random_.between(1, 4)};
        auto const with_heads = [&](std::int64_t count) {
            numbers result = shape;
            result[axis] = count * head;
            return result;
        };
        std::string const tail = ", fused_qkv, num_heads=" + std::to_string(heads) +
                                 ", num_key_value_groups=" + std::to_string(groups) +
                                 (axis == 1 ? "" : ", axis=0");
        if (random_.chance(50)) {
            bool const turns = random_.chance(40);
            names const from{new_qkv(with_heads(heads), dtype, turns),
                             new_qkv(with_heads(groups), dtype, turns),
                             new_qkv(with_heads(groups), dtype, turns)};
            std::string const to = a_name("t");
            std::string const mark = turns ? "^T" : "";
            if (turns)
                use(operation::transpose);
            say(from[0] + mark + ", " + from[1] + mark + ", " + from[2] + mark + " -> " + to +
                tail);
            bind(to, with_heads(heads + 2 * groups), dtype, from);
            return;
        }
        std::string const from = new_source(with_heads(heads + 2 * groups), dtype);
        names const to{a_name("q"), a_name("k"), a_name("v")};
        say(from + " -> " + list(to) + tail);
        bind(to[0], with_heads(heads), dtype, {from});
        bind(to[1], with_heads(groups), dtype, {from});
        bind(to[2], with_heads(groups), dtype, {from});
    }

    std::string new_qkv(numbers shape, std::string const& dtype, bool turned) {
        if (turned)
            std::reverse(shape.begin(), shape.end());
        return new_source(shape, dtype);
    }

    void ffn_story() {
        use(operation::fused_ffn);
        made_.only_text = true;
        std::size_t const axis = static_cast<std::size_t>(random_.below(2));
        auto const form = random_.below(3);
        std::int64_t const stored = form == 2 ? 1 : random_.between(1, 3);
        std::int64_t const wanted = form == 1 ? 1 : random_.between(1, 4);
        std::int64_t const half = std::lcm(stored, wanted) * random_.between(1, 2);
        std::string const dtype = a_dtype();
        numbers whole{random_.between(1, 4), random_.between(1, 4)};
        numbers part = whole;
        whole[axis] = 2 * half;
        part[axis] = half;
        std::string const tail = std::string(", fused_ffn") + (axis == 1 ? "" : ", axis=0");
        names const from = form == 2 ? names{new_source(part, dtype), new_source(part, dtype)}
                                     : names{new_source(whole, dtype)};
        names const to = form == 1 ? names{a_name("g"), a_name("u")} : names{a_name("d")};
        say(list(from) + " -> " + list(to) + tail);
        for (std::string const& one : to)
            bind(one, form == 1 ? part : whole, dtype, from);
        if (form != 2)
            wishes_[from[0]] = {false, axis, stored, false};
        if (form != 1) {
            wishes_[to[0]] = {false, axis, wanted, false};
            variables_.at(to[0]).must_be_target = true;
        }
    }

    void add_story() {
        use(operation::add);
        std::string const to = a_name("n");
        say("_ -> " + to);
        log({operation::add, {}, {to}, 0, a_shape(), {}, a_dtype()});
        variables_[to] = {
            made_.steps.back().sizes, made_.steps.back().dtype, 0, {}, false, false, true};
    }

    void remove_story() {
        use(operation::remove);
        std::string const from = new_source(a_shape(), a_dtype());
        variables_.at(from).is_used = true;
        removed_.insert(from);
        say(from + " -> _");
        log({operation::remove, {from}, {}, 0, {}, {}, {}});
    }

    void identity_story() {
        use(operation::identity);
        std::string const name = new_source(a_shape(), a_dtype());
        variables_.at(name).must_be_target = true;
    }

    // What is wanted, and where everything lies.

    void choose_targets() {
        for (auto const& [name, value] : variables_) {
            if (removed_.contains(name))
                continue;
            int const percent = value.must_be_target ? 100
                                : value.is_source    ? 6
                                : value.is_used      ? 15
                                                     : 80;
            if (!random_.chance(percent))
                continue;
            made_.targets.push_back({key_of(name), value.shape, value.dtype, {}, false});
            target_names_.push_back(name);
            if (value.is_source)
                use(operation::identity);
        }
    }

    wish wish_of(std::string const& name, bool is_target) {
        auto const found = wishes_.find(name);
        wish wanted = found == wishes_.end() ? wish{} : found->second;
        wanted.may_overlap = is_target;
        wanted.uneven = deep_ && random_.chance(85);
        return wanted;
    }

    void lay_out() {
        spreader on_sources(random_, made_.source_ranks);
        spreader on_targets(random_, made_.target_ranks);
        std::set<std::string> uneven_sources;
        for (std::string const& name : source_names_) {
            auto const& [shape, dtype] = source_facts_.at(name);
            tensor one{key_of(name), shape, dtype, {}, false};
            on_sources.spread(one, wish_of(name, false));
            if (one.is_uneven)
                uneven_sources.insert(name);
            made_.sources.push_back(std::move(one));
        }
        for (std::size_t i = 0; i < made_.targets.size(); ++i) {
            variable const& value = variables_.at(target_names_[i]);
            on_targets.spread(made_.targets[i], wish_of(target_names_[i], true));
            bool const from_uneven =
                std::any_of(value.roots.begin(), value.roots.end(),
                            [&](auto const& root) { return uneven_sources.contains(root); });
            made_.is_deep =
                made_.is_deep || (value.depth >= 3 && made_.targets[i].is_uneven && from_uneven);
        }
        random_.shuffle(made_.sources);
        random_.shuffle(made_.targets);
    }

    random_numbers random_;
    scenario made_;
    bool deep_ = false;
    int last_number_ = 0;
    std::map<std::string, variable> variables_; ///< by name as it is written
    std::map<std::string, std::pair<numbers, std::string>> source_facts_;
    std::map<std::string, wish> wishes_;
    names source_names_;
    names target_names_;
    std::set<std::string> removed_;
};

} // namespace reshard::oracle

#endif
