"""Events are asked for all jobs at once, and not again for each job that is new."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kinetic.testing.log import RecordingLog
from kinetic_gke.cluster.news import News
from kinetic_gke.diagnosis.look import Look
from kinetic_gke.diagnosis.waiting import TELLING

if TYPE_CHECKING:
    from kinetic_gke.cluster.client import Client


class Counting:
    """A cluster that knows of no events, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def sure(self, what: str, _call: Callable[..., Any]) -> dict[str, Any]:
        assert what == "list the events of 'ours'"
        self.asked += 1
        return {"items": []}


def test_jobs_that_are_new_and_have_no_events_yet_share_an_answer() -> None:
    cluster = Counting()
    first = 0
    news = News(cast("Client", cluster), "ours", RecordingLog())
    for number in range(500):
        look = Look(job={"metadata": {"uid": f"uid-{number}"}, "spec": {}})
        assert news.of(look) == []
        due_s = news.due_s(look)
        assert due_s is not None
        assert due_s <= 0.5
        if number == 0:
            first = cluster.asked
    assert first == len(TELLING)
    # The test's own length decides whether the pause of half a second passes meanwhile; a job has no part in it.
    assert cluster.asked < 500
