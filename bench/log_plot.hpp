// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_LOG_PLOT_HPP
#define RESHARD_BENCH_LOG_PLOT_HPP

#include "picture/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A plot of growth, with two logarithmic axes and a line for each series.

namespace bench {

using reshard::svg_line;
using reshard::svg_number;
using reshard::svg_text;

/// Points of one line, each greater than 0.
struct plot_series {
    std::string name;
    std::vector<std::pair<double, double>> points;
};

/// Draws series as SVG.
class log_plot {
public:
    log_plot(std::string title, std::string x_name, std::string y_name)
        : title_(std::move(title)), x_name_(std::move(x_name)), y_name_(std::move(y_name)) {}

    void add(plot_series series) { all_.push_back(std::move(series)); }

    /// \throws std::runtime_error if the file cannot be written
    void write(std::string const& path) {
        fit();
        std::string body = svg_text({320, 24}, title_, "middle") +
                           svg_text({320, 390}, x_name_, "middle") + svg_text({60, 44}, y_name_);
        for (int power = x_.first; power <= x_.second; ++power)
            body += tick_below(x_at(std::pow(10, power)), power);
        for (int power = y_.first; power <= y_.second; ++power)
            body += tick_beside(y_at(std::pow(10, power)), power);
        for (std::size_t i = 0; i < all_.size(); ++i)
            body += draw(i);
        std::ofstream file(path);
        file << reshard::svg_document({title_, description(), {640, 400}}, body);
        file.close();
        if (!file)
            throw std::runtime_error("cannot write '" + path + "'");
    }

private:
    using range = std::pair<int, int>; ///< powers of ten

    static void widen(range& powers, double value) {
        powers.first = std::min(powers.first, static_cast<int>(std::floor(std::log10(value))));
        powers.second = std::max(powers.second, static_cast<int>(std::ceil(std::log10(value))));
    }

    void fit() {
        x_ = y_ = {99, -99};
        for (plot_series const& series : all_)
            for (auto const& [x, y] : series.points) {
                widen(x_, x);
                widen(y_, y);
            }
    }

    double x_at(double x) const {
        return 60 + 440 * (std::log10(x) - x_.first) / std::max(1, x_.second - x_.first);
    }
    double y_at(double y) const {
        return 350 - 290 * (std::log10(y) - y_.first) / std::max(1, y_.second - y_.first);
    }

    std::string description() const {
        std::string names;
        for (plot_series const& series : all_)
            names += (names.empty() ? "" : "; ") + series.name;
        return "Against " + x_name_ + ", both axes logarithmic: " + names + ".";
    }

    static std::string tick_below(double x, int power) {
        return svg_line({x, 60}, {x, 350}, "#ddd") +
               svg_text({x, 368}, svg_number(std::pow(10, power)), "middle");
    }
    static std::string tick_beside(double y, int power) {
        return svg_line({60, y}, {500, y}, "#ddd") +
               svg_text({54, y + 4}, svg_number(std::pow(10, power)), "end");
    }

    std::string draw(std::size_t i) const {
        static constexpr char const* colours[] = {"#1b6ca8", "#c2410c", "#3f7d20", "#7c3aed"};
        char const* const colour = colours[i % std::size(colours)];
        std::vector<reshard::svg_point> points;
        for (auto const& [x, y] : all_[i].points)
            points.push_back({x_at(x), y_at(y)});
        double const y = 70 + 18 * static_cast<double>(i);
        return reshard::svg_polyline(points, colour) +
               svg_line({512, y - 4}, {532, y - 4}, colour) + svg_text({538, y}, all_[i].name);
    }

    std::string title_, x_name_, y_name_;
    std::vector<plot_series> all_;
    range x_, y_;
};

} // namespace bench

#endif
