// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "file_sums.hpp"

#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <boost/algorithm/hex.hpp>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <system_error>

namespace tool {

using namespace reshard;

namespace {

constexpr char sums_name[] = "integrity.json";

/// A file, and its recorded sum.
struct file_sum {
    std::string file, sum;
    std::filesystem::path path;
    index_t bytes = 0; ///< present size; 0 if the file is missing
};

/// Throws if OpenSSL refuses a step, for example because SHA-256 is not allowed.
void check_done(int result) {
    if (result != 1)
        fail(errc::unsupported, "OpenSSL cannot compute SHA-256 sums here");
}

/// The SHA-256 of a file; empty if it is missing.
std::string sum_of(std::filesystem::path const& path, detail::progress_count& count) {
    std::error_code problem;
    auto const status = std::filesystem::status(path, problem);
    if (status.type() == std::filesystem::file_type::not_found)
        return {};
    if (!std::filesystem::is_regular_file(status))
        fail(errc::corrupt_file, path.string(),
             ": is listed with a sum, but is not a regular "
             "file");
    std::ifstream file(path, std::ios::binary);
    if (!file)
        fail(errc::io, path.string(), ": cannot be opened");
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> const context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    check_done(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr));
    reshard::vector<char> buffer(1u << 20);
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
           file.gcount() > 0) {
        auto const bytes = static_cast<std::size_t>(file.gcount());
        check_done(EVP_DigestUpdate(context.get(), buffer.data(), bytes));
        count.add(bytes);
    }
    if (file.bad())
        fail(errc::io, path.string(), ": cannot be read to its end");
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned size = 0;
    check_done(EVP_DigestFinal_ex(context.get(), sum.data(), &size));
    std::string text;
    boost::algorithm::hex_lower(sum.begin(), sum.begin() + size, std::back_inserter(text));
    return text;
}

bool is_sum(std::string_view text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_name(std::string_view text) {
    return !text.empty() && text != "." && text != ".." && text.find('/') == text.npos;
}

/// Reads the sums that a file lists.
reshard::vector<file_sum> read_sums(std::filesystem::path const& path) {
    std::string const name = path.string();
    auto const document =
        detail::parse_json(detail::read_text_file(path), name, errc::corrupt_file);
    detail::json_cursor const root(document, name, errc::corrupt_file);
    if (auto const algorithm = root.find("algorithm"); algorithm && algorithm->text() != "sha256")
        algorithm->refuse("only sha256 sums are compared, not '" + algorithm->text() + "'");
    reshard::vector<file_sum> sums;
    for (auto const& [file, sum] : root.at("files").members()) {
        if (!is_name(file))
            sum.refuse("is not the name of a file in this directory");
        if (!is_sum(sum.text()))
            sum.refuse("expected a SHA-256 sum of 64 hexadecimal digits");
        std::error_code missing;
        auto const bytes = std::filesystem::file_size(path.parent_path() / file, missing);
        sums.push_back({file, sum.text(), path.parent_path() / file,
                        missing ? 0 : static_cast<index_t>(bytes)});
    }
    return sums;
}

/// Compares every `size`-th file, from the `rank`-th on, and returns those that differ.
reshard::vector<changed_file> changed_among(reshard::vector<file_sum> const& sums,
                                            processes const& world,
                                            detail::progress_function const& tell) {
    auto const step = static_cast<std::size_t>(world.size());
    index_t bytes = 0;
    for (auto i = static_cast<std::size_t>(world.rank()); i < sums.size(); i += step)
        bytes += sums[i].bytes;
    detail::progress_count count(tell, bytes);
    reshard::vector<changed_file> changed;
    for (auto i = static_cast<std::size_t>(world.rank()); i < sums.size(); i += step) {
        std::string const sum = sum_of(sums[i].path, count);
        if (sum != sums[i].sum)
            changed.push_back({sums[i].file, sums[i].bytes, sums[i].sum, sum});
    }
    return changed;
}

} // namespace

std::optional<compared_files> compare_with_sums(processes const& world,
                                                std::filesystem::path const& directory,
                                                progress_when progress) {
    reshard::vector<file_sum> sums;
    bool has_sums = false;
    reshard::vector<changed_file> files;
    agree_on(world, [&] {
        std::error_code ignored;
        has_sums = std::filesystem::is_regular_file(directory / sums_name, ignored);
        if (!has_sums)
            return;
        sums = read_sums(directory / sums_name);
        progress_bar bar(world.rank() == 0, progress);
        files = changed_among(sums, world, std::ref(bar));
    });
    auto const of_ranks = detail::gather_values(world, files);
    if (!has_sums)
        return std::nullopt;
    compared_files result;
    for (file_sum const& sum : sums) {
        result.bytes += sum.bytes;
        result.with_sums.push_back(sum.file);
    }
    for (auto const& changed : of_ranks)
        result.changed.insert(result.changed.end(), changed.begin(), changed.end());
    std::ranges::sort(result.changed, {}, &changed_file::file);
    return result;
}

} // namespace tool
