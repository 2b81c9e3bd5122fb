# SPDX-License-Identifier: Apache-2.0
"""Check a repository's settings against the gate's needs: docs/pages/gate.md, "Settings".

Standard library only. What GitHub does not show counts as not set up, because the first job that
names a missing environment creates it without protection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from warpgauge.github.api import GitHub, Json, NotFound, at, text
from warpgauge.github.gpus import TOPIC, VARIABLE, Gpu, turns_on
from warpgauge.github.pull_request import WORKFLOW
from warpgauge.system.errors import UserError
from warpgauge.system.text import clause, quoted

INSIDE, OUTSIDE = "gpu", "gpu-outside"
_REVIEWERS, _CHECKS = "required_reviewers", "required_status_checks"
_EXTERNAL = "all_external_contributors"
_ENVIRONMENTS = "Settings, Environments"
_ACTIONS = "Settings, Actions, General"
_RULES = "Settings, Rules"
_PAGES = "Settings, Pages"
# The variable that enables the site of the nights, and the environment that GitHub made for it.
_SITE, _SITE_ENVIRONMENT = "WARPGAUGE_PAGES", "github-pages"
_ABSENT = (
    "does not exist, or the token may not see it. Create it; otherwise GitHub creates it without "
    f"protection for the first job that names it ({_ENVIRONMENTS})"
)


@dataclass(frozen=True)
class Point:
    """A setting. `right` is None if it is neither right nor wrong."""

    name: str
    right: bool | None
    told: str

    def __str__(self) -> str:
        mark = {True: "ok", False: "WRONG", None: "note"}[self.right]
        return f"{mark:<5}  {self.name}: {self.told}"


_Found = tuple[bool | None, str]


def points(api: GitHub, repository: str, models: Sequence[Gpu]) -> Iterator[Point]:
    """Yield the checked settings. Raise UserError if the repository itself cannot be read."""
    path = f"/repos/{repository}"
    home = api.get(path)
    checks: dict[str, Callable[[], _Found]] = {
        f"environment {INSIDE}": lambda: _environment(api, path, INSIDE),
        f"environment {OUTSIDE}": lambda: _environment(api, path, OUTSIDE),
        "workflow permissions": lambda: _permissions(api, path),
        "workflows of forks": lambda: _forks(api, path, home),
        "GPU jobs": lambda: _turned_on(api, path, home),
        "required checks": lambda: _required(api, path, home, models),
        "pages": lambda: _pages(api, path, home),
    }
    for name, check in checks.items():
        try:
            yield Point(name, *check())
        except UserError as fault:  # noqa: PERF203
            yield Point(name, False, f"GitHub does not report it ({clause(str(fault))})")


def _environment(api: GitHub, path: str, name: str) -> _Found:
    try:
        found = api.get(f"{path}/environments/{name}")
    except NotFound:
        return False, _ABSENT
    if name == INSIDE:
        return True, "exists"
    rules = [one for one in _list(found, "protection_rules") if at(one, "type") == _REVIEWERS]
    if not any(_list(rule, "reviewers") for rule in rules):
        return False, f"has no required reviewers; add maintainers ({_ENVIRONMENTS})"
    told = {at(rule, "prevent_self_review") for rule in rules}
    if False in told:
        return False, f"lets its reviewers approve their own jobs; prevent it ({_ENVIRONMENTS})"
    unknown = "" if told == {True} else "; GitHub does not report whether it prevents self-review"
    return True, f"has required reviewers{unknown}"


def _permissions(api: GitHub, path: str) -> _Found:
    found = api.get(f"{path}/actions/permissions/workflow")
    if at(found, "default_workflow_permissions") == "read":
        return True, "read only"
    return False, f"a job may write unless it says otherwise; choose read ({_ACTIONS})"


def _forks(api: GitHub, path: str, home: Json) -> _Found:
    if at(home, "private") is False:
        found = api.get(f"{path}/actions/permissions/fork-pr-contributor-approval")
        if at(found, "approval_policy") == _EXTERNAL:
            return True, "wait for approval, of all external contributors"
        why = "some start without approval; require approval for all external ones"
        return False, f"{why} ({_ACTIONS})"
    found = api.get(f"{path}/actions/permissions/fork-pr-workflows-private-repos")
    if at(found, "run_workflows_from_fork_pull_requests") is False:
        return True, "do not run"
    if at(found, "require_approval_for_fork_pr_workflows") is not True:
        return False, f"start without approval; require it ({_ACTIONS})"
    for key in ("send_write_tokens_to_workflows", "send_secrets_and_variables"):
        if at(found, key) is not False:
            return False, f"get write tokens, or secrets; send neither ({_ACTIONS})"
    return True, "wait for approval, and get no secret"


def _turned_on(api: GitHub, path: str, home: Json) -> _Found:
    if TOPIC in _list(home, "topics"):
        return None, f"are on, also for pull requests from forks, by the topic {TOPIC}"
    if turns_on(_variable(api, path, VARIABLE)):
        here = f"are on by the variable {VARIABLE}, but not for forks"
        return None, f"{here}, which need the topic {TOPIC}"
    return None, f"are off; the variable {VARIABLE} turns them on"


def _variable(api: GitHub, path: str, name: str) -> str:
    """Return a variable's value, or "" if it is not set."""
    # Listed, because a query for one variable gives 404 both if it is absent and if it is hidden.
    variables = api.listed(f"{path}/actions/variables", "variables")
    return next((str(at(one, "value")) for one in variables if at(one, "name") == name), "")


def _pages(api: GitHub, path: str, home: Json) -> _Found:
    """Check that only our workflow on the default branch makes the site of the nights."""
    wanted = _variable(api, path, _SITE)
    if not wanted:
        return None, f"are off; the variable {_SITE}, the site's address, turns them on"
    try:
        found = api.get(f"{path}/pages")
    except NotFound:
        return False, f"{_SITE} is set but there is no site; choose GitHub Actions ({_PAGES})"
    if at(found, "build_type") != "workflow":
        return False, f"are made from a branch; choose GitHub Actions ({_PAGES})"
    if (there := str(at(found, "html_url"))).rstrip("/") != wanted.rstrip("/"):
        return False, f"are at {quoted(there)}; set {_SITE} to that (Settings, Variables)"
    rules = None
    with suppress(NotFound):
        rules = at(api.get(f"{path}/environments/{_SITE_ENVIRONMENT}"), "deployment_branch_policy")
    if rules is None:
        return False, (
            "any branch may publish them; allow only the default branch to use the environment "
            f"{_SITE_ENVIRONMENT} ({_ENVIRONMENTS})"
        )
    if at(home, "private") is not False and at(found, "public") is not False:
        return None, f"show the results of a private repository to everyone, at {wanted}"
    return True, f"are at {wanted}"


def _required(api: GitHub, path: str, home: Json, models: Sequence[Gpu]) -> _Found:
    branch = text(home, "default_branch")
    rules = api.listed(f"{path}/rules/branches/{quote(branch, safe='')}")
    workflows, checks = (
        [str(at(one, key)) for rule in rules for one in _list(at(rule, "parameters"), kind)]
        for kind, key in (("workflows", "path"), (_CHECKS, "context"))
    )
    if WORKFLOW in workflows:
        return True, f"{WORKFLOW} itself is required on {quoted(branch)}"
    with suppress(NotFound):  # no branch protection of the older kind
        protection = api.get(f"{path}/branches/{quote(branch, safe='')}/protection/{_CHECKS}")
        checks += map(str, _list(protection, "contexts"))
    gates = [gpu.job_name for gpu in models]
    missing = [gate for gate in gates if gate not in {one.rpartition(" / ")[2] for one in checks}]
    if not missing:
        return True, f"{', '.join(gates)} on {quoted(branch)}: by name, from any app"
    if TOPIC not in _list(home, "topics") and not turns_on(_variable(api, path, VARIABLE)):
        return None, f"{', '.join(missing)} not required; GPU jobs are off, so nothing reports it"
    return False, f"{quoted(branch)} does not require {', '.join(missing)}; add it ({_RULES})"


def _list(value: object, key: str) -> list[object]:
    found = at(value, key)
    return found if isinstance(found, list) else []
