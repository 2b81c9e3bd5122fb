// SPDX-License-Identifier: Apache-2.0
// Rank 0 and the processes of all others. For .cu files.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <warpgauge/cuda/current_device.hpp>
#include "benchmarks/nccl/rank.hpp"

namespace warpgauge {

/// The ranks of this process's communicator: rank 0 is this process and its current device; each
/// other visible device has a process. They live as long as this process, because starting them
/// takes seconds, or until one fails.
class Ranks {
 public:
  /// The other ranks run `PROGRAM --role=nccl_rank`. Starts nothing before it is needed.
  explicit Ranks(std::string program = "/proc/self/exe",
                 std::chrono::milliseconds patience = std::chrono::seconds(30))
      : program_(std::move(program)), patience_(patience) {}
  ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  static Ranks& of_process() {
    static Ranks ranks;
    return ranks;
  }

  /// Starts the other ranks unless they run. Throws Unsupported without NCCL or with fewer than two
  /// devices, and RankFailed.
  void start() {
    const Nccl& nccl = Nccl::loaded();
    int visible = 0;
    WARPGAUGE_CHECK(cudaGetDeviceCount(&visible));
    if (visible < 2) {
      throw Unsupported("needs two GPUs, and one is visible");
    }
    if (running_) {
      return;
    }
    std::vector<RankProcesses::Command> commands;
    RankProcesses::Messages open;
    for (int device = 0; device < visible; ++device) {
      if (device != current_device()) {
        commands.push_back(
            {"rank " + std::to_string(commands.size() + 1) + " (" + find_device(device).uuid + ")",
             {program_, "--role=nccl_rank"}});
        open.push_back(message("open", {static_cast<std::uint64_t>(device)}));
      }
    }
    try {
      running_ = std::make_unique<Running>(commands, patience_);
      running_->others.ask(open);
      running_->others.require_version(Nccl::version());
      join(nccl);
    } catch (...) {
      stop();
      throw;
    }
  }

  std::size_t count() const { return running_->others.count() + 1; }
  NcclMember& member() { return *running_->member; }
  RankProcesses& others() { return running_->others; }

  /// Calls `here` while the other ranks do what the messages say; then take their answers. After a
  /// RankFailed nothing can be asked, and the caller has to stop() when it holds no graph.
  template <class Here>
  void together(const RankProcesses::Messages& messages, const Here& here) {
    guarded([&] {
      others().ask(messages);
      here();
    });
  }
  template <class Here>
  RankProcesses::Messages together(const std::string& message, const Here& here) {
    together(RankProcesses::Messages(others().count(), message), here);
    return guarded([&] { return others().answers(); });
  }

  /// Returns call(). If it throws because a rank failed, throws RankFailed, and releases this
  /// process's calls that wait for that rank.
  template <class Call>
  auto guarded(const Call& call) {
    try {
      return call();
    } catch (const RankFailed&) {
      release();
      throw;
    } catch (const std::exception&) {  // of NCCL, say, which does not know the rank
      try {
        others().require_alive();
      } catch (const RankFailed&) {
        release();
        throw;
      }
      throw;
    }
  }

  /// Ends the ranks; start() begins with new ones. Call it when no graph and no work is left.
  void stop() noexcept {
    if (running_) {
      running_->others.kill_all();
      release();
      running_->abort.join();
      running_.reset();
    }
  }

 private:
  struct Running {
    Running(const std::vector<RankProcesses::Command>& commands, std::chrono::milliseconds patience)
        : others(commands, patience) {}
    RankProcesses others;
    std::unique_ptr<NcclMember> member{};
    DeviceArray<float> arrived{};  // of the first barrier; on failure freed after the abort
    std::thread abort{};
  };

  void join(const Nccl& nccl) {
    Nccl::UniqueId id{};
    nccl.require(nccl.get_unique_id(&id), "ncclGetUniqueId");
    RankProcesses::Messages joins;
    const std::uint64_t ranks = count();
    for (std::uint64_t rank = 1; rank < ranks; ++rank) {
      joins.push_back(message("join", {ranks, rank}) + " " + hexadecimal(id.bytes));
    }
    const Stream stream;
    together(joins, [&] {
      running_->member = std::make_unique<NcclMember>(nccl, id, ranks, 0);
      running_->arrived = zeroed<float>(1);
      member().barrier(running_->arrived.data(), stream.get());
    });
    guarded([&] { others().expect("done"); });
    stream.synchronize();
    running_->arrived = {};
  }

  /// In a thread, because it waits until no graph holds a call. If it waits for ever, so does this
  /// process for its device, and the watchdog ends it.
  void release() noexcept {
    if (running_ && !running_->abort.joinable()) {
      constexpr std::chrono::seconds to_end{30};
      others().watchdog().arm(to_end, [to_end] {
        return "NCCL's abort did not end in " + seconds(to_end) + ", and rank 0 cannot go on";
      });
      running_->abort = std::thread([member = running_->member.get()] {
        try {
          if (member != nullptr) {
            member->abort();
          }
        } catch (const std::exception& error) {
          std::fprintf(stderr, "warpgauge: %s\n", error.what());
        }
      });
    }
  }

  std::string program_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<Running> running_;
};

/// A collective on all ranks, for one benchmark.
class RankedCollective : public OtherRanks {
 public:
  /// `ranks` must outlive this and have been started.
  RankedCollective(Ranks& ranks, const RankedShape& of) : ranks_(ranks) {
    try {
      require_done(
          ranks_.together(operation_message(of), [&] { operation_ = rank_operation(of); }));
      // The first call of each kind connects the ranks. It allocates and cannot be captured.
      const Stream first;
      require_done(ranks_.together("connect", [&] { issue(Iteration(first.get(), 0)); }));
      first.synchronize();
      renew();
    } catch (...) {
      leave();
      throw;
    }
  }
  ~RankedCollective() override { leave(); }
  RankedCollective(const RankedCollective&) = delete;
  RankedCollective& operator=(const RankedCollective&) = delete;

  RankOperation& operation() { return *operation_; }

  /// Enqueues this rank's call.
  void issue(const Iteration& at) {
    ranks_.guarded([&] { ranks_.member().issue(*operation_, at); });
  }

  void renew() override {
    ++seed_;
    require_done(ranks_.together(message("renew", {seed_}), [this] { operation_->renew(seed_); }));
  }

  /// Throws WrongResult unless every rank's output in this slot is right.
  void require_right(std::size_t slot) {
    std::string fault;
    const auto answers =
        ranks_.together(message("check", {slot}), [&] { fault = operation_->fault(slot); });
    const std::string wrong = "wrong ";
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].starts_with(wrong)) {
        fault = fault.empty() ? answers[i].substr(wrong.size()) : fault;
      } else if (answers[i] != "right") {
        refuse(i, answers[i]);
      }
    }
    if (!fault.empty()) {
      throw WrongResult(fault);
    }
  }

  void prepare(const RankWork& work, const std::function<void()>& here) override {
    require_done(ranks_.together(
        message("prepare", {work.captured ? 1U : 0U, work.first, work.operations}), here));
  }
  void begin(std::uint64_t lead_nanoseconds, bool evicts) override {
    ranks_.guarded(
        [&] { ranks_.others().ask(message("run", {lead_nanoseconds, evicts ? 1U : 0U})); });
  }
  void barrier(cudaStream_t stream) override {
    ranks_.guarded([&] { ranks_.member().barrier(operation_->arrived(), stream); });
  }
  Region end() override {
    Region worst;
    const auto answers = ranks_.guarded([this] { return ranks_.others().answers(); });
    for (std::size_t i = 0; i < answers.size(); ++i) {
      try {
        const Words words(answers[i]);
        if (!words.is("ran", 3)) {
          throw BadMessage("");
        }
        constexpr double longest_seconds = 1e4;
        worst.seconds = std::max(worst.seconds, words.number<double>(1, longest_seconds));
        worst.at_full_clock = worst.at_full_clock && words.flag(2);
        worst.waited = worst.waited || words.flag(3);
      } catch (const BadMessage&) {
        refuse(i, answers[i]);
      }
    }
    return worst;
  }

 private:
  void refuse(std::size_t i, const std::string& answer) {
    ranks_.guarded([&] { ranks_.others().refuse(i, answer); });
  }
  void require_done(const RankProcesses::Messages& answers) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] != "done") {
        refuse(i, answers[i]);
      }
    }
  }

  /// The ranks free their buffers. Those that failed, or that an error of this process left behind
  /// in the middle of a run, are ended.
  void leave() noexcept {
    try {
      if (!ranks_.others().failed() && !ranks_.others().outstanding()) {
        require_done(ranks_.together("leave", [] {}));
        return;
      }
    } catch (const std::exception&) {
      // The benchmark that is over has its result; the next one gets new ranks.
    }
    ranks_.stop();
  }

  Ranks& ranks_;
  std::unique_ptr<RankOperation> operation_;
  std::uint64_t seed_ = 0;
};

}  // namespace warpgauge
