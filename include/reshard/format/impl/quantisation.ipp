// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_QUANTISATION_IPP
#define RESHARD_FORMAT_IMPL_QUANTISATION_IPP

#include <reshard/format/checkpoint_metadata.hpp>

#include <reshard/expr/block_scales.hpp>
#include <reshard/format/text_file.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard::detail {

/// Reads blocks and the order of input channels from a configuration.
///
/// \par Source `weight_block_size` of FP8, `group_size` and `desc_act` of GPTQ and AWQ,
///             `config_groups` of compressed-tensors with `block_structure` and `actorder`, which
///             leaves groups in order if it is `weight` or `static`
class quantisation_reader {
public:
    void read(boost::json::value const& value, std::string_view name) {
        constexpr std::string_view of_others[] = {"input_activations", "output_activations",
                                                  "kv_cache_scheme"};
        if (std::ranges::find(of_others, name) != std::end(of_others))
            return;
        if (auto const* const object = value.if_object())
            for (auto const& [key, member] : *object)
                read(member, std::string_view(key.data(), key.size()));
        else if (name == "weight_block_size" || name == "block_structure")
            add_block(value);
        else if (name == "group_size" && value.is_int64() && value.get_int64() > 0)
            facts_.blocks.push_back({value.get_int64()});
        else if ((name == "desc_act" || name == "actorder") && !value.is_null()) {
            bool const is_in_order = value.is_string() && (value.get_string() == "weight" ||
                                                           value.get_string() == "static");
            says_order_ = true;
            facts_.is_reordered |=
                value.is_bool() ? value.get_bool() : value.is_string() && !is_in_order;
        }
    }

    bool says_order() const { return says_order_; }
    quantisation_facts take() && { return std::move(facts_); }

private:
    void add_block(boost::json::value const& value) {
        auto const* const extents = value.if_array();
        if (!extents || extents->empty() || extents->size() > max_ndim)
            return;
        index_vector block;
        for (boost::json::value const& extent : *extents)
            if (extent.is_int64() && extent.get_int64() > 0)
                block.push_back(extent.get_int64());
        if (block.size() == extents->size())
            facts_.blocks.push_back(block);
    }

    quantisation_facts facts_;
    bool says_order_ = false;
};

/// Whether the groups of input channels that a tensor of a checkpoint says are in another order
/// than the channels. A tensor that is not stored in one piece says nothing.
inline bool are_groups_mixed(file_store const& files, checkpoint_metadata const& found,
                             checkpoint_tensor const& tensor) {
    bool const is_list =
        tensor.dtype == data_type::i32 && tensor.shape.size() == 1 && tensor.shards.size() == 1;
    if (!is_list || tensor.shards[0].end - tensor.shards[0].begin !=
                        static_cast<std::uint64_t>(tensor.shape[0]) * sizeof(std::int32_t))
        return false;
    std::vector<std::int32_t> groups(static_cast<std::size_t>(tensor.shape[0]));
    auto const& shard = tensor.shards[0];
    files.open(found.files[shard.file].path)
        ->read(shard.begin, std::as_writable_bytes(std::span(groups)));
    return !std::ranges::is_sorted(groups);
}

/// Whether any `g_idx` of a checkpoint mixes groups.
inline bool are_groups_mixed(file_store const& files, checkpoint_metadata const& found) {
    return std::ranges::any_of(found.tensors, [&](checkpoint_tensor const& tensor) {
        return tensor.key.ends_with("g_idx") && are_groups_mixed(files, found, tensor);
    });
}

/// The JSON document in a file beside a checkpoint, or null.
inline boost::json::value document_beside(file_store const& files,
                                          std::filesystem::path const& path) {
    constexpr std::uint64_t most = std::uint64_t{64} << 20;
    try {
        if (files.find(path) != file_store::kind::file)
            return nullptr;
        open_file file = open_text(files, path, most);
        boost::system::error_code unreadable; // then it says nothing
        return boost::json::parse(read_bytes(file, file.bytes), unreadable);
    } catch (error const&) {
        return nullptr;
    }
}

/// The facts in the configuration beside a checkpoint, which is read only if a tensor may be
/// quantised, or in its `g_idx`, if the configuration does not say the order of channels.
///
/// \throws error with errc::io or errc::corrupt_file if these cannot be read
inline quantisation_facts read_quantisation(file_store const& files,
                                            checkpoint_metadata const& found) {
    if (std::ranges::none_of(found.tensors, may_be_quantised, &checkpoint_tensor::dtype))
        return {};
    bool const is_directory = files.find(found.path) == file_store::kind::directory;
    std::filesystem::path const around = is_directory ? found.path : found.path.parent_path();
    quantisation_reader reader;
    auto const read_member = [&](boost::json::value const& document, std::string_view name) {
        if (auto const* const object = document.if_object())
            if (auto const* const member = object->if_contains(name))
                reader.read(*member, name);
    };
    boost::json::value const config = document_beside(files, around / "config.json");
    for (std::string_view const name : {"quantization_config", "compression_config"}) {
        read_member(config, name);
        if (auto const* const object = config.if_object())
            if (auto const* const text = object->if_contains("text_config"))
                read_member(*text, name);
    }
    read_member(document_beside(files, around / "hf_quant_config.json"), "quantization");
    reader.read(document_beside(files, around / "quantize_config.json"), {});
    bool const says_order = reader.says_order();
    quantisation_facts facts = std::move(reader).take();
    if (!says_order)
        facts.is_reordered = are_groups_mixed(files, found);
    return facts;
}

} // namespace reshard::detail

#endif
