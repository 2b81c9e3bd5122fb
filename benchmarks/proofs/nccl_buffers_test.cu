// SPDX-License-Identifier: Apache-2.0
// The nccl benchmarks detect a wrong element on any rank, and NCCL's own results are correct.
#include <gtest/gtest.h>

#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/testing/device_required.hpp>
#include "benchmarks/nccl_buffers.hpp"

namespace warpgauge {
namespace {

constexpr std::size_t bytes = 4096;

class NcclRequired : public DeviceRequired {
 protected:
  void SetUp() override {
    DeviceRequired::SetUp();
    if (IsSkipped()) {
      return;
    }
    try {
      ranks_ = &Ranks::of_process();
    } catch (const Unsupported& reason) {
      GTEST_SKIP() << "no usable GPU: the family nccl " << reason.what();
    }
  }
  const Ranks& ranks() const { return *ranks_; }

  template <class T>
  Shape shape(Collective collective) const {
    return {collective, ranks().count(), bytes, sizeof(T)};
  }

  /// Captures one operation and launches it `times` times.
  template <class T>
  void launch(const Shape& shape, RankBuffers<T>& buffers, std::size_t slot, int times = 1) {
    const Stream stream;
    const Iteration at(stream.get(), slot);
    const auto issue = issue_of(shape, buffers, ranks().nccl(), slot);
    ranks().issue(at, issue);
    ranks().synchronize();
    buffers.renew();
    const ExecutableGraph graph(Graph::capture(stream.get(), [&] { ranks().run(at, issue); }),
                                stream.get());
    for (int i = 0; i < times; ++i) {
      graph.launch(stream.get());
    }
    stream.synchronize();
  }

 private:
  const Ranks* ranks_ = nullptr;
};

class EveryCollective : public NcclRequired, public testing::WithParamInterface<Collective> {};

TEST_P(EveryCollective, IsRightOnEveryRankWhenCapturedAndIssued) {
  const Shape it = shape<float>(GetParam());
  RankBuffers<float> buffers(ranks(), it, false, 1 << 20);
  launch(it, buffers, 3);
  EXPECT_NO_THROW(buffers.require_right(3));
  const Stream stream;
  const Iteration at(stream.get(), 2);
  ranks().issue(at, issue_of(it, buffers, ranks().nccl(), 2));
  EXPECT_NO_THROW(buffers.require_right(2));
}

TEST_P(EveryCollective, IsRightInBf16) {
  const Shape it = shape<__nv_bfloat16>(GetParam());
  RankBuffers<__nv_bfloat16> buffers(ranks(), it, false, 1 << 20);
  launch(it, buffers, 0);
  EXPECT_NO_THROW(buffers.require_right(0));
}

TEST_P(EveryCollective, IsRightInPlaceHoweverOften) {
  if (GetParam() == Collective::all_to_all) {
    return;  // not available in place
  }
  const Shape it = shape<float>(GetParam());
  RankBuffers<float> buffers(ranks(), it, true, 1 << 20);
  launch(it, buffers, 1, 3);
  EXPECT_NO_THROW(buffers.require_right(1));
}

TEST_P(EveryCollective, IsWrongBeforeItRanAndWhereOneElementOfARankIs) {
  const Shape it = shape<float>(GetParam());
  RankBuffers<float> buffers(ranks(), it, false, 1 << 20);
  EXPECT_THROW(buffers.require_right(0), WrongResult);
  launch(it, buffers, 0);
  const std::size_t last = ranks().count() - 1;
  const float other = 1000;
  const Stream stream;
  WARPGAUGE_CHECK(cudaMemcpyAsync(buffers.output(last, 0) + 5, &other, sizeof other,
                                  cudaMemcpyDefault, stream.get()));
  stream.synchronize();
  try {
    buffers.require_right(0);
    FAIL() << "a wrong element was not seen";
  } catch (const WrongResult& error) {
    const std::string found = "element 5 of rank " + std::to_string(last) + " is 1000";
    EXPECT_NE(std::string(error.what()).find(found), std::string::npos) << error.what();
  }
  buffers.renew();
  EXPECT_THROW(buffers.require_right(0), WrongResult) << "a former result was kept";
}

INSTANTIATE_TEST_SUITE_P(Nccl, EveryCollective,
                         testing::Values(Collective::all_reduce, Collective::all_gather,
                                         Collective::reduce_scatter, Collective::broadcast,
                                         Collective::all_to_all),
                         [](const auto& one) { return name_of(one.param); });

TEST_F(NcclRequired, AFailedCallSaysWhichAndWhy) {
  const Nccl& nccl = ranks().nccl();
  try {
    nccl.require(nccl.group_end(), "ncclGroupEnd");  // without ncclGroupStart
    FAIL() << "a group that did not begin ended";
  } catch (const NcclError& error) {
    EXPECT_EQ(std::string(error.what()).find("ncclGroupEnd: invalid"), 0) << error.what();
  }
}

}  // namespace
}  // namespace warpgauge
