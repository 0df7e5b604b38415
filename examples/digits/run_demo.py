"""Show what kinetic would ship and why, then run the training as a job and fetch its result."""

import os
import sys
import tempfile
from pathlib import Path

import kinetic

PROJECT = Path(__file__).resolve().parent
CONFIG = "configs/train.toml"  # relative: the job finds it in its own copy of the project


def main() -> None:
    """Package once to look at it, then run."""
    os.chdir(PROJECT)
    sys.path.insert(0, str(PROJECT / "src"))  # as an editable install of the project would
    from digits.train import train

    with tempfile.TemporaryDirectory() as directory:
        show(kinetic.package(train, (CONFIG,), directory=directory))

    job = train.run_async(CONFIG)
    print(f"\nJob {job.job_id} on backend {job.backend}; this process is {os.getpid()}.")
    outcome = job.result(stream_logs=True)
    print(f"\nRan in process {outcome['process_id']}, in {outcome['working_directory']}")
    print(f"Accuracy on digits never seen: {outcome['accuracy']:.1%}")
    print(f"Outputs: {outcome['model'].rpartition('/')[0]}")


def show(package: kinetic.Package) -> None:
    """Print the root and why, what ships, and what stays."""
    print(f"Package root: {package.root.path}\n  because {package.root.reason}")
    for step in package.root.trail:
        print(f"  - {step}")
    print(f"\nShips {len(package.manifest.entries)} entries, {package.context.size_bytes:,} bytes packed:")
    for entry in package.manifest.entries:
        print(f"  {entry.name} ({entry.size_bytes:,} bytes)")
    print(f"With the function, by value: {', '.join(sorted(package.modules_by_value))}")
    print("\nStays at home:")
    for exclusion in package.manifest.exclusions:
        print(f"  {exclusion.name} (rule {exclusion.rule!r} of {exclusion.source})")
    for skipped in package.manifest.skipped:
        print(f"  {skipped.name}: {skipped.reason}")


if __name__ == "__main__":
    main()
