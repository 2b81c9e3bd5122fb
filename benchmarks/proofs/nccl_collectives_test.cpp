// SPDX-License-Identifier: Apache-2.0
// The results that the nccl benchmarks expect match collectives computed by hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>
#include <vector>

#include <warpgauge/cuda/device.hpp>
#include "benchmarks/nccl/collectives.hpp"
#include "benchmarks/nccl/library.hpp"

namespace warpgauge {
namespace {

using Values = std::vector<float>;

constexpr std::uint64_t seed = 7;

/// The outputs of all ranks, by NCCL's description of the collective.
std::vector<Values> done_by_hand(const Shape& shape, const std::vector<Values>& inputs,
                                 bool maximum) {
  const std::size_t block = shape.block;
  Values reduced(inputs.front().size(), 0);
  for (const Values& input : inputs) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      reduced[i] = maximum ? std::max(reduced[i], input[i]) : reduced[i] + input[i];
    }
  }
  std::vector<Values> outputs(shape.ranks);
  for (std::size_t rank = 0; rank < shape.ranks; ++rank) {
    Values& out = outputs[rank];
    const auto append = [&out, block](const Values& from, std::size_t first) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
      out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(block));
    };
    switch (shape.collective) {
      case Collective::all_reduce:
        append(reduced, 0);
        break;
      case Collective::broadcast:
        append(inputs.front(), 0);
        break;
      case Collective::reduce_scatter:
        append(reduced, rank * block);
        break;
      case Collective::all_gather:
        for (const Values& input : inputs) {
          append(input, 0);
        }
        break;
      case Collective::all_to_all:
        for (const Values& input : inputs) {
          append(input, rank * block);
        }
        break;
    }
  }
  return outputs;
}

Values input_of(const Shape& shape, std::size_t rank) {
  Values values;
  for (std::size_t i = 0; i < shape.inputs(); ++i) {
    values.push_back(input_value(seed, rank, i));
  }
  return values;
}

class Collectives : public testing::TestWithParam<std::tuple<Collective, std::size_t>> {
 protected:
  static Shape shape(std::size_t bytes) {
    return {std::get<0>(GetParam()), std::get<1>(GetParam()), bytes, sizeof(float)};
  }
};

TEST_P(Collectives, GiveWhatIsExpectedOfEveryRank) {
  for (const std::size_t bytes : {8, 4096}) {
    for (const bool maximum : {false, true}) {
      const Shape it = shape(bytes);
      std::vector<Values> inputs;
      for (std::size_t rank = 0; rank < it.ranks; ++rank) {
        inputs.push_back(input_of(it, rank));
      }
      const std::vector<Values> outputs = done_by_hand(it, inputs, maximum);
      for (std::size_t rank = 0; rank < it.ranks; ++rank) {
        ASSERT_EQ(outputs[rank].size(), it.outputs());
        for (std::size_t i = 0; i < it.outputs(); ++i) {
          ASSERT_EQ(outputs[rank][i], output_value(it, maximum, seed, rank, i))
              << "rank " << rank << ", element " << i;
        }
      }
    }
  }
}

class InPlace : public Collectives {};

TEST_P(InPlace, CanBeRepeatedWithTheSameResult) {
  const Shape it = shape(4096);
  std::vector<Values> buffers(it.ranks, Values(std::max(it.inputs(), it.outputs()), -1));
  const auto at = [](Values& buffer, std::size_t first) {
    return buffer.begin() + static_cast<std::ptrdiff_t>(first);
  };
  for (std::size_t rank = 0; rank < it.ranks; ++rank) {
    const Values input = input_of(it, rank);
    std::copy(input.begin(), input.end(), at(buffers[rank], it.input_in_place(rank)));
  }
  for (int repetition = 0; repetition < 3; ++repetition) {
    std::vector<Values> inputs;
    for (std::size_t rank = 0; rank < it.ranks; ++rank) {
      const auto begin = at(buffers[rank], it.input_in_place(rank));
      inputs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(it.inputs()));
    }
    const std::vector<Values> outputs = done_by_hand(it, inputs, true);
    for (std::size_t rank = 0; rank < it.ranks; ++rank) {
      std::copy(outputs[rank].begin(), outputs[rank].end(),
                at(buffers[rank], it.output_in_place(rank)));
      for (std::size_t i = 0; i < it.outputs(); ++i) {
        ASSERT_EQ(buffers[rank][it.output_in_place(rank) + i],
                  output_value(it, true, seed, rank, i));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfTwoToEight, Collectives,
    testing::Combine(testing::Values(Collective::all_reduce, Collective::all_gather,
                                     Collective::reduce_scatter, Collective::broadcast,
                                     Collective::all_to_all),
                     testing::Values(2, 3, 8)),
    [](const auto& one) {
      return name_of(std::get<0>(one.param)) + "_" + std::to_string(std::get<1>(one.param));
    });

// all_to_all is not available in place.
INSTANTIATE_TEST_SUITE_P(
    OfTwoToEight, InPlace,
    testing::Combine(testing::Values(Collective::all_reduce, Collective::all_gather,
                                     Collective::reduce_scatter, Collective::broadcast),
                     testing::Values(2, 3, 8)),
    [](const auto& one) {
      return name_of(std::get<0>(one.param)) + "_" + std::to_string(std::get<1>(one.param));
    });

// The factors are those of nccl-tests, doc/PERFORMANCE.md, for 8 ranks and 1 MiB.
TEST(BusBytes, AreThoseOfNcclTests) {
  constexpr std::size_t size = std::size_t{1} << 20;
  const auto bytes = [](Collective one) { return Shape(one, 8, size, sizeof(float)).bus_bytes(); };
  EXPECT_EQ(bytes(Collective::all_reduce), size * 2.0 * 7 / 8);
  EXPECT_EQ(bytes(Collective::all_gather), size * 7.0 / 8);
  EXPECT_EQ(bytes(Collective::reduce_scatter), size * 7.0 / 8);
  EXPECT_EQ(bytes(Collective::broadcast), size);
  EXPECT_EQ(bytes(Collective::all_to_all), size * 7.0 / 8);
}

TEST(RankedShape, ArrivesWhateverItsBytes) {
  for (const std::size_t bytes : {8UL, 1000UL, 1UL << 30}) {
    for (const Collective which : {Collective::all_reduce, Collective::all_gather,
                                   Collective::reduce_scatter, Collective::all_to_all}) {
      for (const std::size_t element : {2UL, 4UL}) {
        const RankedShape sent{Shape(which, 3, bytes, element), 0, true, 1 << 27};
        const RankedShape got = RankedShape::in(message_in(text_of(sent.message())), 3, 2);
        EXPECT_EQ(got.shape.collective, which);
        EXPECT_EQ(got.shape.block, sent.shape.block) << bytes;
        EXPECT_EQ(got.shape.element_bytes, element);
        EXPECT_EQ(got.rank, 2U);
        EXPECT_TRUE(got.in_place);
        EXPECT_EQ(got.rotation_bytes, sent.rotation_bytes);
      }
    }
  }
}

TEST(TheLibrary, NeverUsesMulticastAndSaysSo) {
  setenv("NCCL_NVLS_ENABLE", "1", 1);
  setenv("NCCL_ALGO", "Ring", 1);
  const std::string told = " " + Nccl::environment() + " ";
  EXPECT_NE(told.find(" NCCL_NVLS_ENABLE=0 "), std::string::npos) << told;
  EXPECT_NE(told.find(" NCCL_ALGO=Ring "), std::string::npos) << told;
  EXPECT_STREQ(std::getenv("NCCL_NVLS_ENABLE"), "0");
  unsetenv("NCCL_ALGO");
}

TEST(TheLibrary, IsUsableOrTheReasonIsASentence) {
  if (!Nccl::version().empty()) {
    EXPECT_EQ(Nccl::version().front(), '2');
    EXPECT_NE(Nccl::loaded().all_reduce, nullptr);
    return;
  }
  try {
    static_cast<void>(Nccl::loaded());
    FAIL() << "a library without a version was loaded";
  } catch (const Unsupported& reason) {
    EXPECT_NE(std::string(reason.what()).find("libnccl.so.2"), std::string::npos);
  }
}

}  // namespace
}  // namespace warpgauge
