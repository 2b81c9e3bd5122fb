# SPDX-License-Identifier: Apache-2.0
"""Groups of logarithms of unequal length in one array, for fast numpy operations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import special

from warpgauge.statistics.log_ratios import Array

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


def centre(values: Array) -> Array:
    """Return the median of the means of all pairs along the last axis, including self-pairs.

    For normal values its error is hardly larger than the mean's, and two wild values of seven
    move it little (Hodges and Lehmann 1963, "Estimates of location based on rank tests").
    """
    one, other = np.triu_indices(values.shape[-1])
    return np.asarray(np.median((values[..., one] + values[..., other]) / 2.0, axis=-1))


@dataclass(frozen=True)
class Groups:
    """Values in consecutive groups; `counts` holds their sizes, each at least one."""

    values: Array
    counts: Index

    @staticmethod
    def of_logs(times: Sequence[Sequence[float]]) -> Groups:
        counts = np.fromiter(map(len, times), np.intp, len(times))
        values = np.fromiter(chain.from_iterable(times), np.float64, int(counts.sum()))
        return Groups(np.log(values), counts)

    @property
    def means(self) -> Array:
        return self._sums(self.values) / self.counts

    @property
    def medians(self) -> Array:
        ordered, starts = self._ordered, self._starts
        lower, upper = (self.counts - 1) // 2, self.counts // 2
        return np.asarray((ordered[starts + lower] + ordered[starts + upper]) / 2.0)

    @property
    def median_variances(self) -> Array:
        """Variances of the groups' medians, for any distribution of the values.

        Each value is weighted by the probability that it is the median of a resampled group. Maritz
        and Jarrett 1978, "A note on estimating the variance of the sample median".
        """
        sizes, which = np.unique(self.counts, return_inverse=True)
        tables = [_chances(int(size)) for size in sizes]
        chances = np.concatenate([tables[index] for index in which]) if tables else np.zeros(0)
        ordered = self._ordered
        centres = self._sums(chances * ordered)
        return self._sums(chances * (ordered - centres[self._owners]) ** 2)

    @property
    def gaps(self) -> Array:
        """The smallest distance between two values of each group; zero if two are equal."""
        return self._smallest(self._gaps)

    @property
    def steps(self) -> Array:
        """The smallest distance between values that differ; infinite if all are equal."""
        return self._smallest(np.where(self._gaps > 0.0, self._gaps, np.inf))

    @property
    def _gaps(self) -> Array:
        gaps = np.diff(self._ordered, append=np.inf)
        gaps[self._starts + self.counts - 1] = np.inf  # a group's last to the next group
        return gaps

    def _smallest(self, values: Array) -> Array:
        return np.asarray(np.minimum.reduceat(values, self._starts))

    @property
    def _ordered(self) -> Array:
        """The values, ascending within each group."""
        return self.values[np.lexsort((self.values, self._owners))]

    @property
    def _starts(self) -> Index:
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @property
    def _owners(self) -> Index:
        return np.repeat(np.arange(self.counts.size), self.counts)

    @property
    def squares(self) -> Array:
        """Sums of squared deviations from the groups' means."""
        return self._sums((self.values - self.means[self._owners]) ** 2)

    def _sums(self, values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, self._starts))


def _chances(count: int) -> Array:
    """Return the probabilities that a resampled group of `count` has its 1st, 2nd … as median."""
    middle = (count + 1) / 2.0
    return np.diff(special.betainc(middle, middle, np.linspace(0.0, 1.0, count + 1)))


def numbered(keys: Iterable[Hashable]) -> Index:
    """Number the keys 0 … by first appearance; equal keys get equal numbers."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def sums_by(owner: Index, values: Array, size: int) -> Array:
    """Sum `values` by the number of their owner, 0 … size − 1."""
    return np.asarray(np.bincount(owner, weights=values, minlength=size))
