// SPDX-License-Identifier: Apache-2.0
// The messages between rank 0 and the other ranks, as text: a word, and numbers behind it.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/nccl/collectives.hpp"

namespace warpgauge {

/// A message that has no meaning.
class BadMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `word` and `numbers`, with spaces between.
inline std::string message(std::string word, const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t number : numbers) {
    word.append(1, ' ').append(std::to_string(number));
  }
  return word;
}

/// The words of a message; all but the first can be read as numbers.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {
    while (!text.empty()) {
      const std::size_t space = text.find(' ');
      words_.push_back(text.substr(0, space));
      text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    }
  }

  /// Whether the message is this word with so many others behind it.
  bool is(std::string_view word, std::size_t behind) const {
    return words_.size() == behind + 1 && words_.front() == word;
  }

  std::string_view text(std::size_t i) const { return words_.at(i); }

  /// Throws BadMessage unless the word is a number from 0 to `most`.
  template <class Number = std::uint64_t>
  Number number(std::size_t i, Number most) const {
    Number value{};
    const std::string_view word = words_.at(i);
    const auto [stopped, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (fault != std::errc() || stopped != word.data() + word.size() || word.starts_with('-') ||
        !(value <= most)) {
      throw BadMessage("'" + std::string(text_) + "' has no meaning here");
    }
    return value;
  }
  bool flag(std::size_t i) const { return number<unsigned>(i, 1) == 1; }

 private:
  std::string_view text_;
  std::vector<std::string_view> words_;
};

/// A collective of which a process is one rank.
struct RankedShape {
  Shape shape;
  std::size_t rank = 0;
  bool in_place = false;
  std::size_t rotation_bytes = 0;  ///< that the buffers' slots cover together
};

/// To the other ranks; each is told its rank when it joins.
inline std::string operation_message(const RankedShape& of) {
  return message("operation", {static_cast<std::uint64_t>(of.shape.collective), of.shape.bytes(),
                               of.shape.element_bytes, of.in_place ? 1U : 0U, of.rotation_bytes});
}
inline RankedShape operation_in(const Words& words, std::size_t ranks, std::size_t rank) {
  constexpr std::size_t most_bytes = std::size_t{1} << 40;
  const auto which = words.number<std::uint64_t>(1, 4);
  const Shape shape(static_cast<Collective>(which), ranks, words.number(2, most_bytes),
                    words.number<std::size_t>(3, 4) == sizeof(float) ? 4 : 2);
  return {shape, rank, words.flag(4), words.number(5, most_bytes)};
}

/// Bytes as text and back. Throws BadMessage.
template <class Bytes>
std::string hexadecimal(const Bytes& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += {digits[byte / 16], digits[byte % 16]};
  }
  return text;
}
template <class Bytes>
Bytes bytes_in(std::string_view text) {
  Bytes bytes{};
  bool right = text.size() == 2 * bytes.size();
  for (std::size_t i = 0; right && i < bytes.size(); ++i) {
    const char* const from = text.data() + 2 * i;
    right = std::from_chars(from, from + 2, bytes[i], 16).ptr == from + 2;
  }
  if (!right) {
    throw BadMessage("'" + std::string(text) + "' is not " + std::to_string(bytes.size()) +
                     " bytes");
  }
  return bytes;
}

}  // namespace warpgauge
