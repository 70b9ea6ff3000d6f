// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_CHECK_IPP
#define RESHARD_EXPR_IMPL_CHECK_IPP

#include <reshard/expr/check.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/nearest.hpp>
#include <reshard/expr/check_pieces.hpp>

#include <algorithm>
#include <utility>

namespace reshard {

RESHARD_DECL bool report::ok() const {
    return std::ranges::none_of(findings, [](detail::mapping_finding const& one) {
        return one.level == detail::severity::error;
    });
}

namespace detail {

RESHARD_DECL report mapping_checker::run() {
    for (mapping_output const& output : map_.outputs())
        if (auto fault = find_piece_fault(output, map_.sources()))
            add(fault->code, output.key, std::move(fault->message));
    check_sources();
    check_targets();
    result_.keys = classify(map_, source_);
    auto const usages = usages_of(map_);
    result_.losses = losses_of(map_, usages);
    for (loss const& one : result_.losses)
        note_loss(one);
    note_unwanted();
    return std::move(result_);
}

RESHARD_DECL void mapping_checker::add(errc code, std::string const& key, std::string message) {
    result_.findings.push_back({severity::error, std::string(name(code)), key, std::move(message)});
}

RESHARD_DECL void mapping_checker::check_sources() {
    int searches_left = 32;
    for (mapping_source const& wanted : map_.sources()) {
        std::string const key(wanted.key);
        catalog_entry const* const entry = source_.find(key);
        if (!entry)
            add(errc::unknown_key, key,
                "the mapping was made for '" + key + "', which the source does not have" +
                    (searches_left-- > 0 ? did_you_mean_key(key, source_, &catalog_entry::key)
                                         : std::string()));
        else if (entry->shape != wanted.shape)
            add(errc::shape_mismatch, key,
                "'" + key + "' has the shape " + to_string(entry->shape) +
                    " in the source, and the mapping was made for " + to_string(wanted.shape));
        else if (entry->dtype != wanted.dtype)
            add(errc::dtype_mismatch, key,
                "'" + key + "' is " + std::string(name(entry->dtype)) +
                    " in the source, and the mapping was made for " +
                    std::string(name(wanted.dtype)));
    }
}

RESHARD_DECL void mapping_checker::check_targets() {
    if (!target_)
        return;
    int searches_left = 32;
    for (catalog_entry const& wanted : *target_) {
        mapping_output const* const output = map_.find(wanted.key);
        if (output)
            check_target(wanted, output->value);
        else
            add(errc::unknown_key, wanted.key,
                "the target wants '" + wanted.key + "', which the mapping does not make" +
                    (searches_left-- > 0
                         ? did_you_mean_key(wanted.key, map_.outputs(), &mapping_output::key)
                         : ""));
    }
}

RESHARD_DECL void mapping_checker::check_target(catalog_entry const& wanted,
                                                expression const& value) {
    if (value.shape != wanted.shape)
        add(errc::shape_mismatch, wanted.key,
            "'" + wanted.key + "' has the shape " + to_string(value.shape) +
                ", and the target wants " + to_string(wanted.shape));
    else if (value.dtype != wanted.dtype)
        add(errc::dtype_mismatch, wanted.key,
            "'" + wanted.key + "' is " + std::string(name(value.dtype)) +
                ", and the target wants " + std::string(name(wanted.dtype)));
}

RESHARD_DECL void mapping_checker::note(std::string code, std::string const& key,
                                        std::string message) {
    result_.findings.push_back({severity::note, std::move(code), key, std::move(message)});
}

RESHARD_DECL void mapping_checker::note_loss(loss const& one) {
    if (one.what != loss::kind::removed)
        note(one.what == loss::kind::rounded ? "rounded" : "unused", one.key,
             "'" + one.key + "' " + describe(one, map_.sources()[one.source]));
}

RESHARD_DECL void mapping_checker::note_unwanted() {
    if (target_)
        for (mapping_output const& output : map_.outputs())
            if (!target_->find(output.key))
                note("not_wanted", output.key,
                     "'" + output.key + "' is made, and the target does not want it");
}

} // namespace detail

} // namespace reshard

#endif
