"""The packaging plan: how the pod rebuilds working directory and `sys.path` (`.kinetic/plan.json`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where the entry directory, the working directory and the import path lie, relative to the root."""

    package_root: str
    """Absolute path of the package root on the client."""
    entry_rel: str = ""
    """Entry directory relative to the root, `""` for the root."""
    client_cwd_rel: str | None = ""
    """Client working directory relative to the root, `""` for the root, `None` when outside."""
    sys_path_rel: tuple[str, ...] = ("",)
    """Client `sys.path` entries under the root, in the client's order, the first always `""`."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Count of exclusions per source, such as `{"always": 3, "ignore-file": 12}`."""
    excluded_files: Mapping[str, str] = field(default_factory=dict)
    """What rules kept out, relative to the root, directories ending in `/`, each with its rule; not everything
    when that is much. A pod that misses a file can say why."""
    extensions: Mapping[str, Any] = field(default_factory=dict)
    """What plugins added, keyed by entry-point name."""

    def to_json(self) -> dict[str, Any]:
        """Return the plan as the JSON object of the contract."""
        told: dict[str, Any] = {"excluded_files": dict(self.excluded_files)} if self.excluded_files else {}
        return {
            "format": FORMAT,
            "package_root": self.package_root,
            "entry_rel": self.entry_rel,
            "client_cwd_rel": self.client_cwd_rel,
            "sys_path_rel": list(self.sys_path_rel),
            "excluded": dict(self.excluded),
            "extensions": dict(self.extensions),
            **told,
        }

    def to_bytes(self) -> bytes:
        """Return the plan as UTF-8 JSON with sorted keys: the same plan gives the same bytes."""
        return json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, indent=1).encode("utf-8", "surrogatepass")


def read_plan(data: bytes | None) -> tuple[Plan, tuple[str, ...]]:
    """Read a plan leniently: what is missing or malformed degrades to the root, with one warning each.

    Args:
        data: The bytes at `.kinetic/plan.json`, or `None` when the archive holds none.

    Returns:
        The plan, and the warnings to log; unknown keys are ignored without one.

    >>> read_plan(b'{"package_root": "/p", "sys_path_rel": ["", "src"], "new": 1}')[0].sys_path_rel
    ('', 'src')
    >>> read_plan(b"[]")[1]
    ('the packaging plan is no JSON object; using the workspace root',)
    """
    if data is None:
        return Plan(package_root=""), ("the context has no packaging plan; using the workspace root",)
    try:
        raw = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return Plan(package_root=""), ("the packaging plan is not readable as JSON; using the workspace root",)
    if not isinstance(raw, dict):
        return Plan(package_root=""), ("the packaging plan is no JSON object; using the workspace root",)
    warnings: list[str] = []
    plan = Plan(
        package_root=_text(raw, "package_root", "", warnings),
        entry_rel=_text(raw, "entry_rel", "", warnings),
        client_cwd_rel=_cwd(raw, warnings),
        sys_path_rel=_paths(raw, warnings),
        excluded=_counts(raw),
        excluded_files=_rules(raw),
        extensions=raw["extensions"] if isinstance(raw.get("extensions"), dict) else {},
    )
    return plan, tuple(warnings)


def _text(raw: dict[str, Any], key: str, default: str, warnings: list[str]) -> str:
    value = raw.get(key)
    if isinstance(value, str):
        return value
    warnings.append(f"the packaging plan has no usable {key!r}; using {default!r}")
    return default


def _cwd(raw: dict[str, Any], warnings: list[str]) -> str | None:
    if "client_cwd_rel" in raw and raw["client_cwd_rel"] is None:
        return None
    return _text(raw, "client_cwd_rel", "", warnings)


def _paths(raw: dict[str, Any], warnings: list[str]) -> tuple[str, ...]:
    value = raw.get("sys_path_rel")
    if not isinstance(value, list):
        warnings.append("the packaging plan has no usable 'sys_path_rel'; using the workspace root")
        return ("",)
    kept = [entry for entry in value if isinstance(entry, str)]
    if len(kept) != len(value):
        warnings.append("the packaging plan's 'sys_path_rel' holds entries that are no text; leaving them out")
    return tuple(kept)


def _counts(raw: dict[str, Any]) -> dict[str, int]:
    value = raw.get("excluded")
    if not isinstance(value, dict):
        return {}
    return {key: count for key, count in value.items() if isinstance(count, int)}


def _rules(raw: dict[str, Any]) -> dict[str, str]:
    value = raw.get("excluded_files")
    if not isinstance(value, dict):
        return {}
    return {path: rule for path, rule in value.items() if isinstance(rule, str)}
