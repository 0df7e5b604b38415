"""The image of a job, where the backend makes one."""

from collections.abc import Callable
from typing import cast

from kinetic.submission.recover import step
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Backend, BackendDriver, Capability, ImageBackend


def begin_image(driver: BackendDriver, backend: Backend, options: RunOptions, package: Package) -> Callable[[], str]:
    """Have a backend begin with the image of a package's jobs, and return what waits for it.

    Args:
        driver: Of the backend; one that does not say that it makes images is not asked.
        backend: Where the jobs will run.
        options: The jobs'.
        package: What they run.

    Raises:
        SubmissionError: The backend refuses.
    """
    if Capability.IMAGES not in driver.capabilities:
        return str
    with step("make image"):
        return cast("ImageBackend", backend).begin_image(options, package)
