// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_CHECK_ATTRIBUTE_IPP
#define RESHARD_AOA_IMPL_CHECK_ATTRIBUTE_IPP

#include <reshard/aoa/check_attribute.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/list_text.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/nearest.hpp>

#include <string>
#include <tuple>
#include <variant>

namespace reshard::aoa::detail {

/// ` (did you mean 'bfloat16'?)`: for the name that a safetensors header has, or a near name.
inline std::string meant_type(std::string const& text) {
    std::string code;
    for (char const c : text)
        code += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (code.starts_with("FP")) // as in fp32
        code.erase(1, 1);
    if (auto const dtype = reshard::detail::data_type_from_code(code))
        return " (did you mean '" + std::string(reshard::name(*dtype)) + "'?)";
    return reshard::detail::did_you_mean(text, reshard::detail::all_data_types,
                                         &reshard::detail::data_type_facts::name);
}

RESHARD_DECL data_type dtype_in(attribute const& one) {
    std::string const& text = std::get<std::string>(one.value);
    if (auto const dtype = data_type_from_name(text))
        return *dtype;
    std::string known;
    for (reshard::detail::data_type_facts const& each_type : reshard::detail::all_data_types)
        known += (known.empty() ? "" : ", ") + std::string(each_type.name);
    throw statement_error{errc::dtype_mismatch,
                          "unknown data type '" + text + "'" + meant_type(text) +
                              "; the data types are " + known,
                          one.where};
}

/// The word of an attribute.
///
/// \throws statement_error with errc::syntax where the language has no such word
inline attribute_word const& known_word(attribute const& one) {
    if (attribute_word const* const word = find_attribute_word(one.word))
        return *word;
    std::string known;
    for (attribute_word const& each_word : attribute_words)
        known += (known.empty() ? "" : ", ") + std::string(each_word.word);
    throw statement_error{
        errc::syntax,
        "unknown attribute '" + one.word + "'" +
            reshard::detail::did_you_mean(one.word, attribute_words, &attribute_word::word) +
            "; the attributes are " + known,
        one.where};
}

RESHARD_DECL void check_attribute(attribute const& one) {
    value_kind const wanted = known_word(one).value;
    bool const is_number = std::holds_alternative<index_t>(one.value);
    if (wanted != value_kind::none && is_number != (wanted == value_kind::number))
        throw statement_error{errc::syntax,
                              "the value of '" + one.word + "' must be " +
                                  (is_number ? "a quoted string" : "an integer, as in axis=0"),
                              one.where};
}

RESHARD_DECL void check_text(attribute const& one) {
    if (one.word.ends_with("dtype"))
        dtype_in(one);
    else if (one.word == "slice")
        parse_ranges(one);
    else if (one.word == "reshape" || one.word == "resize")
        parse_extents(one);
    else if (one.word == "permute" || one.word == "sizes" || one.word == "blocks")
        parse_list(one);
}

RESHARD_DECL std::size_t axis_in(attribute const& one, expression const& tensor) {
    index_t const written = std::get<index_t>(one.value);
    auto const ndim = static_cast<index_t>(tensor.ndim());
    index_t const axis = written < 0 ? written + ndim : written;
    if (axis < 0 || axis >= ndim)
        fail(errc::shape_mismatch, "axis " + std::to_string(written) + " of a tensor of " +
                                       reshard::detail::axis_count(tensor.ndim()) + ", shape " +
                                       to_string(tensor.shape));
    return static_cast<std::size_t>(axis);
}

RESHARD_DECL void refuse_macro_word(attribute const& one) {
    if (known_word(one).value == value_kind::none)
        throw statement_error{errc::bad_macro, "the macro " + one.word + " has not been expanded",
                              one.where};
    throw statement_error{errc::syntax,
                          "'" + one.word + "' is only allowed with fused_qkv and fused_qkv_old",
                          one.where};
}

} // namespace reshard::aoa::detail

#endif
