// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_GRAMMAR_HPP
#define RESHARD_AOA_GRAMMAR_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/place.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/vector.hpp>

#include <boost/fusion/include/adapt_struct.hpp>
#include <boost/spirit/home/x3.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The grammar of the language, and the tree that it fills. No other header includes Spirit X3.

namespace reshard::aoa::syntax {

/// A name as it was written.
struct written_name {
    vector<segment> segments;
    bool quoted = false;
    bool transposed = false;
    text_span where;
};

/// A statement as it was written.
struct written_statement {
    vector<written_name> left;
    vector<written_name> right;
    vector<attribute> attributes;
    text_span where;
};

} // namespace reshard::aoa::syntax

BOOST_FUSION_ADAPT_STRUCT(reshard::aoa::segment, first, last) // of an array
BOOST_FUSION_ADAPT_STRUCT(reshard::aoa::syntax::written_statement, left, right, attributes)

namespace reshard::aoa::syntax {

namespace x3 = boost::spirit::x3;

/// The beginning of the text; a tag in the parser's context.
struct text_begin;

/// Writes the position of a rule's match into the rule's result.
struct placed {
    template <class Iterator, class Tree, class Context>
    void on_success(Iterator const& first, Iterator const& last, Tree& tree,
                    Context const& context) {
        Iterator const begin = x3::get<text_begin>(context);
        if constexpr (requires { tree.where; })
            tree.where = {static_cast<std::uint32_t>(first - begin),
                          static_cast<std::uint32_t>(last - begin)};
    }
};

/// Makes an array of a segment with two numbers.
struct array_rule {
    template <class Iterator, class Context>
    void on_success(Iterator const&, Iterator const&, segment& tree, Context const&) {
        tree.kind = segment::kind_type::array;
    }
};
struct name_rule : placed {};
struct attribute_rule : placed {};
struct statement_rule : placed {};

/// The text of an iterator range, without a copy.
inline std::string_view view_of(auto const& range) {
    return {std::to_address(range.begin()), static_cast<std::size_t>(range.size())};
}

/// \name Actions of rules \{
inline auto const set_text = [](auto& context) {
    x3::_val(context).text.assign(x3::_attr(context).begin(), x3::_attr(context).end());
};
inline auto const set_placeholder = [](auto& context) {
    set_text(context);
    x3::_val(context).kind = segment::kind_type::placeholder;
};
inline auto const add_to_number = [](auto& context) {
    x3::_val(context).first = x3::_attr(context);
};
inline auto const take_from_number = [](auto& context) {
    x3::_val(context).first = -x3::_attr(context);
};
inline auto const multiply_number = [](auto& context) {
    x3::_val(context).factor = x3::_attr(context);
    x3::_pass(context) = x3::_attr(context) > 0;
};
inline auto const divide_number = [](auto& context) {
    x3::_val(context).divisor = x3::_attr(context);
    x3::_pass(context) = x3::_attr(context) > 0;
};
inline auto const set_anything = [](auto& context) {
    x3::_val(context).kind = segment::kind_type::anything;
};
inline auto const set_segment = [](auto& context) {
    x3::_val(context) = std::move(x3::_attr(context));
};
inline auto const set_star = [](auto& context) {
    x3::_val(context).kind = segment::kind_type::star;
};
inline auto const add_segment = [](auto& context) {
    x3::_val(context).segments.push_back(std::move(x3::_attr(context)));
};
inline auto const set_quoted = [](auto& context) { x3::_val(context).quoted = true; };
inline auto const set_transposed = [](auto& context) { x3::_val(context).transposed = true; };
inline auto const set_word = [](auto& context) {
    x3::_val(context).word.assign(x3::_attr(context).begin(), x3::_attr(context).end());
};
inline auto const set_number = [](auto& context) { x3::_val(context).value = x3::_attr(context); };
inline auto const set_real = [](auto& context) {
    x3::_val(context).quote = 0;
    x3::_val(context).value = std::string(x3::_attr(context).begin(), x3::_attr(context).end());
};
inline auto const set_value = [](auto& context) {
    std::string text(x3::_attr(context).begin(), x3::_attr(context).end());
    x3::_val(context).quote = text.front();
    for (char const quote : {'"', '\''}) {
        text.erase(0, text.find_first_not_of(quote));
        text.erase(text.find_last_not_of(quote) + 1);
    }
    x3::_val(context).value = std::move(text);
};
inline auto const only_reserved = [](auto& context) {
    x3::_pass(context) = detail::is_reserved(view_of(x3::_attr(context)));
};
inline auto const only_joined = [](auto& context) {
    auto const remainder = x3::_where(context);
    char const* const begin = x3::get<text_begin>(context);
    std::string_view const before(begin, static_cast<std::size_t>(remainder.begin() - begin));
    x3::_pass(context) =
        detail::ends_in_quoted_value(before) && detail::begins_with_statement(view_of(remainder));
};
inline auto const only_macro = [](auto& context) {
    auto const* const word = detail::find_attribute_word(view_of(x3::_attr(context)));
    x3::_pass(context) = word != nullptr && word->value == detail::value_kind::none;
    set_word(context);
};
/// \}

/// \name Rules; messages use their names \{
template <class Tag, class Tree = x3::unused_type>
using rule = x3::rule<Tag, Tree>;

inline rule<struct blank_tag> const blank = "a blank";
inline rule<struct newline_tag> const newline = "a new line";
inline rule<struct number_tag, index_t> const number = "an integer";
inline rule<struct real_tag> const real = "a number with a fraction or an exponent";
inline rule<struct bound_tag, index_t> const bound = "a number";
inline rule<struct colon_tag> const colon = "':'";
inline rule<struct closing_tag> const closing = "']'";
inline rule<struct double_tag> const double_quote = "a closing \" on the same line";
inline rule<struct single_tag> const single_quote = "a closing ' on the same line";
inline rule<struct arrow_tag> const arrow = "'->'";
inline rule<struct comma_tag> const comma = "','";
inline rule<struct mark_tag> const mark = "'^T'";
inline rule<struct placeholder_tag, segment> const placeholder = "a placeholder";
inline rule<struct formula_tag, segment> const formula = "a number, as in ${2*N + 1}";
inline rule<struct anything_tag, segment> const anything = "'**'";
inline rule<struct star_tag, segment> const star = "'*'";
inline rule<struct plain_tag, segment> const plain = "a name";
inline rule<struct verbatim_tag, segment> const verbatim = "a quoted name";
inline rule<struct quoted_tag, segment> const quoted = "a quoted name";
inline rule<struct array_rule, segment> const array = "an array";
inline rule<struct reserved_tag> const reserved = "a reserved word";
inline rule<struct macro_tag, attribute> const macro_word = "a macro";
inline rule<struct value_ahead_tag> const value_ahead = "a number or a quoted string";
inline rule<struct assignment_tag, attribute> const assignment = "a word and its value";
inline rule<struct ahead_tag> const attribute_ahead = "an attribute";
inline rule<struct attribute_rule, attribute> const one_attribute = "an attribute, as in axis=0";
inline rule<struct body_tag, written_name> const name_body = "a name";
inline rule<struct name_rule, written_name> const one_name = "a name";
inline rule<struct next_name_tag, written_name> const next_name = "a name or an attribute";
inline rule<struct left_tag, vector<written_name>> const left = "a name";
inline rule<struct right_tag, vector<written_name>> const right = "a name";
inline rule<struct list_tag, vector<attribute>> const attributes = "attributes";
inline rule<struct statement_rule, written_statement> const one_statement = "a statement";
inline rule<struct joined_tag> const joined = "a statement on the same line";
inline rule<struct end_tag> const end_of_statement = "',' or the end of the line";
inline rule<struct last_tag> const end_of_program = "a statement, as in a -> b";
inline rule<struct program_tag, vector<written_statement>> const whole_program = "a program";
/// \}

/// \name The grammar
/// \{
inline auto const word_char = x3::char_("a-zA-Z0-9_.$*^");
inline auto const word = x3::lexeme[x3::raw[x3::char_("a-zA-Z_") >> *word_char]];
inline auto const capitals = +x3::char_("A-Z") >> *x3::char_("A-Z0-9");
inline auto const any_placeholder =
    x3::lit("LAYER_ID_OFFSET") | "LAYER_ID" | "EXPERT_ID" | (capitals >> *('_' >> capitals));
inline auto const blanks = *x3::char_(" \t");
inline auto const shift = x3::uint_parser<index_t, 10, 1, 9>{};
inline auto const text_char = x3::char_("a-zA-Z0-9_.") | (x3::char_("$^") - mark - placeholder);
inline auto const quoted_text =
    x3::lexeme[('"' >> *~x3::char_('"') >> '"') | ('\'' >> *~x3::char_('\'') >> '\'')];
inline auto const value_start = x3::char_("-0-9");

inline auto const blank_def = x3::char_(" \t") | ('#' >> *~x3::char_("\r\n\v"));
inline auto const newline_def = x3::eol;
inline auto const between = newline | x3::lit(detail::between_statements);
inline auto const number_def = &value_start >> x3::int64;
inline auto const digits = +x3::char_("0-9");
inline auto const exponent = x3::char_("eE") >> -x3::char_("-+") >> digits;
inline auto const real_def = -x3::lit('-') >> digits >>
                             (('.' >> *x3::char_("0-9") >> -exponent) | exponent);
inline auto const bound_def = x3::uint_parser<index_t>{};
inline auto const colon_def = ':' >> *newline;
inline auto const closing_def = *newline >> ']';
inline auto const double_quote_def = x3::lit('"');
inline auto const single_quote_def = x3::lit('\'');
inline auto const arrow_def = "->" >> *newline;
inline auto const comma_def = ',' >> *newline;
inline auto const mark_def = x3::lexeme["^T" >> !word_char];

inline auto const placeholder_def =
    x3::lexeme['$' >> x3::raw[any_placeholder][set_placeholder] >>
               -((blanks >> '+' >> blanks >> shift[add_to_number]) |
                 (blanks >> '-' >> blanks >> shift[take_from_number]))] |
    x3::lexeme["${" >> formula[set_segment]];
inline auto const formula_name = x3::lexeme[x3::raw[any_placeholder][set_placeholder]];
inline auto const formula_def = x3::skip(
    x3::char_(" \t"))[((shift[multiply_number] >> '*' >> formula_name) |
                       (formula_name >> -('*' >> shift[multiply_number]))) >>
                      -('/' >> shift[divide_number]) >>
                      -(('+' >> shift[add_to_number]) | ('-' >> shift[take_from_number])) >> '}'];
inline auto const anything_def = x3::lit("**")[set_anything];
inline auto const star_def = x3::lit('*')[set_star];
inline auto const plain_def = x3::lexeme[x3::raw[+text_char][set_text]];
inline auto const verbatim_def = x3::raw[+~x3::char_("'\r\n\v")][set_text];
inline auto const quoted_def = x3::raw[+(~x3::char_("\"*\r\n\v") - placeholder)][set_text];
inline auto const array_def = ('[' >> *newline) > bound > colon > bound > closing;
inline auto const name_body_def =
    (x3::lexeme[(x3::lit('"')[set_quoted] >> +(anything[add_segment] | star[add_segment] |
                                               placeholder[add_segment] | quoted[add_segment])) >
                double_quote] |
     x3::lexeme[(x3::lit('\'')[set_quoted] >> verbatim[add_segment]) > single_quote] |
     (!reserved >> &(x3::char_("a-zA-Z_*") | placeholder) >>
      x3::lexeme[+(plain[add_segment] | anything[add_segment] | star[add_segment] |
                   placeholder[add_segment])])) >>
    -array[add_segment] >> x3::no_skip[-mark[set_transposed]];
inline auto const one_name_def = name_body; // a separate rule, so that one_name gets its position
inline auto const next_name_def = one_name;

inline auto const reserved_def = word[only_reserved];
inline auto const macro_word_def = word[only_macro];
inline auto const value_ahead_def = &(x3::lexeme[real] | number | quoted_text);
inline auto const assignment_def = (word[set_word] >> '=') > value_ahead >
                                   (x3::lexeme[x3::raw[real][set_real]] | number[set_number] |
                                    x3::lexeme[x3::raw[quoted_text][set_value]]);
inline auto const attribute_ahead_def = macro_word | (word >> '=');
inline auto const one_attribute_def = macro_word | assignment;

inline auto const left_def = one_name >> *(comma > one_name);
inline auto const right_def = one_name >> *((comma >> !attribute_ahead) > next_name);
inline auto const attributes_def = *(comma > one_attribute);
inline auto const one_statement_def = (left > arrow > right) >> attributes;
inline auto const joined_def = x3::no_skip[x3::eps[only_joined]];
inline auto const end_of_statement_def = joined | +between | x3::eoi;
inline auto const end_of_program_def = x3::eoi;
inline auto const whole_program_def =
    (*between >> *(one_statement > end_of_statement)) > end_of_program;

BOOST_SPIRIT_DEFINE(blank, newline, number, real, bound, colon, closing, double_quote, single_quote,
                    arrow, comma, mark, placeholder, formula, anything, star, plain, verbatim,
                    quoted, array, name_body, one_name, next_name, reserved, macro_word,
                    value_ahead, assignment, attribute_ahead, one_attribute, left, right,
                    attributes, one_statement, joined, end_of_statement, end_of_program,
                    whole_program)
/// \}

} // namespace reshard::aoa::syntax

#endif
