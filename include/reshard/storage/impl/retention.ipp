// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_RETENTION_IPP
#define RESHARD_STORAGE_IMPL_RETENTION_IPP

#include <reshard/storage/retention.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/atomic_replace.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace reshard::detail {

/// Refuses rules that are invalid, or that compare a number that no checkpoint has.
inline void check_rules_of(retention const& rules, vector<listed_save> const& saves) {
    for (auto const& [name, number] :
         {std::pair("last", rules.last), std::pair("best", rules.best)})
        if (number && *number < 0)
            fail(errc::usage, "retention::", name, " is ", *number, "; give 0 or more");
    if (rules.best.has_value() == rules.by.empty())
        fail(errc::usage, rules.by.empty()
                              ? "retention::best needs retention::by, the name of a number"
                              : "retention::by, '" + rules.by +
                                    "', needs retention::best, the number of checkpoints to keep");
    if (!rules.best)
        return;
    std::set<std::string> known_names;
    bool is_complete = false;
    for (listed_save const& save : saves) {
        is_complete = is_complete || save.state == completeness::complete;
        for (auto const& [name, value] : save.record.facts.numbers)
            known_names.insert(name);
    }
    std::string names;
    for (std::string const& name : known_names)
        names += (names.empty() ? "'" : ", '") + name + "'";
    if (is_complete && !known_names.contains(rules.by))
        fail(errc::usage, "no checkpoint has the number '", rules.by, "'; ",
             names.empty() ? "the checkpoints have no numbers" : "their numbers are " + names);
}

/// Judges saves, rule by rule. The reason comes from the first rule that keeps a save.
class retention_judge {
public:
    retention_judge(vector<listed_save> const& saves, retention const& rules)
        : saves_(saves), rules_(rules), newest_(newest_first(saves)), verdicts_(saves.size()) {}

    vector<retention_verdict> take() {
        for (std::size_t i = 0; i < saves_.size(); ++i)
            judge_alone(i);
        keep_last();
        keep_best();
        keep_newest();
        keep_needed();
        return std::move(verdicts_);
    }

private:
    void keep(std::size_t i, std::string why) {
        if (!verdicts_[i].goes)
            return;
        verdicts_[i] = {false, std::move(why)};
    }

    bool is_being_replaced(listed_save const& save) const {
        return std::any_of(saves_.begin(), saves_.end(), [&](listed_save const& listed_save) {
            return listed_save.state == completeness::in_progress &&
                   listed_save.target == save.name;
        });
    }

    void judge_alone(std::size_t i) {
        listed_save const& save = saves_[i];
        switch (save.state) {
        case completeness::leftover:
            verdicts_[i] = {true, "a writer of '" + save.target + "' died and left it"};
            return;
        case completeness::in_progress:
            verdicts_[i] = {false, "a save of '" + save.target + "' is in progress"};
            return;
        case completeness::foreign:
            verdicts_[i] = {false,
                            "reshard did not write it: it has no " + std::string(save_record_name)};
            return;
        case completeness::damaged: verdicts_[i] = {false, "not complete: " + save.problem}; return;
        default: break;
        }
        verdicts_[i] = {true, "no rule keeps it"};
        if (save.is_pinned)
            keep(i, "it is pinned");
        else if (save.is_in_use)
            keep(i, "a save in progress is a delta of it");
        else if (!save.stranger.empty())
            keep(i, "it has '" + save.stranger +
                        "', which is not part of the save and would be lost; move it away");
        else if (is_being_replaced(save))
            keep(i, "a save of it is in progress");
        else if (!rules_.last && !rules_.best)
            keep(i, "no rule was given");
    }

    void keep_last() {
        auto const count = static_cast<std::size_t>(rules_.last.value_or(0));
        for (std::size_t i = 0; i < std::min(count, newest_.size()); ++i)
            keep(newest_[i], "one of the last " + std::to_string(count));
    }

    void keep_best() {
        if (!rules_.best)
            return;
        vector<std::pair<double, std::size_t>> numbers; // lower is better
        for (std::size_t const i : newest_) {
            auto const& match = saves_[i].record.facts.numbers;
            auto const number = match.find(rules_.by);
            if (number != match.end() && std::isfinite(number->second))
                numbers.emplace_back(rules_.highest ? -number->second : number->second, i);
        }
        std::stable_sort(numbers.begin(), numbers.end(),
                         [](auto const& a, auto const& b) { return a.first < b.first; });
        auto const count = static_cast<std::size_t>(*rules_.best);
        for (std::size_t i = 0; i < std::min(count, numbers.size()); ++i)
            keep(numbers[i].second,
                 "one of the best " + std::to_string(count) + " by '" + rules_.by + "'");
    }

    void keep_newest() {
        if (newest_.empty())
            return;
        bool const is_saving = std::any_of(saves_.begin(), saves_.end(), [](auto const& save) {
            return save.state == completeness::in_progress;
        });
        bool const is_one_kept = std::any_of(newest_.begin(), newest_.end(),
                                             [&](std::size_t i) { return !verdicts_[i].goes; });
        if (is_saving)
            keep(newest_.front(), "the newest, which the save in progress may need");
        else if (!is_one_kept)
            keep(newest_.front(), "the newest; one complete checkpoint always stays");
    }

    void keep_needed() {
        std::map<std::string_view, vector<std::size_t>> by_id;
        for (std::size_t const i : newest_)
            by_id[saves_[i].record.save].push_back(i);
        vector<std::size_t> to_visit;
        for (std::size_t i = 0; i < saves_.size(); ++i)
            if (!verdicts_[i].goes)
                to_visit.push_back(i);
        while (!to_visit.empty()) {
            listed_save const& save = saves_[to_visit.back()];
            to_visit.pop_back();
            for (std::string const& id : save.record.facts.needs)
                for (std::size_t const i : by_id[id])
                    if (verdicts_[i].goes) {
                        keep(i, "'" + save.name + "' needs it");
                        to_visit.push_back(i);
                    }
        }
    }

    vector<listed_save> const& saves_;
    retention const& rules_;
    vector<std::size_t> newest_; ///< the complete saves, the newest first
    vector<retention_verdict> verdicts_;
};

RESHARD_DECL vector<retention_verdict> judge(vector<listed_save> const& saves,
                                             retention const& rules) {
    check_rules_of(rules, saves);
    return retention_judge(saves, rules).take();
}

inline std::string_view name_of(completeness state) {
    switch (state) {
    case completeness::complete: return "complete";
    case completeness::damaged: return "damaged";
    case completeness::in_progress: return "in progress";
    case completeness::leftover: return "leftover";
    default: return "foreign";
    }
}

/// Deletes a directory with a temporary name. Deletes the record first: if the process dies, the
/// remaining files are not a checkpoint.
inline void delete_temporary(std::filesystem::path const& temporary) {
    std::error_code problem;
    std::filesystem::remove(temporary / save_record_name, problem);
    if (!problem)
        std::filesystem::remove_all(temporary, problem);
    if (problem)
        fail_io(temporary, "cannot be deleted", problem.value());
}

RESHARD_DECL void delete_save(std::filesystem::path const& directory, listed_save const& save) {
    std::filesystem::path const path = directory / save.name;
    std::filesystem::path temporary = path;
    temporary.replace_filename(temporary_name(path));
    file_descriptor const descriptor = file_descriptor::open(path.string(), O_RDONLY | O_DIRECTORY);
    descriptor.try_share();
    if (int const problem = try_rename(path, temporary))
        fail_io(path, "cannot be deleted", problem);
    std::filesystem::path const record = temporary / save_record_name;
    auto const problem = attempt([&] {
        save_record const now = read_save_record(*files_of_system(), record);
        if (now.save != save.record.save || now.facts.completed != save.record.facts.completed)
            fail(errc::already_exists, path.string(),
                 ": was replaced after it was checked, so it is not deleted");
        sync_directory(directory);
    });
    if (problem) {
        try_rename(temporary, path);
        throw error(*problem);
    }
    delete_temporary(temporary);
}

/// Deletes the saves with the verdict `goes`, each before the saves that it needs.
inline void delete_all(std::filesystem::path const& directory, vector<listed_save> const& saves,
                       vector<retention_verdict> const& verdicts) {
    vector<std::size_t> going;
    for (std::size_t i = 0; i < saves.size(); ++i)
        if (verdicts[i].goes && saves[i].state == completeness::complete)
            going.push_back(i);
        else if (verdicts[i].goes) {
            finish_replacement(directory / saves[i].target);
            remove_stale_files(directory / saves[i].target);
        }
    auto const is_needed = [&](std::size_t i, std::size_t by) {
        auto const& needs = saves[by].record.facts.needs;
        return by != i &&
               std::find(needs.begin(), needs.end(), saves[i].record.save) != needs.end();
    };
    while (!going.empty()) {
        auto next = std::find_if(going.begin(), going.end(), [&](std::size_t i) {
            return std::none_of(going.begin(), going.end(),
                                [&](std::size_t by) { return is_needed(i, by); });
        });
        if (next == going.end()) // a cycle, which this library does not write
            next = going.begin();
        delete_save(directory, saves[*next]);
        going.erase(next);
    }
}

/// Locks the saves with the verdict `goes`, so that no process can begin a delta of them.
class locked_saves {
public:
    locked_saves(std::filesystem::path const& directory, vector<listed_save> const& saves,
                 vector<retention_verdict> const& verdicts) {
        for (std::size_t i = 0; i < saves.size(); ++i)
            if (verdicts[i].goes && saves[i].state == completeness::complete)
                lock(directory, saves[i].name);
    }

    /// Judges saves again. A save that could not be locked stays, since a delta of it is in
    /// progress.
    vector<retention_verdict> judge_again(vector<listed_save>& saves, retention const& rules) {
        for (;;) {
            std::size_t const before = in_use_.size();
            for (listed_save& save : saves)
                save.is_in_use = in_use_.contains(save.name);
            auto verdicts = judge(saves, rules);
            for (std::size_t i = 0; i < saves.size(); ++i)
                if (verdicts[i].goes && saves[i].state == completeness::complete &&
                    !locks_.contains(saves[i].name))
                    in_use_.insert(saves[i].name); // not locked: the first verdict kept it
            if (in_use_.size() == before)
                return verdicts;
        }
    }

private:
    void lock(std::filesystem::path const& directory, std::string const& name) {
        file_descriptor opened =
            file_descriptor::open((directory / name).string(), O_RDONLY | O_DIRECTORY);
        if (opened.try_lock() || errno != EWOULDBLOCK)
            locks_.emplace(name, std::move(opened));
        else
            in_use_.insert(name);
    }

    std::map<std::string, file_descriptor> locks_;
    std::set<std::string> in_use_;
};

RESHARD_DECL vector<retained_save> retain_here(std::filesystem::path const& directory,
                                               retention const& rules, bool do_delete) {
    auto saves = saves_in(directory);
    locked_saves locked(directory, saves, judge(saves, rules));
    if (do_delete)
        saves = saves_in(directory); // a delta that was in progress may be complete by now
    auto const verdicts = locked.judge_again(saves, rules);
    if (do_delete)
        delete_all(directory, saves, verdicts);
    vector<retained_save> report;
    for (std::size_t i = 0; i < saves.size(); ++i)
        report.push_back({saves[i].name, verdicts[i].goes, verdicts[i].why,
                          std::string(name_of(saves[i].state)), saves[i].record.save,
                          saves[i].bytes, saves[i].record.facts.completed, saves[i].is_pinned});
    return report;
}

} // namespace reshard::detail

#endif
