// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_TIE_FLAGS_IPP
#define RESHARD_FORMAT_IMPL_TIE_FLAGS_IPP

#include <reshard/format/hf_index.hpp>

#include <reshard/format/json_events.hpp>

#include <algorithm>
#include <iterator>

namespace reshard::detail {

/// Records the flags `tie_word_embeddings` in the objects of the model and of its text part.
class tie_flag_handler {
public:
    explicit tie_flag_handler(std::string_view text) : text_(text) {}

    bool object_begin() { return begin(counts_.empty() || (counts_.back() && is_text_part(key_))); }
    bool object_end() { return end(); }
    bool array_begin() { return begin(false); }
    bool array_end() { return end(); }

    bool key(std::string_view name) {
        key_ = name;
        char const* const end = text_.data() + text_.size();
        bool const is_within = text_.data() <= name.data() && name.data() + name.size() < end;
        behind_key_ = is_within ? std::find(name.data() + name.size(), end, ':') : end;
        return true;
    }

    bool string(std::string_view) { return true; }
    bool number(std::string_view, json_number) { return true; }

    bool literal(std::string_view text) {
        auto const remainder = text_.substr(static_cast<std::size_t>(behind_key_ - text_.data()));
        std::size_t const index = remainder.find(text);
        if (text != "null" && key_ == "tie_word_embeddings" && counts_.back() &&
            index != remainder.npos)
            flags_.push_back({text_.size() - remainder.size() + index, text == "true"});
        return true;
    }

    std::string refusal() const { return {}; }
    vector<tie_flag> take() { return std::move(flags_); }

private:
    static bool is_text_part(std::string_view key) {
        constexpr std::string_view known_names[] = {
            "text_config",          "decoder",         "generator",
            "llm_config",           "language_config", "thinker_config",
            "language_model_config"};
        return std::ranges::find(known_names, key) != std::end(known_names);
    }

    bool begin(bool counts) {
        counts_.push_back(counts);
        key_.clear();
        return true;
    }

    bool end() {
        counts_.pop_back();
        key_.clear();
        return true;
    }

    std::string_view text_;
    vector<bool> counts_; ///< for each enclosing object or array, whether its flags count
    std::string key_;
    char const* behind_key_ = text_.data() + text_.size();
    vector<tie_flag> flags_;
};

RESHARD_DECL vector<tie_flag> tie_flags_in(std::string_view config) {
    constexpr std::size_t max_depth = 64;
    tie_flag_handler handler(config);
    return send_json_events(config, handler, max_depth) ? vector<tie_flag>() : handler.take();
}

} // namespace reshard::detail

#endif
