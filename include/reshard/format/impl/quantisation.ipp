// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_QUANTISATION_IPP
#define RESHARD_FORMAT_IMPL_QUANTISATION_IPP

#include <reshard/core/vector.hpp>
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

namespace reshard::detail {

/// Reads blocks and the order of input channels from a configuration.
///
/// \par Source `weight_block_size` of FP8, `group_size` and `desc_act` of GPTQ and AWQ,
///             `config_groups` of compressed-tensors with `block_structure` and `actorder`; the
///             values `weight` and `static` leave groups in order
class quantisation_reader {
public:
    explicit quantisation_reader(quantisation_facts& facts) : facts_(facts) {}

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
    void set_reordered() { facts_.is_reordered = true; }

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

    quantisation_facts& facts_;
    bool says_order_ = false;
};

/// True if the groups in a shard are not in the order of the input channels. False for a shard that
/// is not stored as a list, or that cannot be read.
inline bool are_groups_mixed(file_store const& files, std::filesystem::path const& path,
                             checkpoint_shard const& shard) {
    index_vector const shape = stored_shape(shard);
    if (shape.size() != 1 ||
        shard.end - shard.begin != static_cast<std::uint64_t>(shape[0]) * sizeof(std::int32_t))
        return false;
    vector<std::int32_t> groups(static_cast<std::size_t>(shape[0]));
    try {
        files.open(path)->read(shard.begin, std::as_writable_bytes(std::span(groups)));
    } catch (error const&) {
        return false;
    }
    return !std::ranges::is_sorted(groups);
}

/// True if the groups in any `g_idx` of a checkpoint are in another order.
inline bool are_groups_mixed(file_store const& files, checkpoint_metadata const& metadata) {
    return std::ranges::any_of(metadata.tensors, [&](checkpoint_tensor const& tensor) {
        return tensor.dtype == data_type::i32 && tensor.key.ends_with("g_idx") &&
               std::ranges::any_of(tensor.shards, [&](checkpoint_shard const& shard) {
                   return are_groups_mixed(files, metadata.files[shard.file].path, shard);
               });
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
        boost::system::error_code unreadable; // an invalid document is ignored
        return boost::json::parse(read_bytes(file, file.bytes), unreadable);
    } catch (error const&) {
        return nullptr;
    }
}

/// The directory of the files beside a checkpoint, which is a file or a directory.
inline std::filesystem::path directory_around(file_store const& files,
                                              std::filesystem::path const& checkpoint) {
    bool const is_directory = files.find(checkpoint) == file_store::kind::directory;
    return is_directory ? checkpoint : checkpoint.parent_path();
}

/// A member of a JSON object; null if it has none of that name, or for another value.
inline boost::json::value const* member_in(boost::json::value const& value, std::string_view name) {
    auto const* const object = value.if_object();
    return object ? object->if_contains(name) : nullptr;
}

/// Adds the facts in the configuration beside a checkpoint. It is read only if a tensor may be
/// quantised. If the configuration does not state the order of channels, the tensors `g_idx`
/// determine it.
inline void read_quantisation(file_store const& files, checkpoint_metadata& metadata) {
    if (std::ranges::none_of(metadata.tensors, may_be_quantised, &checkpoint_tensor::dtype))
        return;
    std::filesystem::path const around = directory_around(files, metadata.path);
    quantisation_reader reader(metadata.quantised);
    auto const read_member = [&](boost::json::value const& document, std::string_view name) {
        if (auto const* const member = member_in(document, name))
            reader.read(*member, name);
    };
    boost::json::value const config = document_beside(files, around / "config.json");
    for (std::string_view const name : {"quantization_config", "compression_config"}) {
        read_member(config, name);
        if (auto const* const text = member_in(config, "text_config"))
            read_member(*text, name);
    }
    read_member(document_beside(files, around / "hf_quant_config.json"), "quantization");
    reader.read(document_beside(files, around / "quantize_config.json"), {});
    if (!reader.says_order() && are_groups_mixed(files, metadata))
        reader.set_reordered();
}

} // namespace reshard::detail

#endif
