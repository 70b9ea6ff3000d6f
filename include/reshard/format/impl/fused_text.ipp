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

/// The facts of a fused tensor, except its key, as members of an object.
inline std::string fused_members(fused_tensor const& tensor) {
    return "\"axis\":" + std::to_string(tensor.axis) +
           ",\"blocks\":" + std::to_string(tensor.blocks) +
           ",\"macro\":" + json_quoted(tensor.macro);
}

RESHARD_DECL std::string fused_text(fused_tensors const& tensors) {
    std::map<std::string, std::string> keys_of;
    for (auto const& [key, tensor] : tensors) {
        std::string& keys = keys_of[fused_members(tensor)];
        keys += (keys.empty() ? "" : ",") + json_quoted(key);
    }
    std::string text;
    for (auto const& [members, keys] : keys_of)
        text += (text.empty() ? "[{" : ",{") + members + ",\"keys\":[" + keys + "]}";
    return text.empty() ? "[]" : text + "]";
}

RESHARD_DECL fused_tensors parse_fused(std::string_view text, std::string_view file) {
    std::string const location = std::string(file) + ": " + std::string(fused_name);
    auto const document = parse_json(text, location, errc::corrupt_file);
    json_cursor const list(document, location, errc::corrupt_file);
    fused_tensors tensors;
    for (json_cursor const& kind : list.elements()) {
        fused_tensor const tensor{kind.at("axis").count(), kind.at("blocks").count(),
                                  kind.at("macro").text()};
        if (tensor.blocks < 1)
            kind.at("blocks").refuse("a tensor has at least one block");
        for (json_cursor const& key : kind.at("keys").elements())
            tensors.emplace(key.text(), tensor);
    }
    return tensors;
}

RESHARD_DECL void put_fused(pickle_writer& out, fused_tensors const& tensors) {
    if (tensors.empty())
        return;
    out.text(fused_member);
    out.dict([&] {
        for (auto const& [key, tensor] : tensors) {
            out.text(key);
            out.begin();
            out.integer(tensor.axis);
            out.integer(tensor.blocks);
            out.text(tensor.macro);
            out.tuple();
        }
    });
}

RESHARD_DECL fused_tensors fused_in(pickle const& values, pickle_value metadata) {
    fused_tensors tensors;
    auto const member = values.find_member(metadata, fused_member, "the metadata");
    if (!member)
        return tensors;
    pickle_pairs const pairs = values.pairs(*member, fused_member);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        auto const facts = values.elements(pairs[i].value, fused_member);
        if (facts.size() != 3)
            fail(errc::corrupt_file, values.file(), ": ", fused_member, ": ",
                 counted(facts.size(), "value"), " for a tensor, expected 3");
        fused_tensor tensor{values.integer(facts[0], fused_member),
                            values.integer(facts[1], fused_member),
                            std::string(values.text(facts[2], fused_member))};
        if (tensor.axis < 0 || tensor.blocks < 1)
            fail(errc::corrupt_file, values.file(), ": ", fused_member, ": invalid axis ",
                 tensor.axis, " or number of blocks ", tensor.blocks);
        tensors.emplace(values.text(pairs[i].key, fused_member), std::move(tensor));
    }
    return tensors;
}

} // namespace reshard::detail

#endif
