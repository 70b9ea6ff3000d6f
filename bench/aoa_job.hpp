// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_AOA_JOB_HPP
#define RESHARD_BENCH_AOA_JOB_HPP

#include <reshard/layout/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A program to compile, its tensors, and its known figures.

namespace bench {

using reshard::data_type;
using reshard::holder_t;
using reshard::index_t;
using reshard::index_vector;

/// The expected figures of a compiled program, counted by hand or by an independent program.
///
/// \par Units statements after expansion; shards of the target, with replicas; pieces of all these
///            shards, before any pieces are joined
struct aoa_numbers {
    std::size_t statements = 0;
    std::size_t source_keys = 0;
    std::size_t target_keys = 0;
    std::size_t target_shards = 0;
    std::size_t pieces = 0;

    bool operator==(aoa_numbers const&) const = default;
};

/// The 64-bit FNV-1a hash of a text. It shows whether a program is, byte for byte, the intended
/// one.
constexpr std::uint64_t checksum(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (char const c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

struct aoa_job {
    std::string name;
    std::string text;
    reshard::layout source;
    reshard::layout target;
};

/// Writes a job, statement by statement and tensor by tensor. All tensors have one data type.
class aoa_job_writer {
public:
    /// Ranks `0` to `ranks - 1` hold the target; one rank holds the source.
    aoa_job_writer(std::string name, index_t ranks) : ranks_(ranks) { job_.name = std::move(name); }

    void say(std::string_view statement) {
        job_.text += statement;
        job_.text += '\n';
    }

    /// Adds a tensor of the source, which is whole.
    void have(std::string key, index_vector const& shape) {
        add(source_, std::move(key), shape).push_back(0, reshard::whole(shape));
    }

    /// Adds a tensor of the target. Each rank has a shard of it along `axis`, or all of it.
    void want(std::string key, index_vector const& shape, std::optional<std::size_t> axis = {}) {
        reshard::detail::shard_table& shards = add(target_, std::move(key), shape);
        for (index_t rank = 0; rank < ranks_; ++rank) {
            reshard::box region = reshard::whole(shape);
            if (axis) {
                region.shape[*axis] /= ranks_;
                region.offset[*axis] = rank * region.shape[*axis];
            }
            shards.push_back(static_cast<holder_t>(rank), region);
        }
    }

    /// Adds a tensor of the target, which one rank has whole.
    void want_on(index_t rank, std::string key, index_vector const& shape) {
        add(target_, std::move(key), shape)
            .push_back(static_cast<holder_t>(rank), reshard::whole(shape));
    }

    aoa_job finish() {
        job_.source = layout_of(std::move(source_), 1);
        job_.target = layout_of(std::move(target_), static_cast<holder_t>(ranks_));
        return std::move(job_);
    }

private:
    /// Shapes and shards by key.
    using tensors = std::map<std::string, std::pair<index_vector, reshard::detail::shard_table>>;

    static reshard::detail::shard_table& add(tensors& side, std::string key,
                                             index_vector const& shape) {
        auto& result = side[std::move(key)];
        result = {shape, reshard::detail::shard_table(shape.size())};
        return result.second;
    }

    static reshard::layout layout_of(tensors side, holder_t ranks) {
        reshard::detail::layout_builder builder(ranks);
        for (auto& [key, tensor] : side)
            builder.add(key, data_type::bf16, {tensor.first, std::move(tensor.second)});
        return std::move(builder).take();
    }

    aoa_job job_;
    tensors source_, target_;
    index_t ranks_;
};

} // namespace bench

#endif
