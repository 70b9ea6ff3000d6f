// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_FILE_PIECES_IPP
#define RESHARD_STORAGE_IMPL_FILE_PIECES_IPP

#include <reshard/storage/file_pieces.hpp>

#include <reshard/expr/cut_piece.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace reshard::detail {

/// The most bytes of a gathered piece. Several pieces fit into the memory of one round of
/// gathering.
inline constexpr std::uint64_t most_gathered_bytes = std::uint64_t{32} << 20;

inline std::uint64_t shard_bytes(checkpoint_shard const& shard) { return shard.end - shard.begin; }

/// Appends a piece, or extends the last piece if the new piece continues it.
inline void append(file_pieces& pieces, file_piece const& next) {
    if (!pieces.empty()) {
        file_piece& last = pieces.back();
        bool const continues = last.position == next.position && last.process == next.process &&
                               last.is_gathered == next.is_gathered;
        if (continues &&
            (!next.is_gathered || last.bytes.size() + next.bytes.size() <= most_gathered_bytes)) {
            last.bytes.end = next.bytes.end;
            return;
        }
    }
    pieces.push_back(next);
}

/// Calls `take(place, shard)` for all shards.
void for_each_shard(checkpoint_metadata const& written, auto&& take) {
    for (std::uint32_t t = 0; t < written.tensors.size(); ++t)
        for (std::uint32_t i = 0; i < written.tensors[t].shards.size(); ++i)
            take(shard_place{t, i}, written.tensors[t].shards[i]);
}

/// The unit in which shards are divided among processes: at least one MiB and one chunk.
inline shard_window chunk_of(checkpoint_metadata const& written, shard_place shard_place) {
    checkpoint_tensor const& tensor = written.tensors[shard_place.tensor];
    std::uint64_t const chunk = written.files[tensor.shards[shard_place.shard].file].chunk_bytes;
    return window_of(tensor.dtype, chunk, std::max(chunk, std::uint64_t{1} << 20));
}

/// Calls `take(run)` for each chunk of a shard, and once for a shard without bytes.
void for_each_chunk(checkpoint_metadata const& written, shard_place shard_place, auto&& take) {
    checkpoint_shard const& shard = written.tensors[shard_place.tensor].shards[shard_place.shard];
    std::uint64_t const step = chunk_of(written, shard_place).bytes, total = shard_bytes(shard);
    std::uint64_t begin = 0;
    do {
        take(byte_run{begin, std::min(total, begin + step)});
        begin += step;
    } while (begin < total);
}

RESHARD_DECL file_pieces pieces_by_rank(checkpoint_plan const& files, int size) {
    file_pieces pieces;
    for_each_shard(files.metadata, [&](shard_place shard_place, checkpoint_shard const& shard) {
        pieces.push_back({shard_place,
                          {0, shard_bytes(shard)},
                          files.ranks[shard.file] % static_cast<holder_t>(size),
                          false});
    });
    return pieces;
}

RESHARD_DECL file_pieces pieces_by_bytes(checkpoint_plan const& files, int size) {
    std::uint64_t total = 0, before = 0;
    for_each_shard(files.metadata, [&](shard_place, checkpoint_shard const& shard) {
        total += shard_bytes(shard);
    });
    std::uint64_t const share =
        std::max<std::uint64_t>(1, total / static_cast<std::uint64_t>(size));
    file_pieces pieces;
    for_each_shard(files.metadata, [&](shard_place shard_place, checkpoint_shard const&) {
        for_each_chunk(files.metadata, shard_place, [&](byte_run run) {
            std::uint64_t const process =
                std::min(before / share, static_cast<std::uint64_t>(size - 1));
            append(pieces, {shard_place, run, static_cast<holder_t>(process), false});
            before += run.size();
        });
    });
    return pieces;
}

/// Consecutive elements of a whole tensor, in row-major order, whose sources one process holds.
struct held_run {
    index_t begin = 0;
    index_t end = 0;
    holder_t process = 0;
};

/// The number of elements of a block of a shard.
inline index_t block_elements(tensor_shards const& shards, std::size_t i) {
    index_vector extents = shards.region(i).shape;
    for (axis_cycle const& cycle : shards.cycles(i))
        extents[cycle.axis] = cycle.block;
    return element_count(extents);
}

/// Calls `take(box, process)` for each box of a piece's target and each process that holds the
/// source of the box. Skips shards whose blocks have fewer than `least` elements, since a matrix
/// may have millions of tiny blocks.
void for_each_made(piece const& piece, tensor_shards const& shards, index_t least, auto&& take) {
    if (!shards)
        return;
    box const wanted = piece.source_box();
    for (std::size_t i = 0; i < shards.size(); ++i) {
        if (!shards.cycles(i).empty() && block_elements(shards, i) < least)
            continue;
        shards.for_each_box(i, [&](box const& held) {
            if (auto const common = intersect(held, wanted))
                cut_to_source(piece, *common,
                              [&](auto const& part) { take(part.target_box(), shards.holder(i)); });
        });
    }
}

/// The elements of an output that each process can make alone. Every process can make zeros.
///
/// \param least smaller blocks are ignored
inline vector<held_run> made_runs(expression const& output, source_list const& sources,
                                  layout const& source, int size, index_t least) {
    vector<held_run> runs;
    auto const add = [&](box const& made, holder_t process) {
        if (auto const run = flat_range_of(made, output.shape))
            runs.push_back({run->begin, run->end, process});
    };
    auto const add_for_all = [&](box const& made) {
        for (int process = 0; process < size; ++process)
            add(made, static_cast<holder_t>(process));
    };
    if (output.pieces.size() == 0) // a tensor without elements
        add_for_all(whole(output.shape));
    for (std::size_t i = 0; i < output.pieces.size(); ++i) {
        piece const piece = output.pieces[i];
        if (piece.source == zero_source) {
            add_for_all(piece.target_box());
            continue;
        }
        tensor_layout const* const held = source.find(sources.key(piece.source));
        for_each_made(piece, held ? source.shards_of(*held) : tensor_shards(), least, add);
    }
    return runs;
}

/// As `made_runs`, but adjacent runs of a process are joined.
inline vector<held_run> runs_of(mapping_output const& output, mapping const& program,
                                layout const& source, int size, index_t least) {
    if (size == 1)
        return {{0, element_count(output.value.shape), 0}};
    vector<held_run> runs = made_runs(output.value, program.sources(), source, size, least);
    std::sort(runs.begin(), runs.end(), [](held_run const& a, held_run const& b) {
        return std::pair(a.process, a.begin) < std::pair(b.process, b.begin);
    });
    vector<held_run> joined;
    for (held_run const& run : runs)
        if (!joined.empty() && joined.back().process == run.process &&
            joined.back().end >= run.begin)
            joined.back().end = std::max(joined.back().end, run.end);
        else
            joined.push_back(run);
    return joined;
}

/// The process with the fewest bytes to write among the processes that hold all elements from
/// `begin` to `end`; std::nullopt if there is none.
inline std::optional<holder_t> quickest_holder(vector<held_run> const& runs, index_t begin,
                                               index_t end, vector<std::uint64_t> const& to_write) {
    std::optional<holder_t> best;
    for (held_run const& run : runs)
        if (run.begin <= begin && end <= run.end &&
            (!best || to_write[run.process] < to_write[*best]))
            best = run.process;
    return best;
}

/// The number of elements before byte `position` of a shard with `count` elements.
inline index_t elements_before(std::uint64_t position, data_type dtype, index_t count) {
    return std::min(count, static_cast<index_t>(position * 8 / static_cast<unsigned>(bits(dtype))));
}

RESHARD_DECL file_pieces pieces_by_holder(checkpoint_plan const& files, mapping const& program,
                                          layout const& source, int size) {
    checkpoint_metadata const& written = files.metadata;
    vector<std::uint64_t> to_write(static_cast<std::size_t>(size), 0);
    file_pieces pieces;
    holder_t next = 0;
    for_each_shard(written, [&](shard_place shard_place, checkpoint_shard const& shard) {
        checkpoint_tensor const& tensor = written.tensors[shard_place.tensor];
        index_t const count = element_count(shard.region.shape);
        index_t const least = std::min(count, chunk_of(written, shard_place).elements);
        auto const runs = runs_of(*program.find(tensor.key), program, source, size, least);
        for_each_chunk(written, shard_place, [&](byte_run run) {
            auto const holder =
                quickest_holder(runs, elements_before(run.begin, tensor.dtype, count),
                                elements_before(run.end, tensor.dtype, count), to_write);
            holder_t const process = holder.value_or(next);
            append(pieces, {shard_place, run, process, !holder});
            to_write[process] += run.size();
            if (!holder && pieces.back().bytes.size() >= most_gathered_bytes / 8)
                next = (next + 1) % static_cast<holder_t>(size);
        });
    });
    return pieces;
}

/// The flat range of a piece. For a whole shard, the flat range of the shard, if it has one.
inline std::optional<flat_range> flat_of(checkpoint_tensor const& tensor, file_piece const& piece) {
    checkpoint_shard const& shard = tensor.shards[piece.position.shard];
    if (piece.bytes.size() == shard_bytes(shard))
        return shard.flat;
    index_t const before = shard.flat ? shard.flat->begin : 0;
    index_t const count = shard.flat ? shard.flat->size() : element_count(shard.region.shape);
    return flat_range{before + elements_before(piece.bytes.begin, tensor.dtype, count),
                      before + elements_before(piece.bytes.end, tensor.dtype, count)};
}

RESHARD_DECL shard_descriptor descriptor_of(checkpoint_metadata const& written,
                                            file_piece const& piece) {
    checkpoint_tensor const& tensor = written.tensors[piece.position.tensor];
    checkpoint_shard const& shard = tensor.shards[piece.position.shard];
    return {tensor.key,   tensor.dtype,           tensor.shape,
            shard.region, flat_of(tensor, piece), shard.cycles};
}

/// Calls `take(t, pieces)` for each tensor, with the pieces of the tensor.
void for_each_tensor(checkpoint_metadata const& written, file_pieces const& pieces, auto&& take) {
    std::size_t first = 0;
    for (std::uint32_t t = 0; t < written.tensors.size(); ++t) {
        std::size_t last = first;
        while (last < pieces.size() && pieces[last].position.tensor == t)
            ++last;
        take(t, std::span(pieces).subspan(first, last - first));
        first = last;
    }
}

RESHARD_DECL layout layout_of(checkpoint_metadata const& written, file_pieces const& pieces,
                              int size) {
    layout_builder builder(static_cast<holder_t>(size));
    builder.reserve(written.tensors.size());
    for_each_tensor(written, pieces, [&](std::uint32_t t, std::span<file_piece const> of_tensor) {
        checkpoint_tensor const& tensor = written.tensors[t];
        shard_table shards(tensor.shape.size());
        for (file_piece const& piece : of_tensor) {
            checkpoint_shard const& shard = tensor.shards[piece.position.shard];
            shards.push_back(piece.process, shard.region, flat_of(tensor, piece), shard.cycles);
        }
        builder.add(tensor.key, tensor.dtype, {tensor.shape, std::move(shards)});
    });
    return std::move(builder).take();
}

RESHARD_DECL shard_views<tensor_view> shapes_of(checkpoint_metadata const& written,
                                                file_pieces const& pieces) {
    shard_views<tensor_view> shapes;
    shapes.reserve_shapes(pieces.size());
    for_each_tensor(written, pieces, [&](std::uint32_t t, std::span<file_piece const> of_tensor) {
        for (std::uint32_t i = 0; i < of_tensor.size(); ++i) {
            shard_descriptor const shard = descriptor_of(written, of_tensor[i]);
            shapes.add_shape(t, i, shard.dtype, local_shape(shard));
        }
    });
    return shapes;
}

} // namespace reshard::detail

#endif
