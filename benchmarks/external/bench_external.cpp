// SPDX-License-Identifier: Apache-2.0
// Kernels that are handed over as files: measures the cases of a kernel plan, --kernels=FILE.
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <warpgauge/external/external_benchmarks.hpp>
#include <warpgauge/gpu_suite.hpp>

namespace {

constexpr std::string_view kernels_flag = "--kernels=";

void register_plan(const std::string& path) {
  std::ifstream plan(path);
  if (!plan) {
    throw std::invalid_argument("cannot read --kernels=" + path);
  }
  warpgauge::register_external_benchmarks(warpgauge::read_kernel_plan(plan, path));
}

/// Takes --kernels=FILE out of the arguments and registers its cases. Throws std::invalid_argument
/// where there is none, unless help is asked for, and for a plan that cannot be read.
void register_plan_of(std::vector<char*>& arguments) {
  std::string path;
  bool help = false;
  std::erase_if(arguments, [&](std::string_view argument) {
    help = help || argument == "--help";
    if (argument.starts_with(kernels_flag)) {
      path = argument.substr(kernels_flag.size());
      return true;
    }
    return false;
  });
  if (!path.empty()) {
    register_plan(path);
  } else if (!help) {
    throw std::invalid_argument(
        "needs --kernels=PLAN, a kernel plan: scripts/bench FILE.toml writes one");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  try {
    register_plan_of(arguments);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return static_cast<int>(warpgauge::ExitStatus::bad_usage);
  }
  warpgauge::GpuSuite suite;
  return static_cast<int>(
      warpgauge::run_suite(suite, static_cast<int>(arguments.size()), arguments.data()));
}
