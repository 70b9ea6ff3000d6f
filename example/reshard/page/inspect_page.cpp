// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "page/inspect_page.hpp"
#include "page/layout_page.hpp"

#include "picture/byte_text.hpp"
#include "report.hpp"
#include "summary.hpp"

#include <reshard/format/other_names.hpp>

#include <algorithm>

namespace tool {

using namespace reshard;

namespace {

constexpr std::size_t most_tensors = 2000;

html tensors_part(layout const& layout) {
    reshard::vector<reshard::vector<std::string>> rows{{"tensor", "type", "shape", "bytes"}};
    for (std::size_t i = 0; i < std::min(layout.tensors.size(), most_tensors); ++i) {
        tensor_layout const& tensor = layout.tensors[i];
        index_vector const& shape = layout.shape_of(tensor);
        rows.push_back({tensor.key, std::string(code(tensor.dtype)), to_string(shape),
                        grouped(byte_count(element_count(shape), tensor.dtype))});
    }
    html more;
    if (layout.tensors.size() > most_tensors)
        more = html_text("and " + counted(layout.tensors.size() - most_tensors, "more tensor") +
                         "; --json lists all");
    return section("Tensors", on_demand(counted(layout.tensors.size(), "tensor"),
                                        html_table("Tensors", rows) + more, rows.size() < 40));
}

html texts_part(checkpoint_metadata const& checkpoint) {
    reshard::vector<reshard::vector<std::string>> rows{{"name", "text"}};
    for (auto const& [name, text] : checkpoint.metadata)
        rows.push_back({name, text});
    html html = html_table("Metadata of the first file", rows);
    if (!checkpoint.aliases.empty()) {
        reshard::vector<reshard::vector<std::string>> names{{"name", "is another name of"}};
        for (auto const& [alias, key] : checkpoint.aliases)
            names.push_back({alias, key});
        html = html + html_table("Tied tensors", names);
    }
    for (std::string const& warning : checkpoint.warnings)
        html = html + element("pre", html_text(warning));
    return section("Other values of the files", html);
}

} // namespace

std::string inspect_page(checkpoint_metadata const& checkpoint,
                         boost::json::object const& document) {
    layout const layout = layout_of(detail::without_aliases(checkpoint));
    reshard::vector<std::string> const names = file_names(checkpoint);
    html const facts = element(
        "div",
        fact(checkpoint.format,
             checkpoint.version.empty() ? "format" : "format, version " + checkpoint.version) +
            count_fact(layout.tensors.size(), "tensor") +
            fact(byte_text(document.at("bytes").to_number<index_t>()), "of tensors") +
            count_fact(names.size(), "file") +
            fact(checkpoint.save.empty() ? "no" : "yes", "a complete save with a record"),
        "class=\"facts\"");
    return html_page("Checkpoint " + checkpoint.path.string(),
                     facts + section("Holders", layout_part({layout, "file", names})) +
                         tensors_part(layout) + texts_part(checkpoint),
                     document);
}

} // namespace tool
