// SPDX-License-Identifier: Apache-2.0
#include <warpgauge/core/for_types.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include <warpgauge/core/registration.hpp>

namespace warpgauge {
namespace {

struct Nothing {};

constexpr int begins = __LINE__ + 1;
const auto sized = for_types<char, int, double>([]<class T>(std::type_identity<T>) {
  return Registration<Nothing>{"sized/" + std::to_string(sizeof(T)), {}, [](Nothing&) {}};
});
constexpr int ends = __LINE__ - 1;

TEST(ForTypes, RegistersOneOfEachTypeInOrder) {
  std::vector<std::string> names;
  for (const auto& definition : Registration<Nothing>::all()) {
    names.push_back(definition.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"sized/1", "sized/4", "sized/8"}));
  EXPECT_EQ(sized.size(), 3U);
}

TEST(ForTypes, TheirLineIsThatOfTheRegistration) {
  for (const auto& definition : Registration<Nothing>::all()) {
    EXPECT_GE(definition.source_line, begins);
    EXPECT_LE(definition.source_line, ends);
  }
}

}  // namespace
}  // namespace warpgauge
