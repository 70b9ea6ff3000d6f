// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/vector.hpp>
#include <reshard/format/layout_file.hpp> // includes this file too

#ifndef RESHARD_FORMAT_IMPL_RANK_FILE_NAMES_IPP
#define RESHARD_FORMAT_IMPL_RANK_FILE_NAMES_IPP

#include <reshard/core/error.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// \file
/// Finds the rank of each file by its name.

namespace reshard::detail {

/// A pattern of file names that have a rank's coordinates, such as `mp_rank_{tp:02}.pt`.
///
/// `{rank}` and the name of a mesh axis are placeholders for numbers; `{tp:02}` is padded with
/// zeros to 2 digits. `*` matches any text without `/`. `{key}` matches any text: the key of the
/// file's only tensor, with dots for `/`.
class file_pattern {
public:
    /// \throws error with errc::bad_layout for an unknown placeholder, or for a mesh axis without a
    ///         placeholder
    file_pattern(std::string const& text, mesh const& ranks) : ranks_(ranks) {
        for (std::size_t at = 0; at < text.size();)
            at = text[at] == '{' ? add_placeholder(text, at) : add_text(text, at);
        check_axes();
    }

    struct file_match {
        std::map<std::string, index_t> numbers;
        std::string key;
    };

    std::optional<file_match> match(std::string_view name) const {
        file_match result;
        return match_from(0, name, result) ? std::optional(std::move(result)) : std::nullopt;
    }

    /// The name of a rank's file, in which `*` and `{key}` are not replaced.
    std::string name_of(holder_t rank) const {
        index_vector const coordinates = ranks_.coordinates_of(rank);
        std::string name;
        for (step const& next : steps_)
            name += next.type == kind::number ? digits_of(next, rank, coordinates)
                    : next.type == kind::key  ? "{key}"
                                              : next.text;
        return name;
    }

    /// The number of directories between the checkpoint's directory and the files.
    std::size_t depth() const {
        constexpr std::size_t deepest = 64;
        std::size_t slashes = 0;
        for (step const& next : steps_) {
            if (next.type == kind::key)
                return deepest;
            slashes += static_cast<std::size_t>(std::ranges::count(next.text, '/'));
        }
        return slashes;
    }

private:
    enum class kind { text, number, key, any };

    struct step {
        kind type = kind::text;
        std::string text{};    ///< the text, or the placeholder of a number
        std::size_t width = 0; ///< the minimum number of digits
    };

    std::size_t add_text(std::string const& text, std::size_t begin) {
        if (text[begin] == '*') {
            add_wildcard({kind::any, "*"});
            return begin + 1;
        }
        std::size_t const end = std::min(text.find_first_of("{*", begin), text.size());
        steps_.push_back({kind::text, text.substr(begin, end - begin)});
        return end;
    }

    std::size_t add_placeholder(std::string const& text, std::size_t begin) {
        std::size_t const end = text.find('}', begin);
        if (end == text.npos)
            fail(errc::bad_layout, "'", text, "' has a { without }");
        std::string const inside = text.substr(begin + 1, end - begin - 1);
        if (inside == "key") {
            add_wildcard({kind::key});
            return end + 1;
        }
        std::size_t const colon = std::min(inside.find(':'), inside.size());
        step number{kind::number, inside.substr(0, colon), width_of(inside, colon)};
        if (number.text != "rank")
            static_cast<void>(ranks_.axis(number.text));
        steps_.push_back(std::move(number));
        return end + 1;
    }

    static std::size_t width_of(std::string const& inside, std::size_t colon) {
        if (colon == inside.size())
            return 0;
        bool const is_width = inside.size() == colon + 3 && inside[colon + 1] == '0' &&
                              inside[colon + 2] >= '1' && inside[colon + 2] <= '9';
        if (!is_width)
            fail(errc::bad_layout, "'{", inside,
                 "}': write the number of digits as in {rank:02}, from 01 to 09");
        return static_cast<std::size_t>(inside[colon + 2] - '0');
    }

    void add_wildcard(step wildcard) {
        constexpr std::ptrdiff_t most = 4;
        if (std::ranges::count_if(steps_, is_wildcard) == most)
            fail(errc::bad_layout, "a file name may have at most ", most,
                 " wildcards (* or {key})");
        steps_.push_back(std::move(wildcard));
    }

    static bool is_wildcard(step const& next) {
        return next.type == kind::any || next.type == kind::key;
    }

    bool names(std::string_view placeholder) const {
        return std::ranges::any_of(steps_, [&](step const& next) {
            return next.type == kind::number && next.text == placeholder;
        });
    }

    void check_axes() const {
        for (mesh_axis const& axis : ranks_.axes())
            if (axis.extent > 1 && !names("rank") && !names(axis.name()))
                fail(errc::bad_layout, "the file names have no {", axis.name(),
                     "}; add it or {rank}, or omit mesh axis '", axis.name(), "'");
    }

    std::string digits_of(step const& number, holder_t rank,
                          index_vector const& coordinates) const {
        index_t const value =
            number.text == "rank" ? index_t{rank} : coordinates[ranks_.axis(number.text)];
        std::string const digits = std::to_string(value);
        return std::string(number.width - std::min(number.width, digits.size()), '0') + digits;
    }

    bool match_from(std::size_t index, std::string_view remainder, file_match& result) const {
        if (index == steps_.size())
            return remainder.empty();
        step const& next = steps_[index];
        switch (next.type) {
        case kind::text:
            return remainder.starts_with(next.text) &&
                   match_from(index + 1, remainder.substr(next.text.size()), result);
        case kind::number: return match_number(index, remainder, result);
        default: return match_wildcard(index, remainder, result);
        }
    }

    bool match_number(std::size_t index, std::string_view remainder, file_match& result) const {
        step const& next = steps_[index];
        std::size_t const most =
            std::min(remainder.find_first_not_of("0123456789"), remainder.size());
        for (std::size_t length = most; length > 0; --length) {
            bool const has_zeros = remainder.front() == '0' && length > 1;
            if (length < next.width || (length > next.width && has_zeros))
                continue;
            index_t value = 0;
            if (std::from_chars(remainder.data(), remainder.data() + length, value).ec !=
                std::errc())
                continue;
            auto const [match, is_new] = result.numbers.emplace(next.text, value);
            if (match->second == value && match_from(index + 1, remainder.substr(length), result))
                return true;
            if (is_new)
                result.numbers.erase(match);
        }
        return false;
    }

    bool match_wildcard(std::size_t index, std::string_view remainder, file_match& result) const {
        bool const is_key = steps_[index].type == kind::key;
        std::string const before = result.key;
        for (std::size_t length = is_key ? 1 : 0; length <= remainder.size(); ++length) {
            if (!is_key && length > 0 && remainder[length - 1] == '/')
                break;
            if (is_key) {
                std::string name(remainder.substr(0, length));
                std::ranges::replace(name, '/', '.');
                result.key = before.empty() ? name : before + "." + name;
            }
            if (match_from(index + 1, remainder.substr(length), result))
                return true;
        }
        result.key = before;
        return false;
    }

    mesh ranks_;
    vector<step> steps_;
};

/// A file of a rank.
struct rank_file {
    holder_t rank = 0;
    std::filesystem::path path;
    std::string key; ///< the key of its only tensor; empty: the file has the keys
};

/// Lists the files in a directory and in its subdirectories.
class file_lister {
public:
    file_lister(file_store const& files, std::size_t depth) : files_(files), depth_(depth) {}

    /// The names of the files, relative to the directory. A link to a directory that contains the
    /// link is not followed.
    ///
    /// \throws error with errc::limit_exceeded for too many directories, which usually means
    ///         that links form a cycle
    vector<std::string> list(std::filesystem::path const& directory) {
        add(directory, {});
        return std::move(names_);
    }

private:
    static constexpr std::size_t most_directories = 1 << 16;

    void add(std::filesystem::path const& directory, std::string const& prefix) {
        std::error_code ignored; // on error, the store is not the file system
        auto real = std::filesystem::weakly_canonical(directory, ignored);
        if (std::ranges::find(above_, real) != above_.end())
            return;
        if (++directories_ > most_directories)
            fail(errc::limit_exceeded, directory.string(), ": more than ", most_directories,
                 " directories are listed; do links form a cycle?");
        above_.push_back(std::move(real));
        for (std::filesystem::path const& path : files_.list(directory)) {
            std::string const name = prefix + path.filename().string();
            auto const kind = files_.find(path);
            if (kind == file_store::kind::file)
                names_.push_back(name);
            else if (kind == file_store::kind::directory && above_.size() <= depth_)
                add(path, name + "/");
        }
        above_.pop_back();
    }

    file_store const& files_;
    std::size_t depth_;
    std::size_t directories_ = 0;
    vector<std::filesystem::path> above_; ///< resolved paths of the directories being listed
    vector<std::string> names_;
};

/// The files of ranks in a directory. Each rank of the mesh must have a file, and no other rank may
/// have a file.
class rank_directory {
public:
    rank_directory(std::filesystem::path path, rank_files const& description)
        : path_(std::move(path)),
          description_(description),
          pattern_(description.pattern, description.rules.ranks) {}

    vector<rank_file> find(file_store const& files) const {
        if (files.find(path_) != file_store::kind::directory)
            fail(
                files.find(path_) == file_store::kind::nothing ? errc::missing_file : errc::usage,
                path_.string(), ": ", description_.rules.file,
                " describes files in a directory, but this is not a directory; give the directory");
        vector<std::string> const names = file_lister(files, pattern_.depth()).list(path_);
        vector<rank_file> rank_files;
        for (std::string const& name : names)
            if (auto const match = pattern_.match(name))
                rank_files.push_back({rank_of(*match, name), path_ / name, match->key});
        std::ranges::stable_sort(rank_files, {}, &rank_file::rank);
        check_complete(rank_files);
        return rank_files;
    }

private:
    mesh const& ranks() const { return description_.rules.ranks; }

    [[noreturn]] void refuse_number(std::string const& name, std::string_view placeholder,
                                    index_t number, index_t count) const {
        fail(errc::corrupt_file, (path_ / name).string(), ": this is the file of ", placeholder,
             " ", number, ", but ", description_.rules.file, " has ", count,
             count == 1 ? " rank" : " ranks", " there (numbers from 0 to ", count - 1,
             "); correct its mesh, or move the file away");
    }

    holder_t rank_of(file_pattern::file_match const& match, std::string const& name) const {
        index_vector coordinates = ranks().coordinates_of(0);
        auto const rank = match.numbers.find("rank");
        if (rank != match.numbers.end()) {
            if (rank->second >= index_t{ranks().rank_count()})
                refuse_number(name, "rank", rank->second, ranks().rank_count());
            coordinates = ranks().coordinates_of(static_cast<holder_t>(rank->second));
        }
        for (std::size_t axis = 0; axis < ranks().ndim(); ++axis) {
            mesh_axis const& of_mesh = ranks().all_axes[axis];
            auto const number = match.numbers.find(std::string(of_mesh.name()));
            if (number == match.numbers.end())
                continue;
            bool const differs = rank != match.numbers.end() && coordinates[axis] != number->second;
            if (number->second >= of_mesh.extent || differs)
                refuse_number(name, of_mesh.name(), number->second, of_mesh.extent);
            coordinates[axis] = number->second;
        }
        return ranks().rank_at(coordinates);
    }

    void check_complete(vector<rank_file> const& files) const {
        for (holder_t rank = 0; rank < ranks().rank_count(); ++rank)
            if (!std::ranges::binary_search(files, rank, {}, &rank_file::rank))
                fail(errc::missing_file, (path_ / pattern_.name_of(rank)).string(),
                     ": no such file, but ", description_.rules.file, " expects it from rank ",
                     rank, " (mesh ", ranks(), ")");
    }

    std::filesystem::path path_;
    rank_files const& description_;
    file_pattern pattern_;
};

} // namespace reshard::detail

#endif
