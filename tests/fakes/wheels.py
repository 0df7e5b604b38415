"""Small distributions, made here: to install packages without a network."""

import io
import tarfile
import textwrap
import zipfile
from pathlib import Path


def write_wheel(
    folder: Path, name: str, *, version: str = "1", text: str = "", script: str = "", metadata: str = ""
) -> Path:
    """Write a wheel with one module of the distribution's name.

    Args:
        folder: Where to.
        name: Of the distribution and its module.
        version: Of the distribution.
        text: The module's.
        script: Name of a console script that calls the module's `main`; none when empty.
        metadata: More lines of it, such as `Requires-Dist: numpy`.
    """
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": textwrap.dedent(text),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if script:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script} = {name}:main\n"
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    return path


def write_sdist(folder: Path, name: str, *, before_building: str) -> Path:
    """Write a source distribution that runs some code, and then builds an empty module of its name.

    Args:
        folder: Where to.
        name: Of the distribution and its module.
        before_building: The code; whatever it imports, it must get from the standard library.
    """
    backend = (
        "from wheels import write_wheel\nfrom pathlib import Path\n"
        "def build_wheel(folder, config_settings=None, metadata_directory=None):\n"
        f"{textwrap.indent(textwrap.dedent(before_building), '    ')}\n"
        f"    return write_wheel(Path(folder), {name!r}).name\n"
    )
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        "pyproject.toml": (
            f'[build-system]\nrequires = []\nbuild-backend = "builder"\nbackend-path = ["."]\n'
            f'[project]\nname = "{name}"\nversion = "1"\n'
        ),
        "builder.py": backend,
        "wheels.py": Path(__file__).read_text(encoding="utf-8"),
    }
    path = folder / f"{name}-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, content in files.items():
            member = tarfile.TarInfo(f"{name}-1/{file}")
            data = content.encode()
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path
