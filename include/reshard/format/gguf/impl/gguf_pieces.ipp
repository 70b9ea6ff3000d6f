// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_PIECES_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_PIECES_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/text_file.hpp>

#include <boost/endian/conversion.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Reads the tokens of SentencePiece.

namespace reshard::detail {

/// The tokens of a model, by their numbers.
struct gguf_tokens {
    enum token_type : std::int32_t { normal = 1, control = 3, user_defined = 4, unused = 5 };

    std::string model;           ///< the name of the algorithm in llama.cpp
    std::string pre = "default"; ///< the name of the rule by which text is cut into words
    vector<std::string> texts{};
    vector<std::int32_t> types{};        ///< as `token_type`, or as SentencePiece has them
    vector<float> scores{};              ///< of SentencePiece
    vector<std::string> merges{};        ///< of BPE
    std::optional<bool> adds_space = {}; ///< before the first word

    void put(std::size_t number, std::string text, std::int32_t type) {
        constexpr std::size_t most = std::size_t{1} << 24;
        if (number >= most)
            fail(errc::corrupt_file, "token '", text, "' has the number ", number, ", but at most ",
                 most, " are supported");
        for (std::size_t i = texts.size(); i <= number; ++i) {
            texts.push_back(words("[PAD", i, "]"));
            types.push_back(unused);
        }
        texts[number] = std::move(text);
        types[number] = type;
    }

    /// Adds unused tokens, so that each row of the embedding has a token.
    void extend(std::size_t count) {
        if (count > texts.size())
            put(count - 1, words("[PAD", count - 1, "]"), unused);
    }
};

/// A field of a message in the form of Protocol Buffers.
struct message_field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;  ///< of a number
    std::string_view bytes{}; ///< of a text or a message
};

/// Reads the fields of a message one by one.
class message_fields {
public:
    message_fields(std::string_view bytes, std::string_view file) : left_(bytes), file_(file) {}

    std::optional<message_field> next() {
        if (left_.empty())
            return std::nullopt;
        std::uint64_t const tag = varint();
        message_field field{.number = tag >> 3};
        switch (tag & 7) {
        case 0: field.value = varint(); break;
        case 1: field.value = fixed<std::uint64_t>(); break;
        case 2: field.bytes = take(varint()); break;
        case 5: field.value = fixed<std::uint32_t>(); break;
        default: refuse();
        }
        return field;
    }

private:
    [[noreturn]] void refuse() const {
        fail(errc::corrupt_file, file_, ": is not a model of SentencePiece; is the file damaged?");
    }

    std::string_view take(std::uint64_t bytes) {
        if (bytes > left_.size())
            refuse();
        std::string_view const text = left_.substr(0, static_cast<std::size_t>(bytes));
        left_.remove_prefix(text.size());
        return text;
    }

    template <class Number>
    Number fixed() {
        return boost::endian::endian_load<Number, sizeof(Number), boost::endian::order::little>(
            reinterpret_cast<unsigned char const*>(take(sizeof(Number)).data()));
    }

    std::uint64_t varint() {
        std::uint64_t result = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            unsigned const byte = byte_at(take(1), 0);
            result |= std::uint64_t{byte & 0x7f} << shift;
            if (byte < 0x80)
                return result;
        }
        refuse();
    }

    std::string_view left_;
    std::string_view file_;
};

/// Adds a token of SentencePiece.
inline void put_piece(gguf_tokens& tokens, message_fields fields) {
    std::string text;
    float score = 0;
    std::uint64_t type = gguf_tokens::normal;
    while (auto const field = fields.next()) {
        if (field->number == 1)
            text = field->bytes;
        else if (field->number == 2)
            score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
        else if (field->number == 3)
            type = field->value;
    }
    tokens.put(tokens.texts.size(), std::move(text), static_cast<std::int32_t>(type));
    tokens.scores.push_back(score);
}

/// The tokens of SentencePiece's BPE.
///
/// \return std::nullopt for other algorithms of SentencePiece
/// \par Source `sentencepiece_model.proto` of SentencePiece, whose types of tokens llama.cpp has
inline std::optional<gguf_tokens> tokens_of_pieces(std::filesystem::path const& path) {
    std::string const bytes = read_text_file(path), name = path.string();
    gguf_tokens tokens{.model = "llama", .adds_space = true};
    std::uint64_t algorithm = 1;
    message_fields fields(bytes, name);
    while (auto const field = fields.next()) {
        message_fields inner(field->bytes, name);
        if (field->number == 1)
            put_piece(tokens, inner);
        if (field->number != 2 && field->number != 3)
            continue;
        while (auto const option = inner.next())
            if (option->number == 3 && field->number == 2)
                algorithm = option->value;
            else if (option->number == 3)
                tokens.adds_space = option->value != 0;
    }
    return algorithm == 2 && !tokens.texts.empty() ? std::optional(std::move(tokens))
                                                   : std::nullopt;
}

} // namespace reshard::detail

#endif
