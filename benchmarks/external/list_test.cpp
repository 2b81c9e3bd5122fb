// SPDX-License-Identifier: Apache-2.0
// What bench_external says of a plan before it touches a GPU or opens a file of it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

struct Ended {
  int status = -1;
  std::string output;  ///< with its errors
};

Ended run(const std::string& arguments) {
  const std::string command = WARPGAUGE_BENCH_EXTERNAL " " + arguments + " 2>&1";
  Ended ended;
  std::FILE* const pipe = popen(command.c_str(), "r");
  for (int read = std::fgetc(pipe); read != EOF; read = std::fgetc(pipe)) {
    ended.output += static_cast<char>(read);
  }
  ended.status = WEXITSTATUS(pclose(pipe));
  return ended;
}

std::string plan_of(const std::string& cases) {
  const std::string path = testing::TempDir() + "warpgauge_external_list_test.plan";
  std::ofstream(path) << "warpgauge-kernels 1\n" << cases;
  return path;
}

std::string named(const std::string& name) {
  return "case " + name +
         "\nbuffer output y f32 1\nkernel\nimage cubin /nowhere/k.cubin\nsymbol s\ngrid 1 1 1\n"
         "block 1 1 1\nargument buffer y\nverify y npy /nowhere/y.npy 128 0 0\n";
}

TEST(BenchExternal, ListsNamesOfAnyCharacters) {
  const std::string names[] = {"external/scale/f32/n:4096", "external/größe 2 \"a\\b\"/x:1",
                               "external/%s%n/manual_time", "external/$HOME;#[]{}()*?|&<>'`~^!"};
  std::string cases;
  std::string listed;
  for (const std::string& name : names) {
    cases += named(name);
    listed += name + "\n";
  }
  const Ended ended = run("--kernels=" + plan_of(cases) + " --benchmark_list_tests");
  EXPECT_EQ(ended.output, listed);
  EXPECT_EQ(ended.status, 0);
}

TEST(BenchExternal, ListsTenThousandCases) {
  std::string cases;
  for (int i = 0; i < 10'000; ++i) {
    cases += named("external/kernel/f32/n:" + std::to_string(i));
  }
  const std::string plan = plan_of(cases);
  const Ended ended = run("--kernels=" + plan + " --benchmark_list_tests");
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 10'000);
}

TEST(BenchExternal, RefusesInOneSentenceWhatIsNoPlan) {
  const auto refusal = [](const std::string& arguments) {
    const Ended ended = run(arguments + " --benchmark_list_tests");
    EXPECT_EQ(ended.status, 2) << ended.output;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
    return ended.output;
  };
  EXPECT_NE(refusal("").find("needs --kernels=PLAN"), std::string::npos);
  EXPECT_NE(refusal("--kernels=").find("needs --kernels=PLAN"), std::string::npos);
  EXPECT_NE(refusal("--kernels=/nowhere").find("cannot read --kernels=/nowhere"),
            std::string::npos);
  EXPECT_NE(refusal("--kernels=/tmp").find("the plan has no case"), std::string::npos);
  const std::string same = refusal("--kernels=" + plan_of(named("a") + named("a")));
  EXPECT_NE(same.find("two benchmarks are named a"), std::string::npos) << same;
  const std::string wrong = refusal("--kernels=" + plan_of(named("a") + "grid 0\n"));
  EXPECT_NE(wrong.find(".plan:11: the line ends too early"), std::string::npos) << wrong;
}

TEST(BenchExternal, ShowsItsHelpWithoutAPlan) {
  const Ended ended = run("--help");
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.output.find("--driven"), std::string::npos) << ended.output;
}

}  // namespace
