// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_RATIO_PLOT_HPP
#define RESHARD_BENCH_RATIO_PLOT_HPP

#include "measurement.hpp"

#include "picture/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

/// \file
/// A plot that compares methods with the bound: a group of bars for each case, warm beside cold.

namespace bench {

/// Draws the measurements of one run as SVG.
class ratio_plot {
public:
    explicit ratio_plot(std::vector<measurement> const& measurements) : all_(measurements) {
        for (measurement const& measurement : measurements) {
            note(cases_, measurement.case_name);
            if (measurement.method != "B0" && does_anything(measurement.method))
                note(methods_, measurement.method);
            note(panels_, measurement.warm ? "warm" : "cold");
        }
    }

    /// \throws std::runtime_error if the file cannot be written
    void write(std::string const& path) const {
        std::string const title =
            "Redistribution on " + std::to_string(all_.empty() ? 0 : all_[0].ranks) + " ranks";
        std::string body =
            svg_text({10, 22}, title + ": time of the bound over time of the method");
        for (std::size_t i = 0; i < methods_.size(); ++i)
            body += legend(i);
        for (std::size_t i = 0; i < panels_.size(); ++i)
            body += panel(i);
        for (std::size_t i = 0; i < cases_.size(); ++i)
            body += svg_text({left - 8, case_at(i) + group() / 2}, cases_[i], "end");
        std::ofstream file(path);
        file << reshard::svg_document({title, description(), {width(), bottom() + 30}}, body);
        file.close();
        if (!file)
            throw std::runtime_error("cannot write '" + path + "'");
    }

private:
    using words = std::vector<std::string>;

    static constexpr double left = 96, top = 90, bar = 7, panel_width = 300, panel_gap = 40;
    static constexpr double most = 1.2; ///< longer bars are cut to this ratio

    static void note(words& list, std::string const& word) {
        if (std::find(list.begin(), list.end(), word) == list.end())
            list.push_back(word);
    }

    bool does_anything(std::string const& method) const {
        return std::any_of(all_.begin(), all_.end(), [&](measurement const& measurement) {
            return measurement.method == method && measurement.refusal.empty();
        });
    }

    double group() const { return bar * static_cast<double>(methods_.size()) + 8; }
    double case_at(std::size_t i) const { return top + group() * static_cast<double>(i); }
    double bottom() const { return case_at(cases_.size()); }
    double panel_at(std::size_t i) const {
        return left + (panel_width + panel_gap) * static_cast<double>(i);
    }
    double width() const {
        return std::max(panel_at(panels_.size()), 10 + 125 * static_cast<double>(methods_.size()));
    }

    static double length(double ratio) { return panel_width * std::min(ratio, most) / most; }

    char const* colour(std::size_t method) const {
        static constexpr char const* peers[] = {"#9ca3af", "#6b7280", "#c4a484", "#d8b4e2",
                                                "#b5cda3"};
        static constexpr char const* ours[] = {"#1b6ca8", "#c2410c", "#3f7d20", "#7c3aed"};
        std::string const& name = methods_[method];
        bool const is_peer = name.size() == 2 && name[0] == 'B';
        return is_peer ? peers[static_cast<std::size_t>(name[1] - '1') % std::size(peers)]
                       : ours[method % std::size(ours)];
    }

    /// A description of a method, for readers who have not read the documentation.
    static std::string full_name(std::string const& method) {
        static constexpr char const* peers[] = {"MPI_Alltoallw", "pack by hand", "ScaLAPACK",
                                                "PetscSF", "FFTW"};
        bool const is_peer = method.size() == 2 && method[0] == 'B';
        return is_peer ? method + " " + peers[static_cast<std::size_t>(method[1] - '1')] : method;
    }

    std::string legend(std::size_t method) const {
        double const x = 10 + 125 * static_cast<double>(method);
        return reshard::svg_box({x, 36}, {12, 12}, colour(method)) +
               svg_text({x + 17, 46}, full_name(methods_[method]));
    }

    static std::string svg_text(reshard::svg_point at, std::string_view text,
                                std::string_view anchor = "start") {
        return reshard::svg_text(at, text, anchor);
    }

    std::string panel(std::size_t number) const {
        double const x = panel_at(number);
        std::string text = svg_text({x, top - 24}, panels_[number]);
        for (double const tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
            double const at = x + length(tick);
            text += reshard::svg_line({at, top - 4}, {at, bottom()}, tick < 1 ? "#ddd" : "#111");
            text += svg_text({at, bottom() + 16}, reshard::svg_number(tick), "middle");
        }
        text += svg_text({x + length(1), top - 8}, "B0, memcpy", "middle");
        for (measurement const& measurement : all_)
            if (measurement.refusal.empty() && measurement.method != "B0" &&
                (measurement.warm ? "warm" : "cold") == panels_[number])
                text += bar_of(measurement, x);
        return text;
    }

    static std::size_t place(words const& list, std::string const& word) {
        return static_cast<std::size_t>(std::find(list.begin(), list.end(), word) - list.begin());
    }

    std::string bar_of(measurement const& measurement, double x) const {
        std::size_t const method = place(methods_, measurement.method);
        double const y =
            case_at(place(cases_, measurement.case_name)) + bar * static_cast<double>(method);
        std::string const ratio = reshard::svg_number(std::round(measurement.ratio() * 100) / 100);
        std::string text =
            reshard::svg_box({x, y}, {length(measurement.ratio()), bar - 1}, colour(method),
                             measurement.case_name + ", " + measurement.method + ": " + ratio);
        if (measurement.ratio() > most)
            text += svg_text({x + length(most) + 2, y + bar}, ratio);
        return text;
    }

    std::string description() const {
        std::string text = "Bars by case and method; the bound is 1.";
        for (measurement const& measurement : all_)
            if (measurement.refusal.empty() && measurement.method != "B0")
                text += " " + measurement.case_name + (measurement.warm ? " warm " : " cold ") +
                        measurement.method + " " +
                        reshard::svg_number(std::round(measurement.ratio() * 100) / 100) + ";";
        return text;
    }

    std::vector<measurement> const& all_;
    words cases_, methods_, panels_;
};

} // namespace bench

#endif
