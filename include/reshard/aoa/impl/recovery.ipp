// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_RECOVERY_IPP
#define RESHARD_AOA_IMPL_RECOVERY_IPP

#include <reshard/aoa/recovery.hpp>

#include <reshard/aoa/inverse.hpp>
#include <reshard/core/config.hpp>

#include <string>
#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL recovery::recovery(program const& code, source_names const& source,
                                source_names const& made, recovery_options const& options)
    : code_(code),
      made_(made),
      options_(options),
      versions_(code),
      facts_(versions_.size()),
      makers_(versions_.size(), none),
      reasons_of_(versions_.size(), none),
      is_wanted_(versions_.size()) {
    find_facts(source);
    for (std::size_t i = code.statements().size(); i-- > 0;)
        go_back(static_cast<std::uint32_t>(i));
}

RESHARD_DECL bool recovery::is_kept(std::uint32_t version) const {
    name const& called = versions_.called(version);
    if (called.kind != name::kind_type::text || !versions_.is_last(version))
        return false;
    bool const is_source = versions_.maker(version) == none;
    return made_.find_parameter(code_.text(called)) != source_names::none &&
           !(is_source && versions_.added_by(called.id) != none);
}

RESHARD_DECL void recovery::find_needed() {
    std::vector<statement> const& all = code_.statements();
    is_needed_.assign(all.size(), false);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
        for (std::size_t k = 0; k < all[i].left; ++k)
            is_needed_[i] = is_needed_[i] || gives(i, k);
        for (std::size_t k = 0; is_needed_[i] && k < all[i].right; ++k)
            want(versions_.at(all[i], all[i].left + k));
    }
}

RESHARD_DECL bool recovery::gives(std::uint32_t i, std::size_t k) const {
    std::uint32_t const version = versions_.at(code_.statements()[i], k);
    return version != none && is_wanted_[version] && makers_[version] == i && !is_kept(version);
}

RESHARD_DECL inverse_statement recovery::inverse(std::uint32_t i) const {
    return invert(dissected(i), options_.allow_rounding);
}

RESHARD_DECL bool recovery::has_no_value(statement const& one) const {
    return is_removal(code_, one) || is_addition(code_, one);
}

RESHARD_DECL std::vector<tensor_facts> recovery::operands(std::uint32_t i) const {
    statement const& one = code_.statements()[i];
    std::vector<tensor_facts> result;
    for (std::size_t k = 0; k < one.left; ++k)
        result.push_back(facts_[versions_.at(one, k)]);
    return result;
}

RESHARD_DECL dissection recovery::dissected(std::uint32_t i) const {
    statement const& one = code_.statements()[i];
    key_id const id = options_.is_target_known
                          ? made_.find_parameter(code_.text(code_.right(one)[0]))
                          : source_names::none;
    index_vector const* const wanted = id == source_names::none ? nullptr : &made_.entry(id).shape;
    return dissect(code_, one, operands(i), wanted);
}

RESHARD_DECL void recovery::find_facts(source_names const& source) {
    for (std::uint32_t v = 0; v < versions_.size(); ++v)
        if (versions_.maker(v) == none) {
            catalog_entry const& entry =
                source.entry(source.find_parameter(code_.text(versions_.called(v))));
            facts_[v] = {entry.shape, entry.dtype, entry.dtype};
        }
    for (std::uint32_t i = 0; i < code_.statements().size(); ++i) {
        statement const& one = code_.statements()[i];
        if (has_no_value(one))
            continue;
        std::vector<tensor_facts> const made = dissected(i).made;
        for (std::size_t k = 0; k < one.right; ++k)
            facts_[versions_.at(one, one.left + k)] = made[k];
    }
}

RESHARD_DECL void recovery::go_back(std::uint32_t i) {
    statement const& one = code_.statements()[i];
    if (has_no_value(one))
        return;
    std::uint32_t const reason = find_reason(i);
    for (std::size_t k = 0; k < one.left; ++k)
        (reason == none ? makers_ : reasons_of_)[versions_.at(one, k)] =
            reason == none ? i : reason;
}

RESHARD_DECL std::uint32_t recovery::find_reason(std::uint32_t i) {
    statement const& one = code_.statements()[i];
    for (std::size_t k = 0; k < one.right; ++k)
        if (std::uint32_t const made = versions_.at(one, one.left + k); !is_recoverable(made))
            return reasons_of_[made] != none ? reasons_of_[made] : add(i, unused(made));
    if (one.attributes == 0)
        return none;
    try {
        inverse(i);
        return none;
    } catch (statement_error const& error) {
        return add(i, error);
    }
}

RESHARD_DECL std::uint32_t recovery::add(std::uint32_t i, statement_error error) {
    reasons_.push_back({i, std::move(error)});
    return static_cast<std::uint32_t>(reasons_.size() - 1);
}

RESHARD_DECL statement_error recovery::unused(std::uint32_t version) const {
    name const& called = versions_.called(version);
    std::string const key(code_.text(called));
    return {errc::not_invertible,
            "'" + key + "', which this statement makes, is " +
                (versions_.is_last(version)
                     ? "neither read nor a tensor of the target"
                     : "made again by a later statement before anything reads it"),
            called.where, key};
}

} // namespace reshard::aoa::detail

#endif
