# SPDX-License-Identifier: Apache-2.0
"""Print what a call takes on the GPU, cold."""

import torch

import warpgauge
from silu import silu

x = torch.randn(1 << 24, device="cuda")
print(warpgauge.time(silu, x, reference=torch.nn.functional.silu, bytes=2 * x.nbytes))
