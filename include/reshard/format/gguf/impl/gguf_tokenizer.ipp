// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_TOKENIZER_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_TOKENIZER_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/gguf/gguf.hpp>
#include <reshard/format/gguf/impl/gguf_pieces.ipp>
#include <reshard/format/gguf/impl/gguf_plan.ipp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace reshard::detail {

/// Collects values of a header in their stored form.
class gguf_value_list {
public:
    void text(std::string key, std::string_view value) {
        std::string out;
        put_number(out, gguf_string, 4);
        put_text(out, value);
        add(std::move(key), std::move(out));
    }

    void number(std::string key, gguf_value type, std::uint64_t value) {
        add(std::move(key), gguf_number(type, value));
    }

    void real(std::string key, double value) {
        number(std::move(key), gguf_f32, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }

    void boolean(std::string key, bool value) { number(std::move(key), gguf_boolean, value); }

    void texts(std::string key, vector<std::string> const& values) {
        std::string out = list_of(gguf_string, values.size());
        for (std::string const& value : values)
            put_text(out, value);
        add(std::move(key), std::move(out));
    }

    void integers(std::string key, vector<std::int32_t> const& values) {
        std::string out = list_of(gguf_i32, values.size());
        for (std::int32_t const value : values)
            put_number(out, static_cast<std::uint32_t>(value), 4);
        add(std::move(key), std::move(out));
    }

    void reals(std::string key, vector<float> const& values) {
        std::string out = list_of(gguf_f32, values.size());
        for (float const value : values)
            put_number(out, std::bit_cast<std::uint32_t>(value), 4);
        add(std::move(key), std::move(out));
    }

    vector<saved_object> take() { return std::move(values_); }

private:
    static std::string list_of(gguf_value type, std::size_t count) {
        std::string out;
        put_number(out, gguf_array, 4);
        put_number(out, type, 4);
        put_number(out, count, 8);
        return out;
    }

    void add(std::string key, std::string content) {
        values_.push_back({std::move(key), std::move(content)});
    }

    vector<saved_object> values_;
};

/// A JSON file of a model's directory; its root is null if the file does not exist.
class model_file {
public:
    model_file(std::filesystem::path const& directory, std::string_view name)
        : name_((directory / name).string()), document_(read(name_)) {}

    json_cursor root() const { return {document_, name_, errc::corrupt_file}; }

private:
    static json_document read(std::string const& name) {
        std::error_code ignored;
        bool const exists = std::filesystem::is_regular_file(name, ignored);
        return parse_json(exists ? read_text_file(name) : "null", name, errc::corrupt_file);
    }

    std::string name_;
    json_document document_;
};

/// A member that is not null. `path` has the names of nested members, separated by dots.
inline std::optional<json_cursor> member_of(json_cursor value, std::string_view path) {
    for (std::size_t begin = 0; begin <= path.size();) {
        std::size_t const end = std::min(path.find('.', begin), path.size());
        auto const next =
            value.is_object() ? value.find(path.substr(begin, end - begin)) : std::nullopt;
        if (!next || next->is_null())
            return std::nullopt;
        value = *next;
        begin = end + 1;
    }
    return value;
}

/// The name of a rule by which `tokenizer.json` cuts text into words; empty for an unknown rule.
///
/// \par Source the names of llama.cpp, and the expressions in files of Qwen 2, Llama 3, gpt-oss and
///             Mistral's Tekken
inline std::string rule_name(std::string_view expression, bool ignores_merges) {
    std::string const endings = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
    std::string const letters = R"([^\r\n\p{L}\p{N}]?)",
                      upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])",
                      lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])",
                      spaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
    auto const plain = [&](std::string const& digits) {
        return endings + "|" + letters + R"(\p{L}+|)" + digits + R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|)" +
               spaces;
    };
    auto const by_case = [&](std::string const& digits, std::string const& ending) {
        return letters + upper + "*" + lower + "+" + ending + "|" + letters + upper + "+" + lower +
               "*" + ending + "|" + digits + R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + spaces;
    };
    if (expression == plain(R"(\p{N})"))
        return "qwen2";
    if (expression == plain(R"(\p{N}{1,3})") && ignores_merges)
        return "llama-bpe";
    if (expression == by_case(R"(\p{N}{1,3})", endings + "?"))
        return "gpt-4o";
    if (expression == by_case(R"(\p{N})", "") && ignores_merges)
        return "tekken";
    return {};
}

/// The only expression of a `tokenizer.json` that cuts text; empty if it has others, or none.
inline std::string expression_of(json_cursor const& tokenizer) {
    auto const steps = member_of(tokenizer, "pre_tokenizer.pretokenizers");
    if (!steps || !steps->is_array())
        return {};
    std::string expression;
    for (json_cursor const& step : steps->elements()) {
        std::string const type = step.at("type").text();
        auto const regex = member_of(step, "pattern.Regex");
        auto const prefix = member_of(step, "add_prefix_space");
        bool const is_cut = type == "Split" && regex && expression.empty();
        if (!is_cut && (type != "ByteLevel" || (prefix && prefix->is_true())))
            return {};
        if (is_cut)
            expression = regex->text();
    }
    return expression;
}

/// Adds the tokens that a `tokenizer.json` lists beside its vocabulary. SentencePiece has the types
/// of its own tokens.
inline void put_added(gguf_tokens& tokens, json_cursor const& tokenizer) {
    auto const added = member_of(tokenizer, "added_tokens");
    if (!added)
        return;
    for (json_cursor const& token : added->elements()) {
        auto const special = member_of(token, "special");
        auto const number = static_cast<std::size_t>(token.at("id").count());
        std::string text = token.at("content").text();
        if (number < tokens.scores.size() && tokens.texts[number] == text)
            continue;
        tokens.put(number, std::move(text),
                   special && special->is_true() ? gguf_tokens::control
                                                 : gguf_tokens::user_defined);
    }
}

/// A merge in the form `a b`; the file has it as a text or as a pair. Empty if a token has a space.
inline std::string merge_of(json_cursor const& merge) {
    if (!merge.is_array())
        return merge.text();
    auto const pair = merge.elements();
    if (pair.size() != 2)
        merge.refuse("a merge has " + counted(pair.size(), "token") + ", but must have 2");
    std::string const first = pair[0].text(), second = pair[1].text();
    bool const has_space = first.find(' ') != first.npos || second.find(' ') != second.npos;
    return has_space ? std::string() : first + " " + second;
}

/// The tokens of byte-level BPE.
///
/// \return std::nullopt if llama.cpp has no name for the way in which text is cut
inline std::optional<gguf_tokens> tokens_of_bpe(json_cursor const& tokenizer) {
    auto const vocabulary = member_of(tokenizer, "model.vocab");
    auto const merges = member_of(tokenizer, "model.merges");
    auto const ignores = member_of(tokenizer, "model.ignore_merges");
    gguf_tokens tokens{.model = "gpt2",
                       .pre = rule_name(expression_of(tokenizer), ignores && ignores->is_true())};
    if (tokens.pre.empty() || !vocabulary || !vocabulary->is_object() || !merges)
        return std::nullopt;
    vocabulary->for_each_member([&](std::string_view text, json_cursor const& number) {
        tokens.put(static_cast<std::size_t>(number.count()), std::string(text),
                   gguf_tokens::normal);
    });
    put_added(tokens, tokenizer);
    for (json_cursor const& merge : merges->elements())
        if (tokens.merges.push_back(merge_of(merge)); tokens.merges.back().empty())
            return std::nullopt;
    return tokens;
}

/// The number of a special token, such as `eos`, from the names in `tokenizer_config.json`, or from
/// the numbers in `config.json`.
inline std::optional<std::uint64_t> special_token(gguf_tokens const& tokens,
                                                  std::string const& name, json_cursor const& names,
                                                  json_cursor const& config) {
    auto token = member_of(names, name + "_token");
    if (token && token->is_object())
        token = member_of(*token, "content");
    if (token && token->is_string()) {
        auto const match = std::ranges::find(tokens.texts, token->text());
        if (match != tokens.texts.end())
            return static_cast<std::uint64_t>(match - tokens.texts.begin());
    }
    auto number = member_of(config, name + "_token_id");
    if (number && number->is_array())
        number = number->elements().empty() ? std::nullopt : std::optional(number->elements()[0]);
    return number && number->is_count() ? std::optional(static_cast<std::uint64_t>(number->count()))
                                        : std::nullopt;
}

/// Whether a `tokenizer.json` puts a token before each text.
inline bool begins_with_token(json_cursor const& tokenizer) {
    auto const processor = member_of(tokenizer, "post_processor");
    if (!processor)
        return false;
    vector<json_cursor> steps{*processor};
    if (auto const several = member_of(*processor, "processors"))
        steps = several->elements();
    for (json_cursor const& step : steps)
        if (auto const single = member_of(step, "single"); single && single->is_array())
            if (auto const parts = single->elements();
                !parts.empty() && member_of(parts[0], "SpecialToken"))
                return true;
    return false;
}

/// The tokens in the files of a directory.
///
/// \param why gets the reason if there are none
inline std::optional<gguf_tokens> tokens_in(std::filesystem::path const& directory,
                                            json_cursor const& tokenizer, std::string& why) {
    std::error_code ignored;
    std::filesystem::path const pieces = directory / "tokenizer.model";
    bool const has_pieces = std::filesystem::is_regular_file(pieces, ignored);
    auto const model = member_of(tokenizer, "model");
    auto const has_bytes = model ? member_of(*model, "byte_fallback") : std::nullopt;
    bool const is_byte_level = model && !(has_bytes && has_bytes->is_true());
    if (!model && !has_pieces) {
        why = "the directory has no tokenizer.json and no tokenizer.model";
        return std::nullopt;
    }
    if (is_byte_level) {
        auto tokens = tokens_of_bpe(tokenizer);
        if (!tokens)
            why = "the way in which tokenizer.json cuts text into words is unknown";
        return tokens;
    }
    if (!has_pieces) {
        why = "tokenizer.json has no scores of tokens, and tokenizer.model does not exist";
        return std::nullopt;
    }
    auto tokens = tokens_of_pieces(pieces);
    if (!tokens)
        why = "tokenizer.model is not of the type BPE";
    else
        put_added(*tokens, tokenizer);
    return tokens;
}

/// Adds the tokenizer of a model.
///
/// \param rows the number of rows of the embedding; each gets a token
/// \return the reason if the tokenizer is not added; empty if it is
inline std::string add_tokenizer(gguf_value_list& values, std::filesystem::path const& directory,
                                 json_cursor const& config, std::optional<double> rows) {
    model_file const file(directory, "tokenizer.json"), options(directory, "tokenizer_config.json");
    json_cursor const tokenizer = file.root(), names = options.root();
    std::string why;
    auto tokens = tokens_in(directory, tokenizer, why);
    if (!tokens)
        return why;
    constexpr double most = 1 << 24;
    if (rows && *rows > 0 && *rows <= most)
        tokens->extend(static_cast<std::size_t>(*rows));
    values.text("tokenizer.ggml.model", tokens->model);
    values.text("tokenizer.ggml.pre", tokens->pre);
    values.texts("tokenizer.ggml.tokens", tokens->texts);
    if (tokens->adds_space) {
        tokens->scores.resize(tokens->texts.size(), -1000.0f);
        values.reals("tokenizer.ggml.scores", tokens->scores);
        values.boolean("tokenizer.ggml.add_space_prefix", *tokens->adds_space);
    }
    values.integers("tokenizer.ggml.token_type", tokens->types);
    if (!tokens->merges.empty())
        values.texts("tokenizer.ggml.merges", tokens->merges);
    for (auto const& [name, key] :
         {std::pair{"bos", "bos"}, {"eos", "eos"}, {"unk", "unknown"}, {"pad", "padding"}})
        if (auto const number = special_token(*tokens, name, names, config);
            number && *number < tokens->texts.size())
            values.number(words("tokenizer.ggml.", key, "_token_id"), gguf_u32, *number);
    auto const adds = member_of(names, "add_bos_token");
    values.boolean("tokenizer.ggml.add_bos_token",
                   adds ? adds->is_true() : begins_with_token(tokenizer) || tokens->adds_space);
    if (auto const after = member_of(names, "add_eos_token"))
        values.boolean("tokenizer.ggml.add_eos_token", after->is_true());
    std::error_code ignored;
    if (auto const chat = member_of(names, "chat_template"); chat && chat->is_string())
        values.text("tokenizer.chat_template", chat->text());
    else if (auto const path = directory / "chat_template.jinja";
             std::filesystem::is_regular_file(path, ignored))
        values.text("tokenizer.chat_template", read_text_file(path));
    return {};
}

} // namespace reshard::detail

#endif
