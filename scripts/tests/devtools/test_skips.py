# SPDX-License-Identifier: Apache-2.0
"""Skipped tests are told in one wording, and no reason but a missing GPU is left out."""

from __future__ import annotations

from devtools import checks, skips

# As ctest 3.25 and, with labels behind, later ones write it.
OUTPUT = """\
100% tests passed, 0 tests failed out of 4

Label Time Summary:
gpu     =   0.17 sec*proc (3 tests)

Total Test time (real) =   2.62 sec

The following tests did not run:
\t  2 - gpu_case_test (Skipped)
\t  3 - large_test (Skipped)       gpu
\t  4 - snippet_runs (Skipped)
"""
DRIVER = (
    "a.hpp:19: Skipped\nno usable GPU: no NVIDIA driver on this machine: install it\n[  SKIPPED ]\n"
)
MEMORY = "b.cu:30: Skipped\nneeds 9 bytes of device memory, 3 are free\n[  SKIPPED ]\n"


def log(**tests: str) -> str:
    """LastTest.log with what each test said."""
    entries = [
        f"{index}/{len(tests)} Testing: {name}\n{index}/{len(tests)} Test: {name}\n{said}\n"
        for index, (name, said) in enumerate(tests.items(), 1)
    ]
    return "Start testing: Nov 21 11:53 UTC\n" + "".join(entries)


def test_tests_without_a_gpu_are_counted_in_one_wording() -> None:
    said = log(host_test="ok", gpu_case_test=2 * DRIVER, large_test=DRIVER, snippet_runs="no GPU")
    assert skips.of_ctest(OUTPUT, said) == "3 GPU tests skipped: no usable GPU"
    assert skips.of_ctest(OUTPUT, "") == "3 GPU tests skipped: no usable GPU"


def test_another_reason_is_told_even_where_the_test_as_a_whole_passed() -> None:
    said = log(host_test=MEMORY, gpu_case_test=DRIVER, large_test=MEMORY, snippet_runs="")
    assert skips.of_ctest(OUTPUT, said) == (
        "2 GPU tests skipped: no usable GPU; "
        "2 test cases skipped: needs 9 bytes of device memory, 3 are free"
    )


def test_skipped_python_tests_are_counted_and_where_none_was_nothing_is_said() -> None:
    assert skips.of_pytest("SKIPPED [1] x\n=== 2 passed, 1 skipped in 0.1s ===\n") == (
        "1 Python test skipped"
    )
    assert skips.of_pytest("....\n===== 3 passed in 0.1s =====\n") == ""
    assert skips.of_pytest("crashed: 3 skipped\n") == ""
    assert skips.of_ctest("100% tests passed, 0 tests failed out of 2\n", log(a="ok", b="")) == ""


def test_the_runners_own_list_of_skipped_tests_is_left_out_and_no_other() -> None:
    assert checks.ctest_summary(OUTPUT).endswith("Total Test time (real) =   2.62 sec")
    disabled = checks.ctest_summary(OUTPUT + "\t  5 - gone (Disabled)\n")
    assert disabled.endswith("The following tests did not run:\n\t  5 - gone (Disabled)")
    failed = checks.ctest_summary(OUTPUT + "\nThe following tests FAILED:\n\t  1 - a (Failed)\n")
    assert "did not run" not in failed
    assert failed.endswith("The following tests FAILED:\n\t  1 - a (Failed)")
