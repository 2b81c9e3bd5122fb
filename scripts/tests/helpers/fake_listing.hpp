// SPDX-License-Identifier: Apache-2.0
// The benchmarks that a fake program has, by what it is told, and what it says of itself.
#pragma once

#include <regex.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fake_program.hpp"

namespace fake {

inline bool matches(const std::string& pattern, const std::string& text) {
  static std::map<std::string, regex_t> compiled;
  const auto [found, is_new] = compiled.try_emplace(pattern);
  if (is_new && regcomp(&found->second, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    leave(1, me + ": no regular expression: " + pattern);
  }
  return regexec(&found->second, text.c_str(), 0, nullptr, 0) == 0;
}

// As --rename=FROM=TO has it: each benchmark's own name follows as a further field.
inline std::vector<Fields> renamed(std::vector<Fields> benchmarks) {
  const std::string rename = value_of("rename");
  const std::size_t equals = std::min(rename.rfind('='), rename.size());
  const std::string from = rename.substr(0, equals);
  bool found = !given("rename");
  for (Fields& one : benchmarks) {
    one.push_back(one[0]);
    if (given("rename") && (one[0] == from || begins(one[0], from + "/"))) {
      one[0] = rename.substr(equals + 1) + one[0].substr(from.size());
      found = true;
    }
  }
  if (!found)
    leave(2, me + ": --rename: no benchmark is named '" + from + "'");
  return benchmarks;
}

// All benchmarks; with --axis=NAME=V1,V2,... those that have this axis, once with each value.
inline std::vector<Fields> everything() {
  const std::string axis = value_of("axis");
  const std::size_t equals = std::min(axis.find('='), axis.size());
  const std::string part = "/" + axis.substr(0, equals) + ":";
  std::vector<Fields> made;
  std::map<std::string, bool> known;
  for (const Fields& one : told["benchmark"]) {
    const std::size_t at = axis.empty() ? std::string::npos : one[0].find(part);
    if (at == std::string::npos) {
      made.push_back(one);
      continue;
    }
    const std::size_t behind = std::min(one[0].find('/', at + 1), one[0].size());
    for (std::size_t from = equals; from < axis.size();) {
      const std::size_t to = std::min(axis.find(',', from + 1), axis.size());
      Fields other = one;
      other[0] = one[0].substr(0, at) + part + axis.substr(from + 1, to - from - 1) +
                 one[0].substr(behind);
      if (!std::exchange(known[other[0]], true))
        made.push_back(other);
      from = to;
    }
  }
  if (!axis.empty() && known.empty())
    leave(2, me + ": --axis: no benchmark has the axis");
  return renamed(std::move(made));
}

// Refuses options that a program of its kind does not know.
inline void check_options() {
  const bool is_plain = !told["plain"].empty();
  const bool is_old = !told["old"].empty();
  const auto require = [&](const std::string& flag, bool known) {
    if (given(flag) && !known)
      leave(is_plain ? 1 : 2, me + ": unknown argument '--" + flag + "'; see --help");
  };
  require("describe", !is_plain && !is_old);
  require("driven", !is_plain && !is_old);
  require("suite", !is_plain);
  require("no-ceilings", !is_plain);
  require("energy", !is_plain);
  require("shuffle", is_old);
}

// What the program says of itself: the benchmarks of both suites.
inline std::string description() {
  std::string benchmarks;
  for (const Fields& one : everything()) {
    Object made;
    made.set("name", quote(one[0]));
    made.set("family", quote(one[0].substr(0, one[0].find('/'))));
    made.set("suite", quote(one[2] == "full" ? "full" : "default"));
    benchmarks += (benchmarks.empty() ? "" : ", ") + made.text("  ");
  }
  Object made;
  made.set("warpgauge", quote("0.1.0"));
  made.set("protocol", told["protocol"].empty() ? "1" : told["protocol"][0][0]);
  made.set("benchmarks", "[" + benchmarks + "]");
  return made.text("  ");
}

inline std::vector<Fields> chosen() {
  const std::string filter = value_of("benchmark_filter");
  const bool negated = begins(filter, "-");
  std::vector<Fields> left;
  for (const Fields& one : everything()) {
    const bool wanted = one[2] != "full" || value_of("suite") == "full";
    if (wanted && matches(filter.substr(negated ? 1 : 0), one[0]) != negated)
      left.push_back(one);
  }
  return left;
}

// Of bench_external: the cases of its plan; a microsecond each, where nothing else is told.
inline void read_plan() {
  if (!given("kernels"))
    leave(2, me + ": needs --kernels=PLAN");
  std::map<std::string, std::string> times;
  for (const Fields& one : told["benchmark"])
    times[one[0]] = one[1];
  told["benchmark"].clear();
  std::ifstream plan(value_of("kernels"));
  for (std::string line; std::getline(plan, line);) {
    if (begins(line, "case ")) {
      const std::string name = line.substr(5);
      told["benchmark"].push_back({name, times.count(name) ? times[name] : "1000", ""});
    }
  }
}

}  // namespace fake
