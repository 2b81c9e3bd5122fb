// SPDX-License-Identifier: Apache-2.0
#include "kernels/row_arguments.hpp"

#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {

void require_rows(const char* launcher, RowsShape shape, std::size_t element_bytes) {
  constexpr std::size_t most_bytes = std::numeric_limits<std::ptrdiff_t>::max();
  if (shape.rows > most_bytes / element_bytes / shape.columns) {
    throw std::invalid_argument(std::string(launcher) + ": " + std::to_string(shape.rows) +
                                " rows of " + std::to_string(shape.columns) +
                                " are more bytes than a signed 64-bit difference can count");
  }
}

void require_held_rows(const char* launcher, RowsShape shape, std::size_t element_bytes) {
  require_rows(launcher, shape, element_bytes);
  const std::size_t multiple = 16 / element_bytes;
  const std::size_t most = most_held_row_bytes / element_bytes;
  if (shape.columns > most || shape.columns % multiple != 0) {
    throw std::invalid_argument(std::string(launcher) + ": rows of " +
                                std::to_string(shape.columns) + "; it takes multiples of " +
                                std::to_string(multiple) + " up to " + std::to_string(most));
  }
}

void require_part(const char* launcher, RowsShape shape, std::size_t first, std::size_t count) {
  const std::size_t elements = shape.rows * shape.columns;  // fits: require_rows
  if (first > elements || count > elements - first) {
    throw std::invalid_argument(std::string(launcher) + ": " + std::to_string(count) +
                                " elements from " + std::to_string(first) + " end past the " +
                                std::to_string(elements) + " of the matrix");
  }
}

void require_clusters(const char* launcher) {
  int device = 0;
  int major = 0;
  check_status("cudaGetDevice", cudaGetDevice(&device));
  check_status("cudaDeviceGetAttribute",
               cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 9) {
    throw std::invalid_argument(std::string(launcher) + ": rows of more than " +
                                std::to_string(most_held_row_bytes_of_a_block) +
                                " bytes need compute capability 9.0");
  }
}

}  // namespace warpgauge::kernels
