// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_NUMBERED_NAMES_HPP
#define RESHARD_FORMAT_NAMES_NUMBERED_NAMES_HPP

#include <reshard/core/config.hpp>
#include <reshard/model/parallelism.hpp>
#include <reshard/model/pipeline.hpp>

#include <optional>
#include <string>
#include <string_view>

/// \file
/// Converts names with the numbers of a stage, or of an expert-parallel rank, to names with the
/// numbers of the model, and back.

namespace reshard::model {

/// A number in a name, and the parts of the name around it.
struct numbered_name {
    std::string_view head; ///< the text before the number
    index_t number = 0;
    std::string_view tail; ///< the text after the number
};

} // namespace reshard::model

namespace reshard::detail {

/// The number after `before` in a name, as a separate segment: the 3 of `layers.3.mlp.weight` after
/// `layers.`. std::nullopt without a number; an empty `before` means the name's beginning.
///
/// \throws error with errc::overflow for a number that does not fit 64 bits
RESHARD_DECL std::optional<model::numbered_name> number_behind(std::string_view name,
                                                               std::string_view before);

/// The name, with `change` applied to the number after `before`. A name without such a number is
/// unchanged.
std::string renumbered(std::string_view name, std::string_view before, auto const& change) {
    auto const match = number_behind(name, before);
    if (!match)
        return std::string(name);
    return std::string(match->head) + std::to_string(change(match->number)) +
           std::string(match->tail);
}

} // namespace reshard::detail

namespace reshard::model {

/// Converts a name whose number counts within a chunk of a stage to the name in the model.
///
/// No two stages have the same name in the model. A name without a number, such as an embedding's,
/// is unchanged.
///
/// \throws     error with errc::bad_layout for a layer that the chunk does not have
/// \par Source PipelinePretrainedModel of PaddleNLP, which keeps a table of both names
RESHARD_DECL std::string name_in_model(std::string_view name, std::string_view before,
                                       pipeline const& stages, layer_place chunk);

/// Converts a name in the model to the name on the stage that has the layer.
///
/// \post   `name_in_model` of the result, for that stage and chunk, is `name`
/// \throws error with errc::bad_layout for a layer that does not exist
RESHARD_DECL std::string name_on_stage(std::string_view name, std::string_view before,
                                       pipeline const& stages);

/// Converts a name whose number counts within an expert-parallel rank to the name in the model.
///
/// \throws     error with errc::bad_layout for an expert or a rank that does not exist
/// \par Source PaddlePaddle's renumbering of experts when a checkpoint is saved
RESHARD_DECL std::string name_in_model(std::string_view name, std::string_view before,
                                       expert_numbers const& experts, index_t rank);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/numbered_names.ipp>
#endif

#endif
