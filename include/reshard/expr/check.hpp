// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CHECK_HPP
#define RESHARD_EXPR_CHECK_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/nearest.hpp>
#include <reshard/core/severity.hpp>
#include <reshard/expr/check_pieces.hpp>
#include <reshard/expr/key_classes.hpp>
#include <reshard/expr/losses.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

/// \file
/// All that there is to say of a mapping before any byte moves.

namespace reshard {

/// Something that is wrong with a mapping, or worth knowing.
///
/// `code` is for programs: of an error, the name of its `errc`; of a note `unused`, `rounded` or
/// `not_wanted`.
struct mapping_finding {
    severity level;
    std::string code;
    std::string key; ///< of a target tensor; of `unused` and `rounded`, of a source tensor
    std::string message;

    bool operator==(mapping_finding const&) const = default;
};

/// What `check` says of a mapping.
struct report {
    std::vector<mapping_finding> findings; ///< errors first
    key_classes keys;
    std::vector<loss> losses; ///< what the mapping destroys

    bool ok() const {
        return std::ranges::none_of(
            findings, [](mapping_finding const& one) { return one.level == severity::error; });
    }
    bool invertible() const { return losses.empty(); }
};

namespace detail {

/// A check at work.
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
        for (loss const& one : result_.losses)
            note_loss(one);
        note_unwanted();
        return std::move(result_);
    }

private:
    void add(errc code, std::string const& key, std::string message) {
        result_.findings.push_back(
            {severity::error, std::string(name(code)), key, std::move(message)});
    }

    /// Compares the tensors that the mapping was made for with those that there are.
    void check_sources() {
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
                    "the target wants '" + wanted.key + "', which the mapping does not make" +
                        (searches_left-- > 0
                             ? did_you_mean_key(wanted.key, map_.outputs(), &mapping_output::key)
                             : ""));
        }
    }

    void check_target(catalog_entry const& wanted, expression const& value) {
        if (value.shape != wanted.shape)
            add(errc::shape_mismatch, wanted.key,
                "'" + wanted.key + "' has the shape " + to_string(value.shape) +
                    ", and the target wants " + to_string(wanted.shape));
        else if (value.dtype != wanted.dtype)
            add(errc::dtype_mismatch, wanted.key,
                "'" + wanted.key + "' is " + std::string(name(value.dtype)) +
                    ", and the target wants " + std::string(name(wanted.dtype)));
    }

    void note(std::string code, std::string const& key, std::string message) {
        result_.findings.push_back({severity::note, std::move(code), key, std::move(message)});
    }

    void note_loss(loss const& one) {
        if (one.what != loss::kind::removed)
            note(one.what == loss::kind::rounded ? "rounded" : "unused", one.key,
                 "'" + one.key + "' " + describe(one, map_.sources()[one.source]));
    }

    void note_unwanted() {
        if (target_)
            for (mapping_output const& output : map_.outputs())
                if (!target_->find(output.key))
                    note("not_wanted", output.key,
                         "'" + output.key + "' is made, and the target does not want it");
    }

    mapping const& map_;
    catalog const& source_;
    catalog const* target_;
    report result_;
};

} // namespace detail

/// Everything that is wrong with a mapping of the tensors of `source` to those of `target`, which
/// may be unknown, or that is worth knowing: never the first finding alone, and one for each fault.
///
/// Errors: an element of a target tensor without a source or with two, pieces that leave their
/// tensors, shapes and data types that differ from those of source and target, keys that nobody has.
/// Notes: source elements that no target uses, tensors that are rounded, tensors that nobody wants.
///
/// \par Source no other system says before a byte moves that a program is right
inline report check(mapping const& map, catalog const& source, catalog const* target = nullptr) {
    return detail::mapping_checker(map, source, target).run();
}

} // namespace reshard

#endif
