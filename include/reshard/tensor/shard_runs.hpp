// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_SHARD_RUNS_HPP
#define RESHARD_TENSOR_SHARD_RUNS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/tensor/view.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

/// \file
/// A list of shards that takes little memory for many blocks of one array.

namespace reshard::detail {

/// One shard and its elements.
///
/// The tensor of a flat shard has one axis.
template <class View>
struct basic_local_shard {
    shard_descriptor descriptor;
    View tensor;

    constexpr bool operator==(basic_local_shard const&) const = default;
};

/// A shard is repeated at equal distances along one axis of the tensor, and at equal distances in
/// memory.
struct shard_step {
    std::size_t axis = 0;
    index_t count = 1;    ///< the number of shards, at least 2
    index_t distance = 0; ///< between shards in the tensor, in elements along the axis
    index_t last = 0;     ///< the extent of the last shard along the axis
    index_t bytes = 0;    ///< between shards in memory

    constexpr bool operator==(shard_step const&) const = default;
};

/// The steps of a run, the innermost first. A run without steps is one shard.
using shard_steps = vector<shard_step>;

/// The parts of a shard that decide whether it continues a run.
struct run_shard {
    shard_descriptor const& descriptor;
    void const* data;
    data_type dtype;
    index_vector const& shape;
    index_vector const& strides;
    memory_kind memory;
};

template <class View>
run_shard run_shard_of(shard_descriptor const& shard, View const& tensor) {
    return {shard, tensor.data, tensor.dtype, tensor.shape, tensor.strides, tensor.memory};
}
template <class View>
run_shard run_shard_of(basic_local_shard<View> const& shard) {
    return run_shard_of(shard.descriptor, shard.tensor);
}

/// Finds runs: shards of equal extents, at equal distances in their tensor and in memory, such that
/// all of them are one array. The blocks of a block-cyclic array are one run, in the order of rows
/// or of columns.
class run_finder {
public:
    /// The steps of the runs. Empty if each run is one shard.
    vector<shard_steps> const& steps() const { return steps_; }

    /// Adds `next` to the last run, if it continues it.
    ///
    /// \param runs the number of runs, at least 1
    /// \param last the first shard of the last run, which passes `check`
    /// \post  if the result is true, `next` passes `check`
    RESHARD_DECL bool extend(std::size_t runs, run_shard const& last, run_shard const& next);

    /// Adds the last run to the run before it, if it continues that.
    ///
    /// \param before the first shard of the run before the last
    RESHARD_DECL bool fold(run_shard const& before, run_shard const& last);

    /// Adds a run of one shard.
    void push_back() {
        if (!steps_.empty())
            steps_.emplace_back();
    }

private:
    vector<shard_steps> steps_;
};

/// Adds the other shards of a step to the first.
///
/// \param dtype of the elements in memory
/// \pre the step belongs to the shard's run, and the steps inside it have been added
RESHARD_DECL void join_step(shard_descriptor& descriptor, index_vector& shape,
                            index_vector& strides, shard_step const& step, data_type dtype);

/// Calls `visit(shard, first)` for each shard of a run, in order. Joins the shards of the inner steps to
/// one shard while `accept(joined)` returns true.
template <class View>
void for_each_part(basic_local_shard<View> const& first, shard_steps const& steps, auto&& accept,
                   auto&& visit) {
    basic_local_shard<View> part = first;
    std::size_t inner = 0;
    for (; inner < steps.size(); ++inner) {
        basic_local_shard<View> joined = part;
        join_step(joined.descriptor, joined.tensor.shape, joined.tensor.strides, steps[inner],
                  first.tensor.dtype);
        if (!accept(std::as_const(joined)))
            break;
        part = std::move(joined);
    }
    using byte =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(first.tensor.data)>>,
                           std::byte const, std::byte>;
    auto const visit_from = [&](auto const& self, basic_local_shard<View>& current,
                                std::size_t outer) -> void {
        if (outer == inner)
            return visit(std::as_const(current), first);
        shard_step const& step = steps[outer - 1];
        auto const [axis, data] = std::pair(step.axis, static_cast<byte*>(current.tensor.data));
        index_t const offset = current.descriptor.region.offset[axis];
        index_t const extent = current.tensor.shape[axis];
        for (index_t i = 0; i < step.count; ++i) {
            current.descriptor.region.offset[axis] = offset + i * step.distance;
            current.tensor.data = data + i * step.bytes;
            if (i + 1 == step.count)
                current.descriptor.region.shape[axis] = current.tensor.shape[axis] = step.last;
            self(self, current, outer - 1);
        }
        current.descriptor.region.offset[axis] = offset;
        current.descriptor.region.shape[axis] = current.tensor.shape[axis] = extent;
        current.tensor.data = data;
    };
    visit_from(visit_from, part, steps.size());
}

/// Shards in the order in which they were added. Runs of shards take the memory of one shard, until
/// somebody asks for each of them.
template <class View>
class shard_list {
public:
    using value_type = basic_local_shard<View>;

    shard_list() = default;
    shard_list(shard_list const& shards)
        : firsts_(shards.firsts_), runs_(shards.runs_), size_(shards.size_) {}
    shard_list(shard_list&& shards) noexcept
        : firsts_(std::move(shards.firsts_)),
          runs_(std::move(shards.runs_)),
          size_(std::exchange(shards.size_, 0)),
          listed_(shards.listed_.exchange(nullptr)) {}
    shard_list& operator=(shard_list shards) noexcept {
        std::swap(firsts_, shards.firsts_);
        std::swap(runs_, shards.runs_);
        std::swap(size_, shards.size_);
        listed_ = shards.listed_.exchange(listed_);
        return *this;
    }
    ~shard_list() { delete listed_.load(); }

    template <class Other>
    explicit shard_list(shard_list<Other> const& shards)
        : runs_(shards.runs()), size_(shards.size()) {
        firsts_.reserve(shards.firsts().size());
        for (auto const& [descriptor, tensor] : shards.firsts())
            firsts_.push_back({descriptor, tensor});
    }

    /// Adds a shard. Calls `check(shard)` first, unless the shard continues a run.
    void add(shard_descriptor&& descriptor, View const& tensor, auto&& check) {
        if (extend(run_shard_of(descriptor, tensor)))
            return;
        value_type shard{std::move(descriptor), tensor};
        check(std::as_const(shard));
        forget_list();
        firsts_.push_back(std::move(shard));
        runs_.push_back();
        ++size_;
    }

    std::size_t size() const { return size_; }

    /// The first shard of each run.
    vector<value_type> const& firsts() const { return firsts_; }
    run_finder const& runs() const { return runs_; }

    /// Calls `visit` for the shards, as `for_each_part`.
    void for_each(auto&& accept, auto&& visit) const {
        for (std::size_t i = 0; i < firsts_.size(); ++i)
            if (runs_.steps().empty() || runs_.steps()[i].empty())
                visit(firsts_[i], firsts_[i]);
            else
                for_each_part(firsts_[i], runs_.steps()[i], accept, visit);
    }

    /// Each shard. The first call makes the list, if there are runs; it may be called in several
    /// threads.
    vector<value_type> const& listed() const {
        if (runs_.steps().empty())
            return firsts_;
        if (auto const* const listed = listed_.load())
            return *listed;
        auto made = std::make_unique<vector<value_type>>();
        made->reserve(size_);
        for_each([](value_type const&) { return false; },
                 [&](value_type const& shard, value_type const&) { made->push_back(shard); });
        vector<value_type> const* listed = nullptr;
        return listed_.compare_exchange_strong(listed, made.get()) ? *made.release() : *listed;
    }

private:
    bool extend(run_shard const& next) {
        if (firsts_.empty() || !runs_.extend(firsts_.size(), run_shard_of(firsts_.back()), next))
            return false;
        forget_list();
        ++size_;
        while (firsts_.size() > 1 &&
               runs_.fold(run_shard_of(firsts_[firsts_.size() - 2]), run_shard_of(firsts_.back())))
            firsts_.pop_back();
        return true;
    }

    void forget_list() { delete listed_.exchange(nullptr); }

    vector<value_type> firsts_;
    run_finder runs_;
    std::size_t size_ = 0;
    mutable std::atomic<vector<value_type> const*> listed_ = nullptr;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/shard_runs.ipp>
#endif

#endif
