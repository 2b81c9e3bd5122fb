// SPDX-License-Identifier: Apache-2.0
// The driver for tests. Where WARPGAUGE_TEST_HANGS names a folder, its clock stands still, except
// while a fake program that is noted in a file *.hangs below that folder runs: each look at the
// clock is then 1000 s later. So no deadline depends on how busy the machine is.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <algorithm>
#include <warpgauge/drive/drive.hpp>
#include <warpgauge/drive/system_clock.hpp>

namespace {

namespace files = std::filesystem;

std::string content(const files::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether a process runs, and nobody has killed it: then it ends soon, and no time passes.
bool runs(long pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string stat = content(folder + "/stat");
  const std::size_t behind_name = stat.rfind(')');
  if (behind_name == std::string::npos) {
    return false;
  }
  std::istringstream fields(stat.substr(behind_name + 2));
  std::string field;
  std::string state;
  fields >> state;
  for (int number = 4; number <= 9 && fields >> field; ++number) {
  }
  constexpr unsigned long exiting = 4;  // PF_EXITING
  if (state == "Z" || (std::strtoul(field.c_str(), nullptr, 10) & exiting) != 0) {
    return false;
  }
  const std::string status = content(folder + "/status");
  for (const char* key : {"SigPnd:\t", "ShdPnd:\t"}) {
    const std::size_t at = status.find(key);
    const std::string mask = at == std::string::npos ? "0" : status.substr(at + 8, 16);
    if ((std::stoull(mask, nullptr, 16) >> (SIGKILL - 1) & 1) != 0) {
      return false;
    }
  }
  return true;
}

class Clock final : public warpgauge::drive::Clock {
 public:
  Clock() {
    const char* folder = std::getenv("WARPGAUGE_TEST_HANGS");
    folder_ = folder == nullptr ? "" : folder;
  }

  double now() override {
    if (folder_.empty()) {
      return real_.now();
    }
    if (one_hangs()) {
      now_ += 1000;
    }
    return now_;
  }

  void wait(std::span<pollfd> descriptors, double seconds) override {
    real_.wait(descriptors, folder_.empty() ? seconds : std::min(seconds, 0.02));
  }

 private:
  bool one_hangs() const {
    std::error_code ignored;  // a file may go while the folder is read
    for (const auto& one : files::recursive_directory_iterator(folder_, ignored)) {
      if (one.path().extension() == ".hangs") {
        std::ifstream file(one.path());
        for (long pid = 0; file >> pid;) {
          if (runs(pid)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  warpgauge::drive::SystemClock real_{1};
  std::string folder_;
  double now_ = 0;
};

}  // namespace

int main(int, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    Clock clock;
    warpgauge::drive::drive(warpgauge::drive::plan_in(content(arguments[1])), 1, clock);
    return 0;
  } catch (const warpgauge::drive::Interrupted& by) {
    return 128 + by.signal;
  } catch (const warpgauge::drive::OutputLost&) {
    return 3;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "warpgauge_drive: %s\n", why.what());
    return 2;
  }
}
