// SPDX-License-Identifier: Apache-2.0
// The driver for tests. Where WARPGAUGE_TEST_HANGS names a folder, its clock stands still until a
// fake program notes in a file *.hangs below that folder that it hangs, or that it stays when it
// is to end: it is then 1000 s later. So no deadline depends on how busy the machine is.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <warpgauge/drive/drive.hpp>
#include <warpgauge/drive/system_clock.hpp>

namespace {

namespace files = std::filesystem;

std::string content(const files::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
    return 1000.0 * static_cast<double>(hangs());
  }

  void wait(std::span<pollfd> descriptors, double seconds) override {
    real_.wait(descriptors, folder_.empty() ? seconds : std::min(seconds, 0.02));
  }

 private:
  // The number of lines in these files.
  std::ptrdiff_t hangs() const {
    std::ptrdiff_t count = 0;
    std::error_code ignored;  // a file may go while the folder is read
    for (const auto& one : files::recursive_directory_iterator(folder_, ignored)) {
      if (one.path().extension() == ".hangs") {
        const std::string text = content(one.path());
        count += std::count(text.begin(), text.end(), '\n');
      }
    }
    return count;
  }

  warpgauge::drive::SystemClock real_{1};
  std::string folder_;
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
