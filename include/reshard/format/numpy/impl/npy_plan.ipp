// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NUMPY_IMPL_NPY_PLAN_IPP
#define RESHARD_FORMAT_NUMPY_IMPL_NPY_PLAN_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/numpy/npy.hpp>
#include <reshard/format/planned_files.hpp>
#include <reshard/format/zip/stored_zip.hpp>
#include <reshard/os/file_bytes.hpp>

#include <boost/crc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace reshard::detail {

/// \throws error with errc::unsupported for a data type that NumPy does not have
inline std::string npy_descr(file_shard const& shard) {
    for (auto const& [name, dtype] : npy_types)
        if (dtype == shard.dtype)
            return (name.ends_with('1') ? "|" : "<") + std::string(name);
    fail(errc::unsupported, "'", shard.key, "': NumPy has no data type for elements of ",
         shard.dtype,
         bits(shard.dtype) <= 8 ? "; write safetensors, or, if it has no scales, cast" : "; cast",
         " it in the program, as in `", shard.key, " -> ", shard.key, ", dtype=\"float32\"`");
}

/// The text before the elements, padded with blanks to a multiple of 64 bytes.
///
/// \par Source numpy.lib.format, version 1.0
inline std::string npy_header(file_shard const& shard) {
    index_vector const shape = shard.region.shape;
    std::string extents;
    for (index_t const extent : shape)
        extents += std::to_string(extent) + (shape.size() == 1 ? "," : ", ");
    if (shape.size() > 1)
        extents.resize(extents.size() - 2);
    std::string text = "{'descr': '" + npy_descr(shard) + "', 'fortran_order': False, 'shape': (" +
                       extents + "), }";
    constexpr std::size_t fixed = 10, step = 64;
    text.resize((fixed + text.size() + 1 + step - 1) / step * step - fixed - 1, ' ');
    text += '\n';
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size() & 0xff) +
           static_cast<char>(text.size() >> 8) + text;
}

RESHARD_DECL checkpoint_plan plan_npy(layout const& target, file_choices const& choices) {
    auto const shards = shards_of_one(target, choices);
    if (shards.size() != 1)
        fail(errc::unsupported, "a .npy file holds one tensor, but ", shards.size(),
             " are to be written", shards.empty() ? "" : ", '" + shards[0].key + "' among them",
             "; write a .npz file, or select one with a program");
    planned_files files("npy", target);
    std::string header = npy_header(shards[0]);
    std::uint64_t const end = header.size() + bytes_of(shards[0]);
    files.begin_file("array.npy", 0);
    files.add(shards[0], {header.size(), end});
    files.end_file(end);
    checkpoint_plan plan = files.take(
        std::make_shared<known_texts>(vector<vector<placed_text>>{{{0, std::move(header)}}}));
    plan.is_file = true;
    return plan;
}

/// An archive of arrays.
class npz_texts : public file_texts {
public:
    explicit npz_texts(vector<file_shard> shards) : shards_(std::move(shards)) {}

    /// \param take is called with each shard and the position of its elements
    zip_plan lay_out(vector<std::uint32_t> const& checksums, auto&& take) const {
        zip_plan archive;
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            std::uint64_t const header = npy_header(shards_[i]).size();
            byte_run const room =
                archive.add_room(shards_[i].key + ".npy", header + bytes_of(shards_[i]), 64,
                                 checksums.empty() ? 0 : checksums[i]);
            take(shards_[i], byte_run{room.begin + header, room.end});
        }
        return archive;
    }

    /// NumPy verifies checksums, so the elements are read again to compute them.
    vector<placed_text> around(holder_t, std::filesystem::path const& written) const override {
        vector<std::uint32_t> checksums;
        vector<placed_text> texts;
        auto const file = files_of_system()->open(written);
        lay_out({}, [&](file_shard const& shard, byte_run where) {
            std::string header = npy_header(shard);
            checksums.push_back(checksum(header, *file, where));
            std::uint64_t const begin = where.begin - header.size();
            texts.push_back({begin, std::move(header)});
        });
        zip_plan archive = lay_out(checksums, [](auto&&...) {});
        archive.finish();
        texts.insert(texts.end(), archive.texts().begin(), archive.texts().end());
        return texts;
    }

private:
    static std::uint32_t checksum(std::string const& header, file_store::file const& file,
                                  byte_run where) {
        boost::crc_32_type sum;
        sum.process_bytes(header.data(), header.size());
        vector<std::byte> buffer;
        for (std::uint64_t at = where.begin; at < where.end; at += buffer.size()) {
            buffer.resize(std::min<std::uint64_t>(1 << 20, where.end - at));
            file.read(at, buffer);
            sum.process_bytes(buffer.data(), buffer.size());
        }
        return sum.checksum();
    }

    vector<file_shard> shards_;
};

/// Refuses a key `a` if `a.npy` is a key too: NumPy finds the member `a.npy` for the name `a`.
inline void check_endings(layout const& target) {
    for (tensor_layout const& tensor : target.tensors)
        if (std::string const longer = tensor.key + ".npy"; target.find(longer))
            fail(errc::unsupported, "'", longer, "': NumPy would read '", tensor.key,
                 "' under that name from a .npz file; rename one of them, or write safetensors");
}

RESHARD_DECL checkpoint_plan plan_npz(layout const& target, file_choices const& choices) {
    check_endings(target);
    auto const texts = std::make_shared<npz_texts>(shards_of_one(target, choices));
    planned_files files("npz", target);
    files.begin_file("arrays.npz", 0);
    zip_plan archive = texts->lay_out(
        {}, [&](file_shard const& shard, byte_run where) { files.add(shard, where); });
    files.end_file(archive.finish());
    checkpoint_plan plan = files.take(texts);
    plan.is_file = true;
    return plan;
}

} // namespace reshard::detail

#endif
