// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_LOG_PLOT_HPP
#define RESHARD_BENCH_LOG_PLOT_HPP

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A picture of how something grows: both axes logarithmic, a line a series.

namespace bench {

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

    /// \throws std::runtime_error when the file cannot be written
    void write(std::string const& path) {
        fit();
        std::ofstream file(path);
        file << R"(<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400" )"
             << R"(font-family="sans-serif" font-size="12">)" << '\n'
             << R"(<rect width="640" height="400" fill="white"/>)" << '\n';
        text(file, 320, 24, title_, "middle");
        text(file, 320, 390, x_name_, "middle");
        text(file, 60, 44, y_name_, "start");
        for (int power = x_.first; power <= x_.second; ++power)
            tick(file, x_at(std::pow(10, power)), 350, power, true);
        for (int power = y_.first; power <= y_.second; ++power)
            tick(file, 60, y_at(std::pow(10, power)), power, false);
        for (std::size_t i = 0; i < all_.size(); ++i)
            draw(file, i);
        file << "</svg>\n";
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
        for (plot_series const& one : all_)
            for (auto const& [x, y] : one.points) {
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

    static std::string number(double value) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.6g", value);
        return digits;
    }

    static void text(std::ofstream& file, double x, double y, std::string const& words,
                     char const* anchor) {
        file << "<text x=\"" << number(x) << "\" y=\"" << number(y) << "\" text-anchor=\"" << anchor
             << "\">" << words << "</text>\n";
    }

    static void line(std::ofstream& file, std::pair<double, double> from,
                     std::pair<double, double> to, char const* colour) {
        file << "<line x1=\"" << number(from.first) << "\" y1=\"" << number(from.second)
             << "\" x2=\"" << number(to.first) << "\" y2=\"" << number(to.second) << "\" stroke=\""
             << colour << "\"/>\n";
    }

    static void tick(std::ofstream& file, double x, double y, int power, bool is_below) {
        std::string const label = number(std::pow(10, power));
        if (is_below) {
            line(file, {x, 60}, {x, 350}, "#ddd");
            text(file, x, 368, label, "middle");
        } else {
            line(file, {60, y}, {500, y}, "#ddd");
            text(file, 54, y + 4, label, "end");
        }
    }

    void draw(std::ofstream& file, std::size_t i) const {
        static constexpr char const* colours[] = {"#1b6ca8", "#c2410c", "#3f7d20", "#7c3aed"};
        char const* const colour = colours[i % std::size(colours)];
        file << "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" << colour << "\" points=\"";
        for (auto const& [x, y] : all_[i].points)
            file << number(x_at(x)) << ',' << number(y_at(y)) << ' ';
        file << "\"/>\n";
        double const y = 70 + 18 * static_cast<double>(i);
        line(file, {512, y - 4}, {532, y - 4}, colour);
        text(file, 538, y, all_[i].name, "start");
    }

    std::string title_, x_name_, y_name_;
    std::vector<plot_series> all_;
    range x_, y_;
};

} // namespace bench

#endif
