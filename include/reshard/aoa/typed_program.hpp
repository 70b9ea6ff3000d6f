// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_TYPED_PROGRAM_HPP
#define RESHARD_AOA_TYPED_PROGRAM_HPP

#include <reshard/aoa/place.hpp>
#include <reshard/aoa/typed_nodes.hpp>
#include <reshard/aoa/typed_reader.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/typed_expression.hpp>
#include <reshard/layout/typed_keys.hpp>
#include <reshard/layout/typed_layout.hpp>

#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

/// \file
/// A program as a type: its text is a template argument, and the compiler turns its statements into
/// typed expressions.

namespace reshard::aoa::detail {

/// The meaning of a name in a program.
struct typed_binding {
    static constexpr std::uint32_t by_name = 0xffffffff, added = 0xfffffffe;

    std::uint32_t node = by_name; ///< node of its value, `by_name` or `added`
    bool is_removed = false;
    std::size_t statement = 0; ///< last statement that makes it, or first statement that removes it
    std::size_t offset = 0;    ///< offset of the name in that statement

    constexpr bool is_made() const { return node < added; }
};

/// Runs the statements of a text, up to the first fault. `Source` and `Target` have the keys and
/// kinds of typed layouts.
template <class Source, class Target>
class program_runner {
public:
    constexpr program_runner(text_content const& text, Source source, Target target)
        : text_(text), source_(source), target_(target) {
        for (hashed_key const& key : text.keys)
            keys_.add(key);
        bindings_.assign(text.keys.size(), typed_binding());
        bool is_right = nodes_.require(text.fault.reason == refusal::none, text.fault);
        for (std::size_t i = 0; is_right && i < text.statements.size(); ++i)
            find_removed(text.statements[i], i + 1);
        for (std::size_t i = 0; is_right && i < text.statements.size(); ++i)
            is_right = run(text.statements[i], i + 1);
        for (std::size_t i = 0; is_right && i < target_.keys.size(); ++i)
            is_right = check_target(binding(target_.keys[i]), *target_.kinds[i]);
    }

    constexpr node_maker const& nodes() const { return nodes_; }

    constexpr typed_binding binding(hashed_key const& key) const {
        std::size_t const number = keys_.find(key);
        return number == bindings_.size() ? typed_binding{} : bindings_[number];
    }

private:
    using names = std::span<text_name const>;
    using attributes = std::span<text_attribute const>;

    constexpr typed_binding& at(text_name const& name) { return bindings_[name.number]; }

    /// Finds removals first, since a removal holds for the full program.
    constexpr void find_removed(text_statement const& statement, std::size_t number) {
        text_name const* const name = &text_.names[statement.first_name];
        if (statement.left == 1 && statement.right == 1 && name[1].is_nothing &&
            !name[0].is_nothing && !at(*name).is_removed)
            at(*name) = {typed_binding::by_name, true, number, name->offset};
    }

    constexpr bool run(text_statement const& statement, std::size_t number) {
        names const left = text_.names.subspan(statement.first_name, statement.left);
        names const right =
            text_.names.subspan(statement.first_name + left.size(), statement.right);
        attributes const list =
            text_.attributes.subspan(statement.first_attribute, statement.attributes);
        nodes_.begin(number, right.size());
        if (left.size() == 1 && right.size() == 1 && left[0].is_nothing != right[0].is_nothing)
            return left[0].is_nothing ? add(right[0], list) : remove(left[0], list);
        for (text_name const& name :
             text_.names.subspan(statement.first_name, left.size() + right.size()))
            if (!nodes_.require(!name.is_nothing, refusal::nothing_in_list, name.offset))
                return false;
        if (!nodes_.require(left.size() == 1 || right.size() == 1, refusal::many_to_many,
                            statement.offset))
            return false;
        for (text_name const& name : left)
            if (!read(name))
                return false;
        for (text_name const& name : right)
            if (!nodes_.require(std::exchange(at(name).statement, number) != number,
                                refusal::same_name, name.offset))
                return false;
        std::size_t const wanted = target_.keys.find(text_.keys[right[0].number]);
        if (!nodes_.apply(list,
                          wanted < target_.keys.size() ? &target_.kinds[wanted]->shape : nullptr,
                          statement.offset))
            return false;
        for (std::size_t i = 0; i < right.size(); ++i) {
            at(right[i]).node = nodes_.values()[i];
            at(right[i]).offset = right[i].offset;
        }
        return true;
    }

    constexpr bool remove(text_name const& name, attributes list) {
        if (!list.empty())
            return nodes_.require(false,
                                  list.size() == 1 && list[0].word == "copy_of"
                                      ? refusal::run_time
                                      : refusal::removal_attribute,
                                  list[0].offset);
        return nodes_.require(!at(name).is_made(), refusal::made_and_removed, name.offset);
    }

    constexpr bool add(text_name const& name, attributes list) {
        if (!list.empty())
            return nodes_.require(false, refusal::addition_attribute, list[0].offset);
        if (!at(name).is_made())
            at(name).node = typed_binding::added;
        return true;
    }

    /// Adds the value of a name as an operand.
    constexpr bool read(text_name const& name) {
        typed_binding const& bound = at(name);
        if (bound.is_made()) {
            nodes_.add_operand(bound.node);
            return true;
        }
        std::size_t const tensor = source_.keys.find(text_.keys[name.number]);
        bool const is_added = bound.node == typed_binding::added;
        if (!nodes_.require(!bound.is_removed, refusal::removed_and_used, name.offset) ||
            !nodes_.require(tensor < source_.keys.size(),
                            is_added ? refusal::added_and_used : refusal::unknown_name,
                            name.offset))
            return false;
        nodes_.add_operand(tensor, source_.kinds[tensor]->dtype, source_.kinds[tensor]->shape);
        return true;
    }

    constexpr bool check_target(typed_binding const& bound, auto const& wanted) {
        if (!bound.is_made() && !bound.is_removed)
            return true;
        auto const require = [&](bool is_right, refusal reason) {
            return nodes_.require(is_right, {reason, bound.statement, bound.offset});
        };
        if (!bound.is_made())
            return require(bound.node == typed_binding::added, refusal::removed_and_wanted);
        typed_node const& value = nodes_.nodes()[bound.node];
        return require(value.shape == wanted.shape, refusal::wanted_shape) &&
               require(value.dtype == wanted.dtype, refusal::wanted_type);
    }

    text_content text_;
    Source source_;
    Target target_;
    key_numbers<most_bytes / 2> keys_;
    node_maker nodes_;
    vector<typed_binding> bindings_; ///< by number of the name
};

/// The results of a runner. Their size is constant, so that they outlive the runner.
template <std::size_t Nodes, std::size_t Operands, std::size_t Targets>
struct program_table {
    std::array<typed_node, Nodes> nodes{};
    std::array<std::uint32_t, Operands> operands{};
    std::array<std::uint32_t, Targets> values{}; ///< same as `typed_binding::node`

    constexpr program_table(auto const& runner, std::span<hashed_key const> targets) {
        std::ranges::copy(runner.nodes().nodes(), nodes.begin());
        std::ranges::copy(runner.nodes().operands(), operands.begin());
        std::ranges::transform(targets, values.begin(),
                               [&](hashed_key const& key) { return runner.binding(key).node; });
    }
};

/// The template arguments for `program_table`, and the fault.
struct program_facts {
    std::size_t nodes, operands;
    refusal reason;
    std::size_t statement, column;

    constexpr program_facts(auto const& runner, std::string_view text)
        : nodes(runner.nodes().nodes().size()),
          operands(runner.nodes().operands().size()),
          reason(runner.nodes().fault().reason),
          statement(runner.nodes().fault().statement),
          column(place_of(text, runner.nodes().fault().offset).column) {}
};

/// The typed expression of a node.
template <class Values, std::uint32_t Node>
struct node_value {
    static constexpr typed_node const& node = Values::table.nodes[Node];

    template <std::size_t I = 0>
    using operand = typename node_value<Values, Values::table.operands[node.first + I]>::type;

    static constexpr index_vector last() {
        index_vector sum = node.numbers;
        for (std::size_t axis = 0; axis < sum.size(); ++axis)
            sum[axis] += node.shape[axis];
        return sum;
    }
    template <std::size_t... I>
    static auto joined(std::index_sequence<I...>) -> typed::concat<node.axis, operand<I>...>;

    static auto value() {
        using enum typed_node::operation;
        if constexpr (node.type == source)
            return typename boost::mp11::mp_at_c<typename Values::source_layout::tensors,
                                                 node.first>::template as<typed::source>();
        else if constexpr (node.type == concat)
            return decltype(joined(std::make_index_sequence<node.count>()))();
        else if constexpr (node.type == slice)
            return typed::slice<operand<>, node.numbers, last()>();
        else if constexpr (node.type == permute)
            return typed::permute<operand<>, node.numbers>();
        else if constexpr (node.type == reshape)
            return typed::reshape<operand<>, node.shape>();
        else
            return typed::cast<operand<>, data_type_constant<node.dtype>>();
    }
    using type = decltype(value());
};

/// The statements of a program.
template <class Program>
inline constexpr text_counts counts_of = text_reader(Program::statements).counts();
template <class Program>
inline constexpr text_table<counts_of<Program>> statements_of{
    text_reader(Program::statements).content()};

/// The values of a program for two layouts.
template <class Source, class Target, class Program>
class program_values {
    static constexpr auto run() {
        return program_runner<Source, Target>(statements_of<Program>.content(), {}, {});
    }
    static constexpr program_facts facts{run(), Program::statements};

public:
    using source_layout = Source;
    using place = typename checked_text<
        in_program<facts.reason, code_of(facts.reason), in_statement<facts.statement>,
                   at_column<facts.column>>>::place;
    static constexpr bool is_right = facts.reason == refusal::none;

    static constexpr program_table<facts.nodes, facts.operands, Target::keys.size()> table{
        run(), Target::keys.all()};

    /// The expression for target tensor number `I`; `void` means the source tensor with its key.
    template <std::size_t I>
    static constexpr auto value_of() {
        using tensor = boost::mp11::mp_at_c<typename Target::tensors, I>;
        if constexpr (table.values[I] == typed_binding::added)
            return typed::added<typename tensor::element_type, tensor::shape>();
        else if constexpr (table.values[I] != typed_binding::by_name)
            return typename node_value<program_values, table.values[I]>::type();
        else
            return typename unchanged_tensor<tensor, contains_key(tensor::key, names_)>::type();
    }

private:
    static constexpr typed_keys<counts_of<Program>.keys> names_{statements_of<Program>.keys};
};

} // namespace reshard::aoa::detail

namespace reshard::typed {

/// The text of an AOA program, which a `plan` accepts in place of definitions: `plan<trained,
/// served, program<"q, k -> qk, axis=0">>`.
///
/// Its statements split, concat, permute, cast, reshape, rename, add and remove. Macros, and state
/// that follows its parameter, need a program at run time (`aoa::parse`).
template <reshard::detail::fixed_string Text>
struct program {
    static constexpr std::string_view statements = Text.view();

    /// The program's values for two layouts.
    template <class Source, class Target>
    using values = aoa::detail::program_values<Source, Target, program>;
};

} // namespace reshard::typed

#endif
