// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_FUSED_TEXT_IPP
#define RESHARD_FORMAT_IMPL_FUSED_TEXT_IPP

#include <reshard/format/fused_text.hpp>

#include <reshard/format/json_document.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace reshard::detail {

/// All but the key of a fused tensor, as the members of an object.
inline std::string fused_members(fused_tensor const& one) {
    return "\"axis\":" + std::to_string(one.axis) + ",\"blocks\":" + std::to_string(one.blocks) +
           ",\"macro\":" + json_quoted(one.macro);
}

RESHARD_DECL std::string fused_text(fused_tensors const& all) {
    std::map<std::string, std::string> keys_of;
    for (auto const& [key, made] : all) {
        std::string& keys = keys_of[fused_members(made)];
        keys += (keys.empty() ? "" : ",") + json_quoted(key);
    }
    std::string text;
    for (auto const& [members, keys] : keys_of)
        text += (text.empty() ? "[{" : ",{") + members + ",\"keys\":[" + keys + "]}";
    return text.empty() ? "[]" : text + "]";
}

RESHARD_DECL fused_tensors parse_fused(std::string_view text, std::string_view file) {
    std::string const place = std::string(file) + ": " + std::string(fused_name);
    auto const document = parse_json(text, place, errc::corrupt_file);
    json_cursor const list(document, place, errc::corrupt_file);
    fused_tensors all;
    for (json_cursor const& kind : list.elements()) {
        fused_tensor const made{kind.at("axis").count(), kind.at("blocks").count(),
                                kind.at("macro").text()};
        if (made.blocks < 1)
            kind.at("blocks").refuse("a tensor has one block at least");
        for (json_cursor const& key : kind.at("keys").elements())
            all.emplace(key.text(), made);
    }
    return all;
}

RESHARD_DECL void put_fused(pickle_writer& out, fused_tensors const& all) {
    if (all.empty())
        return;
    out.text(fused_member);
    out.dict([&] {
        for (auto const& [key, made] : all) {
            out.text(key);
            out.begin();
            out.integer(made.axis);
            out.integer(made.blocks);
            out.text(made.macro);
            out.tuple();
        }
    });
}

RESHARD_DECL fused_tensors fused_in(pickle const& values, pickle_value metadata) {
    fused_tensors all;
    auto const found = values.find_member(metadata, fused_member, "the metadata");
    if (!found)
        return all;
    pickle_pairs const pairs = values.pairs(*found, fused_member);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        auto const facts = values.elements(pairs[i].value, fused_member);
        if (facts.size() != 3)
            fail(errc::corrupt_file, values.file(), ": ", fused_member, ": ",
                 counted(facts.size(), "value"), " of a tensor, which has 3");
        fused_tensor made{values.integer(facts[0], fused_member),
                          values.integer(facts[1], fused_member),
                          std::string(values.text(facts[2], fused_member))};
        if (made.axis < 0 || made.blocks < 1)
            fail(errc::corrupt_file, values.file(), ": ", fused_member, ": axis ", made.axis,
                 ", blocks ", made.blocks);
        all.emplace(values.text(pairs[i].key, fused_member), std::move(made));
    }
    return all;
}

} // namespace reshard::detail

#endif
