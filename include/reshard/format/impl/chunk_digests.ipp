// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHUNK_DIGESTS_IPP
#define RESHARD_FORMAT_IMPL_CHUNK_DIGESTS_IPP

#include <reshard/format/chunk_digests.hpp>

#include <reshard/core/error.hpp>

#include <boost/assert.hpp>

#include <xxhash.h>
// Uses the widest registers of the processor: more than twice as fast as the x86-64 baseline.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include <algorithm>
#include <charconv>
#include <memory>
#include <new>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::uint64_t digest_of_bytes(std::span<std::byte const> bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

RESHARD_DECL running_digest::running_digest() : state_(XXH3_createState()) {
    if (!state_)
        throw std::bad_alloc();
    XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
}

RESHARD_DECL running_digest::~running_digest() {
    XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

RESHARD_DECL void running_digest::add(std::span<std::byte const> bytes) {
    XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

RESHARD_DECL std::uint64_t running_digest::take() {
    auto* const state = static_cast<XXH3_state_t*>(state_);
    std::uint64_t const digest = XXH3_64bits_digest(state);
    XXH3_64bits_reset(state);
    return digest;
}

RESHARD_DECL std::string long_digest_text_of(std::span<std::string_view const> texts) {
    std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> const state(XXH3_createState(),
                                                                                &XXH3_freeState);
    if (!state)
        throw std::bad_alloc();
    XXH3_128bits_reset(state.get());
    for (std::string_view const text : texts)
        XXH3_128bits_update(state.get(), text.data(), text.size());
    XXH128_hash_t const digest = XXH3_128bits_digest(state.get());
    return hex_text(digest.high64) + hex_text(digest.low64);
}

RESHARD_DECL vector<std::uint64_t> digests_of(std::span<std::byte const> tensor,
                                              std::uint64_t chunk_size) {
    vector<std::uint64_t> digests;
    for (std::size_t begin = 0; begin < tensor.size(); begin += chunk_size)
        digests.push_back(digest_of_bytes(
            tensor.subspan(begin, std::min<std::size_t>(chunk_size, tensor.size() - begin))));
    return digests;
}

RESHARD_DECL std::string to_text(chunk_digests const& digests) {
    std::string text = std::to_string(digests.chunk_bytes);
    char separator = ' ';
    for (auto const& tensor : digests.tensors) {
        text += separator;
        separator = ',';
        for (std::uint64_t const digest : tensor)
            text += hex_text(digest);
    }
    return text;
}

RESHARD_DECL std::string unknown_digests(std::span<std::uint64_t const> tensor_bytes,
                                         std::uint64_t chunk_size) {
    chunk_digests unknown{chunk_size, {}};
    for (std::uint64_t const bytes : tensor_bytes)
        unknown.tensors.emplace_back(chunk_count(bytes, unknown.chunk_bytes));
    return to_text(unknown);
}

RESHARD_DECL std::uint64_t digest_reader::number(int base, std::size_t digits) {
    std::uint64_t value = 0;
    std::string_view const text = left_.substr(0, digits);
    auto const end = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (end.ec != std::errc{} || (base == 16 && end.ptr != text.data() + digits))
        refuse();
    left_.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    return value;
}

RESHARD_DECL digest_reader::digest_reader(std::string_view text, std::string_view file)
    : left_(text), file_(file), chunk_bytes_(number(10, 20)) {
    if (chunk_bytes_ == 0)
        refuse();
}

RESHARD_DECL digest_list digest_reader::next(std::uint64_t tensor_bytes) {
    if (!left_.starts_with(std::exchange(separator_, ',')))
        refuse();
    left_.remove_prefix(1);
    digest_list digests;
    for (std::uint64_t i = chunk_count(tensor_bytes, chunk_bytes_); i > 0; --i)
        digests.push_back(number(16, 16));
    return digests;
}

RESHARD_DECL void digest_reader::check_end() const {
    if (!left_.empty())
        refuse();
}

RESHARD_DECL void digest_reader::refuse() const {
    fail(errc::corrupt_file, file_, ": ", chunk_digests_name,
         " in its metadata is malformed: expected the chunk size and the digests of its tensors");
}

RESHARD_DECL chunk_digests parse_digests(std::string_view text,
                                         std::span<std::uint64_t const> tensor_bytes,
                                         std::string_view file) {
    digest_reader reader(text, file);
    chunk_digests chunk_digests{reader.chunk_bytes(), {}};
    for (std::uint64_t const bytes : tensor_bytes) {
        digest_list const digests = reader.next(bytes);
        chunk_digests.tensors.emplace_back(digests.begin(), digests.end());
    }
    reader.check_end();
    return chunk_digests;
}

RESHARD_DECL std::optional<std::string> own_digest_of(std::string_view json) {
    std::string const before = "\"" + std::string(header_digest_name) + "\":\"";
    std::string const zeros(16, '0');
    std::size_t const name = json.find(before);
    if (name == json.npos || json.size() - name < before.size() + zeros.size())
        return std::nullopt;
    std::size_t const digits = name + before.size();
    running_digest digest;
    for (std::string_view const text :
         {json.substr(0, digits), std::string_view(zeros), json.substr(digits + zeros.size())})
        digest.add(std::as_bytes(std::span(text)));
    return hex_text(digest.take());
}

RESHARD_DECL void set_metadata(std::span<char> header, std::string_view name,
                               std::string_view value) {
    std::string const before = "\"" + std::string(name) + "\":\"";
    auto const position = std::search(header.begin(), header.end(), before.begin(), before.end());
    BOOST_ASSERT(position != header.end());
    std::copy(value.begin(), value.end(), position + static_cast<std::ptrdiff_t>(before.size()));
}

RESHARD_DECL void set_own_digest(std::span<char> header) {
    std::string_view const json = std::string_view(header.data(), header.size()).substr(8);
    set_metadata(header, header_digest_name, own_digest_of(json).value());
}

} // namespace reshard::detail

#endif
