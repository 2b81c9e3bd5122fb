// SPDX-License-Identifier: Apache-2.0
// wgmma for 16-bit types: a warpgroup multiplies a K-major tile of A by an MN-major tile of B, both
// in shared memory with TMA's 128-byte swizzle, into sums in registers. Source: PTX ISA 9.0,
// "Asynchronous Warpgroup Level Matrix Multiply-Accumulate".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace warpgauge::kernels::hopper {

// Layout of the tiles. Both matrices are row-major: A is contiguous along k, B along n. A box has
// rows of 128 bytes (64 elements), the widest that the swizzle supports. The swizzle XORs the index
// of each 16-byte chunk in row r with r % 8. The pattern repeats every 8 rows (1024 bytes) and
// depends on the address, so boxes are aligned to 1024 bytes.
inline constexpr unsigned box_row_bytes = 128;
inline constexpr unsigned box_columns = box_row_bytes / 2;
inline constexpr unsigned pattern_bytes = 8 * box_row_bytes;
inline constexpr unsigned stage_k = 64;  ///< terms of a stage: a row of A's box, 64 rows of B's
inline constexpr unsigned wgmma_m = 64;  ///< rows of A per instruction
inline constexpr unsigned wgmma_k = 16;  ///< terms per instruction
inline constexpr unsigned b_box_bytes = stage_k * box_row_bytes;

/// A matrix descriptor. Bits 0-13: address; 16-29: leading byte offset; 32-45: stride byte offset;
/// each without its lowest 4 bits. Bits 49-51: base offset, 0 because patterns are aligned to their
/// size. Bits 62-63: swizzle, 1 for 128 bytes.
__device__ inline std::uint64_t descriptor(unsigned address, unsigned leading, unsigned stride) {
  constexpr auto field = [](unsigned bytes) { return std::uint64_t{(bytes & 0x3FFFFU) >> 4}; };
  return field(address) | field(leading) << 16 | field(stride) << 32 | std::uint64_t{1} << 62;
}

/// For A, K-major: the stride offset leads to the next 8 rows, one pattern further. The 16 terms of
/// an instruction are 32 bytes of a row, so the leading offset (to the next 128 bytes) is unused.
__device__ inline std::uint64_t descriptor_a(unsigned address) {
  return descriptor(address, 16, pattern_bytes);
}
/// For B, MN-major: the stride offset leads to the next 8 terms, one pattern further; the leading
/// offset to the next 64 columns, one box further.
__device__ inline std::uint64_t descriptor_b(unsigned address) {
  return descriptor(address, b_box_bytes, pattern_bytes);
}

/// Increments of a descriptor from one instruction's terms to the next: 32 bytes of each row of A
/// (the swizzle depends on the address, so it stays correct), 16 rows of B.
inline constexpr unsigned a_step = wgmma_k * 2 / 16;
inline constexpr unsigned b_step = wgmma_k * box_row_bytes / 16;
/// Increment from 64 rows of A to the next 64.
inline constexpr unsigned a_block = wgmma_m * box_row_bytes / 16;

// Sums of m64nN: thread t of the warpgroup holds row r = 16 (t / 32) + t % 32 / 4 and row r + 8, in
// columns 8 j + 2 (t % 4) and the next one: d[4 j] and d[4 j + 1] of row r, d[4 j + 2] and
// d[4 j + 3] of row r + 8.

/// The parts of the instruction that the type of A and B determines; constraint "C" inserts them.
/// `k_and_types`: k terms per instruction (32 bytes); the types of the sums, A and B. `immediates`:
/// A and B not negated, A not transposed, B transposed. k_major.cuh adds TF32 and e4m3.
template <class T>
struct Wgmma;
template <>
struct Wgmma<__half> {
  static constexpr char k_and_types[] = "k16.f32.f16.f16";
  static constexpr char immediates[] = "1, 1, 0, 1";
};
template <>
struct Wgmma<__nv_bfloat16> {
  static constexpr char k_and_types[] = "k16.f32.bf16.bf16";
  static constexpr char immediates[] = "1, 1, 0, 1";
};

/// d[64, 64] = A[64, k] B[k, 64], plus d if `add`.
template <class T>
__device__ inline void multiply_async(float (&d)[32], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n"
      " .reg .pred add;\n"
      " setp.ne.b32 add, %34, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n64%35 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, add, %36;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "C"(Wgmma<T>::k_and_types),
        "C"(Wgmma<T>::immediates));
}

/// d[64, 128] = A[64, k] B[k, 128], plus d if `add`.
template <class T>
__device__ inline void multiply_async(float (&d)[64], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n"
      " .reg .pred add;\n"
      " setp.ne.b32 add, %66, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n128%67 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, add, %68;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "C"(Wgmma<T>::k_and_types),
        "C"(Wgmma<T>::immediates));
}

/// d[64, 176] = A[64, k] B[k, 176], plus d if `add`.
template <class T>
__device__ inline void multiply_async(float (&d)[88], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n"
      " .reg .pred add;\n"
      " setp.ne.b32 add, %90, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n176%91 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, "
      "%72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87"
      "}, %88, %89, add, %92;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
        "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
        "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
        "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "C"(Wgmma<T>::k_and_types),
        "C"(Wgmma<T>::immediates));
}

/// d[64, 192] = A[64, k] B[k, 192], plus d if `add`.
template <class T>
__device__ inline void multiply_async(float (&d)[96], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n"
      " .reg .pred add;\n"
      " setp.ne.b32 add, %98, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n192%99 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, "
      "%72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, "
      "%88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, add, %100;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
        "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
        "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
        "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
        "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "C"(Wgmma<T>::k_and_types),
        "C"(Wgmma<T>::immediates));
}

/// d[64, 256] = A[64, k] B[k, 256], plus d if `add`.
template <class T>
__device__ inline void multiply_async(float (&d)[128], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n"
      " .reg .pred add;\n"
      " setp.ne.b32 add, %130, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n256%131 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, "
      "%72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, "
      "%88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, "
      "%104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, "
      "%120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, add, %132;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
        "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
        "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
        "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
        "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
        "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
        "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
        "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
        "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "C"(Wgmma<T>::k_and_types),
        "C"(Wgmma<T>::immediates));
}

/// Call before the first wgmma and after other instructions have written the sums.
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Closes a group of wgmmas.
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until all groups of this warp but the latest `Pending` are complete.
template <unsigned Pending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Call where the sums pass from other instructions to wgmma and, after wait_for_products<0>(),
/// back. The compiler assumes that the sums are computed when wgmma is issued; this keeps it from
/// moving uses of the sums across the call.
template <unsigned Blocks, unsigned Sums>
__device__ inline void pin_sums(float (&sums)[Blocks][Sums]) {
#pragma unroll
  for (unsigned block = 0; block < Blocks; ++block) {
#pragma unroll
    for (unsigned i = 0; i < Sums; ++i) {
      asm volatile("" : "+f"(sums[block][i])::"memory");
    }
  }
}

/// Starts multiplying a stage: Blocks times 64 rows of A at `a` by the tile of B at `b`.
template <class T, unsigned Blocks, unsigned Sums>
__device__ inline void multiply_stage(T, float (&sums)[Blocks][Sums], unsigned a, unsigned b,
                                      bool add) {
  const std::uint64_t first_a = descriptor_a(a);
  const std::uint64_t first_b = descriptor_b(b);
  begin_products();
#pragma unroll
  for (unsigned step = 0; step < stage_k / wgmma_k; ++step) {
#pragma unroll
    for (unsigned block = 0; block < Blocks; ++block) {
      multiply_async<T>(sums[block], first_a + step * a_step + block * a_block,
                        first_b + step * b_step, add || step > 0);
    }
  }
  commit_products();
}

}  // namespace warpgauge::kernels::hopper
