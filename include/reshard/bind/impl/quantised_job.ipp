// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_QUANTISED_JOB_IPP
#define RESHARD_BIND_IMPL_QUANTISED_JOB_IPP

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/quantize.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

/// \file
/// A redistribution whose program quantizes. A first job brings each rank an equal share of the
/// values, in whole blocks. The rank quantizes its share, and a second job moves the results as it
/// moves source tensors.

namespace reshard::detail {

/// The share of a rank in the tensors of one value.
class quantised_share {
public:
    /// \param number counts the values, so that ranks take turns with those that cannot be cut
    quantised_share(mapping const& program, quantised_value const& result, std::size_t number,
                    int rank, int ranks)
        : name_(result.name),
          shape_(result.value.shape),
          whole_(result.scheme, shape_),
          keeps_(!result.kept.empty()) {
        for (key_id i = 0; i < result.count; ++i)
            keys_.emplace_back(program.sources().key(result.first + i));
        region_ = share_of(static_cast<index_t>(number), rank, ranks);
        by_.emplace(result.scheme, region_.shape);
    }

    std::string const& name() const { return name_; }
    bool needs_maximum() const { return whole_.needs_maximum() && !keeps_; }

    /// Adds the share of the value, and of the scales to keep.
    void add_values(state_dict& values) {
        elements_.resize(static_cast<std::size_t>(element_count(region_)));
        if (!is_empty(region_))
            values.add({keys_[0], data_type::f32, shape_, region_},
                       tensor_view{elements_.data(), data_type::f32, region_.shape,
                                   row_major_strides(region_.shape)});
        for (std::size_t which = 0; keeps_ && which < keys_.size(); ++which) {
            auto& bytes = kept_.emplace_back();
            quantised_tensor const& full = whole_.tensors()[which];
            box const scales = box_made(which);
            if (!full.is_scale || is_empty(scales))
                continue;
            bytes.resize(static_cast<std::size_t>(byte_count(element_count(scales), full.dtype)));
            values.add({keys_[which], full.dtype, full.shape, scales},
                       tensor_view{bytes.data(), full.dtype, scales.shape,
                                   row_major_strides(scales.shape)});
        }
    }

    /// Adds the tensors that this rank makes.
    void add_made(const_state_dict& tensors) {
        for (std::size_t which = 0; which < keys_.size(); ++which) {
            quantised_tensor const& full = whole_.tensors()[which];
            box const result = box_made(which);
            auto const& bytes = bytes_.emplace_back(
                static_cast<std::size_t>(byte_count(element_count(result), full.dtype)));
            if (!is_empty(result))
                tensors.add({keys_[which], full.dtype, full.shape, result},
                            const_tensor_view{bytes.data(), full.dtype, result.shape,
                                              row_major_strides(result.shape)});
        }
    }

    float largest() const { return largest_of(elements_); }

    /// Quantizes the values of the first job.
    ///
    /// \throws error as `quantiser::run`
    void run(float maximum) {
        vector<std::span<std::byte>> numbers, constants;
        for (std::size_t which = 0; which < keys_.size(); ++which) {
            bool const is_constant = whole_.tensors()[which].is_constant;
            numbers.push_back(is_constant ? std::span<std::byte>() : bytes_[which]);
            constants.push_back(is_constant ? bytes_[which] : std::span<std::byte>());
        }
        vector<std::span<std::byte const>> const kept(kept_.begin(), kept_.end());
        auto const all = [](auto const& bytes) { return std::span(bytes.data(), bytes.size()); };
        whole_.run(0, {}, maximum, all(constants), all(kept));
        by_->run(0, elements_, maximum, all(numbers), all(kept));
    }

    index_t bytes() const {
        std::size_t sum = elements_.size() * sizeof(float);
        for (auto const* const tensors : {&bytes_, &kept_})
            for (auto const& which : *tensors)
                sum += which.size();
        return static_cast<index_t>(sum);
    }

private:
    /// The blocks of this rank: equal shares along the first axis that may be cut, or all on one
    /// rank.
    box share_of(index_t number, index_t rank, index_t ranks) const {
        box share = whole(shape_);
        for (std::size_t axis = 0; axis < shape_.size() && !whole_.crosses_rows(); ++axis) {
            index_t const block = whole_.block()[axis];
            index_t const blocks = block > 0 ? (shape_[axis] + block - 1) / block : 0;
            if (blocks < 2)
                continue;
            share.offset[axis] = blocks * rank / ranks * block;
            share.shape[axis] =
                std::min(blocks * (rank + 1) / ranks * block, shape_[axis]) - share.offset[axis];
            return share;
        }
        if (number % ranks != rank && !shape_.empty())
            share.shape = index_vector::filled(shape_.size(), 0);
        return share;
    }

    /// The box of a tensor that this rank makes.
    box box_made(std::size_t which) const {
        quantised_tensor const& full = whole_.tensors()[which];
        if (full.is_constant)
            return whole(full.shape);
        if (is_empty(region_))
            return {index_vector::filled(full.shape.size(), 0),
                    index_vector::filled(full.shape.size(), 0)};
        if (whole_.crosses_rows())
            return whole(full.shape);
        box result;
        for (std::size_t axis = 0; axis < full.shape.size(); ++axis) {
            index_t const block = whole_.block()[axis];
            index_t const each = whole_.extent_of_block(which, axis);
            index_t const first = block == 0 ? 0 : region_.offset[axis] / block * each;
            index_t const end = block == 0 ? each : (region_.end(axis) + block - 1) / block * each;
            result.offset.push_back(first);
            result.shape.push_back(std::min(end, full.shape[axis]) - first);
        }
        return result;
    }

    std::string name_;
    index_vector shape_; ///< of the value
    quantiser whole_;
    bool keeps_;                  ///< whether there are scales to keep
    vector<std::string> keys_;    ///< of the tensors
    box region_;                  ///< the share of the value
    std::optional<quantiser> by_; ///< of the share
    vector<float> elements_;
    vector<vector<std::byte>> bytes_; ///< of the tensors
    vector<vector<std::byte>> kept_;  ///< by tensor, if there are scales to keep; some are empty
};

/// A job that quantizes.
class quantised_job final : public job_state {
public:
    quantised_job(any_group ranks, mapping program)
        : job_state(nullptr), ranks_(std::move(ranks)), program_(std::move(program)) {}

    /// Prepares both jobs.
    ///
    /// \par Collective every rank of the group, in the same order
    void prepare_jobs(source_tensors have, target_tensors want, options const& options,
                      call_preparer const& prepare) {
        mapping values;
        state_dict staged;
        agree_on(ranks_, [&] {
            if (options.memory)
                refuse_quantised(program_, "a redistribution in rounds");
            for (quantised_value const& result : program_.quantised()) {
                add_value(values, program_, result);
                shares_.emplace_back(program_, result, shares_.size(), ranks_.rank(),
                                     ranks_.size());
                shares_.back().add_values(staged);
            }
        });
        reshard::options first = options, rest = options;
        first.program = std::move(values);
        first.strict = {};
        first.shape_mismatch = {};
        first.cache = nullptr;
        first_ = prepare(have, staged, first);
        agree_on(ranks_, [&] {
            for (quantised_share& share : shares_)
                share.add_made(have.tensors);
            have.layout.reset(); // it lacks the new tensors
        });
        mapping moved = program_;
        moved.forget_quantised();
        rest.program = std::move(moved);
        second_ = prepare(std::move(have), std::move(want), rest);
        planned = second_->planned;
        was_kept = second_->was_kept;
        (cost = first_->cost) += second_->cost;
    }

    void run() override {
        first_->run();
        vector<std::uint32_t> largest; // the bits of floats without sign are in their order
        for (quantised_share const& share : shares_)
            if (share.needs_maximum())
                largest.push_back(std::bit_cast<std::uint32_t>(share.largest()));
        if (!largest.empty())
            for (auto const& of_rank : gather_values(ranks_, largest))
                for (std::size_t i = 0; i < largest.size(); ++i)
                    largest[i] = std::max(largest[i], of_rank[i]);
        agree_on(ranks_, [&] {
            auto next = largest.begin();
            for (quantised_share& share : shares_)
                try {
                    share.run(share.needs_maximum() ? std::bit_cast<float>(*next++) : 0.0F);
                } catch (error const& problem) {
                    fail(problem.code(), "'", share.name(), "': ", problem.what());
                }
        });
        second_->run();
    }

    index_t staging_bytes() const override {
        index_t sum = first_->staging_bytes() + second_->staging_bytes();
        for (quantised_share const& share : shares_)
            sum += share.bytes();
        return sum;
    }

private:
    any_group ranks_;
    mapping program_;
    std::deque<quantised_share> shares_; ///< they stay in place
    std::unique_ptr<job_state> first_;   ///< moves the values
    std::unique_ptr<job_state> second_;  ///< moves all tensors
};

inline std::unique_ptr<job_state> prepare_quantised(any_group const& ranks, mapping program,
                                                    source_tensors have, target_tensors want,
                                                    options const& options,
                                                    call_preparer const& prepare) {
    auto state = std::make_unique<quantised_job>(ranks, std::move(program));
    state->prepare_jobs(std::move(have), std::move(want), options, prepare);
    return state;
}

} // namespace reshard::detail

#endif
