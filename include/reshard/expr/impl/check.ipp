// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_CHECK_IPP
#define RESHARD_EXPR_IMPL_CHECK_IPP

#include <reshard/expr/check.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/losses.hpp>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

namespace reshard::detail {

/// The source tensor that an output copies unchanged, or std::nullopt. An output without elements
/// has no pieces that name a source. It counts as a copy of the source tensor of the same name,
/// shape and type.
inline std::optional<key_id> whole_source_of(mapping const& map, catalog const& source,
                                             mapping_output const& output) {
    expression const& value = output.value;
    if (value.pieces.size() == 0) {
        catalog_entry const* const entry = source.find(output.key);
        if (!entry || entry->shape != value.shape || entry->dtype != value.dtype)
            return std::nullopt;
        auto const id = static_cast<key_id>(entry - &source[0]);
        bool const is_same = id < map.sources().size() && map.sources().key(id) == output.key;
        return is_same ? std::optional(id) : std::nullopt;
    }
    if (!is_source_box(value) || value.pieces.source(0) >= map.sources().size())
        return std::nullopt;
    key_id const id = value.pieces.source(0);
    return map.sources()[id].shape == value.shape ? std::optional(id) : std::nullopt;
}

/// The shapes and data types of the source tensors that have no elements: nothing else
/// distinguishes these tensors.
class empty_tensors {
public:
    explicit empty_tensors(catalog const& source) : source_(source) {}

    /// Whether the source has an empty tensor of the same shape and type.
    bool has(expression const& value) {
        if (!std::exchange(is_filled_, true))
            for (catalog_entry const& entry : source_)
                if (is_empty(whole(entry.shape)))
                    kinds_.insert(kind_of(entry.shape, entry.dtype));
        return kinds_.contains(kind_of(value.shape, value.dtype));
    }

private:
    static std::string kind_of(index_vector const& shape, data_type dtype) {
        return to_string(shape) + std::string(name(dtype));
    }

    catalog const& source_;
    bool is_filled_ = false;
    std::unordered_set<std::string> kinds_;
};

RESHARD_DECL key_classes classify(mapping const& map, catalog const& source) {
    key_classes classes;
    classes.removed = map.removed();
    empty_tensors empty(source);
    for (mapping_output const& output : map.outputs()) {
        auto const from = whole_source_of(map, source, output);
        bool const is_another = !from && output.value.pieces.size() == 0 && empty.has(output.value);
        auto& list = output.added                             ? classes.added
                     : is_another                             ? classes.renamed
                     : !from                                  ? classes.transformed
                     : map.sources().key(*from) == output.key ? classes.identity
                                                              : classes.renamed;
        list.push_back(output.key);
    }
    return classes;
}

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL bool report::ok() const {
    return std::ranges::none_of(findings, [](detail::mapping_finding const& finding) {
        return finding.level == detail::severity::error;
    });
}

namespace detail {

/// Does the work of `check`.
class mapping_checker {
public:
    mapping_checker(mapping const& map, catalog const& source, catalog const* target)
        : map_(map), source_(source), target_(target) {}

    report run() {
        for (mapping_output const& output : map_.outputs())
            if (auto fault = find_piece_fault(output, map_.sources()))
                add(fault->code, output.key, std::move(fault->message));
        check_sources();
        check_targets();
        result_.keys = classify(map_, source_);
        auto const usages = usages_of(map_);
        result_.losses = losses_of(map_, usages);
        for (loss const& loss : result_.losses)
            note_loss(loss);
        note_unwanted();
        return std::move(result_);
    }

private:
    void add(errc code, std::string const& key, std::string message) {
        result_.findings.push_back(
            {severity::error, std::string(name(code)), key, std::move(message)});
    }

    /// Compares the source tensors that the mapping expects with the tensors of the source.
    void check_sources() {
        int searches_left = 32;
        for (key_id id = 0; id < map_.sources().size(); ++id) {
            if (quantised_from(map_, id))
                continue;
            mapping_source const wanted = map_.sources()[id];
            std::string const key(wanted.key);
            catalog_entry const* const entry = source_.find(key);
            if (!entry)
                add(errc::unknown_key, key,
                    words("the mapping was made for '", key, "', which the source does not have",
                          searches_left-- > 0 ? did_you_mean_key(key, source_, &catalog_entry::key)
                                              : std::string()));
            else if (entry->shape != wanted.shape)
                add(errc::shape_mismatch, key,
                    words("'", key, "' has the shape ", entry->shape,
                          " in the source, but the mapping was made for ", wanted.shape));
            else if (entry->dtype != wanted.dtype)
                add(errc::dtype_mismatch, key,
                    words("'", key, "' is ", entry->dtype,
                          " in the source, but the mapping was made for ", wanted.dtype));
        }
    }

    void check_targets() {
        if (!target_)
            return;
        int searches_left = 32;
        for (catalog_entry const& wanted : *target_) {
            mapping_output const* const output = map_.find(wanted.key);
            if (output)
                check_target(wanted, output->value);
            else
                add(errc::unknown_key, wanted.key,
                    words("the target wants '", wanted.key, "', which the mapping does not make",
                          searches_left-- > 0
                              ? did_you_mean_key(wanted.key, map_.outputs(), &mapping_output::key)
                              : ""));
        }
    }

    void check_target(catalog_entry const& wanted, expression const& value) {
        if (value.shape != wanted.shape)
            add(errc::shape_mismatch, wanted.key,
                words("'", wanted.key, "' has the shape ", value.shape, ", but the target wants ",
                      wanted.shape));
        else if (value.dtype != wanted.dtype)
            add(errc::dtype_mismatch, wanted.key,
                words("'", wanted.key, "' is ", value.dtype, ", but the target wants ",
                      wanted.dtype));
    }

    void note(std::string code, std::string const& key, std::string message) {
        result_.findings.push_back({severity::note, std::move(code), key, std::move(message)});
    }

    void note_loss(loss const& loss) {
        if (loss.type != loss::kind::removed)
            note(loss.type == loss::kind::rounded ? "rounded" : "unused", loss.key,
                 "'" + loss.key + "' " + describe(loss, map_.sources()[loss.source]));
    }

    void note_unwanted() {
        if (target_)
            for (mapping_output const& output : map_.outputs())
                if (!target_->find(output.key))
                    note("not_wanted", output.key,
                         "'" + output.key + "' is made, but the target does not want it");
    }

    mapping const& map_;
    catalog const& source_;
    catalog const* target_;
    report result_;
};

} // namespace detail

RESHARD_DECL report check(mapping const& map, catalog const& source, catalog const* target) {
    return detail::mapping_checker(map, source, target).run();
}

} // namespace reshard

#endif
