// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_FUSED_TEXT_IPP
#define RESHARD_FORMAT_IMPL_FUSED_TEXT_IPP

#include <reshard/format/fused_text.hpp>

#include <reshard/format/json_document.hpp>

#include <map>

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

} // namespace reshard::detail

#endif
