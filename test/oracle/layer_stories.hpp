// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_LAYER_STORIES_HPP
#define RESHARD_TEST_ORACLE_LAYER_STORIES_HPP

#include "list_stories.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// Stories of statements with placeholders: one for each layer or expert that there is.

namespace reshard::oracle {

/// What happens to the tensors of each layer.
struct layer_change {
    operation type = operation::rename; ///< or concat, transpose, cast
    numbers shape;
    std::size_t axis = 0; ///< of a concat
    std::string dtype;
    std::string to_dtype; ///< of a cast
};

/// One layer, whose tensors are called `stem` and a letter; `result` is their result.
inline void add_layer(draft& program, layer_change const& change, std::string const& stem,
                      std::string const& result) {
    std::string const a = program.new_source(change.shape, change.dtype, stem + "a");
    numbers shape = change.shape;
    if (change.type == operation::concat) {
        std::string const b = program.new_source(change.shape, change.dtype, stem + "b");
        shape[change.axis] *= 2;
        program.log({operation::concat, {a, b}, {result}, change.axis, {}, {}, {}});
        program.bind(result, shape, change.dtype, {a, b});
    } else if (change.type == operation::transpose) {
        std::reverse(shape.begin(), shape.end());
        program.log({operation::permute, {a}, {result}, 0, {}, reversed_order(shape.size()), {}});
        program.bind(result, shape, change.dtype, {a});
    } else {
        program.log({change.type, {a}, {result}, 0, {}, {}, change.to_dtype});
        program.bind(result, shape, change.type == operation::cast ? change.to_dtype : change.dtype,
                     {a});
    }
}

/// The statement of a layer.
inline std::string layer_text(draft& program, layer_change const& change, std::string const& dollar,
                              std::string const& to) {
    switch (change.type) {
    case operation::concat:
        return dollar + ".a, " + dollar + ".b -> " + to +
               program.axis_text(change.axis, change.shape.size());
    case operation::transpose: return dollar + ".a^T -> " + to;
    case operation::cast: return dollar + ".a -> " + to + ", dtype='" + change.to_dtype + "'";
    default: return dollar + ".a -> " + to;
    }
}

/// The result of a statement for each layer, `m` and `stem` and the number and `.w`, is read by
/// another: by its own placeholder, or all of it by a star.
inline void read_layers(draft& program, std::string const& stem, names const& new_names) {
    program.use(operation::made_id);
    variable const like = program.variables.at(new_names.front());
    if (program.random.chance(70)) {
        for (std::string const& from : new_names) {
            std::string const to = "n" + from;
            program.log({operation::rename, {from}, {to}, 0, {}, {}, {}});
            program.bind(to, like.shape, like.dtype, {from});
        }
        return program.say("m" + stem + "$LAYER_ID.w -> nm" + stem + "$LAYER_ID.w");
    }
    std::size_t const axis = program.an_axis(like.shape);
    numbers shape = like.shape;
    shape[axis] *= static_cast<std::int64_t>(new_names.size());
    std::string const to = program.a_name("t");
    program.log({operation::concat, new_names, {to}, axis, {}, {}, {}});
    program.bind(to, shape, like.dtype, new_names);
    program.say("m" + stem + "*.w -> " + to + program.axis_text(axis, shape.size()));
}

/// Every layer has two tensors, which are joined, transposed, cast or only renamed.
inline void layer_story(draft& program) {
    static operation const operation[] = {operation::concat, operation::transpose, operation::cast,
                                          operation::rename};
    program.use(operation::layer_id);
    std::string const stem = program.a_stem("l") + ".";
    numbers const layers = some_ids(program, 1);
    layer_change change;
    change.shape = program.a_large_shape();
    change.axis = program.an_axis(change.shape);
    change.dtype = program.a_wide_dtype();
    change.type = operation[program.random.below(4)];
    std::int64_t const shift = program.random.chance(30) ? 1 : 0;
    if (shift != 0)
        program.use(operation::shifted_id);
    change.to_dtype = program.a_wide_dtype();
    names new_names;
    for (std::int64_t const id : layers) {
        new_names.push_back("m" + stem + std::to_string(id + shift) + ".w");
        add_layer(program, change, stem + std::to_string(id) + ".", new_names.back());
    }
    program.use(change.type);
    std::string const dollar = stem + "$LAYER_ID";
    std::string const to = "m" + dollar + (shift ? " + 1" : "") + ".w";
    program.say(layer_text(program, change, dollar, to));
    if (program.random.chance(60))
        read_layers(program, stem, new_names);
}

/// Some layers have experts, others have none.
inline void expert_story(draft& program) {
    program.use(operation::expert_id);
    program.use(operation::layer_id);
    std::string const stem = program.a_stem("x") + ".";
    numbers const shape = program.a_large_shape();
    std::string const dtype = program.a_dtype();
    bool const turns = program.random.chance(50);
    operation const operation = turns ? operation::permute : operation::rename;
    numbers const order = reversed_order(shape.size());
    numbers turned = shape;
    if (turns)
        std::reverse(turned.begin(), turned.end());
    numbers const layers = some_ids(program, 2);
    for (std::size_t i = 1; i < layers.size(); ++i)
        for (std::int64_t const expert : some_ids(program, 1)) {
            std::string const tail =
                stem + std::to_string(layers[i]) + ".e." + std::to_string(expert) + ".w";
            std::string const from = program.new_source(shape, dtype, tail);
            program.log({operation, {from}, {"y" + tail}, 0, {}, order, {}});
            program.bind("y" + tail, turned, dtype, {from});
        }
    program.new_source(shape, dtype, stem + std::to_string(layers[0]) + ".w"); // a dense layer
    std::string const dollar = stem + "$LAYER_ID.e.$EXPERT_ID.w";
    program.use(turns ? operation::transpose : operation::rename);
    program.say(dollar + (turns ? "^T" : "") + " -> y" + dollar);
}

} // namespace reshard::oracle

#endif
