// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_UNKNOWN_SCALES_IPP
#define RESHARD_EXPR_IMPL_UNKNOWN_SCALES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>

#include <reshard/expr/impl/find_scales.ipp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace reshard::detail {

/// Whether a tensor is likely to be a weight of few bits; 32-bit tensors may also hold positions.
inline bool is_likely_quantised(tensor_layout const& tensor) {
    std::string_view const name =
        std::string_view(tensor.key).substr(tensor.key.find_last_of("./") + 1);
    return may_be_quantised(tensor.dtype) &&
           (bits(tensor.dtype) <= 8 || name.starts_with('q') || name.find("weight") != name.npos ||
            name.find("packed") != name.npos);
}

/// Finds tensors that may be scales of quantised tensors, but follow no known convention.
class unknown_scale_finder {
public:
    unknown_scale_finder(mapping const& program, layout const& source, layout const* target)
        : program_(program), source_(source) {
        for (std::size_t i = 0; i < source.tensors.size(); ++i)
            if (std::string_view const key = source.tensors[i].key;
                is_likely_quantised(source.tensors[i])) {
                quantised_.emplace(key, i);
                by_module_[module_of(key)].push_back(key);
            }
        for (auto& [module, keys] : by_module_)
            std::ranges::sort(keys);
        if (quantised_.empty())
            return;
        for (relation const& relation : program.relations())
            if (relation.type == relation::kind::scale)
                related_.insert(relation.key);
        if (target)
            target_ = catalog_of(*target);
    }

    std::optional<scale_finding> run() {
        if (quantised_.empty())
            return std::nullopt;
        find_pairs();
        std::optional<scale_finding> finding;
        std::size_t count = 0;
        for (mapping_output const& output : program_.outputs())
            for (std::size_t i = 0; !pairs_.empty() && i < output.value.pieces.size(); ++i)
                if (auto const id = output.value.pieces.source(i); id != zero_source)
                    if (std::string const text = what_is_wrong(output, id); !text.empty()) {
                        if (count++ == 0)
                            finding = finding_of(output, id, text);
                        break;
                    }
        if (count > 1)
            finding->message += and_more_keys(count);
        return finding;
    }

private:
    static std::string_view module_of(std::string_view key) {
        return key.substr(0, key.find_last_of("./") + 1);
    }

    /// The quantised tensor to which a key that resembles scales belongs; empty if there is none.
    std::string_view owner_of(std::string_view key) const {
        for (std::size_t size = key.size(); size-- > 1;)
            if (auto const match = quantised_.find(key.substr(0, size));
                match != quantised_.end() && is_called_scales(key.substr(size)))
                return match->first;
        std::string_view const module = module_of(key);
        auto const beside = by_module_.find(module);
        if (module.empty() || beside == by_module_.end() ||
            !is_called_scales(key.substr(module.size())))
            return {};
        auto const likeness = [&](std::string_view name) { // similar keys are neighbours
            return std::ranges::mismatch(name, key).in1 - name.begin();
        };
        vector<std::string_view> const& keys = beside->second;
        auto const next = std::ranges::lower_bound(keys, key);
        if (next == keys.begin())
            return *next;
        return next != keys.end() && likeness(*next) > likeness(next[-1]) ? *next : next[-1];
    }

    void find_pairs() {
        std::unordered_set<std::string_view> known_names;
        for (found_scales const& scales : find_scales(source_))
            known_names.insert(source_.tensors[scales.scales].key);
        for (tensor_layout const& tensor : source_.tensors)
            if (std::string_view const owner =
                    known_names.contains(tensor.key) || quantised_.contains(tensor.key)
                        ? std::string_view()
                        : owner_of(tensor.key);
                !owner.empty())
                pairs_.emplace(owner, tensor.key);
    }

    /// Describes how an output differs from its source tensor, so that it may need other scales;
    /// empty if the two do not differ.
    std::string what_is_wrong(mapping_output const& output, key_id id) const {
        std::string const from(program_.sources().key(id));
        auto const scales = pairs_.find(from);
        if (scales == pairs_.end() || related_.contains(output.key))
            return {};
        bool const is_whole = is_source_box(output.value) && output.value.pieces.is_whole() &&
                              output.value.shape == program_.sources()[id].shape &&
                              output.value.pieces[0].steps.empty();
        if (!is_whole)
            return words("'", output.key, "' is made of '", from, '\'');
        if (output.key != from && program_.find(scales->second))
            return words("'", from, "' becomes '", output.key, '\'');
        catalog_entry const* const wanted = target_ ? target_->find(output.key) : nullptr;
        bool const is_cut =
            wanted && std::ranges::any_of(wanted->parts, [](index_t n) { return n > 1; });
        return is_cut ? words("the target cuts '", output.key, '\'') : std::string();
    }

    scale_finding finding_of(mapping_output const& output, key_id id,
                             std::string const& text) const {
        std::string const from(program_.sources().key(id));
        std::string const scales(pairs_.at(from));
        return {severity::warning, errc::bad_layout, output.key,
                words("unknown convention of scales: ", text, ", and '", scales,
                      "' may be its scales, which are not checked; name them, as in  ", output.key,
                      " -> ", output.key, ", scales=\"", names_as_pattern(from, scales), "\"")};
    }

    mapping const& program_;
    layout const& source_;
    std::optional<catalog> target_;
    std::unordered_set<std::string_view> related_; ///< outputs that have scales
    std::unordered_map<std::string_view, std::size_t> quantised_;
    std::unordered_map<std::string_view, vector<std::string_view>> by_module_;
    std::unordered_map<std::string_view, std::string_view> pairs_; ///< tensors with their scales
};

RESHARD_DECL std::optional<scale_finding>
find_unknown_scales(mapping const& program, layout const& source, layout const* target) {
    return unknown_scale_finder(program, source, target).run();
}

} // namespace reshard::detail

#endif
