// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_PIPELINE_HPP
#define RESHARD_MODEL_PIPELINE_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

/// \file
/// The pipeline stage of each layer of a model.

namespace reshard::model {

/// The position of a layer.
struct layer_place {
    index_t stage = 0;
    index_t chunk = 0; ///< of the stage: the virtual stage
    index_t local = 0; ///< the layer's number in the chunk

    constexpr bool operator==(layer_place const&) const = default;
};

/// The layers of a model, cut into chunks that stages take in turn.
///
/// Chunk `i` of the model, in order, is on stage `i % stages()`. Without virtual stages, each stage
/// has one chunk.
///
/// \par Source Megatron-Core's interleaved schedule; PipelineLayer of PaddlePaddle, whose layer
///             names are local to a stage and must be translated
class pipeline {
public:
    /// Makes a chunk for each number of layers in `counts`.
    ///
    /// \throws error with errc::bad_layout if a count is negative, or if the number of counts is
    ///         not a multiple of the number of stages
    constexpr pipeline(index_t stages, vector<index_t> const& counts) : stages_(stages) {
        if (stages < 1 || counts.empty() || static_cast<index_t>(counts.size()) % stages != 0)
            fail(errc::bad_layout, counts.size(), " layer counts are not a multiple of ", stages,
                 " pipeline stages");
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] < 0)
                fail(errc::bad_layout, "chunk ", i, " of the pipeline has ",
                     detail::counted(counts[i], "layer"));
            begins_.push_back(detail::checked_add(begins_.back(), counts[i], "the layers"));
        }
    }

    /// Puts all layers on one stage.
    constexpr explicit pipeline(index_t layers) : pipeline(1, {layers}) {}
    constexpr pipeline() : pipeline(0) {}

    constexpr index_t stages() const { return stages_; }
    /// The number of chunks of each stage.
    constexpr index_t virtual_stages() const {
        return static_cast<index_t>(begins_.size() - 1) / stages_;
    }
    constexpr index_t layers() const { return begins_.back(); }

    /// \throws error with errc::bad_layout for a layer that does not exist
    constexpr layer_place place_of(index_t layer) const {
        if (layer < 0 || layer >= layers())
            fail(errc::bad_layout, "there is no layer ", layer, " in a pipeline of ", layers(),
                 " layers; numbering starts at 0");
        auto const behind = std::upper_bound(begins_.begin(), begins_.end(), layer);
        index_t const i = behind - begins_.begin() - 1;
        return {i % stages_, i / stages_, layer - *(behind - 1)};
    }

    /// The number of a layer in the model, given its position on a stage.
    ///
    /// \post   `place_of(layer_at(layer_place)) == layer_place`
    /// \throws error with errc::bad_layout for a position that does not exist
    constexpr index_t layer_at(layer_place const& layer_place) const {
        auto const [first, last] = layers_of(layer_place.stage, layer_place.chunk);
        if (layer_place.local < 0 || layer_place.local >= last - first)
            fail(errc::bad_layout, "stage ", layer_place.stage, " has ",
                 detail::counted(last - first, "layer"), " in chunk ", layer_place.chunk,
                 "; it has no local layer ", layer_place.local);
        return first + layer_place.local;
    }

    /// The first layer of a chunk, and its last layer plus one.
    ///
    /// \throws error with errc::bad_layout for a chunk that does not exist
    constexpr std::pair<index_t, index_t> layers_of(index_t stage, index_t chunk = 0) const {
        if (stage < 0 || stage >= stages_ || chunk < 0 || chunk >= virtual_stages())
            fail(errc::bad_layout, "there is no chunk ", chunk, " of stage ", stage,
                 " in a pipeline of ", detail::counted(stages_, "stage"), " with ",
                 detail::counted(virtual_stages(), "chunk"), " each");
        auto const i = static_cast<std::size_t>(chunk * stages_ + stage);
        return {begins_[i], begins_[i + 1]};
    }

    constexpr bool operator==(pipeline const&) const = default;

private:
    index_t stages_;
    vector<index_t> begins_{0};
};

} // namespace reshard::model

namespace reshard::detail {

/// Throws for fewer than one stage or chunk, and for too many chunks.
constexpr void check_stages(index_t layers, index_t stages, index_t chunks) {
    constexpr index_t most = 1 << 20;
    if (layers < 0 || stages < 1 || chunks < 1 || stages > most || chunks > most / stages)
        fail(errc::bad_layout, "a pipeline of ", detail::counted(layers, "layer"), " on ",
             detail::counted(stages, "stage"), " of ", detail::counted(chunks, "chunk"),
             " is not possible");
}

} // namespace reshard::detail

namespace reshard::model {

/// A pipeline with the same number of layers in each chunk.
///
/// \throws error with errc::bad_layout if the layers do not divide evenly
constexpr pipeline even_pipeline(index_t layers, index_t stages, index_t virtual_stages = 1) {
    detail::check_stages(layers, stages, virtual_stages);
    index_t const chunks = stages * virtual_stages;
    if (layers % chunks != 0)
        fail(errc::bad_layout, detail::counted(layers, "layer"), " cannot be cut into ", chunks,
             " equal chunks; use uneven_pipeline or give counts");
    return {stages, vector<index_t>(static_cast<std::size_t>(chunks), layers / chunks)};
}

/// A pipeline that is as even as possible: the first chunks have one layer more.
constexpr pipeline uneven_pipeline(index_t layers, index_t stages, index_t virtual_stages = 1) {
    detail::check_stages(layers, stages, virtual_stages);
    index_t const chunks = stages * virtual_stages;
    vector<index_t> counts;
    for (index_t i = 0; i < chunks; ++i)
        counts.push_back(layers / chunks + (i < layers % chunks));
    return {stages, counts};
}

/// A pipeline with `first` layers on the first stage, `last` layers on the last stage, and the
/// other layers divided equally among the stages between.
///
/// \throws error with errc::bad_layout if the other layers do not divide evenly
constexpr pipeline pipeline_with_ends(index_t layers, index_t stages, index_t first, index_t last) {
    detail::check_stages(layers, stages, 1);
    index_t const between = std::max<index_t>(stages - 2, 0);
    index_t const left = first < 0 || last < 0 || first > layers || last > layers - first
                             ? -1
                             : layers - first - last;
    if (stages < 2 || left < 0 || (between == 0 ? left != 0 : left % between != 0))
        fail(errc::bad_layout, detail::counted(layers, "layer"), " minus ", first,
             " on the first stage and ", last, " on the last cannot be divided equally among the ",
             between, " stages in between");
    vector<index_t> counts(static_cast<std::size_t>(stages), between == 0 ? 0 : left / between);
    counts.front() = first;
    counts.back() = last;
    return {stages, counts};
}

} // namespace reshard::model

#endif
