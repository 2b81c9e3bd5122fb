# SPDX-License-Identifier: Apache-2.0
"""--isolate: what programs can reach, what a run says of it, and a machine that cannot."""

from __future__ import annotations

import os

import pytest

import isolating
from two_folders import TwoFolders
from warpgauge.system.errors import ExitStatus, UserError


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("isolated", [True, False])
def test_an_isolated_program_is_measured_and_writes_nothing(
    folders: TwoFolders, isolated: bool, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with isolating.folder() as folders.root:
        monkeypatch.chdir(folders.root)
        written = folders.root / "written"
        for side in ("base", "candidate"):
            context = {"isolated": "no (it lies)"}
            real = folders.make(f"real-{side}", "copy", plain=plain, context=context)
            program = folders.root / side / "copy"
            program.parent.mkdir()
            program.write_text(f'#!/bin/sh\n(echo x > {written}) 2>&-\nexec {real} "$@"\n')
            program.chmod(0o755)
        assert folders.beside(*["--isolate=always"] * isolated) is ExitStatus.OK
        assert written.exists() is not isolated
        if isolated:
            assert "The run says that it isolated the programs" in folders.output()[0]
            assert [one["context"]["isolated"] for one in folders.documents()] == ["yes", "yes"]


def test_where_the_machine_cannot_isolate_auto_says_so_and_always_refuses(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.both("copy")
    isolating.refuse(folders.root, monkeypatch)
    assert folders.beside("--isolate=auto") is ExitStatus.OK
    told = "cannot isolate programs here: it is a test"
    assert f"The programs were not isolated from their machine: {told}." in folders.output()[0]
    for one in folders.documents():
        assert one["context"]["isolated"] == f"no ({told})"
    with pytest.raises(UserError, match=told):
        folders.beside("--isolate=always")


def test_where_another_user_cannot_enter_the_folder_of_the_programs_auto_says_so(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("the programs run as this user: it can enter its folders")
    with isolating.folder() as folders.root:
        monkeypatch.chdir(folders.root)
        folders.both("copy")
        (folders.root / "base").chmod(0o700)
        assert folders.beside("--isolate=auto") is ExitStatus.OK
        for one in folders.documents():
            assert "base" in one["context"]["isolated"].removeprefix("no (")
        with pytest.raises(UserError, match="cannot enter a folder"):
            folders.beside("--isolate=always")
