// SPDX-License-Identifier: Apache-2.0
// What a fake benchmark program is told, by its command line and in <program>.told, which
// fake_binary.py writes; and JSON.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fake {

using Fields = std::vector<std::string>;

inline std::string me;
inline std::map<std::string, std::string> flags;
inline std::vector<std::string> injections;              // the value of each --inject
inline std::map<std::string, std::vector<Fields>> told;  // what follows each first field

[[noreturn]] inline void leave(int status, const std::string& words = "") {
  if (!words.empty())
    std::fprintf(stderr, "%s\n", words.c_str());
  std::fflush(stdout);
  _exit(status);
}

// The file under measurement stays as a crash leaves it: its buffer is lost.
inline void die(int signal) {
  kill(getpid(), signal);
}

inline bool given(const std::string& flag) {
  return flags.count(flag) != 0;
}

inline std::string value_of(const std::string& flag) {
  return given(flag) ? flags[flag] : "";
}

inline bool begins(const std::string& text, const std::string& with) {
  return text.rfind(with, 0) == 0;
}

inline bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

// Lines of fields between tabs, in which a backslash escapes a newline, a tab and itself.
inline void read_told() {
  std::ifstream file(me + ".told");
  for (std::string line; std::getline(file, line);) {
    Fields fields(1);
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\t') {
        fields.emplace_back();
        continue;
      }
      const bool escaped = line[i] == '\\';
      const char next = escaped ? line[++i] : line[i];
      fields.back() += !escaped ? next : next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
    }
    told[fields[0]].emplace_back(fields.begin() + 1, fields.end());
  }
}

// What is told under `kind` of `key`.
inline std::string told_of(const std::string& kind, const std::string& key,
                           const std::string& otherwise = "") {
  for (const Fields& one : told[kind]) {
    if (one[0] == key)
      return one[1];
  }
  return otherwise;
}

// Like Google Benchmark it leaves other control characters as they are.
inline std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  }
  return out + '"';
}

inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// A JSON object; a key that comes again replaces its value.
struct Object {
  std::vector<std::pair<std::string, std::string>> members;

  void set(const std::string& key, const std::string& json) {
    for (auto& [ours, value] : members) {
      if (ours == key) {
        value = json;
        return;
      }
    }
    members.emplace_back(key, json);
  }

  std::string value(const std::string& key) const {
    for (const auto& [ours, json] : members) {
      if (ours == key)
        return json;
    }
    return "";
  }

  std::string text(const std::string& indent) const {
    std::string out = "{";
    for (const auto& [key, value] : members) {
      out += (out.size() > 1 ? ",\n" : "\n") + indent + quote(key) + ": " + value;
    }
    return out + "\n" + indent.substr(2) + "}";
  }
};

}  // namespace fake
