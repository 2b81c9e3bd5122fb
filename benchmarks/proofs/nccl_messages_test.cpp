// SPDX-License-Identifier: Apache-2.0
// Messages between ranks arrive as they were sent, and others are refused.
#include <gtest/gtest.h>

#include <array>

#include <warpgauge/testing/refusal.hpp>
#include "benchmarks/nccl/messages.hpp"

namespace warpgauge {
namespace {

TEST(NcclMessages, AWordAndItsNumbersArrive) {
  const std::string sent = message("run", {20'000'000, 1});
  const Words words(sent);
  EXPECT_TRUE(words.is("run", 2));
  EXPECT_FALSE(words.is("run", 1));
  EXPECT_FALSE(words.is("ran", 2));
  EXPECT_EQ(words.number(1, 1'000'000'000), 20'000'000U);
  EXPECT_TRUE(words.flag(2));
  EXPECT_FALSE(Words("").is("run", 0));
}

TEST(NcclMessages, WhatIsNoNumberInItsRangeIsRefused) {
  for (const char* text : {"x", "-1", "1.5", "", "11", "1x", "99999999999999999999999"}) {
    EXPECT_THROW(Words("renew " + std::string(text)).number(1, 10), std::exception) << text;
  }
  for (const char* text : {"nan", "inf", "-1", "-0.5", "11", "1e"}) {
    EXPECT_THROW(Words("ran " + std::string(text)).number<double>(1, 10), BadMessage) << text;
  }
  EXPECT_EQ(Words("ran 1.5e-3").number<double>(1, 10), 1.5e-3);
}

TEST(NcclMessages, AShapeArrivesWhateverItsBytes) {
  for (const std::size_t bytes : {8UL, 1000UL, 1UL << 30}) {
    for (const Collective which : {Collective::all_reduce, Collective::all_gather,
                                   Collective::reduce_scatter, Collective::all_to_all}) {
      for (const std::size_t element : {2UL, 4UL}) {
        const RankedShape sent{Shape(which, 3, bytes, element), 0, true, 1 << 27};
        const std::string text = operation_message(sent);
        const RankedShape got = operation_in(Words(text), 3, 2);
        EXPECT_EQ(got.shape.collective, which);
        EXPECT_EQ(got.shape.block, sent.shape.block) << text;
        EXPECT_EQ(got.shape.element_bytes, element);
        EXPECT_EQ(got.rank, 2U);
        EXPECT_TRUE(got.in_place);
        EXPECT_EQ(got.rotation_bytes, sent.rotation_bytes);
      }
    }
  }
}

TEST(NcclMessages, BytesArriveAsText) {
  using Bytes = std::array<unsigned char, 3>;
  const Bytes bytes{0, 0x7f, 0xff};
  EXPECT_EQ(hexadecimal(bytes), "007fff");
  EXPECT_EQ(bytes_in<Bytes>("007fff"), bytes);
  for (const char* text : {"007ff", "007fff0", "007ffg", "", "0x7fff"}) {
    EXPECT_THROW(bytes_in<Bytes>(text), BadMessage) << text;
  }
}

}  // namespace
}  // namespace warpgauge
