// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_PROGRAM_IPP
#define RESHARD_BIND_IMPL_PROGRAM_IPP

#include <reshard/bind/program.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/bind/equal_tensors.hpp>
#include <reshard/bind/impl/quantised_job.ipp>
#include <reshard/bind/shard_scales.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/device/host_tensors.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

inline std::uint64_t digest_of_program(mapping const& program) {
    return digest_of_all(digest_of(program), program.left_over());
}

inline std::string cuts_as_bytes(vector<shard_descriptor> const& shards) {
    return content_bytes(cuts_of(shards));
}

inline catalog catalog_of(side_facts const& side) {
    if (side.known)
        return catalog_of(*side.known);
    return merge_cuts(values_of_ranks<vector<cut_tensor>>(side.cuts));
}

/// A mapping and its left-over keys, for ranks without a program.
struct shipped_mapping {
    std::string bytes;
    vector<std::string> left_over;

    static constexpr void members(auto& self, auto&& visit) { visit(self.bytes, self.left_over); }
};

/// Sends the mapping of the lowest rank that has a mapping to every rank, if some ranks have none.
///
/// \param  has by rank: whether it has a mapping
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: errc::ranks_disagree if ranks have different mappings
inline mapping mapping_of_others(any_group const& ranks, vector<std::uint8_t> const& has,
                                 mapping new_mapping) {
    auto const first = static_cast<int>(std::find(has.begin(), has.end(), 1) - has.begin());
    shipped_mapping shipped_mapping;
    if (ranks.rank() == first)
        shipped_mapping = {to_bytes(new_mapping), new_mapping.left_over()};
    auto const received = gather_values(ranks, shipped_mapping)[static_cast<std::size_t>(first)];
    mapping mapping_of_first = from_bytes<mapping>(received.bytes);
    for (std::string const& key : received.left_over)
        mapping_of_first.leave_over(key);
    agree_on(ranks, [&] {
        if (has[static_cast<std::size_t>(ranks.rank())] &&
            digest_of_program(new_mapping) != digest_of_program(mapping_of_first))
            fail(errc::ranks_disagree, "rank ", first, " and rank ", ranks.rank(),
                 " have programs that make different mappings; every rank that has a program must "
                 "have the same one");
    });
    return mapping_of_first;
}

/// A rank's report to all others on the mapping of its program.
struct mapping_notice {
    bool has_program = false;
    std::string problem; ///< as `encode` writes it
    std::uint64_t digest = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.has_program, self.problem, self.digest);
    }
};

/// \throws error with errc::ranks_disagree
inline void check_equal(vector<mapping_notice> const& notices) {
    for (std::size_t rank = 1; rank < notices.size(); ++rank)
        if (notices[rank].digest != notices[0].digest)
            fail(errc::ranks_disagree, "rank 0 has a program that makes a mapping with digest ",
                 notices[0].digest, ", and rank ", rank, " one with digest ", notices[rank].digest,
                 "; every rank must have the same");
}

/// The mapping that a program makes, on every rank.
inline mapping make_mapping(any_group const& ranks, any_program const& program,
                            side_facts const& source, side_facts const* target) {
    if (mapping const* const mapping = program.known())
        return *mapping;
    mapping mapping;
    mapping_notice own_notice{!program.is_of_other_ranks(), {}, 0};
    own_notice.problem = encode(attempt([&] {
        catalog const wanted = target ? catalog_of(*target) : catalog();
        mapping = (*program.made())(catalog_of(source), target ? &wanted : nullptr);
        own_notice.digest = digest_of_program(mapping);
    }));
    vector<mapping_notice> notices = gather_values(ranks, own_notice);
    auto const owners = std::count_if(notices.begin(), notices.end(),
                                      [](auto const& notice) { return notice.has_program; });
    if (owners == 0 || owners == ranks.size()) {
        throw_first(notices, &mapping_notice::problem);
        check_equal(notices);
        return mapping;
    }
    vector<std::uint8_t> has;
    for (mapping_notice& notice : notices) {
        has.push_back(notice.has_program);
        if (!notice.has_program)
            notice.problem.clear(); // the problem is the lack of a program
    }
    throw_first(notices, &mapping_notice::problem);
    return mapping_of_others(ranks, has, std::move(mapping));
}

/// The tensors that a program compares. The processor can read them.
inline host_tensors readable_copies(const_state_dict const& tensors, mapping const& program,
                                    device_list const& devices) {
    std::set<std::string_view> related;
    for (relation const& relation : program.relations())
        if (relation.is_compared() || relation.type == relation::kind::number)
            related.insert({relation.key, relation.companion});
    return {tensors, devices, [&](std::string const& key) { return related.contains(key); }};
}

inline void compare_copies(any_group const& world, const_state_dict const& held,
                           mapping const& program, device_list const& devices,
                           tensor_mover const& move) {
    vector<relation> const compared = tensors_to_compare(program);
    if (!has_numbers(program) && compared.empty())
        return;
    std::optional<host_tensors> copies;
    agree_on(world, [&] {
        if (!held.devices().empty())
            copies.emplace(readable_copies(held, program, devices));
    });
    const_state_dict const& tensors = copies ? copies->tensors() : held;
    if (has_numbers(program))
        check_numbers(gather_values(world, numbers_in(tensors, program)));
    for (relation const& relation : compared) {
        auto const match =
            difference_between(world, tensors, relation.companion, relation.key, move);
        if (match)
            fail(errc::overlap,
                 copies_differ(relation,
                               unravel_index(match->position, shape_in(program, relation.key)),
                               match->alias, match->key));
    }
}

inline std::shared_ptr<shard_scales> scales_of_call(any_group const& ranks,
                                                    planned_job const* planned,
                                                    std::optional<error> const& problem,
                                                    const_state_dict const& have,
                                                    tensor_preparer const& prepare) {
    std::shared_ptr<memory_scales> scales;
    agree_on(ranks, [&] {
        if (problem)
            throw *problem;
        scales = std::make_shared<memory_scales>(*planned, static_cast<holder_t>(ranks.rank()));
    });
    scales->prepare(have, prepare);
    return scales;
}

RESHARD_DECL fit_steps const& steps_of_fitting() { return all_fit_steps; }

RESHARD_DECL program_steps const& steps_of_programs() {
    static program_steps const steps{cuts_as_bytes,     make_mapping,     compare_copies,
                                     digest_of_program, check_scales,     scales_of_call,
                                     prepare_quantised, all_conversions()};
    return steps;
}

} // namespace reshard::detail

#endif
