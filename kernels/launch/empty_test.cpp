// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch/probes.hpp"

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

class EmptyTest : public DeviceTest {};

TEST_F(EmptyTest, LaunchesEverySize) {
  for (const std::size_t bytes : empty_argument_bytes) {
    SCOPED_TRACE(bytes);
    launch_empty(bytes, stream());
    synchronize();
    capture_and_replay(stream(), [&] { launch_empty(bytes, stream()); });
  }
}

TEST_F(EmptyTest, IsOneKernelOfOneWarp) {
  for (const std::size_t bytes : empty_argument_bytes) {
    SCOPED_TRACE(bytes);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_NO_THROW(launch_empty(bytes, stream()));
    ASSERT_EQ(cudaStreamEndCapture(stream(), &graph), cudaSuccess);
    std::size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 1U);
    nodes = 1;
    cudaGraphNode_t node = nullptr;
    cudaKernelNodeParams parameters{};
    EXPECT_EQ(cudaGraphGetNodes(graph, &node, &nodes), cudaSuccess);
    EXPECT_EQ(cudaGraphKernelNodeGetParams(node, &parameters), cudaSuccess);
    EXPECT_EQ(parameters.gridDim.x * parameters.gridDim.y * parameters.gridDim.z, 1U);
    EXPECT_EQ(parameters.blockDim.x, 32U);
    EXPECT_EQ(parameters.blockDim.y * parameters.blockDim.z, 1U);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
}

}  // namespace
}  // namespace warpgauge::kernels
