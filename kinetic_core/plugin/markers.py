"""Markers for hooks; pluggy's project name is `kinetic`."""

from typing import Final

import pluggy

HOOK_API: Final = 1
"""Version of the hook interface. A plugin module may declare `KINETIC_HOOK_API`; a newer one than this is rejected."""

hookimpl: Final = pluggy.HookimplMarker("kinetic")
hookspec: Final = pluggy.HookspecMarker("kinetic")
