"""`kinetic profile`: named targets, kept in one private file."""

from typing import Annotated, Any

import typer

from kinetic.cli.config import redact
from kinetic.cli.options import AsJson
from kinetic.cli.output import print_fields, print_json, print_table
from kinetic.profiles import FIELDS, Profile, Profiles, load_profiles
from kinetic_core.errors import ConfigError, UsageError

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the profile.")]
Text = Annotated[str | None, typer.Option()]


def make_app() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Create and choose profiles: named targets.")
    app.command("create")(create)
    app.command("ls")(ls)
    app.command("use")(use)
    app.command("unset")(unset)
    app.command("show")(show)
    app.command("rm")(rm)
    return app


def create(
    name: Name,
    *,
    project: Text = None,
    zone: Text = None,
    cluster: Text = None,
    namespace: Text = None,
    backend: Text = None,
    storage: Text = None,
    ignore: Annotated[list[str] | None, typer.Option(help="An ignore dialect; may be repeated.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a profile of that name.")] = False,
    use: Annotated[bool, typer.Option("--use", help="Make it the active one.")] = False,
) -> None:
    """Create a profile."""
    profiles = _load()
    if name in profiles.by_name and not force:
        raise ConfigError(f"profile {name!r} exists in {profiles.path}; replace it with --force")
    if storage is not None and "://" not in storage:
        example = "file:///absolute/path or gs://bucket/prefix"
        raise UsageError(f"--storage: {storage!r} is no URL; write one such as {example}")
    profile = Profile(
        project=project,
        zone=zone,
        cluster=cluster,
        namespace=namespace,
        backend=backend,
        storage=storage,
        ignore=tuple(ignore or ()),
    )
    profiles = profiles.with_profile(name, profile)
    (profiles.using(name) if use else profiles).save()
    print(f"created profile {name!r} in {profiles.path}")
    if not use:
        print(f"make it the active one with: kinetic profile use {name}")


def ls(*, as_json: AsJson = False) -> None:
    """List the profiles; a star marks the active one."""
    profiles = _load()
    active = _active(profiles)
    if as_json:
        print_json([_json(profiles, name, active) for name in sorted(profiles.by_name)])
        return
    rows = [
        ["*" if name == active else "", name, *(_shown(profile, field) for field in FIELDS)]
        for name, profile in sorted(profiles.by_name.items())
    ]
    print_table(["", "name", *FIELDS], rows, empty=f"no profiles in {profiles.path}")


def use(name: Name) -> None:
    """Make a profile the active one."""
    _load().using(name).save()
    print(f"profile {name!r} is active")


def unset() -> None:
    """Make no profile active."""
    _load().using(None).save()
    print("no profile is active")


def show(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="By default the active one.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show one profile."""
    profiles = _load()
    active = _active(profiles)
    chosen = name or active
    if chosen is None:
        raise ConfigError("no profile is active; name one, or choose one with `kinetic profile use NAME`")
    profile = profiles.get(chosen)
    if as_json:
        print_json(_json(profiles, chosen, active))
        return
    print_fields(
        {"name": chosen + (" (active)" if chosen == active else "")} | {name: _shown(profile, name) for name in FIELDS}
    )


def rm(name: Name) -> None:
    """Remove a profile."""
    _load().without(name).save()
    print(f"removed profile {name!r}")


def _load() -> Profiles:
    from kinetic import settings

    return load_profiles(settings.profiles_path(settings.surroundings()))


def _active(profiles: Profiles) -> str | None:
    from kinetic import settings

    return settings.active_profile(profiles, settings.surroundings().environ)


def _shown(profile: Profile, field: str) -> str:
    value = getattr(profile, field)
    return redact(", ".join(value) if isinstance(value, tuple) else value or "") or "-"


def _json(profiles: Profiles, name: str, active: str | None) -> dict[str, Any]:
    profile = profiles.get(name)
    said: dict[str, Any] = {
        field: [redact(item) for item in value] if isinstance(value, tuple) else value and redact(value)
        for field in FIELDS
        for value in [getattr(profile, field)]
    }
    return {"name": name, "active": name == active, **said}
