// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_IMPL_UNIFIED_PLAN_IPP
#define RESHARD_FORMAT_PADDLE_IMPL_UNIFIED_PLAN_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/paddle/unified.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/paddle/paddle.hpp>
#include <reshard/format/planned_files.hpp>
#include <reshard/model/optimizer_state.hpp>

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The destination of a target tensor: the part, and the tensor's name in it.
struct unified_place {
    unified_part part = unified_part::model;
    std::string name;
};

/// Splits the key of a state into the key of the weight and the kind of state. The kind is null for
/// any other key.
inline std::pair<std::string_view, model::state_kind const*>
state_in(std::string_view key, vector<model::state_kind> const& kinds) {
    for (model::state_kind const& kind : kinds)
        if (key.size() > kind.suffix.size() && key.ends_with(kind.suffix))
            return {key.substr(0, key.size() - kind.suffix.size()), &kind};
    return {key, nullptr};
}

/// Finds 32-bit master weights whose weights are missing: `w.w_0`, if the target has a state of `w`
/// or another weight. Finds none if PaddlePaddle gave the names, such as `linear_0.w_0`, because
/// `.w_0` is then part of a weight's name.
class lone_masters {
public:
    lone_masters(layout const& target, vector<model::state_kind> const& kinds) {
        for (tensor_layout const& tensor : target.tensors) {
            auto const [weight, kind] = state_in(tensor.key, kinds);
            if (kind && !kind->is_master)
                with_state_.insert(weight);
            else if (!kind)
                has_weights_ = true;
            has_variables_ |= is_variable(kind && kind->is_master, weight);
        }
    }

    bool contains(std::string_view weight) const {
        return !has_variables_ && (has_weights_ || with_state_.contains(weight));
    }

private:
    /// True for `linear_0` of `linear_0.w_0`, and for a whole key such as `norm_0.b_0` or
    /// `norm_0.w_1`.
    static bool is_variable(bool is_weight, std::string_view name) {
        if (!is_weight)
            return name.ends_with(".b_0") || name.ends_with(".w_1");
        std::size_t const line = name.find_last_not_of("0123456789");
        return line != name.npos && line + 1 < name.size() && name[line] == '_' &&
               name.find('.') == name.npos;
    }

    std::set<std::string_view> with_state_;
    bool has_weights_ = false;
    bool has_variables_ = false;
};

/// \param is_lone_master true if the key may be a master weight whose weight is missing
/// \post  `key_in_part(part, name)` is the key
inline unified_place unified_place_of(std::string const& key, layout const& target,
                                      bool is_lone_master) {
    auto const kinds = model::paddle_states();
    auto const [weight, kind] = state_in(key, kinds);
    bool const has_weight = target.find(weight) != nullptr;
    if (kind && kind->is_master && (is_lone_master || has_weight))
        return {unified_part::master_weights, std::string(weight)};
    if (kind && !kind->is_master &&
        (has_weight || target.find(key_in_part(unified_part::master_weights, weight))))
        return {unified_part::optimizer, words(weight, "/", kind->suffix.substr(1))};
    return {unified_part::model, key};
}

/// Plans the files of a Unified Checkpoint, part by part.
class unified_planner {
public:
    unified_planner(layout const& target, file_choices const& choices)
        : most_bytes_(choices.most_file_bytes != 0 ? choices.most_file_bytes
                                                   : std::numeric_limits<index_t>::max()),
          files_(unified_format, target) {
        auto const kinds = model::paddle_states();
        lone_masters const masters(target, kinds);
        for (auto& [rank, shards] : shards_by_writer(target, choices))
            for (file_shard& shard : shards) {
                check_whole(shard);
                paddle_name(shard.key, shard.dtype);
                bool const is_lone = shard.dtype == data_type::f32 &&
                                     masters.contains(state_in(shard.key, kinds).first);
                unified_place unified_place = unified_place_of(shard.key, target, is_lone);
                parts_[unified_place.part].push_back(
                    {std::move(unified_place.name), std::move(shard)});
            }
    }

    checkpoint_plan take() {
        bool const has_masters = parts_.contains(unified_part::master_weights);
        add(unified_part::optimizer, "optimizer", optimizer_index_name, has_masters);
        add(unified_part::master_weights, "master_weights", master_index_name, {});
        if (parts_.contains(unified_part::model) || !has_masters)
            add(unified_part::model, "model", hf_index_name, {}); // last: completes the checkpoint
        return files_.take(std::make_shared<known_texts>(std::move(headers_), std::move(indexes_)));
    }

private:
    struct named_shard {
        std::string name; ///< the name in its file
        file_shard shard;
    };

    static void check_whole(file_shard const& shard) {
        check_box(shard, unified_format);
        if (shard.global_shape && *shard.global_shape != index_vector(shard.region.shape))
            fail(errc::unsupported, "'", shard.key, "': the layout has the shard ",
                 box(shard.region), ", but ", unified_format,
                 " stores only whole tensors; omit the layout");
    }

    void add(unified_part part, std::string const& prefix, std::string_view index_name,
             std::optional<bool> has_masters) {
        vector<named_shard> const& shards = parts_[part];
        if (shards.empty() && part != unified_part::model)
            return;
        vector<index_t> bytes;
        hf_index index{{}, 0, has_masters};
        for (named_shard const& shard : shards) {
            bytes.push_back(static_cast<index_t>(bytes_of(shard.shard)));
            index.total_bytes =
                checked_add(*index.total_bytes, bytes.back(), "the bytes of all tensors");
        }
        auto const split = split_into_files(bytes, most_bytes_);
        for (std::size_t number = 0; number < split.size(); ++number) {
            std::string const name = prefix + "-" + five_digits(number + 1) + "-of-" +
                                     five_digits(split.size()) + ".safetensors";
            add_file(name, shards, split[number]);
            for (std::size_t const i : split[number])
                index.weight_map.emplace(shards[i].name, name);
        }
        indexes_.emplace_back(index_name, to_json(index));
    }

    void add_file(std::string const& name, vector<named_shard> const& shards,
                  vector<std::size_t> const& chosen) {
        vector<file_shard> of_file;
        vector<std::string> names;
        for (std::size_t const i : chosen) {
            of_file.push_back(shards[i].shard);
            of_file.back().dtype = written_type_of_paddle(of_file.back().dtype);
            names.push_back(shards[i].name);
        }
        files_.begin_file(name, 0);
        headers_.push_back(files_.add_safetensors(of_file, {{"format", "np"}}, names));
    }

    index_t most_bytes_;
    planned_files files_;
    std::map<unified_part, vector<named_shard>> parts_;
    vector<vector<placed_text>> headers_;
    vector<std::pair<std::string, std::string>> indexes_;
};

RESHARD_DECL checkpoint_plan plan_unified(layout const& target, file_choices const& choices) {
    return unified_planner(target, choices).take();
}

} // namespace reshard::detail

#endif
