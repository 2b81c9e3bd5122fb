// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/nccl/ranks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <warpgauge/cuda/current_device.hpp>
#include <warpgauge/cuda/device.hpp>
#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/gpu/graph_inspection.hpp>
#include <warpgauge/gpu/session.hpp>

namespace warpgauge {
namespace {

constexpr double picoseconds = 1e12;

/// ncclUniqueId in a message.
using IdNumbers = std::array<std::uint64_t, sizeof(Nccl::UniqueId) / sizeof(std::uint64_t)>;

/// Joins a communicator; waits for the other ranks.
Nccl::Communicator joined(const IdNumbers& id, std::size_t ranks, std::size_t rank) {
  const Nccl& nccl = Nccl::loaded();
  Nccl::Communicator communicator = nullptr;
  nccl.require(nccl.init_rank(&communicator, static_cast<int>(ranks),
                              std::bit_cast<Nccl::UniqueId>(id), static_cast<int>(rank)),
               "ncclCommInitRank");
  return communicator;
}

/// The smallest collective, on one element of the device's memory.
void enqueue_barrier(Nccl::Communicator communicator, float* arrived, cudaStream_t stream) {
  const Nccl& nccl = Nccl::loaded();
  nccl.require(nccl.all_reduce(arrived, arrived, 1, Nccl::Type::float32, Nccl::Reduction::max,
                               communicator, stream),
               "ncclAllReduce");
}

/// The answer to "open". Throws Unsupported without NCCL.
std::string opened() {
  static_cast<void>(Nccl::loaded());
  return "nccl " + Nccl::version();
}

/// A rank other than 0 and its GPU.
class RankServer {
 public:
  std::string answer(const Message& message) {
    const std::string& word = message.word;
    const auto number = [&](std::size_t i) { return message.numbers.at(i); };
    if (word == "open") {
      gpu_.emplace(static_cast<int>(number(0)));
      return opened();
    }
    if (word == "join") {
      join(message);
    } else if (word == "operation") {
      region_.emplace(gpu().quiet, CacheState::cold);
      buffers_.emplace(RankedShape::in(message, ranks_, rank_));
      work_ = {};
    } else if (word == "connect") {
      issue(0);
      gpu().synchronize();
    } else if (word == "renew") {
      buffers().renew(number(0));
    } else if (word == "check") {
      const std::string fault = buffers().fault(number(0));
      return fault.empty() ? "right" : "wrong " + fault;
    } else if (word == "prepare") {
      prepare({number(0) != 0, number(1), number(2)});
    } else if (word == "run") {
      return run(number(0), number(1) != 0);
    } else if (word == "leave") {
      graph_.reset();
      buffers_.reset();
    } else {
      throw std::invalid_argument("it got the message '" + word + "'");
    }
    return "done";
  }

 private:
  /// What an earlier message made.
  template <class T>
  static T& made(std::optional<T>& part) {
    if (!part) {
      throw std::logic_error("it got a message too early");
    }
    return *part;
  }
  GpuSession& gpu() { return made(gpu_); }
  RankBuffers& buffers() { return made(buffers_); }

  void join(const Message& message) {
    ranks_ = message.numbers.at(0);
    rank_ = message.numbers.at(1);
    IdNumbers id{};
    for (std::size_t i = 0; i < id.size(); ++i) {
      id.at(i) = message.numbers.at(2 + i);
    }
    communicator_ = joined(id, ranks_, rank_);
    DeviceArray<float> arrived = zeroed<float>(1);
    enqueue_barrier(communicator_, arrived.data(), gpu().stream());
    gpu().synchronize();
  }

  void issue(std::size_t operation) {
    buffers().issue(Nccl::loaded(), communicator_,
                    Iteration(gpu().stream(), work_.first + operation));
  }

  void prepare(const RankWork& work) {
    work_ = work;
    graph_.reset();
    if (work.captured) {
      const Graph graph = Graph::capture_copies(
          gpu().stream(), work_.operations, [this](std::size_t operation) { issue(operation); });
      require_copies_apart(graph);
      graph_.emplace(graph, gpu().stream());
    }
    gpu().synchronize();
  }

  std::string run(std::uint64_t lead_nanoseconds, bool evicts) {
    const auto done = made(region_).attempt(
        lead_nanoseconds, evicts,
        [this] { enqueue_barrier(communicator_, buffers().arrived(), gpu().stream()); },
        [this] {
          if (graph_) {
            graph_->launch(gpu().stream());
          } else {
            for (std::size_t i = 0; i < work_.operations; ++i) {
              issue(i);
            }
          }
        },
        nullptr);
    const auto time = static_cast<std::uint64_t>(std::llround(done.region.seconds * picoseconds));
    return text_of({"ran", {time, done.region.at_full_clock ? 1U : 0U, done.waited ? 1U : 0U}});
  }

  std::optional<GpuSession> gpu_;
  std::size_t ranks_ = 0;
  std::size_t rank_ = 0;
  Nccl::Communicator communicator_ = nullptr;
  std::optional<RankBuffers> buffers_;
  std::optional<QuietRegion> region_;
  RankWork work_;
  std::optional<ExecutableGraph> graph_;
};

/// Of the answer to "run"; nullopt if it is none.
std::optional<OtherRanks::Region> region_in(const std::string& answer) {
  try {
    const Message ran = message_in(answer);
    return ran.word != "ran" ? std::nullopt
                             : std::optional(OtherRanks::Region{
                                   .seconds = static_cast<double>(ran.numbers.at(0)) / picoseconds,
                                   .at_full_clock = ran.numbers.at(1) != 0,
                                   .waited = ran.numbers.at(2) != 0});
  } catch (const std::logic_error&) {  // of message_in() or at()
    return std::nullopt;
  }
}

}  // namespace

void serve_as_nccl_rank(const std::string& descriptor) {
  if (std::getenv("WARPGAUGE_TRACE") != nullptr) {  // the trace is rank 0's
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("NVTX_INJECTION64_PATH");
  }
  RankServer server;
  serve_rank(descriptor, [&](const Message& message) { return server.answer(message); });
}

Ranks::Ranks(std::string program, double patience_seconds)
    : program_(std::move(program)), patience_seconds_(patience_seconds) {}

Ranks& Ranks::of_process() {
  static Ranks ranks;
  return ranks;
}

void Ranks::start() {
  const std::string expected = opened();
  int visible = 0;
  WARPGAUGE_CHECK(cudaGetDeviceCount(&visible));
  if (visible < 2) {
    throw Unsupported("needs two GPUs, and one is visible");
  }
  if (others_) {
    return;
  }
  std::vector<RankProcesses::Command> commands;
  std::vector<Message> open;
  for (int device = 0; device < visible; ++device) {
    if (device != current_device()) {
      commands.push_back(
          {"rank " + std::to_string(commands.size() + 1) + " (" + find_device(device).uuid + ")",
           {program_, "--role=nccl_rank"}});
      open.push_back({"open", {static_cast<std::uint64_t>(device)}});
    }
  }
  try {
    others_ = std::make_unique<RankProcesses>(commands, patience_seconds_, clock_);
    others().ask_each(open);
    others().expect(expected);
    join();
  } catch (...) {
    stop();
    throw;
  }
}

void Ranks::join() {
  Nccl::UniqueId unique_id{};
  const Nccl& nccl = Nccl::loaded();
  nccl.require(nccl.get_unique_id(&unique_id), "ncclGetUniqueId");
  const auto id = std::bit_cast<IdNumbers>(unique_id);
  std::vector<Message> joins;
  for (std::uint64_t rank = 1; rank < count(); ++rank) {
    joins.push_back({"join", {count(), rank}});
    joins.back().numbers.insert(joins.back().numbers.end(), id.begin(), id.end());
  }
  const Stream stream;
  together_each(joins, [&] {
    communicator_ = joined(id, count(), 0);
    arrived_ = zeroed<float>(1);
    barrier(arrived_.data(), stream.get());
  });
  stream.synchronize();
  arrived_ = {};
}

void Ranks::stop() noexcept {
  if (others_) {
    others().end();
    release();
    abort_.join();
    arrived_ = {};
    others_.reset();
  }
}

void Ranks::guarded(const std::function<void()>& call) {
  try {
    call();
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

void Ranks::together_each(const std::vector<Message>& messages, const std::function<void()>& here) {
  guarded([&] {
    others().ask_each(messages);
    here();
    others().expect("done");
  });
}

void Ranks::together(const Message& message, const std::function<void()>& here) {
  together_each(std::vector<Message>(others().count(), message), here);
}

void Ranks::issue(RankBuffers& buffers, const Iteration& at) {
  guarded([&] { buffers.issue(Nccl::loaded(), communicator_, at); });
}

void Ranks::barrier(float* arrived, cudaStream_t stream) {
  guarded([&] { enqueue_barrier(communicator_, arrived, stream); });
}

/// Makes the calls that wait for a lost rank return, on the device too. In a thread, because NCCL
/// waits until no graph holds a call. If that never ends, this process would wait for its device
/// for ever, and the watchdog ends it.
void Ranks::release() noexcept {
  if (abort_.joinable()) {
    return;
  }
  others().watchdog().arm(
      30, [] { return std::string("NCCL's abort did not end in 30 s, and rank 0 cannot go on"); });
  abort_ = std::thread([communicator = std::exchange(communicator_, nullptr)] {
    try {
      if (communicator != nullptr) {
        Nccl::loaded().require(Nccl::loaded().abort(communicator), "ncclCommAbort");
      }
    } catch (const NcclError& error) {
      std::fprintf(stderr, "warpgauge: %s\n", error.what());
    }
  });
}

RankedCollective::RankedCollective(Ranks& ranks, const RankedShape& of) : ranks_(ranks) {
  try {
    ranks_.together(of.message(), [&] { buffers_ = std::make_unique<RankBuffers>(of); });
    // The first call of each kind connects the ranks. It allocates and cannot be captured.
    const Stream first;
    ranks_.together({"connect", {}}, [&] { issue(Iteration(first.get(), 0)); });
    first.synchronize();
    renew();
  } catch (...) {
    leave();
    throw;
  }
}

void RankedCollective::require_right(std::size_t slot) {
  constexpr std::string_view wrong = "wrong ";
  std::string fault;
  ranks_.guarded([&] {
    ranks_.others().ask({"check", {slot}});
    fault = buffers_->fault(slot);
    const std::vector<std::string> answers = ranks_.others().answers();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].starts_with(wrong)) {
        fault = fault.empty() ? answers[i].substr(wrong.size()) : fault;
      } else if (answers[i] != "right") {
        ranks_.others().refuse(i, answers[i], "right");
      }
    }
  });
  if (!fault.empty()) {
    throw WrongResult(fault);
  }
}

void RankedCollective::renew() {
  ++seed_;
  ranks_.together({"renew", {seed_}}, [this] { buffers_->renew(seed_); });
}

void RankedCollective::prepare(const RankWork& work, const std::function<void()>& here) {
  ranks_.together({"prepare", {work.captured ? 1U : 0U, work.first, work.operations}}, here);
}

void RankedCollective::begin(std::uint64_t lead_nanoseconds, bool evicts) {
  ranks_.guarded([&] { ranks_.others().ask({"run", {lead_nanoseconds, evicts ? 1U : 0U}}); });
}

void RankedCollective::barrier(cudaStream_t stream) {
  ranks_.barrier(buffers_->arrived(), stream);
}

OtherRanks::Region RankedCollective::end() {
  Region worst;
  ranks_.guarded([&] {
    const std::vector<std::string> answers = ranks_.others().answers();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const std::optional<Region> region = region_in(answers[i]);
      if (!region) {
        ranks_.others().refuse(i, answers[i], "ran");
      }
      worst.seconds = std::max(worst.seconds, region->seconds);
      worst.at_full_clock = worst.at_full_clock && region->at_full_clock;
      worst.waited = worst.waited || region->waited;
    }
  });
  return worst;
}

/// The ranks free their buffers. Those that failed, or that an error of this process left behind in
/// the middle of a run, are ended.
void RankedCollective::leave() noexcept {
  try {
    if (ranks_.others().are_idle()) {
      ranks_.together({"leave", {}}, [] {});
    } else {
      ranks_.stop();
    }
  } catch (const std::exception&) {
    ranks_.stop();  // the benchmark that is over has its result; the next one gets new ranks
  }
}

}  // namespace warpgauge
