// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_QUANTISED_FILES_IPP
#define RESHARD_STORAGE_IMPL_QUANTISED_FILES_IPP

#include <reshard/bind/bind.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/quantize.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/stored_tensor.hpp>
#include <reshard/storage/window_reads.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

/// \file
/// A checkpoint with the tensors that a program quantizes. They are computed when they are read.

namespace reshard::detail {

/// Reads the elements of a value that a program makes, in f32, and of the scales to keep.
class value_reader {
public:
    value_reader(chunk_reader& reader, mapping const& program, quantised_value const& value,
                 bool verify)
        : reader_(reader), verify_(verify) {
        add_value(values_, program, value);
    }

    /// Fills `values`, of one axis, with the elements of the tensor `key` from `first` on, in
    /// row-major order.
    void read(std::string_view key, index_t first, tensor_view values) {
        checkpoint const& source = reader_.source();
        std::optional<stored_scales> scales;
        if (dequantizes(values_))
            scales.emplace(source, values_, verify_);
        mapping_output const& output = *values_.find(key);
        index_vector const& shape = output.value.shape;
        flat_range const range{first, first + values.shape[0]};
        shard_descriptor const shard{output.key, values.dtype, shape, whole(shape), range};
        layout const wanted = reshard::layout_of(vector<vector<shard_descriptor>>{{shard}});
        plan_problem problem = problem_of(values_, source.files_layout(), wanted);
        problem.source_names = &source.file_names();
        check_scales_exist(values_, problem);
        plan const reads =
            make_plan(problem, {holder_set::nobody(), holder_set({0})}, {.shared_sources = true});
        shard_views<tensor_view> target;
        target.add(0, 0, values);
        bound_plan const bound{reads,
                               problem,
                               source.shapes(),
                               target,
                               &all_conversions(),
                               scales ? &*scales : nullptr};
        for (transfer const& t : reads.transfers)
            if (t.source_key == zero_source)
                run_locally(bound, t);
        run(reader_, loops_of(bound));
        if (scales)
            scales->check_unchanged();
    }

private:
    chunk_reader& reader_;
    bool verify_;
    mapping values_;
};

/// The tensors that are made of one value. Reads them in bands of whole units, and keeps the scales
/// of all bands, and the numbers of the last, until `forget`.
class quantised_tensors {
public:
    /// \param elements memory for the values of a band
    quantised_tensors(chunk_reader& reader, vector<float>& elements, mapping const& program,
                      quantised_value const& value, bool verify)
        : quantiser_(value.scheme, value.value.shape),
          needs_maximum_(quantiser_.needs_maximum() && value.kept.empty()),
          name_(value.name),
          key_(program.sources().key(value.first)),
          values_(reader, program, value, verify),
          elements_(elements),
          band_units_(std::max<index_t>(1, band_elements /
                                               std::max<index_t>(1, quantiser_.first_element(1)))),
          scales_(static_cast<std::size_t>((quantiser_.units() + band_units_ - 1) / band_units_)) {
        for (key_id i = 0; i < value.count && !value.kept.empty(); ++i)
            kept_keys_.emplace_back(tensors()[i].is_scale ? program.sources().key(value.first + i)
                                                          : std::string_view());
    }

    vector<quantised_tensor> const& tensors() const { return quantiser_.tensors(); }

    std::uint64_t bytes_of(std::size_t which) const {
        return quantiser_.first_byte(which, quantiser_.units());
    }

    /// Fills `target` with the bytes of a tensor from `position` on.
    ///
    /// \pre the tensor has them
    void read(std::size_t which, std::uint64_t position, std::span<std::byte> target) {
        for (index_t band = band_at(which, position); !target.empty(); ++band) {
            std::uint64_t const begin = begin_of(which, band), end = begin_of(which, band + 1);
            if (begin == end)
                continue;
            std::span<std::byte const> const bytes = bytes_in(which, band);
            std::size_t const count = std::min<std::size_t>(target.size(), end - position);
            std::memcpy(target.data(), bytes.data() + (position - begin), count);
            target = target.subspan(count);
            position += count;
        }
    }

    /// The memory of the numbers and scales.
    std::size_t bytes_kept() const { return bytes_kept_; }

    void forget() {
        std::ranges::fill(scales_, vector<vector<std::byte>>());
        numbers_ = {};
        band_ = -1;
        bytes_kept_ = 0;
    }

private:
    static constexpr index_t band_elements = index_t{2} << 20;

    index_t first_unit(index_t band) const {
        return std::min(band * band_units_, quantiser_.units());
    }

    std::uint64_t begin_of(std::size_t which, index_t band) const {
        return quantiser_.first_byte(which, first_unit(band));
    }

    /// The band that has a byte of a tensor.
    index_t band_at(std::size_t which, std::uint64_t position) const {
        index_t first = 0, last = std::ssize(scales_);
        while (last - first > 1) {
            index_t const middle = first + (last - first) / 2;
            (begin_of(which, middle) <= position ? first : last) = middle;
        }
        return first;
    }

    std::span<std::byte const> bytes_in(std::size_t which, index_t band) {
        vector<vector<std::byte>>& scales = scales_[static_cast<std::size_t>(band)];
        if (which > 0 && !scales.empty())
            return scales[which - 1];
        if (band_ != band)
            compute(band);
        if (which == 0)
            return numbers_;
        return scales[which - 1];
    }

    void compute(index_t band) {
        index_t const unit = first_unit(band), end = first_unit(band + 1);
        index_t const first = quantiser_.first_element(unit);
        float const maximum = needs_maximum_ ? largest() : 0.0F;
        read_values(first, quantiser_.first_element(end));
        vector<vector<std::byte>> const kept = read_kept(band);
        vector<std::span<std::byte const>> const kept_spans(kept.begin(), kept.end());
        vector<vector<std::byte>> bytes;
        vector<std::span<std::byte>> spans;
        for (std::size_t which = 0; which < tensors().size(); ++which)
            bytes.emplace_back(begin_of(which, band + 1) - begin_of(which, band));
        for (vector<std::byte>& each : bytes)
            spans.emplace_back(each);
        at_path("'" + name_ + "'", [&] {
            quantiser_.run(
                unit, elements_, maximum,
                std::span<std::span<std::byte> const>(spans.data(), spans.size()),
                std::span<std::span<std::byte const> const>(kept_spans.data(), kept_spans.size()));
        });
        vector<vector<std::byte>>& scales = scales_[static_cast<std::size_t>(band)];
        bytes_kept_ -= numbers_.size() + bytes_in(scales);
        numbers_ = std::move(bytes.front());
        bytes.erase(bytes.begin());
        scales = std::move(bytes);
        bytes_kept_ += numbers_.size() + bytes_in(scales);
        band_ = band;
    }

    static std::size_t bytes_in(vector<vector<std::byte>> const& scales) {
        std::size_t sum = 0;
        for (vector<std::byte> const& each : scales)
            sum += each.size();
        return sum;
    }

    void read_values(index_t first, index_t end) {
        elements_.resize(static_cast<std::size_t>(end - first));
        values_.read(key_, first, {elements_.data(), data_type::f32, {end - first}, {1}});
    }

    /// By tensor: the scales to keep that a band needs.
    vector<vector<std::byte>> read_kept(index_t band) {
        vector<vector<std::byte>> kept(kept_keys_.size());
        for (std::size_t which = 0; which < kept.size(); ++which) {
            if (kept_keys_[which].empty())
                continue;
            quantised_tensor const& scales = tensors()[which];
            std::uint64_t const begin = scales.is_constant ? 0 : begin_of(which, band);
            std::uint64_t const end =
                scales.is_constant ? bytes_of(which) : begin_of(which, band + 1);
            kept[which].resize(end - begin);
            auto const each = static_cast<std::uint64_t>(bits(scales.dtype) / 8);
            values_.read(kept_keys_[which], static_cast<index_t>(begin / each),
                         {kept[which].data(),
                          scales.dtype,
                          {static_cast<index_t>((end - begin) / each)},
                          {1}});
        }
        return kept;
    }

    /// The largest magnitude of the whole tensor.
    float largest() {
        if (largest_)
            return *largest_;
        float most = 0;
        for (index_t band = 0; band < std::ssize(scales_); ++band) {
            read_values(quantiser_.first_element(first_unit(band)),
                        quantiser_.first_element(first_unit(band + 1)));
            float const here = largest_of(elements_);
            most = here > most || here != here ? here : most;
        }
        return *(largest_ = most);
    }

    quantiser quantiser_;
    bool needs_maximum_;
    std::string name_;
    std::string key_; ///< of the first tensor
    value_reader values_;
    vector<std::string> kept_keys_; ///< by tensor, if there are scales to keep; empty for others
    vector<float>& elements_;       ///< of a band
    index_t band_units_;
    index_t band_ = -1; ///< of `numbers_`
    vector<std::byte> numbers_;
    vector<vector<vector<std::byte>>>
        scales_;                 ///< by band and tensor; empty if they are not computed
    std::size_t bytes_kept_ = 0; ///< in `numbers_` and `scales_`
    std::optional<float> largest_;
};

/// The files of a checkpoint, and one more file with the tensors that a program quantizes.
class quantised_files final : public file_store {
public:
    /// \pre `source` outlives this object
    quantised_files(checkpoint const& source, mapping const& program, bool verify)
        : below_(source.files()),
          path_(source.metadata().path.string() + " (quantised)"),
          reader_(source, verify) {
        for (quantised_value const& value : program.quantised())
            tensors_.push_back(
                std::make_unique<quantised_tensors>(reader_, elements_, program, value, verify));
    }

    /// Adds the tensors and their file.
    void describe(mapping const& program, checkpoint_metadata& metadata) {
        auto const number = static_cast<holder_t>(metadata.files.size());
        std::uint64_t end = 0;
        for (std::size_t i = 0; i < tensors_.size(); ++i)
            for (std::size_t which = 0; which < tensors_[i]->tensors().size(); ++which) {
                mapping_source const from =
                    program.sources()[program.quantised()[i].first + static_cast<key_id>(which)];
                std::uint64_t const begin = end;
                end += tensors_[i]->bytes_of(which);
                places_.push_back({begin, i, which});
                checkpoint_tensor added{std::string(from.key), from.dtype, from.shape, {}};
                added.shards.push_back({number, whole(from.shape), std::nullopt, begin, end});
                carry_fused(program, program.quantised()[i].value, added, metadata.fused);
                metadata.tensors.push_back(std::move(added));
            }
        sort_by_key(metadata.tensors);
        bytes_ = end;
        metadata.files.push_back({path_, bytes_});
    }

    kind find(std::filesystem::path const& path) const override { return below_->find(path); }

    vector<std::filesystem::path> list(std::filesystem::path const& directory) const override {
        return below_->list(directory);
    }

    /// \pre the file does not outlive this
    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        if (path != path_)
            return below_->open(path);
        return std::make_unique<quantised_file>(*this);
    }

private:
    /// Notes how a tensor is interleaved that is quantised from a whole source tensor.
    static void carry_fused(mapping const& program, expression const& value,
                            checkpoint_tensor const& tensor, fused_tensors& fused) {
        if (!is_whole_source(value, program.sources()))
            return;
        auto const match = fused.find(program.sources().key(value.pieces.source(0)));
        if (match == fused.end())
            return;
        auto const axis = static_cast<std::size_t>(match->second.axis);
        index_vector const shape = tensor.shape;
        if (axis < shape.size() && shape.size() == value.ndim() && shape[axis] == value.shape[axis])
            fused.emplace(tensor.key, match->second);
    }

    static constexpr std::size_t most_kept = std::size_t{64} << 20;

    /// Where the file has a tensor.
    struct tensor_place {
        std::uint64_t begin = 0;
        std::size_t tensor = 0;
        std::size_t which = 0;
    };

    class quantised_file final : public file {
    public:
        explicit quantised_file(quantised_files const& files) : files_(files) {}

        /// Refuses files that were written to since their values were read.
        identity facts() const override {
            std::lock_guard const lock(files_.mutex_);
            files_.reader_.check_unchanged();
            return {0, 0, files_.bytes_, 0, 0};
        }

        void read(std::uint64_t position, std::span<std::byte> target) const override {
            files_.read(position, target);
        }

    private:
        quantised_files const& files_;
    };

    void read(std::uint64_t position, std::span<std::byte> target) const {
        if (target.empty())
            return;
        std::lock_guard const lock(mutex_);
        auto const next = std::ranges::upper_bound(places_, position, {}, &tensor_place::begin);
        for (auto at = std::prev(next); !target.empty(); ++at) {
            quantised_tensors& from = *tensors_[at->tensor];
            std::uint64_t const end = at->begin + from.bytes_of(at->which);
            std::size_t const count =
                static_cast<std::size_t>(std::min<std::uint64_t>(target.size(), end - position));
            std::size_t const before = from.bytes_kept();
            from.read(at->which, position - at->begin, target.first(count));
            trim(from, from.bytes_kept() - before);
            target = target.subspan(count);
            position += count;
        }
    }

    /// Forgets the bytes of other tensors if they take too much memory.
    void trim(quantised_tensors const& last, std::size_t more) const {
        kept_ += more;
        if (kept_ <= most_kept)
            return;
        for (auto const& tensors : tensors_)
            if (tensors.get() != &last)
                tensors->forget();
        kept_ = last.bytes_kept();
    }

    std::shared_ptr<file_store const> below_;
    std::filesystem::path path_;
    std::uint64_t bytes_ = 0;
    vector<tensor_place> places_;
    mutable std::mutex mutex_; ///< guards the members below
    chunk_reader reader_;
    vector<float> elements_; ///< of a band
    vector<std::unique_ptr<quantised_tensors>> tensors_;
    mutable std::size_t kept_ = 0; ///< bytes that the tensors keep
};

/// A checkpoint that also has the tensors that a program quantizes; null if it quantizes nothing.
///
/// \pre `source` outlives the result
/// \throws error with errc::unsupported if the files are on several machines
inline std::unique_ptr<checkpoint> with_quantised(checkpoint const& source, mapping const& program,
                                                  bool verify) {
    if (program.quantised().empty())
        return nullptr;
    if (united(source))
        fail(errc::unsupported, source.metadata().path.string(),
             ": a program cannot quantize a checkpoint whose files are on several machines; copy "
             "the files to one of them, or convert it first");
    auto files = std::make_shared<quantised_files>(source, program, verify);
    checkpoint_metadata metadata = source.metadata();
    files->describe(program, metadata);
    return std::make_unique<checkpoint>(source, std::move(metadata), std::move(files));
}

} // namespace reshard::detail

#endif
