// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_TYPED_TEXT_HPP
#define RESHARD_AOA_TYPED_TEXT_HPP

#include <reshard/aoa/words.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/typed_keys.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// \file
/// The statements of a text that is a template argument, and messages about faults in it.

namespace reshard::aoa::detail {

using namespace reshard::detail;

/// The maximum length of a text.
inline constexpr std::size_t most_bytes = 4096;

/// A name of a statement.
struct text_name {
    std::string_view text;
    std::size_t offset = 0;
    std::size_t number = 0;  ///< equal names have the same number
    bool is_nothing = false; ///< `_`
};

/// A word and its value: a number, or a text without its quotes.
struct text_attribute {
    std::string_view word;
    std::size_t offset = 0;
    value_kind value = value_kind::number;
    index_t number = 0;
    std::string_view text{};
    attribute_word const* row = nullptr; ///< null for an unknown word
};

/// A statement. Its names, left and then right, are consecutive, and so are its attributes.
struct text_statement {
    std::size_t offset = 0;
    std::size_t first_name = 0, left = 0, right = 0;
    std::size_t first_attribute = 0, attributes = 0;
};

/// The faults in the text of a `typed::program`, in the order of their codes.
enum class refusal : std::uint8_t {
    none, // the codes below are errc::syntax
    no_statement,
    no_name,
    no_arrow,
    no_name_or_attribute,
    no_attribute,
    no_value,
    no_end,
    open_double,
    open_single,
    unknown_word,
    no_number,
    no_text,
    no_integers,
    no_extents,
    second_axis,
    second_sizes,
    lone_sizes,
    lone_type,
    concat_axis,
    split_axis,
    nothing_in_list,
    many_to_many,
    same_name,
    removal_attribute,
    addition_attribute,
    open_extents,
    unknown_name, // errc::unknown_key
    removed_and_used,
    added_and_used,
    made_and_removed,
    removed_and_wanted,
    no_axis, // errc::shape_mismatch
    other_ndim,
    other_extent,
    size_count,
    size_of_part,
    size_sum,
    uneven,
    size_of_operand,
    order,
    negative,
    no_open_extent,
    other_count,
    wanted_shape,
    unknown_type, // errc::dtype_mismatch
    other_type,
    real,
    complex,
    wanted_type,
    product, // errc::overflow
    sum,
    axes, // errc::limit_exceeded
    too_long,
    run_time, // errc::unsupported
};

/// The code of the same error at run time.
constexpr errc code_of(refusal reason) {
    return reason < refusal::unknown_name   ? errc::syntax
           : reason < refusal::no_axis      ? errc::unknown_key
           : reason < refusal::unknown_type ? errc::shape_mismatch
           : reason < refusal::product      ? errc::dtype_mismatch
           : reason < refusal::axes         ? errc::overflow
           : reason < refusal::run_time     ? errc::limit_exceeded
                                            : errc::unsupported;
}

/// A fault, the number of its statement, counted from 1, and the offset of its byte in the text.
struct program_fault {
    refusal reason = refusal::none;
    std::size_t statement = 0;
    std::size_t offset = 0;
};

/// The numbers of elements in a text.
struct text_counts {
    std::size_t statements, names, attributes, keys;
};

/// The statements of a text, or its fault.
struct text_content {
    std::span<text_statement const> statements;
    std::span<text_name const> names;
    std::span<text_attribute const> attributes;
    std::span<hashed_key const> keys; ///< different names, by number
    program_fault fault;
};

/// The content of a text as a constant.
template <text_counts Counts>
struct text_table {
    std::array<text_statement, Counts.statements> statements{};
    std::array<text_name, Counts.names> names{};
    std::array<text_attribute, Counts.attributes> attributes{};
    std::array<hashed_key, Counts.keys> keys{};
    program_fault fault;

    constexpr explicit text_table(text_content const& content) : fault(content.fault) {
        copy(content.statements, statements);
        copy(content.names, names);
        copy(content.attributes, attributes);
        copy(content.keys, keys);
    }
    constexpr text_content content() const { return {statements, names, attributes, keys, fault}; }

    /// A plain loop takes the fewest steps in a constant expression.
    static constexpr void copy(auto const& from, auto& to) {
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = from[i];
    }
};

/// \name The position of a fault as a type
/// \{
template <std::size_t>
struct in_statement;
template <std::size_t>
struct at_column;
template <refusal Reason, errc Code, class Statement, class Column>
struct in_program;
/// \}

/// False if there is this fault at this position.
template <class Place, refusal Reason>
inline constexpr bool is_free_of = true;
template <refusal Reason, errc Code, class Statement, class Column>
inline constexpr bool is_free_of<in_program<Reason, Code, Statement, Column>, Reason> = false;

/// The run-time message for a fault, without its values.
template <class Place>
struct checked_text {
    using enum refusal;
    static_assert(is_free_of<Place, no_statement>, "expected a statement, as in a -> b");
    static_assert(is_free_of<Place, no_name>, "expected a name");
    static_assert(is_free_of<Place, no_arrow>, "expected '->'");
    static_assert(is_free_of<Place, no_name_or_attribute>, "expected a name or an attribute");
    static_assert(is_free_of<Place, no_attribute>, "expected an attribute, as in axis=0");
    static_assert(is_free_of<Place, no_value>, "expected a number or a quoted string");
    static_assert(is_free_of<Place, no_end>, "expected ',' or the end of the line");
    static_assert(is_free_of<Place, open_double>, "expected a closing \" on the same line");
    static_assert(is_free_of<Place, open_single>, "expected a closing ' on the same line");
    static_assert(is_free_of<Place, unknown_word>, "unknown attribute");
    static_assert(is_free_of<Place, no_number>,
                  "the value of ... must be an integer, as in axis=0");
    static_assert(is_free_of<Place, no_text>, "the value of ... must be a quoted string");
    static_assert(is_free_of<Place, no_integers>, "... is not a list of integers in brackets");
    static_assert(is_free_of<Place, no_extents>, "... is not a list of extents in brackets");
    static_assert(is_free_of<Place, second_axis>, "'axis' is given twice");
    static_assert(is_free_of<Place, second_sizes>, "'sizes' is given twice");
    static_assert(is_free_of<Place, lone_sizes>, "'sizes' is only allowed in a split or a concat");
    static_assert(is_free_of<Place, lone_type>,
                  "'src_dtype' and 'dst_dtype' must be given together, in this order");
    static_assert(is_free_of<Place, concat_axis>, "a concat needs an axis, as in axis=0");
    static_assert(is_free_of<Place, split_axis>, "a split needs an axis, as in axis=0");
    static_assert(is_free_of<Place, nothing_in_list>,
                  "'_' must be alone on its side, with one name on the other");
    static_assert(is_free_of<Place, many_to_many>,
                  "a statement may have several names on one side only");
    static_assert(is_free_of<Place, same_name>,
                  "... occurs twice on the right; each tensor that a statement makes needs its "
                  "own name");
    static_assert(is_free_of<Place, removal_attribute>, "a removal takes no attributes");
    static_assert(is_free_of<Place, addition_attribute>, "an addition takes no attributes");
    static_assert(is_free_of<Place, open_extents>, "a reshape can leave only one extent open");
    static_assert(is_free_of<Place, unknown_name>,
                  "... is neither in the source nor made by an earlier statement");
    static_assert(is_free_of<Place, removed_and_used>,
                  "... is used here, but the statement at ... removes it");
    static_assert(is_free_of<Place, added_and_used>,
                  "... is added by an earlier statement, so it has no contents to read");
    static_assert(is_free_of<Place, made_and_removed>,
                  "... is removed here, but the statement at ... makes it");
    static_assert(is_free_of<Place, removed_and_wanted>,
                  "the target wants ..., but the program removes it");
    static_assert(is_free_of<Place, no_axis>, "axis ... is out of range for a tensor of ..., "
                                              "shape ...");
    static_assert(is_free_of<Place, other_ndim>, "... has ... axes, but ... has ...");
    static_assert(is_free_of<Place, other_extent>,
                  "... has the extent ... along axis ..., but ... has ...");
    static_assert(is_free_of<Place, size_count>, "there are ... sizes for ... tensors");
    static_assert(is_free_of<Place, size_of_part>,
                  "axis ... has the extent ..., but part ... takes ... of the ... left");
    static_assert(is_free_of<Place, size_sum>,
                  "axis ... has the extent ..., but the sizes sum to ...");
    static_assert(is_free_of<Place, uneven>,
                  "axis ... has the extent ..., which does not divide into ... equal parts; give "
                  "explicit sizes");
    static_assert(is_free_of<Place, size_of_operand>,
                  "... has the extent ... along axis ..., but its size is given as ...");
    static_assert(is_free_of<Place, order>,
                  "the permutation ... does not name each of the ... axes once");
    static_assert(is_free_of<Place, negative>,
                  "the extent ... is negative; write '*' for the remaining extent");
    static_assert(is_free_of<Place, no_open_extent>,
                  "... are not divisible by ..., the product of the extents ..., so '*' has no "
                  "value");
    static_assert(is_free_of<Place, other_count>,
                  "the shape ... has ... elements, but ... has ...");
    static_assert(is_free_of<Place, wanted_shape>,
                  "... has the shape ..., but the target wants ...");
    static_assert(is_free_of<Place, unknown_type>, "unknown data type ...");
    static_assert(is_free_of<Place, other_type>,
                  "... is ..., but ... is ...; cast one of them first");
    static_assert(is_free_of<Place, real>,
                  "elements of type ... cannot be cast to ...: a real number cannot hold an "
                  "imaginary part");
    static_assert(is_free_of<Place, complex>, "elements of type ... cannot be cast to ...: only "
                                              "complex numbers can be cast to complex numbers");
    static_assert(is_free_of<Place, wanted_type>, "... is ..., but the target wants ...");
    static_assert(is_free_of<Place, product>,
                  "the product of the extents ... and ... does not fit in 64 bits");
    static_assert(is_free_of<Place, sum>,
                  "the sum of the extents ... and ... does not fit in 64 bits");
    static_assert(is_free_of<Place, axes>, "a tensor has more than 8 axes");
    static_assert(is_free_of<Place, too_long>,
                  "a typed::program has at most 4,096 bytes; for a longer text, set "
                  "options::program to aoa::parse(text)");
    static_assert(is_free_of<Place, run_time>,
                  "a typed::program supports no macros, and only the words axis, sizes, permute, "
                  "reshape, dtype, src_dtype and dst_dtype; for other texts, set "
                  "options::program to aoa::parse(text)");
    using place = Place;
};

template <class Tensor, bool IsState>
inline constexpr bool is_no_state = !IsState;

/// Refuses a target tensor that would stay unchanged although its parameter changes.
template <class Tensor, bool IsState>
struct unchanged_tensor {
    static_assert(is_no_state<Tensor, IsState>,
                  "a tensor of the target may be the state of one that the program changes, but "
                  "state follows at run time only; write a statement for it, as in  a -> a");
    using type = void;
};

} // namespace reshard::aoa::detail

#endif
