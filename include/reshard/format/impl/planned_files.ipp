// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_PLANNED_FILES_IPP
#define RESHARD_FORMAT_IMPL_PLANNED_FILES_IPP

#include <reshard/format/planned_files.hpp>

#include <reshard/core/error.hpp>

#include <cstddef>
#include <utility>

namespace reshard::detail {

RESHARD_DECL planned_files::planned_files(std::string_view format, layout const& target) {
    plan_.holders = target.holders;
    plan_.metadata.format = format;
    for (tensor_layout const& tensor : target.tensors) {
        numbers_.emplace(tensor.key, plan_.metadata.tensors.size());
        plan_.metadata.tensors.push_back(
            {tensor.key, tensor.dtype, packed_vector(target.shape_of(tensor)), {}});
    }
}

RESHARD_DECL void planned_files::begin_file(std::string const& name, holder_t rank) {
    plan_.metadata.files.push_back({name, 0, 0});
    plan_.headers.emplace_back();
    plan_.ranks.push_back(rank);
}

RESHARD_DECL void planned_files::add(file_shard const& shard, byte_run where) {
    auto const file = static_cast<holder_t>(plan_.metadata.files.size() - 1);
    plan_.metadata.tensors[numbers_.at(shard.key)].shards.push_back(
        {file, shard.region, shard.flat, where.begin, where.end, {}, shard.cycles});
}

RESHARD_DECL vector<placed_text>
planned_files::add_safetensors(vector<file_shard> const& shards,
                               std::map<std::string, std::string> const& metadata,
                               vector<std::string> const& names) {
    vector<file_shard> named = shards;
    for (std::size_t i = 0; i < names.size(); ++i)
        named[i].key = names[i];
    auto file = plan_of(named, metadata, plan_.metadata.files.back().path.string());
    for (std::size_t i = 0; i < file.order.size(); ++i) {
        std::uint64_t const data = file.header.size();
        add(shards[file.order[i]], {data + file.tensors[i].begin, data + file.tensors[i].end});
    }
    end_file(file.file_bytes());
    return {{0, std::move(file.header)}};
}

RESHARD_DECL void planned_files::end_file(std::uint64_t bytes) {
    plan_.metadata.files.back().bytes = bytes;
}

RESHARD_DECL checkpoint_plan planned_files::take(std::shared_ptr<file_texts const> texts) {
    plan_.texts = std::move(texts);
    return std::move(plan_);
}

RESHARD_DECL void check_box(file_shard const& shard, std::string_view format) {
    if (shard.flat)
        fail(errc::unsupported, "'", shard.key, "': the layout has elements ", *shard.flat,
             " of a flattened shard, but ", format,
             " supports only boxes; give a layout of boxes, or no layout");
}

} // namespace reshard::detail

#endif
