// SPDX-License-Identifier: Apache-2.0
// A fake benchmark program: takes Google Benchmark's flags, and writes its JSON as Google Benchmark
// does, row by row and closed only at the end; or it does what a driver asks it to.
#include "fake_program.hpp"
#include "fake_listing.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

using namespace fake;

namespace {

// As CUDA's runtime names the driver that it loads: to `ab` this is a program that may use a GPU.
[[gnu::used]] const char driver[] = "libcuda.so.1";

// This process's end of the driver's protocol (fixtures/drive/side.hpp).
void say(const std::string& words) {
  const std::string line = words + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count =
        send(std::stoi(value_of("driven")), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0)
      leave(1);
    sent += static_cast<std::size_t>(count);
  }
}

// "" once the driver has hung up.
std::string hear() {
  std::string line;
  for (char one = 0; recv(std::stoi(value_of("driven")), &one, 1, 0) == 1;) {
    if (one == '\n')
      return line;
    line += one;
  }
  return "";
}

// Kills the driver, once, and is still alive when its end is seen.
void murder() {
  if (!exists(me + ".murdered")) {
    write_file(me + ".murdered", "");
    const pid_t driver = getppid();
    kill(driver, SIGKILL);
    while (getppid() == driver)
      usleep(2000);
  }
}

// For tests whose clock runs as long as this process does.
void note_hang(int = 0) {
  std::ofstream(me + ".hangs", std::ios::app) << getpid() << "\n";
}

[[noreturn]] void hang() {
  note_hang();
  while (true)
    pause();
}

// What happens in a slice, before it tells its time.
void suffer_in_slice(const std::string& fault) {
  if (fault == "crash in a slice") {
    std::fputs("an illegal memory access\n", stderr);
    die(SIGSEGV);
  } else if (fault == "stopped") {
    note_hang();
    die(SIGSTOP);
  } else if (fault == "garbage in a slice") {
    say("\x01\xff what?");
  } else if (fault == "two answers") {
    say("slice 1e-6");
  } else if (fault == "endless line") {
    while (true)
      send(std::stoi(value_of("driven")), std::string(1 << 16, 'x').data(), 1 << 16, MSG_NOSIGNAL);
  } else if (fault == "murder") {
    murder();
  }
}

// No two processes take the very same time, and those that follow each other not the same one
// more: 0 to 1, by the numbers of the process and of its namespace, as that of an isolated process
// is always the same. With WARPGAUGE_TEST_STILL they differ by their numbers alone.
double apart() {
  if (std::getenv("WARPGAUGE_TEST_STILL") != nullptr)
    return 0.0;
  struct stat space {};
  stat("/proc/self/ns/pid", &space);
  return (((static_cast<unsigned>(getpid()) + static_cast<unsigned>(space.st_ino)) * 2654435761U) >>
          8) %
         997 / 997.0;
}

// Measures in slices of this time until told to finish; false if none was asked for.
bool in_slices(double seconds, const std::string& fault) {
  seconds *= 1.0 + 1e-4 * apart();
  say("ready device 1");
  bool any = false;
  for (std::string line = hear(); line != "finish"; line = hear()) {
    if (line.empty())
      leave(1);
    suffer_in_slice(fault);
    say("slice " + number(seconds));
    any = true;
  }
  if (fault == "late murder")
    murder();
  return any;
}

// The number of this process among those of this program that measured; 1 if it is isolated.
int count() {
  const int file = open((me + ".count").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 && errno == EROFS)
    return 1;
  struct stat about {};
  if (write(file, "x", 1) != 1 || fstat(file, &about) != 0)
    leave(100, "it cannot count");
  close(file);
  return static_cast<int>(about.st_size);
}

// Leaves a child behind that stays when it gets SIGTERM, and its pid in a file.
void leave_child(bool own_session) {
  const std::string path = me + ".child";
  if (fork() == 0) {
    if (own_session)
      setsid();
    std::signal(SIGTERM, note_hang);
    write_file(path + "-new", std::to_string(getpid()));
    std::rename((path + "-new").c_str(), path.c_str());
    while (true)
      pause();
  }
  while (!exists(path))
    usleep(2000);
}

// What happens while a benchmark runs; it may be the end.
void suffer(const std::string& fault) {
  if (fault == "crash") {
    std::fputs("an illegal memory access\n", stderr);
    die(SIGSEGV);
  } else if (fault == "abort") {
    std::fputs("terminate called\n  what():  no memory\n", stderr);
    die(SIGABRT);
  } else if (fault == "killed") {
    die(SIGKILL);
  } else if (fault == "hang" || fault == "deaf hang") {
    if (fault == "deaf hang")
      std::signal(SIGTERM, note_hang);
    hang();
  } else if (fault == "early exit") {
    leave(1, "an exception that nobody caught");
  } else if (fault == "early success") {
    leave(0);
  } else if (begins(fault, "child")) {
    leave_child(fault == "child in its own session");
  } else if (fault == "noise") {
    const char noise[] = "\x00\xff bad \xc3\x28 bytes \x1b[2J\n";
    std::fwrite(noise, 1, sizeof noise - 1, stderr);
    die(SIGSEGV);
  }
}

// What goes wrong with the report alone, of a program that nobody drives.
void suffer_in_writing(const std::string& fault, const std::string& name, FILE* out) {
  if (begins(fault, "half a row")) {
    std::fprintf(out, "    {\n      \"name\": \"%s", name.substr(0, 3).c_str());
    std::fflush(out);
    if (fault == "half a row")
      die(SIGABRT);
    leave(0);
  } else if (fault == "garbage") {
    write_file(value_of("benchmark_out"), "<html>not JSON at all");
    leave(0);
  }
}

int lines_of(const std::string& path) {
  std::ifstream file(path);
  return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

// Notes down the run files that were there when a process of this GPU began to measure. With
// `meets` the fourth goes on when all other GPUs have had as many: after the probes, that is.
void meet(const std::string& uuid) {
  std::string runs;
  for (const auto& one : std::filesystem::directory_iterator(".")) {
    const std::string name = one.path().filename();
    if (begins(name, "run-") && one.path().extension() == ".json")
      runs += name + " ";
  }
  const std::string ours = me + ".ran-" + uuid;
  std::ofstream(ours, std::ios::app) << runs + "\n";
  if (told["meets"].empty())
    return;
  for (const Fields& other : told["gpu"])
    while (lines_of(ours) >= 4 && lines_of(me + ".ran-" + other[0]) < 4)
      usleep(2000);
}

// The UUID of the GPU that --device leads to, as CUDA numbers those that are visible; or "".
std::string gpu_uuid() {
  const std::size_t device = given("device") ? std::stoul(value_of("device")) : 0;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> uuids;
  for (const Fields& one : told["gpu"]) {
    const bool seen = visible == nullptr || std::string(visible).find(one[0]) != std::string::npos;
    // A GPU that fell off its bus is one that nobody finds any more.
    if (seen && !exists(me + ".lost-" + one[0]))
      uuids.push_back(one[0]);
  }
  if (uuids.empty() && !told["gpu"].empty())
    leave(3, me + ": no CUDA-capable device is detected");
  if (uuids.empty())
    uuids.emplace_back();
  if (device >= uuids.size())
    leave(2, me + ": there is no device " + value_of("device"));
  const std::string uuid = uuids[device];
  if (!uuid.empty() && (given("benchmark_out") || given("driven"))) {
    meet(uuid);
    if (visible != nullptr)
      std::ofstream(me + ".visible", std::ios::app) << std::string(visible) + "\n";
  }
  return uuid;
}

std::string context(const std::string& gpu) {
  Object made;
  made.set("date", quote("2026-11-20T12:00:00+00:00"));
  made.set("executable", quote(me));
  made.set("num_cpus", "2");
  made.set("caches", "[]");
  made.set("library_build_type", quote("release"));
  for (const Fields& one : told["context"])
    made.set(one[0], quote(one[1]));
  if (!gpu.empty())
    made.set("gpu_uuid", quote(gpu));
  if (given("suite"))
    made.set("suite", quote(value_of("suite")));
  std::string injected;
  for (const std::string& one : injections)
    injected += (injected.empty() ? "" : " ") + one;
  if (!injected.empty())
    made.set("inject", quote(injected));
  return made.text("    ");
}

// By how much the last --inject=REGEX=FACTOR that matches slows a benchmark down.
double injected(const std::string& name) {
  double factor = 1.0;
  for (const std::string& one : injections) {
    const std::size_t equals = one.rfind('=');
    if (matches(one.substr(0, equals), name))
      factor = std::stod(one.substr(equals + 1));
  }
  return factor;
}

Object row(const Fields& benchmark, std::size_t index, int process, const std::string& gpu) {
  const std::string& name = benchmark[0];
  const double slower = injected(name) * std::stod(told_of("slower", gpu, "1"));
  Object made;
  made.set("name", quote(name));
  made.set("family_index", std::to_string(index));
  made.set("per_family_instance_index", "0");
  made.set("run_name", quote(name));
  made.set("run_type", quote("iteration"));
  made.set("repetitions", "1");
  made.set("repetition_index", "0");
  made.set("threads", "1");
  made.set("iterations", "100");
  if (injected(name) > 1.0)
    made.set("extra_work", number(injected(name) - 1.0));
  const double more = value_of("driven").empty() ? 0.1 * apart() : 0.0;
  made.set("real_time", number((std::stod(benchmark[1]) + process + more) * slower));
  made.set("cpu_time", "1.0");
  made.set("time_unit", quote("ns"));
  made.set("bytes_per_second", "1e9");
  made.set("samples", std::to_string(process));
  if (!told["ceilings"].empty() && !given("no-ceilings"))
    made.set("limit_fraction", "0.5");
  if (benchmark[2] == "full")
    made.set("full_suite", "1.0");
  for (const std::string& whose : {std::string("all"), std::to_string(process)}) {
    for (const Fields& one : told["counter"]) {
      if (one[0] == whose)
        made.set(one[1], one[2]);
    }
  }
  return made;
}

void write_trace() {
  const char* path = std::getenv("WARPGAUGE_TRACE");
  if (path == nullptr || told["trace"].empty())
    return;
  const char* library = std::getenv("CUDA_INJECTION64_PATH");
  if (library == nullptr || !exists(library))
    leave(100, "CUDA_INJECTION64_PATH is no file");
  write_file(path, told["trace"][0][0]);
}

// On a GPU that is in exclusive mode, as a file tells, one process of its users can be alive.
void share_gpu() {
  if (told["exclusive"].empty())
    return;
  const std::string path = told["exclusive"][0][0];
  pid_t user = 0;
  std::ifstream(path) >> user;
  if (user != 0 && kill(user, 0) == 0)
    leave(3, me + ": the GPU is in exclusive use");
  write_file(path, std::to_string(getpid()));
}

// A process that measures: what goes wrong in it, and what became of its benchmarks so far.
class Process {
 public:
  Process(std::vector<Fields> benchmarks, std::string gpu)
      : benchmarks_(std::move(benchmarks)), gpu_(std::move(gpu)), number_(count()) {
    fault_ = told_of("fault", std::to_string(number_), told_of("fault", "always"));
    share_gpu();
    if (fault_ == "no start")
      die(SIGSEGV);
    if (fault_ == "no device")
      leave(3);
    if (fault_ == "hang at start")
      hang();
  }

  // Writes the report of all its benchmarks, as Google Benchmark does.
  [[noreturn]] void measure_all() {
    std::string head = "Running " + me + "\nLoad Average: 1.0, 2.0, 3.0\n";
    for (const Fields& one : told["context"])
      head += one[0] + ": " + one[1] + "\n";
    std::fputs(head.c_str(), stderr);
    const std::string path = value_of("benchmark_out");
    FILE* out = std::fopen(path.empty() ? "/dev/null" : path.c_str(), "w");
    if (out == nullptr)
      leave(1, "cannot write " + path);
    std::fprintf(out, "{\n  \"context\": %s,\n  \"benchmarks\": [\n", context(gpu_).c_str());
    std::fflush(out);
    std::string between;
    for (std::size_t index = 0; index < benchmarks_.size(); ++index) {
      const std::string ill = ill_of(index);
      const Object made = measured(index, ill, false);
      suffer_in_writing(ill, benchmarks_[index][0], out);
      if (ill != "lost row") {
        std::fprintf(out, "%s    %s", between.c_str(), made.text("      ").c_str());
        std::fflush(out);
        between = ",\n";
      }
    }
    std::fputs("\n  ]\n}\n", out);
    std::fclose(out);
    end();
  }

  // Measures what the driver asks for.
  [[noreturn]] void obey() {
    say("warpgauge 1");
    for (std::string line = hear(); line != "end"; line = hear()) {
      const bool in_pair = begins(line, "prepare 1 ");
      if (!in_pair && !begins(line, "measure "))
        leave(1);
      const std::string name = line.substr(in_pair ? 10 : 8);
      const auto at = std::find_if(benchmarks_.begin(), benchmarks_.end(),
                                   [&](const Fields& one) { return one[0] == name; });
      if (at == benchmarks_.end())
        leave(1, me + ": no benchmark is named '" + name + "'");
      answer(static_cast<std::size_t>(at - benchmarks_.begin()), in_pair);
    }
    end();
  }

 private:
  std::string ill_of(std::size_t index) {
    std::string ill = told_of("ill", benchmarks_[index].back());
    if (ill.empty() && index + 1 == benchmarks_.size())
      ill = fault_;
    return ill.empty() ? told_of("ill", gpu_) : ill;
  }

  void answer(std::size_t index, bool in_pair) {
    const std::string ill = ill_of(index);
    const Object made = measured(index, ill, in_pair);
    std::string report = "{\"context\": " + context(gpu_) + ", \"benchmarks\": [" +
                         (ill == "lost row" ? "" : made.text("      ")) + "]}";
    report.erase(std::remove(report.begin(), report.end(), '\n'), report.end());
    if (ill == "garbage")
      report = "<html>not JSON at all";
    say((broken_.empty() ? "report " : "broken ") + report);
  }

  // The row of a benchmark, unless that is the end of the process.
  Object measured(std::size_t index, const std::string& ill, bool in_pair) {
    Object made = row(benchmarks_[index], index, number_, gpu_);
    std::string error;
    if (!broken_.empty()) {
      error = "not measured: " + broken_ + " broke the CUDA context";
      made.set("not_tried", "1.0");
    } else if (fault_ == "errored row" && measured_ == 0) {
      error = "wrong result";
    } else if (begins(ill, "wrong")) {
      error = "wrong \x01 result";
    } else if (ill == "skipped") {
      made.set("skipped", "true");
      made.set("skip_message", quote("needs another GPU"));
      made.set("real_time", "0");
    } else if (ill == "broken context") {
      error = "cudaErrorIllegalAddress";
      broken_ = benchmarks_[index][0];
    } else if (ill == "no room beside another" && in_pair) {
      error = "out of device memory";
    }
    ++measured_;
    if (broken_.empty())
      suffer(ill);
    errors_ += static_cast<int>(!error.empty() && ill != "wrong, and status 0");
    if (in_pair && error.empty() && ill != "skipped" &&
        !in_slices(1e-9 * std::stod(made.value("real_time")), ill)) {
      error = "the other process of the pair could not measure it";
      made.set("not_tried", "1.0");
    }
    if (!error.empty()) {
      made.set("error_occurred", "true");
      made.set("error_message", quote(error));
      made.set("real_time", "0");
    }
    return made;
  }

  [[noreturn]] void end() {
    write_trace();
    if (fault_ == "crash at exit")
      die(SIGSEGV);
    if (fault_ == "hang at exit")
      hang();
    leave(fault_ == "status 4" ? 4 : errors_ > 0 ? 1 : 0);
  }

  std::vector<Fields> benchmarks_;
  std::string gpu_;
  int number_;  // of this process among those of this program that measured
  std::string fault_;
  std::string broken_;  // the benchmark that broke the context
  int measured_ = 0;
  int errors_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  me = argv[0];
  for (int i = 1; i < argc; ++i) {
    const std::string word =
        std::string(argv[i]).substr(std::string(argv[i]).find_first_not_of('-'));
    const std::size_t equals = std::min(word.find('='), word.size());
    flags[word.substr(0, equals)] = equals < word.size() ? word.substr(equals + 1) : "";
    if (begins(word, "inject="))
      injections.push_back(flags["inject"]);
  }
  read_told();
  if (!told["plans"].empty())
    read_plan();
  check_options();
  if (!told["listing_fault"].empty())
    leave(127, told["listing_fault"][0][0]);
  if (given("describe")) {
    std::puts(description().c_str());
    leave(0);
  }
  const std::vector<Fields> benchmarks = chosen();
  if (benchmarks.empty())
    leave(2, me + ": no benchmark matches");
  if (given("benchmark_list_tests")) {
    for (const Fields& one : benchmarks)
      std::puts(one[0].c_str());
    leave(0);
  }
  if (!told["no_gpu"].empty())
    leave(3, me + ": " + told["no_gpu"][0][0]);
  Process process(benchmarks, gpu_uuid());
  given("driven") ? process.obey() : process.measure_all();
}
