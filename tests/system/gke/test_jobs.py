"""Jobs on a cluster: the life of one, from its submission to its result."""

from kinetic_core.model.job import JobState, JobStatus
from tests.system.gke.conftest import Gke


def test_a_value_comes_home(gke: Gke) -> None:
    spec = gke.job(lambda a, b: {"sum": a + b}, 2, 3)
    assert gke.run(spec) == JobState(status=JobStatus.SUCCEEDED, exit_code=0)
    assert gke.value(spec) == {"sum": 5}
