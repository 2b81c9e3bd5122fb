// SPDX-License-Identifier: Apache-2.0
// Shared by the sources of the launchers: their instances and common argument checks.
#pragma once

#include <tuple>

#include "kernels/arguments.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned blocks_per_sm = 8;  ///< 2048 threads, all that an SM holds

/// An operation and its types; stands for the launcher with these template arguments.
template <class Op, class In, class Out>
struct Instance {};

/// address(Instance) of several operations, each with every type. The compiler instantiates what an
/// external function returns the address of. So a source's launchers come into the library without
/// an explicit instantiation of each.
template <class... Op, class Address>
auto instances(const Address& address) {
  return std::tuple{address(Instance<Op, float, float>{})...,
                    address(Instance<Op, Half, Half>{})..., address(Instance<Op, Bf16, Bf16>{})...};
}

/// The same for the operations that every kind of launcher has.
template <class Address>
auto instances_of_all(const Address& address) {
  return instances<Copy, Scale, Square, Pow2, Affine, Chain, Gelu, GeluTanh>(address);
}

/// The same for the conversions.
template <class Address>
auto instances_of_conversions(const Address& address) {
  return std::tuple{address(Instance<Copy, float, Half>{}), address(Instance<Copy, float, Bf16>{}),
                    address(Instance<Copy, Half, float>{}), address(Instance<Copy, Bf16, float>{})};
}

/// Calls transform(in, out, op) four times. It checks the arguments before the first call, so that
/// messages use the parameter names that the caller knows.
template <class T, class Transform>
void chain_by(const char* launcher, const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
              std::size_t alignment, const Transform& transform) {
  if (n == 0) {
    return;
  }
  require_arrays(launcher,
                 {{"in", in, alignment}, {"scratch", scratch, alignment}, {"out", out, alignment}});
  transform(in, scratch, op.first);
  transform(scratch, out, Relu{});
  transform(out, scratch, op.scale);
  transform(scratch, out, op.second);
}

/// Throws std::invalid_argument if stride is 0 or n * stride floats are more bytes than a size_t
/// counts.
void require_stride(const char* launcher, std::size_t n, std::size_t stride);

}  // namespace warpgauge::kernels
