"""Why a payload does not load here: both sides' versions, and where a missing module was at the client."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from kinetic_core.wire import payload as keys
from kinetic_core.wire.fingerprint import fingerprint, skew
from kinetic_core.wire.plan import Plan
from kinetic_runner.image import image_path
from kinetic_runner.loading import cloudpickle_version
from kinetic_runner.preview import inert

_CLIENT: Final = ("kinetic", "kinetic_core")


def skew_lines(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Name both sides of each version of Python and cloudpickle that differs from the client's."""
    client = payload.get(keys.CLIENT_FINGERPRINT)
    if not isinstance(client, Mapping):
        return ()
    return skew(client, fingerprint(cloudpickle=cloudpickle_version(), kinetic=""))


def same_python(payload: Mapping[str, Any]) -> bool:
    """Tell whether the client's Python has this one's minor version, or none is known.

    >>> same_python({"client_fingerprint": {"python": "2.7.18"}}), same_python({})
    (False, True)
    """
    client = payload.get(keys.CLIENT_FINGERPRINT)
    theirs = client.get("python") if isinstance(client, Mapping) else None
    return not skew({"python": theirs}, fingerprint(cloudpickle="", kinetic=""))


def loading_failure(error: Exception, path: Path, plan: Plan) -> Exception:
    """Return the exception to report for a payload that does not load.

    A `ModuleNotFoundError` stays one, with what is known about the module. Others are told with the versions of
    both sides where these differ, and stay as they are where they do not.

    Args:
        error: What loading raised.
        path: The payload.
        plan: As shipped: says how much was excluded.
    """
    payload = inert(path)
    client = payload.get(keys.CLIENT_FINGERPRINT)
    client = client if isinstance(client, Mapping) else {}
    installed = _versions(client.get("distributions"))
    here = fingerprint(
        cloudpickle=cloudpickle_version(),
        kinetic="",
        distributions={name: version for name, version in installed.items() if version is not None},
    )
    lines = list(skew(client, here))
    if isinstance(error, ModuleNotFoundError) and error.name:
        lines = [_missing(error.name, payload, client, installed, plan), *lines]
        return ModuleNotFoundError("\n".join([str(error), *lines]), name=error.name)
    if not lines:
        return error
    return RuntimeError("\n".join([f"the payload does not load here: {type(error).__name__}: {error}", *lines]))


def hints(error: Exception, payload: Mapping[str, Any], plan: Plan) -> list[str]:
    """Return what may explain an exception of the function: files that were kept out, other versions.

    >>> hints(FileNotFoundError(2, "No such file", "a.csv"), {}, Plan(package_root="/p", excluded={"data": 1}))
    ['of the files under the package root, 1 excluded at the client (data: 1)']
    """
    found = [f"other versions here than at the client: {line}" for line in skew_lines(payload)]
    if (type(error).__module__, type(error).__name__) == ("bdb", "BdbQuit"):
        found.append(
            "a job has no terminal for breakpoint() and pdb: f.local(…) calls the function in your own process, and"
            " debug=True lets an editor attach on a cluster"
        )
    if isinstance(error, ModuleNotFoundError) and error.name:
        found += _clients_own(error.name)
        found += excluded_by(plan, _module_paths(error.name, plan))
    elif isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        found += excluded_by(plan, _file_paths(error.filename, plan))
    if isinstance(error, FileNotFoundError | ModuleNotFoundError) and (excluded := exclusions(plan)):
        found.append(f"of the files under the package root, {excluded}")
    return found


def excluded_by(plan: Plan, paths: Iterable[str]) -> list[str]:
    """Name the rule that kept out the first of these paths, or a directory that holds it.

    >>> excluded_by(Plan(package_root="/p", excluded_files={"data/": "data (ignore-file)"}), ["data/x.csv"])
    ['data/ was kept out of the context by the rule data (ignore-file)']
    """
    for path in paths:
        for place in (path, f"{path}/", *(f"{parent}/" for parent in PurePosixPath(path).parents)):
            if place in plan.excluded_files:
                return [f"{place} was kept out of the context by the rule {plan.excluded_files[place]}"]
    return []


def _module_paths(name: str, plan: Plan) -> Iterator[str]:
    """Yield where the file of a module would lie, relative to the root."""
    for entry in plan.sys_path_rel:
        path = posixpath.join(entry, name.replace(".", "/"))
        yield f"{path}.py"
        yield path


def _file_paths(filename: str, plan: Plan) -> Iterator[str]:
    """Yield what a file's name may mean, relative to the root: below the working directory, or as on the client."""
    if plan.package_root and filename.startswith(f"{plan.package_root}/"):
        yield filename.removeprefix(f"{plan.package_root}/")
    elif not filename.startswith("/"):
        yield posixpath.normpath(posixpath.join(plan.client_cwd_rel or "", filename))


def exclusions(plan: Plan) -> str:
    """Say how many entries the client kept out of the context, and by which rules; empty where none.

    >>> exclusions(Plan(package_root="/p", excluded={"always": 3, "ignore-file": 12, "data": 0}))
    '12 excluded at the client (ignore-file: 12)'
    """
    counts = {source: count for source, count in plan.excluded.items() if count and source != "always"}
    if not counts:
        return ""
    return (
        f"{sum(counts.values())} excluded at the client ({', '.join(f'{s}: {n}' for s, n in sorted(counts.items()))})"
    )


def _clients_own(name: str) -> list[str]:
    """Say how the client's own package comes to where a module of the project imports it; the runner needs it not."""
    if name.partition(".")[0] not in _CLIENT:
        return []
    return ["a module of the project imports it here: add kinetic-run to the dependency file or the image"]


def _missing(
    name: str,
    payload: Mapping[str, Any],
    client: Mapping[str, Any],
    installed: Mapping[str, str | None],
    plan: Plan,
) -> str:
    top = name.partition(".")[0]
    told = [f"module {name!r} is in neither the image nor the context"]
    by_value = payload.get(keys.MODULES_BY_VALUE)
    if isinstance(by_value, list) and any(str(one).partition(".")[0] == top for one in by_value):
        told.append("the client sent code of it by value, but something refers to it by name, so its file has to ship")
    told += _clients_own(name)
    lacking = {one: version for one, version in _texts(client.get("distributions")).items() if installed[one] is None}
    if lacking:
        names = ", ".join(f"{one} {version}" for one, version in sorted(lacking.items()))
        told.append(f"the client had installed what the image lacks: {names}; add it to the dependency file")
    told += excluded_by(plan, _module_paths(name, plan))
    if excluded := exclusions(plan):
        told.append(f"of the files under the package root, {excluded}; `.kineticignore` may name it")
    if len(told) == 1:
        told.append("add it to the dependency file, or, where it is the project's own, to the package root")
    return "; ".join(told)


def _versions(distributions: Any) -> dict[str, str | None]:
    """Return the versions that are installed here of the client's distributions, `None` for those that are not."""
    names = _texts(distributions)
    if not names:
        return {}
    with image_path():
        from importlib import metadata
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _texts(value: Any) -> dict[str, str]:
    return {str(key): str(item) for key, item in value.items()} if isinstance(value, Mapping) else {}
