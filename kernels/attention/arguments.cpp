// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/arguments.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/arguments.hpp"

namespace warpgauge::kernels {

void require_attention(const char* launcher, const void* q, const void* k, const void* v,
                       AttentionShape shape) {
  const std::string name(launcher);
  if (shape.head_size != 64 && shape.head_size != 128) {
    throw std::invalid_argument(name + ": head_size=" + std::to_string(shape.head_size) +
                                ": must be 64 or 128");
  }
  if (shape.kv_heads == 0 || shape.heads % shape.kv_heads != 0) {
    throw std::invalid_argument(name + ": heads=" + std::to_string(shape.heads) +
                                " kv_heads=" + std::to_string(shape.kv_heads) +
                                ": heads must be a multiple of kv_heads");
  }
  require_at_most(launcher, shape.length, most_attention_length);
  require_at_most(launcher, shape.heads, std::size_t{1} << 16);
  require_countable(launcher, shape.batch, shape.length * shape.heads * shape.head_size,
                    sizeof(double));
  for (const auto& [parameter, data] : {std::pair{"q", q}, {"k", k}, {"v", v}}) {
    require_pointer(launcher, parameter, data, 16);
  }
}

void require_decode(const char* launcher, const void* q, PagedCache cache, DecodeShape shape) {
  require_attention(launcher, q, cache.k, cache.v, as_attention(shape));
  require_arrays(launcher, {{"table", cache.table}, {"lengths", cache.lengths}});
  const std::string name(launcher);
  if (shape.heads / shape.kv_heads > most_decode_group) {
    throw std::invalid_argument(name + ": heads=" + std::to_string(shape.heads) +
                                " kv_heads=" + std::to_string(shape.kv_heads) + ": at most " +
                                std::to_string(most_decode_group) + " heads may share keys");
  }
  if (shape.page_keys == 0 || shape.page_keys % decode_page_multiple != 0) {
    throw std::invalid_argument(name + ": page_keys=" + std::to_string(shape.page_keys) +
                                ": must be a multiple of " + std::to_string(decode_page_multiple));
  }
  require_at_most(launcher, shape.page_keys, std::size_t{1} << 20);
  require_at_most(launcher, shape.sequence_pages, (std::size_t{1} << 30) / shape.page_keys);
}

unsigned attention_blocks(const char* launcher, AttentionShape shape, unsigned rows) {
  const std::size_t tiles = (shape.length - 1) / rows + 1;
  require_at_most(launcher, shape.batch, max_grid_blocks);  // so that the product fits
  return blocks_for(launcher, tiles * shape.heads * shape.batch, 1);
}

}  // namespace warpgauge::kernels
