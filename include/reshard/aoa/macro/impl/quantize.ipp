// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_QUANTIZE_IPP
#define RESHARD_AOA_MACRO_IMPL_QUANTIZE_IPP

#include <reshard/aoa/macro/macros.hpp>

#include <reshard/copy/quantiser.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace reshard::aoa::detail {

/// The names of the tensors that a statement makes by a scheme.
inline vector<name> quantised_names(macro_context& context, statement const& statement,
                                    attribute const& scheme) {
    auto const written = context.code.right(statement);
    vector<name> names(written.begin(), written.end());
    auto const* const text = std::get_if<std::string>(&scheme.value);
    try {
        auto const endings = reshard::detail::endings_of(text ? *text : "");
        if (names.size() == 1 && names[0].kind == name::kind_type::text)
            for (std::size_t i = 0; i < endings.size(); ++i) {
                std::string const key = words(context.code.text(written[0]), endings[i].text);
                names.resize(i);
                names.push_back(context.code.make_text(key, written[0].where));
            }
        if (names.size() != endings.size())
            fail_in(statement, {errc::bad_macro,
                                words("'quantize' makes ", counted(endings.size(), "tensor"),
                                      " by this scheme, not ", names.size()),
                                scheme.where});
    } catch (error const& problem) {
        fail_in(statement, {errc::bad_macro, problem.what(), scheme.where});
    }
    return names;
}

RESHARD_DECL void expand_quantize(macro_context& context, statement const& current_statement,
                                  vector<statement>& expanded) {
    vector<attribute> list = context.code.attributes(current_statement);
    attribute const* const word = find_attribute(context.code, current_statement, "quantize");
    if (!word)
        return expanded.push_back(current_statement);
    attribute const scheme = *word;
    if (list.back().word != "quantize" ||
        word != &context.code.attributes(current_statement).back())
        fail_in(current_statement,
                {errc::bad_macro,
                 "'quantize' must be the last attribute of a statement, given once", scheme.where});
    if (attribute const* const axis = find_attribute(context.code, current_statement, "axis");
        axis && current_statement.left == 1)
        fail_in(current_statement,
                {errc::bad_macro,
                 "'axis' has no tensors to join here, and a split cannot be combined with "
                 "'quantize'; split the tensor in a statement before it",
                 axis->where});
    vector<name> const results = quantised_names(context, current_statement, scheme);
    auto const left = context.code.left(current_statement);
    vector<name> operands(left.begin(), left.end()), values = operands;
    if (!find_attribute(context.code, current_statement, "axis"))
        values.resize(1); // the others are scales
    statement like = context.derive(current_statement, "quantize");
    list.pop_back();
    if (!list.empty()) {
        name const value = context.code.make_fresh(
            results[0].kind == name::kind_type::text ? context.code.text(results[0]) : "",
            results[0].where);
        like.attributes = context.code.make_attributes(std::move(list));
        expanded.push_back(context.make(values, {&value, 1}, like));
        operands.erase(operands.begin(),
                       operands.begin() + static_cast<std::ptrdiff_t>(values.size()));
        operands.insert(operands.begin(), value);
    }
    like.attributes = context.code.make_attributes({scheme});
    expanded.push_back(context.make(operands, results, like));
}

} // namespace reshard::aoa::detail

#endif
