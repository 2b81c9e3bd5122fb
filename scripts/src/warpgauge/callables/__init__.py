# SPDX-License-Identifier: Apache-2.0
"""Measure callables of Python that launch GPU work, with the engine of the compiled programs."""
