// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_SHARD_LIST_HPP
#define RESHARD_TENSOR_SHARD_LIST_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/tensor/self_overlap.hpp>
#include <reshard/tensor/shard_runs.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

/// \file
/// A list of shards. The blocks of one array, and equal tiles at equal distances, take the memory
/// of one shard, and can be joined.

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

template <class View>
array_shard array_shard_of(shard_descriptor const& shard, View const& tensor) {
    return {shard, tensor.data, tensor.dtype, tensor.shape, tensor.strides, tensor.memory};
}
template <class View>
array_shard array_shard_of(basic_local_shard<View> const& shard) {
    return array_shard_of(shard.descriptor, shard.tensor);
}

/// Shard `number` of a run.
template <class View>
basic_local_shard<View> shard_in_run(basic_local_shard<View> const& first,
                                     std::span<shard_step const> steps, index_t number) {
    basic_local_shard<View> shard = first;
    // Not by a pointer's own arithmetic, because addresses of callers may be anything.
    shard.tensor.data = reinterpret_cast<decltype(View::data)>(
        reinterpret_cast<std::uintptr_t>(first.tensor.data) +
        static_cast<std::uintptr_t>(
            move_in_run(shard.descriptor, shard.tensor.shape, steps, number)));
    return shard;
}

/// Calls `visit(shard)` for each shard of a run, in order.
template <class View>
void for_each_in_run(basic_local_shard<View> const& first, std::span<shard_step const> steps,
                     auto&& visit) {
    if (steps.empty())
        return visit(first);
    index_t const count = count_of(steps);
    for (index_t number = 0; number < count; ++number) {
        basic_local_shard<View> const shard = shard_in_run(first, steps, number);
        visit(shard);
    }
}

/// A shard that was joined from several shards.
struct joined_shard {
    basic_local_shard<const_tensor_view> value;
    std::size_t start = 0;    ///< the index of the shard with the first element
    std::size_t position = 0; ///< the lowest index of its shards
};

/// Joins shards along each axis, the last axis first: blocks become rows, and rows become panels.
///
/// \param are_written whether no two elements of a shard may share an address
RESHARD_DECL vector<joined_shard> joined_shards(vector<joined_shard> shards, bool are_written);

/// Shards in the order in which they were added. Runs of shards take the memory of one shard, until
/// `listed` is called.
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
        bool const is_in_run = extend(array_shard_of(descriptor, tensor));
        std::unique_ptr<vector<value_type>> listed(listed_.exchange(nullptr));
        if (is_in_run && !listed)
            return;
        value_type shard{std::move(descriptor), tensor};
        if (!is_in_run)
            check(std::as_const(shard));
        if (listed) {
            listed->push_back(shard);
            listed_ = listed.release();
        }
        if (is_in_run)
            return;
        firsts_.push_back(std::move(shard));
        ++size_;
    }

    std::size_t size() const { return size_; }

    /// The first shard of each run.
    vector<value_type> const& firsts() const { return firsts_; }
    run_finder const& runs() const { return runs_; }

    /// Calls `visit(shard)` for each shard, in order. Does not make a list.
    void for_each(auto&& visit) const {
        for (std::size_t run = 0; run < firsts_.size(); ++run)
            for_each_in_run(firsts_[run], runs_.steps(run), visit);
    }

    /// Calls `visit(shard, first)` for the shards of each run, in order; `first` is the first shard
    /// of the run. Joins the shards of each step if `accept(joined)` returns true, the nearest in
    /// memory first. Tiles stay apart if they are few, because any two shards have some distance.
    /// They stay apart if they touch in the tensor, because a cycle has gaps between its blocks.
    void for_each_joined(auto&& accept, auto&& visit) const {
        for (std::size_t run = 0; run < firsts_.size(); ++run) {
            value_type joined = firsts_[run];
            shard_steps apart(runs_.steps(run).begin(), runs_.steps(run).end());
            for (shard_step const& step : nearest_first(runs_.steps(run))) {
                if (step.is_tiled && (step.count == 2 || count_of(runs_.steps(run)) < least_tiles ||
                                      step.distance == joined.descriptor.region.shape[step.axis]))
                    continue;
                value_type longer = joined;
                join_step(longer.descriptor, longer.tensor.shape, longer.tensor.strides, step,
                          longer.tensor.dtype);
                if (!accept(std::as_const(longer)))
                    continue;
                joined = std::move(longer);
                apart.erase(std::find(apart.begin(), apart.end(), step));
            }
            for_each_in_run(joined, std::span(apart.begin(), apart.end()),
                            [&](value_type const& shard) { visit(shard, firsts_[run]); });
        }
    }

    /// Each shard. The first call makes the list, if there are runs; it may be called in several
    /// threads.
    vector<value_type> const& listed() const {
        if (!runs_.any())
            return firsts_;
        if (auto const* const listed = listed_.load())
            return *listed;
        auto shards = std::make_unique<vector<value_type>>();
        shards->reserve(size_);
        for_each([&](value_type const& shard) { shards->push_back(shard); });
        vector<value_type>* listed = nullptr;
        return listed_.compare_exchange_strong(listed, shards.get()) ? *shards.release() : *listed;
    }

    /// The same elements in fewer shards. Joins shards that are neighbours along an axis and have
    /// the same extents along the other axes, if they are one array.
    ///
    /// The local array of a block-cyclic distribution holds thousands of blocks. They are one run,
    /// and become one shard. Blocks that were added in another order become one shard if they are
    /// neighbours in the array and in the tensor. Flat shards and empty shards are not joined. The
    /// result is in the order of the first shard of each joined shard.
    ///
    /// \post every element keeps its address
    shard_list joined() const { return joined_twice(false); }

    /// The same. In addition, equal tiles at equal distances become one shard, of which the tensor
    /// has two axes for each axis of the region, as in `join_step`.
    shard_list joined_with_tiles() const { return joined_twice(true); }

    bool operator==(shard_list const& shards) const {
        return firsts_ == shards.firsts_ && runs_ == shards.runs_;
    }

private:
    static constexpr bool are_written = std::is_same_v<View, tensor_view>;

    bool extend(array_shard const& next) {
        if (firsts_.empty() ||
            (!runs_.extend(firsts_.size(), array_shard_of(firsts_.back()), next) && !part(next)))
            return false;
        ++size_;
        while (firsts_.size() > 1 && runs_.fold(array_shard_of(firsts_[firsts_.size() - 2]),
                                                array_shard_of(firsts_.back())))
            firsts_.pop_back();
        return true;
    }

    /// Lets the second of two tiles begin a run with `next` if both are one array.
    bool part(array_shard const& next) {
        std::size_t const runs = firsts_.size();
        if (!runs_.ends_in_two_tiles(runs))
            return false;
        value_type second = shard_in_run(firsts_.back(), runs_.steps(runs - 1), 1);
        if (!are_one_array(array_shard_of(second), next))
            return false;
        firsts_.push_back(std::move(second));
        runs_.part();
        return runs_.extend(runs + 1, array_shard_of(firsts_.back()), next);
    }

    shard_list joined_twice(bool joins_tiles) const {
        shard_list once = joined_once(joins_tiles);
        if (once.size() < size())
            return once.joined_once(joins_tiles); // they may be blocks of an array
        return once;
    }

    shard_list joined_once(bool joins_tiles) const {
        vector<View> tensors;
        vector<joined_shard> shards;
        for_each_joined(
            [joins_tiles](value_type const& joined) {
                bool const is_array = joined.tensor.ndim() == joined.descriptor.region.ndim();
                return (is_array || joins_tiles) &&
                       (!are_written || !self_overlap(joined.tensor.shape, joined.tensor.strides));
            },
            [&](value_type const& shard, value_type const&) {
                shards.push_back(
                    {{shard.descriptor, shard.tensor}, tensors.size(), tensors.size()});
                tensors.push_back(shard.tensor);
            });
        shard_list result;
        for (joined_shard& joined : joined_shards(std::move(shards), are_written)) {
            View tensor = tensors[joined.start];
            tensor.shape = joined.value.tensor.shape;
            result.add(std::move(joined.value.descriptor), tensor, [](value_type const&) {});
        }
        return result;
    }

    vector<value_type> firsts_;
    run_finder runs_;
    std::size_t size_ = 0;
    mutable std::atomic<vector<value_type>*> listed_ = nullptr;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/shard_list.ipp>
#endif

#endif
