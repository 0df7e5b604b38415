"""Who else packages a tree: peers, archivers, git."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.contestants import Command, Contestant
from benchmarks.workshop import Workshop

LEFT_OUT: Final = (".git", "node_modules", ".venv")
TAR_ZSTD: Final = "tar, zstd -1"
GIT_STATUS: Final = "git status"
STAT_WALK: Final = "a bare walk in Python, a stat a file"
_IDENTITY: Final = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
_PACKERS: Final = (
    ("keras-kinetic", "peer_kinetic", "cold"),
    ("ray", "peer_ray", "cold"),
    ("metaflow", "peer_metaflow", "cold"),
    ("modal", "peer_modal", "again"),
    ("skypilot", "peer_skypilot", "cold"),
    ("flytekit", "peer_flytekit", "cold"),
    ("lithops", "peer_lithops", "cold"),
)


def packers(shop: Workshop, name: str, *, only: Sequence[str] | None = None) -> list[Contestant]:
    """Return the peers that package a whole tree.

    Args:
        shop: Where.
        name: Of the tree.
        only: Distributions, or all.
    """
    tree = shop.tree(name)
    return [
        shop.peer(
            distribution,
            module,
            step,
            tree=tree,
            excluded=LEFT_OUT,
            out=shop.room(f"{distribution}-{name}", "archive"),
        )
        for distribution, module, step in _PACKERS
        if only is None or distribution in only
    ]


def archivers(shop: Workshop, name: str) -> list[Contestant]:
    """Return `zip`, `tar` with `zstd`, and `git archive`."""
    tree = shop.tree(name)
    zipped, tarred, archived = (shop.room(f"{tool}-{name}", "archive") for tool in ("zip", "tar", "git"))
    unzipped = [f"{folder}/*" for folder in LEFT_OUT]
    untarred = [f"--exclude=./{folder}" for folder in LEFT_OUT]
    return [
        Command(name="zip -r", pipeline=[["zip", "-q", "-r", "-", ".", "-x", *unzipped]], cwd=tree, output=zipped),
        Command(
            name=TAR_ZSTD,
            pipeline=[["tar", "-c", *untarred, "."], ["zstd", "-q", "-1", "-c"]],
            cwd=tree,
            output=tarred,
        ),
        Command(
            name="git archive",
            pipeline=[[*_git(shop, name), "archive", "--format=zip", "HEAD"]],
            cwd=tree,
            output=archived,
        ),
    ]


def git_status(shop: Workshop, name: str) -> Contestant:
    """Return git's look at a tree that did not change, its index warm."""
    return Command(name=GIT_STATUS, pipeline=[[*_git(shop, name), "status", "--porcelain"]], cwd=shop.tree(name))


def stat_walk(shop: Workshop, name: str) -> Contestant:
    """Return the least that Python can do to see whether a tree changed: a look at each file."""
    return shop.ours("floor", "stat_walk", name=STAT_WALK, tree=shop.tree(name), left_out=LEFT_OUT)


def _git(shop: Workshop, name: str) -> list[str]:
    """Return git with a repository apart from the tree, everything committed that is not left out."""
    tree, repository = shop.tree(name), shop.room(f"git-{name}", "repository")
    command = ["git", *_IDENTITY, f"--git-dir={repository}", f"--work-tree={tree}"]
    if repository.is_dir() or not _has_git():
        return command
    subprocess.run([*command, "init", "--quiet"], check=True, capture_output=True)
    ignored = "".join(f"{folder}/\n" for folder in LEFT_OUT)
    repository.joinpath("info").mkdir(exist_ok=True)
    repository.joinpath("info", "exclude").write_text(ignored, encoding="utf-8")
    for words in (["config", "gc.auto", "0"], ["add", "--all"], ["commit", "--quiet", "--message", "All"]):
        subprocess.run([*command, *words], cwd=tree, check=True, capture_output=True)
    return command


def _has_git() -> bool:
    try:
        subprocess.run(["git", "--version"], check=True, capture_output=True)  # noqa: S607 - whichever there is
    except OSError:
        return False
    return True


def room_of(shop: Workshop, name: str) -> Path:
    """Return where this project's archive of a tree goes."""
    return shop.room(f"ours-{name}", "context.zip")
