"""Every recorded request, sent again: the double has to answer as the real server did."""

from collections.abc import Iterator
from contextlib import closing

import attrs
import pytest

from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.recording import Exchange, Seen, differences, recorded, shape, steps
from tests.fakes.kube.replay import Answer, Replay

RECORDING = "kubernetes-1.36.2.jsonl"
# The pod waits for its volumes until this was asked, whatever time the requests before took.
WHILE_PENDING = "log while pending"
OTHER_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "z"},
    "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "main", "image": "x"}]},
}
# Inventories, of which a double has less.
LESS_IS_ENOUGH = {"api groups", "batch v1 resources", "nodes", "events"}


@attrs.frozen(kw_only=True)
class Replayed:
    """What was sent and came back, and what the watches saw."""

    answers: list[tuple[Exchange, Answer]]
    run: Replay
    seen: list[Seen]


@pytest.fixture(scope="module")
def replayed(cluster: Cluster) -> Iterator[Replayed]:
    """Run the recording once."""
    limited = cluster.act("token", user="limited")
    run = Replay(
        cluster=cluster, tokens={"unauthorized": "nobody's", "forbidden": limited, "forbidden create": limited}
    )
    # On the recorded server another pod stood there, which lists by pages know of.
    run.send(attrs.evolve(_get("/api/v1/namespaces/default/pods"), method="POST", body=OTHER_POD))
    cluster.fail_pods("mount", pod="^g-ok-")
    with closing(run):
        yield play(run, cluster)


def play(run: Replay, cluster: Cluster) -> Replayed:
    """Send everything, each request when the objects have come as far as they had."""
    run.first_version = run.send(_get("/api/v1/namespaces/default/pods")).body["metadata"]["resourceVersion"]
    entries = recorded(RECORDING)
    for path in dict.fromkeys(each.path for each in entries if isinstance(each, Seen)):
        run.watch(path)
    answers: list[tuple[Exchange, Answer]] = []
    seen: list[Seen] = []
    for entry in entries:
        if isinstance(entry, Seen):
            seen.append(entry)
            continue
        assert run.await_state(seen) == {}, entry.label
        answers.append((entry, run.send(entry)))
        if entry.label == WHILE_PENDING:
            cluster.heal()
    assert run.await_state(seen) == {}
    return Replayed(answers=answers, run=run, seen=seen)


def _get(path: str) -> Exchange:
    return Exchange(
        label="", method="GET", path=path, content_type=None, body=None, status=200, answer_type="", answer=None
    )


def test_each_request_is_answered_with_the_recorded_status_and_type(replayed: Replayed) -> None:
    assert len(replayed.answers) > 50
    wrong = [
        (each.label, each.status, each.answer_type, answer)
        for each, answer in replayed.answers
        if (each.status, each.answer_type) != (answer.status, answer.content_type)
    ]
    assert wrong == []


def test_each_refusal_has_the_recorded_reason_words_and_details(replayed: Replayed) -> None:
    wrong = []
    for each, answer in replayed.answers:
        if each.status < 400 or not isinstance(each.answer, dict) or each.label == "immutable template":
            continue
        wanted = {**each.answer, "message": replayed.run.here(each.answer["message"])}
        if wanted != answer.body:
            wrong.append((each.label, wanted, answer.body))
    assert wrong == []


def test_each_answer_has_the_recorded_shape(replayed: Replayed) -> None:
    wrong = {}
    for each, answer in replayed.answers:
        found = list(differences(shape(each.answer), shape(answer.body)))
        if each.label in LESS_IS_ENOUGH:
            found = [told for told in found if told.endswith("is too much")]
        if found:
            wrong[each.label] = found
    assert wrong == {}


def test_each_object_goes_through_the_recorded_states_in_their_order(replayed: Replayed) -> None:
    for path, events in replayed.run.events.items():
        wanted = steps([(each.happening, each.object) for each in replayed.seen if each.path == path])
        found = steps(events)
        assert wanted.keys() == found.keys()
        for name, taken in wanted.items():
            assert found[name] == taken, name
