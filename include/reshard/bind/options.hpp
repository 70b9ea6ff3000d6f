// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_OPTIONS_HPP
#define RESHARD_BIND_OPTIONS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/strictness.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// The options of a redistribution.

namespace reshard {

class any_program;
class job;
struct layout;
struct options;
template <class View>
class side;

namespace detail {

class job_state;
class shard_scales;
struct conversion_kernels;
struct planned_job;
struct side_facts;

/// A program with a function `mapping_of(program, source, target)` in the program's namespace, such
/// as `aoa::program`.
template <class P>
concept catalog_program = requires(P const& program, catalog const& source, catalog const* target) {
    { mapping_of(program, source, target) } -> std::convertible_to<mapping>;
};

/// Fills tensors from other tensors of the same ranks.
using tensor_mover = std::function<void(const_state_dict const& have, state_dict const& want)>;

/// Prepares such a redistribution.
using tensor_preparer = std::function<job(const_state_dict const& have, state_dict const& want)>;

/// Prepares a call over some group.
using call_preparer = std::function<std::unique_ptr<job_state>(
    side<const_tensor_view> have, side<tensor_view> want, options const& options)>;

/// The steps of a call with a program. A call that moves tensors by name does not compile them.
struct program_steps {
    /// The tensors of a rank as bytes for `side_facts`, cut as `cuts_of` does.
    std::string (*cuts)(vector<shard_descriptor> const& shards);

    /// \param  target null: the target is all outputs of the program
    /// \par Collective every rank of the group, in the same order
    /// \throws the errors of the program, on every rank; errc::ranks_disagree if it makes different
    ///         mappings
    mapping (*make_mapping)(any_group const& ranks, any_program const& program,
                            side_facts const& source, side_facts const* target);

    /// Refuses tensors that differ although the program relates them as equal. `devices` has the
    /// devices of the tensors.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \throws error with errc::overlap, on every rank
    void (*compare_copies)(any_group const& ranks, const_state_dict const& tensors,
                           mapping const& program, device_list const& devices,
                           tensor_mover const& move);

    /// A digest of a mapping, including its left-over keys.
    std::uint64_t (*digest)(mapping const& program);

    /// Refuses a target whose ranks lack scales of their elements.
    ///
    /// \throws error with errc::bad_layout
    void (*check)(mapping const& program, layout const& target);

    /// Prepares the redistribution of the scales that a plan needs on this rank, for a program that
    /// dequantizes.
    ///
    /// \param problem an error of this rank, if it has no plan
    /// \param prepare prepares a redistribution by name, over the group
    /// \par Collective every rank of the group, in the same order
    /// \throws error with errc::bad_layout if scales do not fit
    std::shared_ptr<shard_scales> (*scales)(any_group const& ranks, planned_job const* planned,
                                            std::optional<error> const& problem,
                                            const_state_dict const& have,
                                            tensor_preparer const& prepare);

    /// Prepares a call with a program that quantizes.
    ///
    /// \param prepare prepares the calls that it consists of
    /// \par Collective every rank of the group, in the same order
    std::unique_ptr<job_state> (*quantise)(any_group const& ranks, mapping program,
                                           side<const_tensor_view> have, side<tensor_view> want,
                                           options const& options, call_preparer const& prepare);

    conversion_kernels const& conversions;
};

/// The steps of a call with a program, or with an option that adapts a program to its target. Other
/// calls do not include them. If a compiler says that this type is incomplete, include
/// `bind/program.hpp`, which defines it, as `<reshard.hpp>` does.
///
/// \tparam Value the type that the caller gives
template <class Value>
struct include_bind_program_hpp;

} // namespace detail

/// A mapping, parsed AOA text, or a function of the catalogs of both sides.
///
/// A function is called on every rank, with the same catalogs. It must return the same mapping, or
/// throw the same error. A default-constructed program moves tensors by name.
class any_program {
public:
    using function = std::function<mapping(catalog const& source, catalog const* target)>;

    /// Each target tensor is the source tensor of the same name.
    any_program() = default;

    template <std::same_as<mapping> Mapping>
    any_program(Mapping program)
        : known_(std::make_shared<mapping>(std::move(program))),
          steps_(&detail::include_bind_program_hpp<Mapping>::of_program()) {}

    any_program(std::nullopt_t) {}

    /// Moves tensors by name if `program` has no value.
    template <std::same_as<std::optional<mapping>> Mapping>
    any_program(Mapping program) {
        if (program)
            *this = std::move(*program);
    }

    template <detail::catalog_program Program>
    any_program(Program program)
        : any_program(
              [kept = std::move(program)](catalog const& source, catalog const* target) -> mapping {
                  return mapping_of(kept, source, target);
              }) {}

    template <class F>
        requires(!std::same_as<F, any_program> &&
                 std::is_invocable_r_v<mapping, F const&, catalog const&, catalog const*>)
    any_program(F program)
        : made_(std::move(program)), steps_(&detail::include_bind_program_hpp<F>::of_program()) {}

    /// The program that other ranks of a redistribution have, for example the ranks of the other
    /// side. This rank need not know the program. The other ranks give a function, or parsed text.
    template <class Mapping = mapping>
    static any_program of_other_ranks() {
        any_program program([](catalog const&, catalog const*) -> Mapping {
            fail(errc::usage, "the program should come from other ranks, but no rank has one; pass "
                              "it on one of them");
        });
        program.is_elsewhere_ = true;
        return program;
    }

    bool is_by_name() const { return !steps_; }
    bool is_of_other_ranks() const { return is_elsewhere_; }

    /// The mapping that this program was made from, or null.
    mapping const* known() const { return known_.get(); }

    /// The function that this program was made from, or null. If only other ranks have the program,
    /// the function throws.
    function const* made() const { return steps_ && !known_ ? &made_ : nullptr; }

    /// The steps of a call with this program, or null if tensors move by name.
    detail::program_steps const* steps() const { return steps_; }

private:
    std::shared_ptr<mapping const> known_;
    function made_;
    bool is_elsewhere_ = false;
    detail::program_steps const* steps_ = nullptr;
};

namespace detail {

/// A cache of plans, as a call refers to it: a `plan_cache`.
class any_plan_cache {
public:
    using plan_pointer = std::shared_ptr<planned_job const>;

    /// The plan with that digest, or null. Counts as one use.
    virtual plan_pointer find_plan(std::uint64_t digest) = 0;
    virtual void keep_plan(std::uint64_t digest, plan_pointer plan) = 0;

    /// The group's digest for the plan that this rank last used with `own_digest`, or 0.
    virtual std::uint64_t latest_plan(std::uint64_t own_digest) const = 0;

    virtual std::uint64_t digest(layout const& some) const = 0;

protected:
    ~any_plan_cache() = default;
};

struct fit_steps;
struct lookup_steps;
struct round_steps;

/// An option that adapts the program of a call to its target, with the steps for it.
template <class Value>
struct fit_option {
    fit_option() = default;
    template <std::convertible_to<Value> Given>
    fit_option(Given&& given)
        : value(std::forward<Given>(given)),
          steps(&include_bind_program_hpp<Value>::of_fitting()) {}
    fit_option(std::initializer_list<std::string> texts) : fit_option(Value(texts)) {}

    Value value = {};
    fit_steps const* steps = nullptr; ///< null if the option is not set
};

/// Whether ranks look up shards in a directory, as `directory` sets; by default they do not.
struct shard_lookup {
    holder_t gather_up_to = 0; ///< up to this number of ranks, all send their shards to all
    lookup_steps const* steps = nullptr; ///< null: for any number of ranks

    /// Whether `ranks` ranks send all others their shards.
    bool gathers(std::size_t ranks) const { return !steps || ranks <= gather_up_to; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.gather_up_to); }
    static constexpr std::string_view member_names[] = {"gather_up_to"};
};

/// Whether targets are filled in rounds, as `rounds` sets; by default they are not.
struct memory_rounds {
    index_t budget = any_budget;
    std::function<state_dict(vector<std::string> const& keys)> allocate = {};
    std::function<void(vector<std::string> const& keys)> release = {};
    round_steps const* steps = nullptr; ///< null if all targets are filled at once

    explicit operator bool() const { return steps != nullptr; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.budget); }
    static constexpr std::string_view member_names[] = {"budget"};
};

} // namespace detail

/// How ranks of a node exchange elements that are in private memory.
enum class node_exchange : std::uint8_t {
    chosen,   ///< rings, unless there are few bytes
    rings,    ///< slots of shared memory, if the system has it
    messages, ///< MPI messages, as between nodes
};

/// How ranks of a node read bytes of files that several ranks need.
enum class file_reads : std::uint8_t {
    chosen, ///< once, if that saves a quarter of the bytes or more, of files of some MiB
    once,   ///< one of the ranks reads and verifies them, and all copy them from shared memory
    direct, ///< each rank reads and verifies them
};

/// The options of a redistribution. They are equal on every rank, except the cache, the functions,
/// the devices and the deadline.
struct options {
    /// The program of the target tensors; by default, each is the source tensor of the same name.
    any_program program = {};
    /// `rounds(budget, allocate, release)` of `bind/rounds.hpp`; by default, one round.
    detail::memory_rounds memory = {};
    /// Rank `r` runs on node `r / processes_per_node`. 0: a node is a machine, if all machines have
    /// the same number of consecutive ranks. If several ranks hold the same elements, a rank on the
    /// receiver's node sends them.
    holder_t processes_per_node = 0;
    /// `balanced_senders()` or `relays()` of `plan/between_nodes.hpp`; by default, ranks that hold
    /// the same elements take turns.
    detail::node_traffic between_nodes = {};
    /// A `plan_cache` of `bind/plan_cache.hpp`. In each call, ranks compare digests of their
    /// shards, the program and the options. If every rank has kept the plan, ranks exchange only
    /// these digests. If a rank has not kept it, or if the arguments differ, all ranks plan again.
    /// Either every rank gives a cache, or none does.
    ///
    /// \par Source Megatron-Core's assume_constant_structure, which the caller promises. There, a
    ///             changed structure corrupts a checkpoint; here, it leads to a new plan
    detail::any_plan_cache* cache = nullptr;
    /// Patterns of target keys whose shapes may differ from the source's or the program's shapes
    /// (see `fit_shapes`): they are cropped, or extended with zeros.
    detail::fit_option<vector<std::string>> shape_mismatch = {};
    /// The treatment of keys that only one side has. By default, a missing source is an error.
    detail::fit_option<std::optional<strictness>> strict = {};
    /// If no rank knows a layout, all ranks send all others their shards. With hundreds of ranks,
    /// set it to `directory()` of `mpi/directory_query.hpp`.
    detail::shard_lookup lookup = {};
    /// How ranks of a node exchange elements. A node is a machine, or RESHARD_RANKS_PER_NODE of
    /// the machine's ranks.
    node_exchange on_node = node_exchange::chosen;
    /// The longest time that this rank waits for others at any one point, in seconds or as a
    /// duration of `std::chrono`; 0 and infinity: no limit. When the time is over, all waiting
    /// ranks get an error with errc::deadline within a second. The error names the ranks that do
    /// not wait. Afterwards, the communicator may only be used for `MPI_Abort`. Memory that
    /// messages may still reach is kept until exit, so keep the tensors. Give more time than the
    /// slowest rank needs to enter the call and to move its own bytes.
    ///
    /// \par Source monitored_barrier of PyTorch, which names the ranks that do not reach it; here
    ///             every wait names them
    detail::wait_duration deadline = 0.0;
    /// The devices of this rank's tensors, such as `cuda()` of `reshard/cuda.hpp`. Tensors in the
    /// memory of other devices are refused. Each rank gives its own.
    detail::device_list devices = {};
    /// A load compares the chunks that it reads with digests in the files, if there are any.
    bool verify = true;
    /// For a load only. Mapped files are read directly.
    file_reads reads = file_reads::chosen;
    /// The tensors that a load must fill, over all ranks; otherwise it writes nothing. No key may
    /// be missing, or omitted by `strict`. Patterns are matched with the keys that the ranks want.
    /// Not for a redistribution.
    vector<state_need> needs = {};
    /// A load may cut fused tensors into other parts than they were made for, as with FSDP.
    bool cut_fused = false;

    /// The options that ranks compare before any other step; programs have separate digests.
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.memory, self.processes_per_node, self.between_nodes, self.shape_mismatch.value,
              self.lookup, self.on_node, self.needs);
    }
    static constexpr std::string_view member_names[] = {
        "memory", "processes_per_node", "between_nodes", "shape_mismatch", "lookup", "on_node",
        "needs"};
};

} // namespace reshard

#endif
