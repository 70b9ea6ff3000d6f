// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_FUSED_TEXT_IPP
#define RESHARD_FORMAT_IMPL_FUSED_TEXT_IPP

#include <reshard/format/fused_text.hpp>

#include <reshard/format/json_document.hpp>

#include <algorithm>
#include <map>

namespace reshard::detail {

/// All but the key of a fused tensor, as the members of an object.
inline std::string fused_members(fused_tensor const& one) {
    return "\"axis\":" + std::to_string(one.axis) + ",\"blocks\":" + std::to_string(one.blocks) +
           ",\"macro\":" + json_quoted(one.macro);
}

RESHARD_DECL std::string fused_text(std::vector<fused_tensor> all) {
    std::ranges::sort(all, {}, &fused_tensor::key);
    std::map<std::string, std::string> keys_of;
    for (fused_tensor const& one : all) {
        std::string& keys = keys_of[fused_members(one)];
        keys += (keys.empty() ? "" : ",") + json_quoted(one.key);
    }
    std::string text;
    for (auto const& [members, keys] : keys_of)
        text += (text.empty() ? "[{" : ",{") + members + ",\"keys\":[" + keys + "]}";
    return text.empty() ? "[]" : text + "]";
}

RESHARD_DECL std::vector<fused_tensor> parse_fused(std::string_view text, std::string_view file) {
    std::string const place = std::string(file) + ": " + std::string(fused_name);
    auto const document = parse_json(text, place, errc::corrupt_file);
    json_cursor const list(document, place, errc::corrupt_file);
    std::vector<fused_tensor> all;
    for (json_cursor const& kind : list.elements()) {
        fused_tensor one{
            {}, kind.at("axis").count(), kind.at("blocks").count(), kind.at("macro").text()};
        if (one.blocks < 1)
            kind.at("blocks").refuse("a tensor has one block at least");
        for (json_cursor const& key : kind.at("keys").elements()) {
            one.key = key.text();
            all.push_back(one);
        }
    }
    return all;
}

} // namespace reshard::detail

#endif
