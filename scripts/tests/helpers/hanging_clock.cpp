// SPDX-License-Identifier: Apache-2.0
// The driver for tests. Where WARPGAUGE_TEST_HANGS names a folder, its clock stands still until a
// fake program notes in a file *.hangs below that folder, with its pid, that it hangs, or that it
// stays when it is to end. While it sleeps or is stopped, each wait in vain takes 1000 s: one that
// got a signal runs, and may take its time to die. So no deadline depends on how busy the machine
// is.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <warpgauge/drive/drive.hpp>
#include <warpgauge/drive/system_clock.hpp>

namespace {

namespace files = std::filesystem;

std::string content(const files::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool stands_still(pid_t process) {
  const std::string stat = content("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_ends = stat.rfind(") ");
  return name_ends != std::string::npos &&
         (stat[name_ends + 2] == 'S' || stat[name_ends + 2] == 'T');
}

class Clock final : public warpgauge::Clock {
 public:
  Clock() {
    const char* folder = std::getenv("WARPGAUGE_TEST_HANGS");
    folder_ = folder == nullptr ? "" : folder;
  }

  double now() override { return folder_.empty() ? real_.now() : now_; }

  void wait(std::span<pollfd> descriptors, double seconds) override {
    real_.wait(descriptors, folder_.empty() ? seconds : std::min(seconds, 0.02));
    const bool in_vain = std::ranges::all_of(descriptors, [](auto& one) { return !one.revents; });
    if (!folder_.empty() && in_vain && one_hangs()) {
      now_ += 1000;
    }
  }

 private:
  bool one_hangs() const {
    std::error_code ignored;  // a file may go while the folder is read
    for (const auto& one : files::recursive_directory_iterator(folder_, ignored)) {
      if (one.path().extension() == ".hangs") {
        std::istringstream pids(content(one.path()));
        for (pid_t pid = 0; pids >> pid;) {
          if (stands_still(pid)) {
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
