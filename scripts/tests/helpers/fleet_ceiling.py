# SPDX-License-Identifier: Apache-2.0
"""How many sick GPUs of `simulated_fleets.py` any rule can find.

`python scripts/tests/helpers/fleet_ceiling.py SEED` prints the shares of GPUs, 3 % slow in five
rows, that likelihood ratios find. They know each row's noise and what rows share, and err with the
same chance: once they know the rows, too, once all sets of five rows are alike to them.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from simulated_fleets import GPUS_A_NODE, PROCESSES, SHARED, rows_like_recorded
from simulated_histories import recorded
from simulation import Array, markdown
from warpgauge.statistics.fleets import GPU_ALPHA

CHANCE = GPU_ALPHA / 8000
EFFECT, SLOW, DRAWS, POINTS = math.log(1.03), 5, 3000, 2**13


def log_ratios(gpu: float, process: float, tails: float | None) -> tuple[Array, Array]:
    """Log densities of a row's noise (on a grid), of which `EFFECT` is taken by interpolation."""
    sd = math.hypot(gpu, process)
    at = np.linspace(-1.0, 1.0, POINTS + 1) * max(30.0 * sd, 4.0 * EFFECT)
    if tails is None:
        return at, np.asarray(stats.norm.logpdf(at, scale=sd))
    half, parts = (at[1] - at[0]) / 2.0, []
    for one in (gpu, process):
        shrunk = max(one, half / 10.0) * math.sqrt((tails - 2.0) / tails)
        parts.append(np.diff(stats.t.cdf(np.append(at - half, at[-1] + half) / shrunk, tails)))
    spectra = [np.fft.rfft(part, 2 * len(at)) for part in parts]
    both = np.fft.irfft(spectra[0] * spectra[1], 2 * len(at))[POINTS // 2 :][: len(at)]
    return at, np.asarray(np.log(np.maximum(both, 1e-300)))


def found(log_ratio: Array) -> float:
    """The share above what healthy GPUs exceed with `CHANCE`, of ratios drawn from sick ones.

    A healthy GPU shows a ratio r with the chance of a sick one over r.
    """
    ordered = np.sort(log_ratio)[::-1]
    return float(np.mean(np.cumsum(np.exp(-ordered)) / len(ordered) <= CHANCE))


def ceiling(
    source: np.random.Generator, tails: float | None, device_rows_only: bool
) -> tuple[float, float]:
    """With the slow rows known, and without."""
    noise = recorded()
    rows = rows_like_recorded(source)
    host: NDArray[np.bool_] = noise.host[rows].astype(bool)
    own = np.mean(noise.deviations[rows] ** 2, axis=1) * 8 / 7 * (1.0 - SHARED)
    gpu = np.where(host, 0.0, np.sqrt(own))
    process = noise.process_sd[rows] * math.sqrt(math.pi / 2 / PROCESSES)
    # A node's level is known by its other GPUs.
    process = process * np.where(host, math.sqrt(GPUS_A_NODE / (GPUS_A_NODE - 1)), 1.0)
    grids = [log_ratios(*pair, tails) for pair in zip(gpu, process, strict=True)]
    eligible = np.flatnonzero(~host) if device_rows_only else np.arange(len(rows))

    def drawn(slow: NDArray[np.bool_], at: NDArray[np.intp]) -> Array:
        def noises() -> Array:
            if tails is None:
                return np.asarray(source.normal(size=slow.shape))
            return np.asarray(source.standard_t(tails, slow.shape) * math.sqrt(1.0 - 2.0 / tails))

        values = gpu[at] * noises() + process[at] * noises() + EFFECT * slow
        pairs = zip(values.T, (grids[row] for row in at), strict=True)
        ratios = [np.interp(x - EFFECT, *g) - np.interp(x, *g) for x, g in pairs]
        found: Array = np.array(ratios).T
        return found

    slow = np.zeros((DRAWS, len(eligible)), dtype=bool)
    for one in slow:
        one[source.choice(len(eligible), SLOW, replace=False)] = True
    ratios = np.exp(np.clip(drawn(slow, eligible), -600.0, 120.0))
    sums = np.eye(1, SLOW + 1).repeat(DRAWS, axis=0)  # over all sets of so many rows
    for ratio in ratios.T:
        sums[:, 1:] += sums[:, :-1] * ratio[:, None]
    unknown = found(np.log(sums[:, SLOW]) - math.log(math.comb(len(eligible), SLOW)))
    known = []
    for _ in range(200):
        at = source.choice(eligible, SLOW, replace=False)
        known.append(found(drawn(np.ones((DRAWS, SLOW), dtype=bool), at).sum(axis=1)))
    return float(np.mean(known)), unknown


if __name__ == "__main__":
    source = np.random.default_rng(int(sys.argv[1]))
    cells = []
    for name, tails, device_rows_only in (
        ("5 of all rows", None, False), ("5 device rows", None, True),
        *((f"5 device rows, t with {t:.0f} degrees", t, True) for t in (3.0, 5.0, 10.0)),
    ):  # fmt: skip
        shares = np.mean([ceiling(source, tails, device_rows_only) for _ in range(3)], axis=0)
        cells.append((name, *(f"{100 * share:.1f} %" for share in shares)))
    print(markdown(("3 % slow in", "rows known", "rows not known"), cells))
