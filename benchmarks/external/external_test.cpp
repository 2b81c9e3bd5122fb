// SPDX-License-Identifier: Apache-2.0
// A plan of every kind of image and of every fault, measured by bench_external in one process: what
// is right is measured, and of the rest each row says what is wrong.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <warpgauge/cuda/device.hpp>
#include <warpgauge/cuda/elements.hpp>
#include <warpgauge/testing/under_sanitizer.hpp>

namespace warpgauge {
namespace {

constexpr std::size_t count = 4096;

std::string written(const std::string& name, const std::string& contents) {
  const std::string path = testing::TempDir() + "warpgauge_external_test_" + name;
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

/// A file of floats behind a header of 128 bytes, as a .npy has it.
std::string floats(const std::string& name, float factor, std::size_t elements = count) {
  std::string contents(128, '#');
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = factor * static_cast<float>(i % 97);
    contents.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return written(name, contents);
}

std::string image(const std::string& suffix) {
  return WARPGAUGE_TEST_KERNELS "." + suffix;
}

std::string cubin_of(const Device& device) {
  std::string digits = device.compute_capability;
  std::erase(digits, '.');
  const std::string exact = image("sm_" + digits + ".cubin");
  return std::ifstream(exact) ? exact
                              : image("sm_" + std::to_string(device.compute_major) + "0.cubin");
}

/// The lines of one kernel.
struct Kernel {
  std::string image;
  std::string symbol;
  std::vector<std::string> arguments{"buffer x", "buffer y"};
  std::string grid = "16 1 1";
  std::string block = "256 1 1";
  std::string more{};  ///< lines

  std::string text() const {
    std::string lines = "kernel\nimage " + image + "\nsymbol " + symbol + "\ngrid " + grid +
                        "\nblock " + block + "\n" + more;
    for (const std::string& argument : arguments) {
      lines += "argument " + argument + "\n";
    }
    return lines;
  }
};

struct Case {
  std::string name;
  std::string expected;  ///< in its error; empty: it is measured
  std::string text;
};

class Plan {
 public:
  explicit Plan(Device device) : device_(std::move(device)) {}

  Kernel scale(const std::string& from) const {
    return {from, "scale", {"buffer x", "buffer y", "value i32 4096"}};
  }
  Kernel reference() const {
    return {cubin(), "scale_reference", {"buffer y", "buffer x", "value i64 4096"}};
  }
  std::string cubin() const { return "cubin " + cubin_of(device_); }

  void add(const std::string& name, const Kernel& kernel, const std::string& error = "") {
    add(name, kernel.text() + "verify y reference 1e-06 0\n" + reference().text(), error);
  }
  void add(const std::string& name, const std::string& lines, const std::string& error,
           const std::string& buffers = "buffer input x f32 4096\nbuffer output y f32 4096\n") {
    cases_.push_back(
        {"external/" + name, error, "case external/" + name + "\nbytes 32768\n" + buffers + lines});
  }

  const std::vector<Case>& cases() const { return cases_; }

 private:
  Device device_;
  std::vector<Case> cases_;
};

void add_images(Plan& plan) {
  plan.add("cubin/f32/n:4096", plan.scale(plan.cubin()));
  plan.add("fatbin/f32/n:4096", plan.scale("fatbin " + image("fatbin")));
  plan.add("ptx/f32/n:4096", plan.scale("ptx " + image("ptx")));
  const std::string source = written("scale.cu", R"(
template <class T, int factor> __global__ void scale(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(factor) * x[i];
}
template <class T> __global__ void copy(const T* x, T* y) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
}
)");
  Kernel scale = plan.scale("source " + source);
  scale.symbol = "scale<float, TWO>";
  scale.more = "option -DTWO=2\noption -std=c++17\n";
  plan.add("source/\"größe\" f32/n:4096", scale);
  const std::pair<const char*, const char*> types[] = {
      {"f32", "float"},          {"f64", "double"},
      {"f16", "unsigned short"}, {"bf16", "unsigned short"},
      {"e4m3", "unsigned char"}, {"e5m2", "unsigned char"},
      {"i64", "long long"},      {"i32", "int"},
      {"u32", "unsigned"},       {"i8", "signed char"},
      {"u8", "unsigned char"}};
  for (const auto& [type, in_source] : types) {
    const Kernel copy{"source " + source, std::string("copy<") + in_source + ">"};
    const std::string lines = copy.text() + "verify y reference 0 0\n" + copy.text();
    plan.add(std::string("copy/") + type, lines, "",
             std::string("buffer input x ") + type + " 4096\nbuffer output y " + type + " 4096\n");
  }
}

void add_launches(Plan& plan, bool has_clusters) {
  plan.add("staged/f32/shared:65536", Kernel{plan.cubin(),
                                             "scale_staged",
                                             {"buffer x", "buffer y", "value u32 65536"},
                                             "16 1 1",
                                             "256 1 1",
                                             "shared 65536\n"});
  const std::string unsupported = has_clusters ? "" : "need compute capability 9.0";
  plan.add("cluster/f32/blocks:2",
           Kernel{plan.cubin(),
                  "scale_by_cluster",
                  {"buffer x", "buffer y", "null"},
                  "16 1 1",
                  "256 1 1",
                  "cluster 2 1 1\n"},
           unsupported);
  plan.add("behind/f32/n:4096",
           Kernel{plan.cubin(),
                  "scale_behind",
                  {"buffer x", "buffer y"},
                  "16 1 1",
                  "256 1 1",
                  "programmatic\n"},
           unsupported);
  if (has_clusters) {
    plan.add("cluster/grid",
             Kernel{plan.cubin(),
                    "scale_by_cluster",
                    {"buffer x", "buffer y", "null"},
                    "15 1 1",
                    "256 1 1",
                    "cluster 2 1 1\n"},
             "the grid 15x1x1 is not a whole number of clusters of 2x1x1");
    plan.add("cluster/blocks",
             Kernel{plan.cubin(),
                    "scale_by_cluster",
                    {"buffer x", "buffer y", "null"},
                    "64 1 1",
                    "64 1 1",
                    "cluster 64 1 1\n"},
             "this GPU runs no cluster of 64 such blocks");
  }
}

void add_files(Plan& plan) {
  const auto buffers = [](const std::string& values) {
    return "buffer input x f32 4096 " + values + " 128\nbuffer output y f32 4096\n";
  };
  const std::string x = floats("x 1.npy", 1);
  const std::string lines = plan.scale(plan.cubin()).text() + "verify y npy ";
  const std::string right = lines + floats("y.npy", 2) + " 128 0 0\n";
  plan.add("npy/f32/n:4096", right, "", buffers(x));
  plan.add("npy/wrong", lines + floats("y3.npy", 3) + " 128 0 0\n", "output[1] is 2, expected 3",
           buffers(x));
  plan.add("npy/nan", lines + floats("nan.npy", NAN) + " 128 1 1\n",
           "nan.npy expects NaN at element 0, which nothing equals", buffers(x));
  const Kernel nan{"source " + written("nan.cu",
                                       "__global__ void gives_nan(const float* x, float* y) "
                                       "{ y[blockIdx.x * 256 + threadIdx.x] = "
                                       "__int_as_float(-1); }\n"),
                   "gives_nan"};
  plan.add("reference/nan", nan.text() + "verify y reference 1 1\n" + nan.text(),
           "output[0] is nan, expected nan (which nothing equals)");
  plan.add("npy/short", right, "has not the 4096 elements of 4 bytes",
           buffers(floats("x_short.npy", 1, count - 1)));
  plan.add("npy/missing", right, "cannot read /nowhere/x.npy", buffers("/nowhere/x.npy"));
}

/// Buffers that are read and written, buffers whose contents nobody reads afterwards, and values
/// that a kernel cannot do without.
void add_roles(Plan& plan) {
  const std::string source = "source " + written("roles.cu", R"(
#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void twice(float* x) { x[I] *= 2; }
__global__ void thrice(float* x) { x[I] *= 3; }
__global__ void square(const long long* x, long long* y) { y[I] = x[I] * x[I]; }
__global__ void count(const unsigned char* x, unsigned* bins) { atomicAdd(bins + x[I], 1u); }
__global__ void count_alone(const unsigned char* x, unsigned* bins) {
  for (int i = 0; i < 4096; ++i) ++bins[x[i]];
}
__global__ void reverse_blocks(const float* x, float* y, float* tmp) {
  tmp[I] = x[I];
  __syncthreads();
  y[I] = tmp[blockIdx.x * blockDim.x + blockDim.x - 1 - threadIdx.x];
}
__global__ void reverse_directly(const float* x, float* y) {
  y[I] = x[blockIdx.x * blockDim.x + blockDim.x - 1 - threadIdx.x];
}
__global__ void use_what_is_left(const float* x, float* y, const float* tmp) {
  y[I] = tmp[I] == tmp[I] ? x[I] : 0;
}
)");
  const auto kernel = [&](const std::string& symbol, const std::vector<std::string>& arguments) {
    return Kernel{source, symbol, arguments};
  };
  const std::string in_place = "buffer in_place x f32 4096";
  const std::string twice = kernel("twice", {"buffer x"}).text();
  const std::string thrice = kernel("thrice", {"buffer x"}).text();
  plan.add("in_place/f32", twice + "verify x reference 0 0\n" + twice, "", in_place + "\n");
  plan.add("in_place/wrong", twice + "verify x reference 0 0\n" + thrice, "wrong result",
           in_place + "\n");
  plan.add("in_place/normal", twice + "verify x reference 0 0\n" + twice, "",
           in_place + " normal 1 0.5\n");
  plan.add("npy/f32/in_place", twice + "verify x npy " + floats("y.npy", 2) + " 128 0 0\n", "",
           in_place + " " + floats("x 1.npy", 1) + " 128\n");
  Kernel alone = kernel("count_alone", {"buffer x", "buffer bins"});
  alone.grid = alone.block = "1 1 1";
  plan.add("in_place/histogram",
           kernel("count", {"buffer x", "buffer bins"}).text() + "verify bins reference 0 0\n" +
               alone.text(),
           "", "buffer input x u8 4096 uniform 0 255\nbuffer in_place bins u32 256 constant 0\n");

  const std::vector<std::string> with_scratch{"buffer x", "buffer y", "buffer tmp"};
  const std::string reversed =
      kernel("reverse_blocks", with_scratch).text() + "verify y reference 0 0\n";
  const std::string buffers =
      "buffer input x f32 4096\nbuffer output y f32 4096\nbuffer scratch tmp f32 4096\n";
  plan.add("scratch/f32", reversed + kernel("reverse_directly", {"buffer x", "buffer y"}).text(),
           "", buffers);
  plan.add("scratch/reference", reversed + kernel("reverse_blocks", with_scratch).text(), "",
           buffers);
  plan.add("scratch/left",
           kernel("use_what_is_left", with_scratch).text() + "verify y reference 0 0\n" +
               kernel("reverse_directly", {"buffer x", "buffer y"}).text(),
           "output[0] is 0", buffers);

  const std::string square = kernel("square", {"buffer x", "buffer y"}).text();
  plan.add("square/i64", square + "verify y reference 0 0\n" + square, "",
           "buffer input x i64 4096 uniform -1000000 1000000\nbuffer output y i64 4096\n");
}

void add_broken_images(Plan& plan, const Device& device) {
  const std::string other = device.compute_major == 8 ? "90" : "80";
  plan.add("image/architecture", plan.scale("cubin " + image("sm_" + other + ".cubin")),
           "it is built for sm_" + other + ", and this GPU is sm_");
  plan.add("image/missing", plan.scale("cubin /nowhere/k.cubin"), "cannot read /nowhere/k.cubin");
  plan.add("image/kind", plan.scale("cubin " + image("ptx")), "is not a cubin");
  std::ostringstream ptx;
  ptx << std::ifstream(image("ptx")).rdbuf();
  plan.add("image/ptx", plan.scale("ptx " + written("broken.ptx", ptx.str() + "nonsense\n")),
           "the driver does not compile it: ptxas");
  plan.add("image/source",
           plan.scale("source " + written("broken.cu", "__global__ void scale() { x; }\n")),
           "broken.cu(1): error: identifier \"x\" is undefined");
  Kernel symbol = plan.scale(plan.cubin());
  symbol.symbol = "scales";
  plan.add("image/symbol", symbol, "scales of test_kernels.sm_");
  plan.add("image/reference",
           plan.scale(plan.cubin()).text() + "verify y reference 0 0\n" + symbol.text(),
           "the binary has no kernel of this name: it has ");
}

void add_broken_launches(Plan& plan) {
  const auto scale = [&](const std::vector<std::string>& arguments) {
    Kernel kernel = plan.scale(plan.cubin());
    kernel.arguments = arguments;
    return kernel;
  };
  plan.add("arguments/count", scale({"buffer x", "buffer y"}),
           "the kernel has 3 parameters, and 2 arguments are given");
  plan.add("arguments/size", scale({"buffer x", "buffer y", "value i64 4096"}),
           "arguments[2], value i64 4096, has 8 bytes, and the kernel's parameter 4 bytes");
  const auto launched = [&](const std::string& grid, const std::string& block,
                            const std::string& more = "") {
    return Kernel{plan.cubin(), "scale_bounded", {"buffer x", "buffer y"}, grid, block, more};
  };
  plan.add("launch/bounds", launched("16 1 1", "256 1 1"),
           "has 256 threads; the kernel's registers or launch bounds allow 128");
  plan.add("launch/grid", launched("1 65536 1", "128 1 1"),
           "the grid is 1x65536x1; this GPU allows");
  plan.add("launch/no_grid", launched("0 1 1", "128 1 1"), "the grid is 0x1x1; this GPU allows");
  plan.add("launch/block", launched("16 1 1", "1 1 65"), "the block is 1x1x65; this GPU allows");
  plan.add("launch/shared", launched("32 1 1", "128 1 1", "shared 1048576\n"),
           "1048576 bytes of dynamic shared memory");
  plan.add("result/wrong", Kernel{plan.cubin(), "triple"}, "wrong result: output[0] is ");
  plan.add("result/unverified", Kernel{plan.cubin(), "triple"}.text(), "has no check");
  plan.add("result/unwritten", launched("31 1 1", "128 1 1"), "128 of 4096 elements differ");
}

/// The row of a case in Google Benchmark's file, as text; its name is escaped there.
std::string row_of(const std::string& file, std::string name) {
  for (std::size_t at = name.find('"'); at != std::string::npos; at = name.find('"', at + 2)) {
    name.insert(at, "\\");
  }
  const std::size_t row = file.find("\"name\": \"" + name + "\"");
  return row == std::string::npos ? "" : file.substr(row, file.find("\"name\": ", row + 1) - row);
}

TEST(BenchExternal, MeasuresWhatIsRightAndSaysOfTheRestWhatIsWrong) {
  Device device;
  try {
    device = find_device(0);
  } catch (const NoDevice& error) {
    GTEST_SKIP() << "no usable GPU: " << error.what();
  }
  if (under_sanitizer()) {
    GTEST_SKIP() << "a sanitizer finds the faults that it makes";
  }
  Plan plan(device);
  add_images(plan);
  add_launches(plan, device.compute_major >= 9);
  add_files(plan);
  add_roles(plan);
  add_broken_images(plan, device);
  add_broken_launches(plan);
  plan.add("last/f32/n:4096", plan.scale(plan.cubin()));
  std::string text = "warpgauge-kernels 1\n";
  for (const Case& one : plan.cases()) {
    text += one.text;
  }
  const std::string out = testing::TempDir() + "warpgauge_external_test.json";
  const std::string command = WARPGAUGE_BENCH_EXTERNAL " '--kernels=" + written("plan", text) +
                              "' '--benchmark_out=" + out + "'";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  std::ostringstream file;
  file << std::ifstream(out).rdbuf();
  for (const Case& one : plan.cases()) {
    const std::string row = row_of(file.str(), one.name);
    ASSERT_NE(row, "") << one.name;
    if (one.expected.empty()) {
      EXPECT_EQ(row.find("error_"), std::string::npos) << row;
      EXPECT_NE(row.find("\"bytes_per_second\""), std::string::npos) << row;
    } else {
      std::string expected = one.expected;  // as JSON has it
      for (std::size_t at = expected.find('"'); at != std::string::npos;
           at = expected.find('"', at + 2)) {
        expected.insert(at, "\\");
      }
      EXPECT_NE(row.find(expected), std::string::npos) << row << "\nhas not " << one.expected;
    }
    const bool fixed = one.name.find("/npy/f32") != std::string::npos;
    EXPECT_EQ(row.find("\"fixed_inputs\"") != std::string::npos, fixed) << row;
  }
}

}  // namespace
}  // namespace warpgauge
