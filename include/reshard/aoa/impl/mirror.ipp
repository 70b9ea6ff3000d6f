// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_MIRROR_IPP
#define RESHARD_AOA_IMPL_MIRROR_IPP

#include <reshard/aoa/mirror.hpp>

#include <reshard/core/config.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL name mirror::fresh(name const& like, std::string_view ending) {
    return code_.make_fresh(std::string(code_.text(like)) + std::string(ending), like.where);
}

RESHARD_DECL void mirror::add(name const& from, name const& to, attribute_list list,
                              statement const& like) {
    written_.push_back(code_.make_statement({&from, 1}, {&to, 1}, with(like, std::move(list))));
}

RESHARD_DECL void mirror::add_concat(std::vector<name> const& from, name const& to, index_t axis,
                                     statement const& like) {
    written_.push_back(code_.make_statement(
        from, {&to, 1}, with(like, {attribute{"axis", axis, '\0', like.where}})));
}

RESHARD_DECL void mirror::add_bare(name const& from, name const& to, statement const& like) {
    written_.push_back(code_.make_statement({&from, 1}, {&to, 1}, with(like, {})));
}

RESHARD_DECL void mirror::add_inverse(statement const& one, inverse_statement inverse,
                                      std::vector<std::optional<name>> const& to) {
    std::vector<name> wanted;
    for (std::optional<name> const& each : to)
        if (each)
            wanted.push_back(*each);
    if (wanted.size() == to.size())
        add_whole(one, std::move(inverse), wanted);
    else
        add_parts(one, std::move(inverse), to);
}

RESHARD_DECL void mirror::replace_statements() { code_.replace_statements(std::move(written_)); }

RESHARD_DECL bool mirror::are_same(name const& a, name const& b) {
    return a.kind == b.kind && a.id == b.id;
}

RESHARD_DECL void mirror::add_parts(statement one, inverse_statement inverse,
                                    std::vector<std::optional<name>> const& to) {
    name const from = code_.right(one)[0];
    for (bool const is_last : {false, true})
        for (std::size_t k = 0; k < to.size(); ++k) {
            if (!to[k] || are_same(*to[k], from) != is_last)
                continue;
            attribute_list list = inverse.operands[0];
            list.push_back(inverse.cuts[k]);
            append(list, inverse.results[k]);
            append(list, std::exchange(inverse.declared, {}));
            written_.push_back(
                code_.make_statement({&from, 1}, {&*to[k], 1}, with(one, std::move(list))));
        }
}

RESHARD_DECL void mirror::add_whole(statement one, inverse_statement inverse,
                                    std::vector<name> const& to) {
    auto const right = code_.right(one);
    std::vector<name> from(right.begin(), right.end());
    attribute_list list;
    if (inverse.are_equal(inverse.operands))
        list = std::move(inverse.operands[0]);
    else
        change(one, inverse.operands, from);
    append(list, inverse.join);
    std::vector<name> results = to;
    bool const is_uniform = inverse.are_equal(inverse.results);
    if (is_uniform)
        append(list, inverse.results[0]);
    append(list, inverse.declared);
    for (std::size_t k = 0; !is_uniform && k < results.size(); ++k)
        results[k] = fresh(results[k], "_part");
    written_.push_back(code_.make_statement(from, results, with(one, std::move(list))));
    for (std::size_t k = 0; !is_uniform && k < to.size(); ++k)
        written_.push_back(code_.make_statement({&results[k], 1}, {&to[k], 1},
                                                with(one, std::move(inverse.results[k]))));
}

RESHARD_DECL void mirror::change(statement const& like, std::vector<attribute_list>& lists,
                                 std::vector<name>& names) {
    for (std::size_t k = 0; k < names.size(); ++k) {
        name const changed = fresh(names[k], "_part");
        written_.push_back(
            code_.make_statement({&names[k], 1}, {&changed, 1}, with(like, std::move(lists[k]))));
        names[k] = changed;
    }
}

RESHARD_DECL statement mirror::with(statement const& like, attribute_list list) {
    statement made = like;
    made.attributes = code_.make_attributes(std::move(list));
    return made;
}

} // namespace reshard::aoa::detail

#endif
