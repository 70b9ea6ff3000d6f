// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_IMPL_PADDLE_PLAN_IPP
#define RESHARD_FORMAT_PADDLE_IMPL_PADDLE_PLAN_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/paddle/paddle.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/planned_files.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::string_view paddle_name(std::string_view key, data_type dtype) {
    switch (dtype) {
    case data_type::u16:
    case data_type::u32:
    case data_type::u64:
    case data_type::f4:
    case data_type::f6_e2m3:
    case data_type::f6_e3m2:
    case data_type::f8_e8m0:
    case data_type::f8_e4m3fnuz:
    case data_type::f8_e5m2fnuz:
        fail(errc::unsupported, "'", key, "': Paddle has no data type for elements of ", dtype,
             "; write safetensors, or", bits(dtype) <= 8 ? ", if it has no scales," : "",
             " cast it in the program, as in `", key, " -> ", key, ", dtype=\"",
             bits(dtype) < 16 ? "bfloat16" : "int64", "\"`");
    default: return name(dtype);
    }
}

/// Headers of safetensors files, and the metadata that lists the shards of each file.
class paddle_texts : public known_texts {
public:
    paddle_texts(vector<vector<placed_text>> headers, checkpoint_metadata metadata)
        : known_texts(std::move(headers)), metadata_(std::move(metadata)) {
        for (checkpoint_tensor const& tensor : metadata_.tensors)
            paddle_name(tensor.key, tensor.dtype);
    }

    vector<std::pair<std::string, std::string>> others() const override {
        pickle_writer out;
        out.object(module, "Metadata", [&] {
            out.text("state_dict_metadata");
            out.dict([&] { put_tensors(out); });
            out.text("storage_metadata");
            out.dict([&] { put_places(out); });
            out.text("flat_mapping");
            out.dict([&] { put_paths(out); });
            put_fused(out, metadata_.fused);
        });
        return {{"0.metadata", out.take()}};
    }

private:
    static constexpr std::string_view module = "paddle.distributed.flex_checkpoint.dcp.metadata";

    /// Writes the members that both of Paddle's classes have.
    static void put_shard(pickle_writer& out, checkpoint_shard const& shard) {
        out.text("global_offset");
        out.integers(shard.region.offset);
        out.text("local_shape");
        out.integers(shard.region.shape);
        out.text("is_flattened");
        out.boolean(shard.flat.has_value());
        out.text("flattened_range");
        shard.flat ? out.integers({shard.flat->begin, shard.flat->end}) : out.none();
    }

    void put_tensors(pickle_writer& out) const {
        for (checkpoint_tensor const& tensor : metadata_.tensors) {
            out.text(tensor.key);
            out.empty_list();
            out.begin();
            for (checkpoint_shard const& shard : tensor.shards)
                out.object(module, "LocalTensorMetadata", [&] {
                    put_shard(out, shard);
                    out.text("dtype");
                    out.text(paddle_name(tensor.key, tensor.dtype));
                    out.text("global_shape");
                    out.integers(tensor.shape);
                });
            out.append_all();
        }
    }

    void put_places(pickle_writer& out) const {
        for (checkpoint_tensor const& tensor : metadata_.tensors)
            for (checkpoint_shard const& shard : tensor.shards) {
                out.object(module, "LocalTensorIndex", [&] {
                    out.text("tensor_key");
                    out.text(tensor.key);
                    put_shard(out, shard);
                    out.text("replica_id");
                    out.none();
                });
                out.text(metadata_.files[shard.file].path.string());
            }
    }

    void put_paths(pickle_writer& out) const {
        for (checkpoint_tensor const& tensor : metadata_.tensors) {
            out.text(tensor.key);
            out.begin();
            out.text(tensor.key);
            out.tuple();
        }
    }

    checkpoint_metadata metadata_;
};

/// Refuses tensors without elements: Paddle's loader fails on them.
inline void check_elements(layout const& target) {
    for (tensor_layout const& tensor : target.tensors)
        if (element_count(target.shape_of(tensor)) == 0)
            fail(errc::unsupported, "'", tensor.key,
                 "': Paddle cannot load tensors without elements, but this one has the shape ",
                 target.shape_of(tensor), "; omit it in the program, as in `", tensor.key,
                 " -> _`");
}

inline bool is_empty(file_shard const& shard) { return element_count(stored_shape(shard)) == 0; }

RESHARD_DECL checkpoint_plan plan_paddle_flex(layout const& target, file_choices const& choices) {
    check_elements(target);
    planned_files files("paddle_flex", target);
    vector<vector<placed_text>> headers;
    auto const add = [&](holder_t number, holder_t rank, vector<file_shard> const& shards) {
        files.begin_file(std::to_string(number) + "_0.safetensors", rank);
        headers.push_back(files.add_safetensors(shards));
    };
    holder_t next = std::max<holder_t>(1, target.holders);
    for (auto& [rank, shards] : shards_by_writer(target, choices)) {
        erase_if(shards, [](file_shard const& shard) { return is_empty(shard); });
        bool is_first = true;
        for (auto const& of_file : split_by_key(std::move(shards)))
            add(std::exchange(is_first, false) ? rank : next++, rank, of_file);
    }
    if (headers.empty())
        add(0, 0, {});
    checkpoint_metadata metadata = files.metadata();
    metadata.fused = choices.fused;
    return files.take(std::make_shared<paddle_texts>(std::move(headers), std::move(metadata)));
}

} // namespace reshard::detail

#endif
