// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_CHECK_ATTRIBUTE_HPP
#define RESHARD_AOA_CHECK_ATTRIBUTE_HPP

#include <reshard/aoa/list_text.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/nearest.hpp>

#include <cstddef>
#include <string>
#include <variant>

/// \file
/// What can be wrong with an attribute whatever its statement is about: its word, and its value.

namespace reshard::aoa {

namespace detail {

/// ` (did you mean 'bfloat16'?)`: for the name that a safetensors header has, or a near name.
inline std::string meant_type(std::string const& text) {
    std::string code;
    for (char const c : text)
        code += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (code.starts_with("FP")) // as in fp32
        code.erase(1, 1);
    if (auto const dtype = data_type_from_code(code))
        return " (did you mean '" + std::string(reshard::name(*dtype)) + "'?)";
    return did_you_mean(text, all_data_types, &data_type_facts::name);
}

} // namespace detail

/// The data type that an attribute names.
///
/// \pre    its value is a text
/// \throws statement_error with errc::dtype_mismatch where there is no such type
inline data_type dtype_in(attribute const& one) {
    std::string const& text = std::get<std::string>(one.value);
    if (auto const dtype = data_type_from_name(text))
        return *dtype;
    std::string known;
    for (data_type_facts const& each_type : all_data_types)
        known += (known.empty() ? "" : ", ") + std::string(each_type.name);
    throw statement_error{errc::dtype_mismatch,
                          "there is no data type '" + text + "'" + detail::meant_type(text) +
                              "; there are " + known,
                          one.where};
}

namespace detail {

/// The word of an attribute.
///
/// \throws statement_error with errc::syntax where the language has no such word
inline attribute_word const& known_word(attribute const& one) {
    if (attribute_word const* const word = find_attribute_word(one.word))
        return *word;
    std::string known;
    for (attribute_word const& each_word : attribute_words)
        known += (known.empty() ? "" : ", ") + std::string(each_word.word);
    throw statement_error{errc::syntax,
                          "there is no attribute '" + one.word + "'" +
                              did_you_mean(one.word, attribute_words, &attribute_word::word) +
                              "; there are " + known,
                          one.where};
}

} // namespace detail

/// Refuses an attribute that no statement can have.
///
/// \throws statement_error with errc::syntax for a word that there is not, or a value of another
///         kind than the word has
inline void check_attribute(attribute const& one) {
    value_kind const wanted = detail::known_word(one).value;
    bool const is_number = std::holds_alternative<index_t>(one.value);
    if (wanted != value_kind::none && is_number != (wanted == value_kind::number))
        throw statement_error{errc::syntax,
                              "the value of '" + one.word + "' is " +
                                  (is_number ? "a quoted text" : "an integer, as in axis=0"),
                              one.where};
}

/// Refuses an attribute whose text says nothing: no data type, or no list.
///
/// \pre    `check_attribute` lets it pass
/// \throws statement_error with errc::dtype_mismatch or errc::syntax
inline void check_text(attribute const& one) {
    if (one.word.ends_with("dtype"))
        dtype_in(one);
    else if (one.word == "slice")
        parse_ranges(one);
    else if (one.word == "reshape" || one.word == "resize")
        parse_extents(one);
    else if (one.word == "permute" || one.word == "sizes" || one.word == "blocks")
        parse_list(one);
}

/// The axis of a tensor that an attribute names; one less than 0 counts from the end.
///
/// \pre    its value is a number
/// \throws error with errc::shape_mismatch where there is no such axis
inline std::size_t axis_in(attribute const& one, expression const& tensor) {
    index_t const written = std::get<index_t>(one.value);
    auto const ndim = static_cast<index_t>(tensor.ndim());
    index_t const axis = written < 0 ? written + ndim : written;
    if (axis < 0 || axis >= ndim)
        fail(errc::shape_mismatch, "axis " + std::to_string(written) + " of a tensor of " +
                                       axis_count(tensor.ndim()) + ", shape " +
                                       to_string(tensor.shape));
    return static_cast<std::size_t>(axis);
}

/// Refuses a word of the macros in a statement that is run.
///
/// \throws statement_error with errc::bad_macro for a macro, errc::syntax for its attributes
[[noreturn]] inline void refuse_macro_word(attribute const& one) {
    if (detail::known_word(one).value == value_kind::none)
        throw statement_error{errc::bad_macro, "the macro " + one.word + " has not been expanded",
                              one.where};
    throw statement_error{
        errc::syntax, "'" + one.word + "' belongs to fused_qkv and fused_qkv_old only", one.where};
}

} // namespace reshard::aoa

#endif
