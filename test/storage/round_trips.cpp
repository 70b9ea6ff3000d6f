// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/load.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "shared_directory.hpp"

#include <optional>

/// \file
/// Each form of a checkpoint, saved whole and as a delta in each of nine layouts by some of the
/// ranks, and loaded in another layout by others, with and without a program.

BOOST_AUTO_TEST_SUITE(storage_round_trips)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// The first ranks of the world; others have no group.
struct first_ranks {
    int count;
    std::optional<mpi_group> group;
};

std::vector<first_ranks> groups_of_world() {
    std::vector<first_ranks> first_ranks;
    for (int const count : {1, 2, 4, 7}) {
        if (count > world().size())
            break;
        bool const is_in = world().rank() < count;
        auto const ranks = world().base().split(is_in ? 0 : 1);
        first_ranks.push_back({count, {}});
        if (is_in)
            first_ranks.back().group = world().subgroup(ranks);
    }
    return first_ranks;
}

/// Tensors of which each is cut otherwise. None of the bf16 is a NaN, whose bits a cast may change.
std::vector<shard_descriptor> model() {
    return {whole_of("attention", data_type::bf16, {8, 7}),
            whole_of("mlp", data_type::i16, {7, 6}),
            whole_of("cube", data_type::i16, {3, 4, 5}),
            whole_of("bias", data_type::u8, {5}),
            whole_of("step", data_type::i64, {}),
            whole_of("scale", data_type::u8, {}),
            whole_of("no_rows", data_type::f32, {0, 4}),
            whole_of("no_columns", data_type::u8, {3, 0})};
}

/// The data type that has all values of another one, and that one.
data_type wider(data_type dtype) {
    switch (dtype) {
    case data_type::u8: return data_type::u16;
    case data_type::i16: return data_type::i32;
    case data_type::bf16: return data_type::f32;
    case data_type::f32: return data_type::f64;
    default: return dtype;
    }
}

data_type narrower(data_type dtype) {
    for (auto const before : {data_type::u8, data_type::i16, data_type::bf16, data_type::f32})
        if (wider(before) == dtype)
            return before;
    return dtype;
}

/// The bits of an element of type `dtype` when it is cast to the wider type.
std::uint64_t widened(std::uint64_t bits, data_type dtype) {
    if (dtype == data_type::u8)
        return bits & 0xFF;
    if (dtype == data_type::i16)
        return static_cast<std::uint64_t>(
            static_cast<std::int64_t>(static_cast<std::int16_t>(bits & 0xFFFF)));
    if (dtype == data_type::bf16)
        return (bits & 0xFFFF) << 16;
    return bits;
}

std::string const prefix = "transposed.";

/// Each tensor under another name, transposed and cast.
mapping transpose_all(catalog const& source, catalog const*) {
    mapping program(source);
    for (catalog_entry const& entry : source) {
        auto const tensor = program.source(entry.key, entry.shape, entry.dtype);
        program.define(prefix + entry.key, cast(transpose(tensor), wider(entry.dtype)));
    }
    return program;
}

std::vector<shard_descriptor> transposed_model() {
    std::vector<shard_descriptor> transposed;
    for (shard_descriptor const& tensor : model()) {
        index_vector shape;
        for (std::size_t axis = tensor.global_shape.size(); axis-- > 0;)
            shape.push_back(tensor.global_shape[axis]);
        transposed.push_back(whole_of(prefix + tensor.key, wider(tensor.dtype), shape));
    }
    return transposed;
}

/// The global index in the source, row-major there, of an element of a box of the transposed
/// tensor.
index_t source_index(shard_descriptor const& shard, index_t element) {
    std::size_t const ndim = shard.global_shape.size();
    std::vector<index_t> positions(ndim);
    for (std::size_t axis = ndim; axis-- > 0; element /= shard.region.shape[axis])
        positions[axis] = shard.region.offset[axis] + element % shard.region.shape[axis];
    index_t index = 0, step = 1;
    for (std::size_t axis = 0; axis < ndim; step *= shard.global_shape[axis++])
        index += step * positions[axis];
    return index;
}

/// The expected memory of a shard of a tensor of `transpose_all`.
std::vector<std::byte> transposed_content_of(shard_descriptor const& shard) {
    data_type const before = narrower(shard.dtype);
    return content_of(shard, [&](index_t i) {
        return widened(
            element_bits(shard.key.substr(prefix.size()), source_index(shard, i), before), before);
    });
}

enum class spread { rows, columns, blocks, uneven, replicated, in_turn, flat, edges, dealt };

constexpr int spread_count = 9;

/// Where part `i` of `count` equal ones begins.
index_t even_bound(index_t extent, index_t i, index_t count) { return extent * i / count; }

/// The same of parts that grow, of which the first is empty if there are several.
index_t uneven_bound(index_t extent, index_t i, index_t count) {
    return count == 1 ? extent * i : extent * i * (i - 1) / (count * (count - 1));
}

/// One part of several of a box along an axis, if it has that axis.
shard_descriptor cut_part(shard_descriptor part, std::size_t axis, index_t i, index_t count,
                          index_t (*bound)(index_t, index_t, index_t) = even_bound) {
    if (axis < part.region.ndim()) {
        index_t const extent = part.region.shape[axis];
        part.region.offset[axis] = bound(extent, i, count);
        part.region.shape[axis] = bound(extent, i + 1, count) - part.region.offset[axis];
    }
    return part;
}

/// A slice of all elements, as long as other ranks' slices except the last ones.
shard_descriptor slice_of(shard_descriptor part, index_t rank, index_t size) {
    index_t const elements = extent_product(part.global_shape);
    index_t const length = (elements + size - 1) / size;
    part.flat =
        flat_range{std::min(elements, rank * length), std::min(elements, (rank + 1) * length)};
    return part;
}

/// Two axes are cut if the number of ranks is even.
shard_descriptor block_of(shard_descriptor const& tensor, index_t rank, index_t size) {
    index_t const across = size % 2 == 0 ? 2 : 1;
    return cut_part(cut_part(tensor, 0, rank / across, size / across), 1, rank % across, across);
}

/// All of it on the last rank, and tensors without elements on every rank; scalars on every rank.
std::vector<shard_descriptor> edges_of(shard_descriptor const& tensor, bool is_last) {
    shard_descriptor nothing = tensor;
    index_t const elements = extent_product(tensor.global_shape);
    nothing.flat = flat_range{elements, elements};
    if (tensor.region.ndim() == 0)
        return {tensor, nothing};
    std::vector<shard_descriptor> parts{cut_part(tensor, 0, 0, 2, uneven_bound), nothing};
    if (is_last || elements == 0)
        parts.push_back(tensor);
    return parts;
}

/// Rows dealt out two by two, or one by one along the last axis too if the number of ranks is even.
std::vector<shard_descriptor> dealt_to(shard_descriptor const& tensor, index_t rank, index_t size) {
    std::size_t const ndim = tensor.region.ndim();
    if (extent_product(tensor.global_shape) == 0)
        return {tensor};
    index_t const across = size % 2 == 0 && ndim > 1 ? 2 : 1;
    std::vector<placement> how{replicate{}, replicate{}};
    if (ndim > 0)
        how[0] = block_cyclic{0, 2};
    if (ndim > 1)
        how[1] = block_cyclic{ndim - 1, 1};
    auto const shard = descriptor_of(
        tensor.key, tensor.dtype,
        distribution(mesh{{"p", size / across}, {"q", across}}, how, tensor.global_shape),
        static_cast<holder_t>(rank));
    return {*shard};
}

/// The shard of tensor `number` on a rank.
std::vector<shard_descriptor> parts_of(shard_descriptor const& tensor, index_t number,
                                       spread spread, index_t rank, index_t size) {
    switch (spread) {
    case spread::rows: return {cut_part(tensor, 0, rank, size)};
    case spread::columns: return {cut_part(tensor, tensor.region.ndim() - 1, rank, size)};
    case spread::blocks: return {block_of(tensor, rank, size)};
    case spread::uneven: return {cut_part(tensor, 0, rank, size, uneven_bound)};
    case spread::replicated: return {tensor};
    case spread::in_turn:
        return number % size == rank ? std::vector{tensor} : std::vector<shard_descriptor>{};
    case spread::flat: return {slice_of(tensor, rank, size)};
    case spread::edges: return edges_of(tensor, rank + 1 == size);
    case spread::dealt: return dealt_to(tensor, rank, size);
    }
    return {};
}

std::vector<shard_descriptor> shards_of_rank(std::vector<shard_descriptor> const& tensors,
                                             spread spread, mpi_group const& ranks) {
    std::vector<shard_descriptor> shards;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        for (shard_descriptor& part :
             parts_of(tensors[i], static_cast<index_t>(i), spread, ranks.rank(), ranks.size()))
            shards.push_back(std::move(part));
    return shards;
}

struct form {
    char const* name;
    save_form how;
    index_t most_file_bytes;
    char const* file; ///< that only this form has
};

form const forms[] = {
    {"sharded", save_form::sharded, 1 << 20, "shard-00001-model-00001-of-00001.safetensors"},
    {"one file", save_form::huggingface, 1 << 20, "model.safetensors"},
    {"several files", save_form::huggingface, 100, "model.safetensors.index.json"}};

save_options options_for(form const& chosen) {
    save_options options{.form = chosen.how};
    options.writing.most_file_bytes = chosen.most_file_bytes;
    options.writing.sync = false;
    return options;
}

/// Whether a checkpoint has all of its bytes.
enum class amount { whole, delta };

/// Saves tensors, of which a base has some.
///
/// \pre no chunk has more than one tensor
void save_delta(mpi_group const& ranks, held& tensors, std::filesystem::path const& path,
                form const& chosen, std::vector<shard_descriptor> const& shards) {
    held before = tensors;
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (shards[i].key == "attention" || shards[i].key == "bias" || shards[i].key == "step")
            for (std::byte& byte : before.memory(i))
                byte ^= std::byte{0x55};
    auto const base = path.parent_path() / "base";
    save(ranks, before.tensors(), base, options_for(chosen));
    save_options options = options_for(chosen);
    options.writing.base = base.string();
    save_report const report = save(ranks, tensors.tensors(), path, options);
    // Of `mlp` 7 * 6 * 2 bytes, of `cube` 3 * 4 * 5 * 2, and the one of `scale`.
    BOOST_TEST(report.reused == 84 + 120 + 1);
}

void save_model(mpi_group const& ranks, spread spread, std::filesystem::path const& path,
                form const& chosen, amount much) {
    auto const shards = shards_of_rank(model(), spread, ranks);
    held source(shards);
    if (much == amount::delta)
        save_delta(ranks, source, path, chosen, shards);
    else
        save(ranks, source.tensors(), path, options_for(chosen));
}

/// One checkpoint and those who load it.
struct round_trip {
    spread saved;
    int from;
    int to;

    /// Another layout for each way, so that all pairs come up.
    spread loaded(bool has_program) const {
        return static_cast<spread>((static_cast<int>(saved) + 3 * from + 5 * to + has_program) %
                                   spread_count);
    }
};

void check_by_name(mpi_group const& ranks, checkpoint const& source, round_trip const& trip) {
    held target(shards_of_rank(model(), trip.loaded(false), ranks));
    load(ranks, source, target.cleared().tensors());
    BOOST_TEST(target.wrong() == "");
}

void check_program(mpi_group const& ranks, checkpoint const& source, round_trip const& trip) {
    auto const shards = shards_of_rank(transposed_model(), trip.loaded(true), ranks);
    held target(shards);
    options options;
    options.program = transpose_all;
    load(ranks, source, target.cleared().tensors(), options);
    for (std::size_t i = 0; i < shards.size(); ++i)
        BOOST_TEST((target.memory(i) == transposed_content_of(shards[i])), to_string(shards[i]));
}

void check_loads(std::vector<first_ranks> const& groups, spread saved, int from,
                 std::filesystem::path const& path) {
    for (first_ranks const& loading : groups) {
        BOOST_TEST_CONTEXT("loaded by " << loading.count) {
            if (!loading.group)
                continue;
            checkpoint const source = open_checkpoint(*loading.group, path);
            round_trip const trip{saved, from, loading.count};
            check_by_name(*loading.group, source, trip);
            check_program(*loading.group, source, trip);
        }
    }
}

/// Saves in one way, and loads in all.
void check_round_trips(std::vector<first_ranks> const& groups, first_ranks const& saving,
                       spread spread, form const& chosen, amount much) {
    shared_directory const directory;
    auto const path = directory / "saved";
    if (saving.group)
        save_model(*saving.group, spread, path, chosen, much);
    meet();
    char const* const written = much == amount::delta ? "delta-00001.safetensors" : chosen.file;
    BOOST_TEST(std::filesystem::exists(path / written));
    check_loads(groups, spread, saving.count, path);
    meet();
}

/// The generators of seven cells, of which each rank has every `size`-th, and a common value.
model_state objects_of_rank(mpi_group const& ranks, bool are_known) {
    model_state state{{"lr", stored_value{are_known ? "0.1" : "?"}}};
    for (index_t cell = ranks.rank(); cell < 7; cell += ranks.size())
        state["generator" + std::to_string(cell)] = stored_object{
            {"rng", {7}, {cell}},
            are_known ? std::string(static_cast<std::size_t>(cell), static_cast<char>('a' + cell))
                      : "?"};
    return state;
}

void add_tensors_of(model_state& state, held& tensors) {
    for (auto const& [descriptor, tensor] : tensors.tensors())
        state[to_string(descriptor)] = local_shard{descriptor, tensor};
}

/// As a delta, after a save of the same tensors with other objects.
void save_objects(mpi_group const& ranks, std::filesystem::path const& path, form const& chosen,
                  amount much) {
    held tensors(shards_of_rank(model(), spread::rows, ranks));
    save_options options = options_for(chosen);
    if (much == amount::delta) {
        model_state before = objects_of_rank(ranks, false);
        add_tensors_of(before, tensors);
        auto const base = path.parent_path() / "base";
        save_state(ranks, before, base, options);
        options.writing.base = base.string();
    }
    model_state state = objects_of_rank(ranks, true);
    add_tensors_of(state, tensors);
    save_state(ranks, state, path, options);
}

void check_objects_of(mpi_group const& ranks, std::filesystem::path const& path) {
    held tensors(shards_of_rank(model(), spread::flat, ranks));
    model_state state = objects_of_rank(ranks, false);
    add_tensors_of(state, tensors.cleared());
    load_state(ranks, open_checkpoint(ranks, path), state);
    BOOST_TEST(tensors.wrong() == "");
    for (auto const& [name, expected] : objects_of_rank(ranks, true)) {
        BOOST_TEST_CONTEXT(name) {
            if (auto const* const object = std::get_if<stored_object>(&expected))
                BOOST_TEST((std::get<stored_object>(state.at(name)) == *object));
            else
                BOOST_TEST((std::get<stored_value>(state.at(name)).bytes == "0.1"));
        }
    }
}

/// Saves in one way, and loads by all.
void check_objects(std::vector<first_ranks> const& groups, first_ranks const& saving,
                   form const& chosen, amount much) {
    shared_directory const directory;
    auto const path = directory / "saved";
    if (saving.group)
        save_objects(*saving.group, path, chosen, much);
    meet();
    for (first_ranks const& loading : groups) {
        BOOST_TEST_CONTEXT(chosen.name << ", from " << saving.count << " to " << loading.count) {
            if (loading.group)
                check_objects_of(*loading.group, path);
        }
    }
    meet();
}

} // namespace

BOOST_AUTO_TEST_CASE(each_form_and_layout_saved_by_some_ranks_is_loaded_by_others) {
    auto const groups = groups_of_world();
    for (form const& chosen : forms)
        for (int mode = 0; mode < spread_count; ++mode)
            for (first_ranks const& saving : groups)
                for (amount const much : {amount::whole, amount::delta})
                    BOOST_TEST_CONTEXT(chosen.name
                                       << ", layout " << mode << ", saved by " << saving.count
                                       << (much == amount::delta ? " as a delta" : "")) {
                        check_round_trips(groups, saving, static_cast<spread>(mode), chosen, much);
                    }
}

BOOST_AUTO_TEST_CASE(objects_and_common_values_saved_by_some_ranks_are_loaded_by_others) {
    auto const groups = groups_of_world();
    for (form const& chosen : forms)
        for (first_ranks const& saving : groups)
            for (amount const much : {amount::whole, amount::delta})
                check_objects(groups, saving, chosen, much);
}

BOOST_AUTO_TEST_SUITE_END()
