"""What pods find and how they end; these run against any cluster, but where a test takes the double itself."""

import base64
from typing import Any

import pytest

from tests.fakes.kube.bodies import container, job
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.leftovers import strays
from tests.fakes.kube.objects import holds, name_of
from tests.fakes.kube.waiting import Room, until


def test_variables_come_from_values_fields_secrets_and_config_maps(room: Room) -> None:
    secret = {"metadata": {"name": "s"}, "stringData": {"token": "t0p"}}
    room.core.create_namespaced_secret(room.namespace, secret)
    room.core.create_namespaced_config_map(room.namespace, {"metadata": {"name": "c"}, "data": {"colour": "blue"}})
    env = [
        {"name": "PLAIN", "value": "1"},
        {"name": "BUILT", "value": "$(PLAIN)-$$(PLAIN)"},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}},
    ]
    main = {"env": env, "envFrom": [{"configMapRef": {"name": "c"}, "prefix": "C_"}]}
    script = "import os; print([os.environ[n] for n in ('PLAIN', 'BUILT', 'NAME', 'SECRET', 'C_colour')])"
    room.create(job("env", script, main=main))
    room.finished("env")
    assert room.log(name_of(room.pod("env"))) == f"{['1', '1-$(PLAIN)', room.namespace, 't0p', 'blue']}\n"


def test_nothing_of_the_servers_own_environment_reaches_a_pod(room: Room) -> None:
    room.create(job("clean", "import os; print([n for n in os.environ if n.startswith(('PYTEST', 'KINETIC'))])"))
    room.finished("clean")
    assert room.log(name_of(room.pod("clean"))) == "[]\n"


def test_an_init_container_hands_files_over_and_secrets_are_files(room: Room) -> None:
    data = {"key": base64.b64encode(b"k").decode()}
    room.core.create_namespaced_secret(room.namespace, {"metadata": {"name": "s"}, "data": data})
    pod: dict[str, Any] = {
        "volumes": [{"name": "tools", "emptyDir": {}}, {"name": "keys", "secret": {"secretName": "s"}}],
        "initContainers": [
            container(
                "open('/tools/made.py', 'w').write('print(open(\"/keys/key\").read())')",
                "bring",
                volumeMounts=[{"name": "tools", "mountPath": "/tools"}],
            )
        ],
    }
    mounts = [{"name": "tools", "mountPath": "/tools"}, {"name": "keys", "mountPath": "/keys", "readOnly": True}]
    script = "import pathlib; print(pathlib.Path('/keys/key').read_text(), pathlib.Path('/tools/made.py').exists())"
    room.create(job("handed", script, pod=pod, main={"volumeMounts": mounts}))
    assert holds(room.finished("handed"), "Complete")
    found = room.pod("handed")
    assert room.log(name_of(found)) == "k True\n"
    assert found["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_a_failed_init_container_fails_the_pod_before_its_main_one_starts(room: Room) -> None:
    room.create(job("unready", "print(1)", pod={"initContainers": [container("raise SystemExit(7)", "bring")]}))
    assert holds(room.finished("unready"), "Failed")
    status = room.pod("unready")["status"]
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_a_pod_that_is_deleted_is_asked_first(room: Room) -> None:
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('bye'), sys.exit(0)))\n"
        "print('ready')\ntime.sleep(600)"
    )
    room.create(job("polite", script, pod={"terminationGracePeriodSeconds": 60}))
    name = name_of(room.pod("polite", "Running"))
    until(lambda: room.log(name) == "ready\n")
    followed = room.core.read_namespaced_pod_log(name, room.namespace, follow=True, _preload_content=False)
    room.core.delete_namespaced_pod(name, room.namespace)
    assert followed.read() == b"ready\nbye\n"
    followed.release_conn()


def test_a_command_that_is_not_there_is_a_start_error(room: Room) -> None:
    room.create(job("typo", "", main={"command": ["no-such-program"]}))
    assert holds(room.finished("typo"), "Failed")
    ended = room.pod("typo")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")


def test_a_process_killed_by_a_signal_has_its_number_in_the_exit_code(room: Room) -> None:
    room.create(job("killed", "import os; os.kill(os.getpid(), 11)"))
    room.finished("killed")
    assert room.pod("killed")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 139


def test_a_pods_own_deadline_fails_it(room: Room) -> None:
    room.create(job("slow", "import time; time.sleep(600)", pod={"activeDeadlineSeconds": 2}))
    assert holds(room.finished("slow"), "Failed")
    status = room.pod("slow")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_the_end_of_the_log_is_the_message_where_the_policy_says_so(room: Room) -> None:
    room.create(job("words", "raise SystemExit('why')", main={"terminationMessagePolicy": "FallbackToLogsOnError"}))
    room.finished("words")
    ended = room.pod("words")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["message"]) == (1, "why\n")


@pytest.mark.usefixtures("cluster")
def test_the_pods_of_a_subdomain_are_found_on_the_loopback(room: Room) -> None:
    env = [{"name": "FIRST", "value": f"peers-0.peers.{room.namespace}.svc.cluster.local:80,peers-1.peers:80"}]
    script = "import os; print(os.environ['FIRST'])"
    room.create(job("peers", script, pod={"subdomain": "peers"}, main={"env": env}))
    room.finished("peers")
    assert room.log(name_of(room.pod("peers"))) == "127.0.0.1:80,127.0.0.1:80\n"


def test_what_a_process_leaves_behind_ends_with_its_container(cluster: Cluster, room: Room) -> None:
    child = "[sys.executable, '-c', 'import time; time.sleep(600)']"
    room.create(job("parent", f"import subprocess, sys; print(subprocess.Popen({child}).pid)"))
    room.finished("parent")
    child_id = int(room.log(name_of(room.pod("parent"))))
    until(lambda: child_id not in strays(cluster.folder), why="the end of the child")


def test_a_secret_that_is_missing_keeps_the_container_waiting_until_it_comes(room: Room) -> None:
    env = [{"name": "S", "valueFrom": {"secretKeyRef": {"name": "soon", "key": "k"}}}]
    room.create(job("waits", "import os; print(os.environ['S'])", main={"env": env}))

    def waiting() -> dict[str, Any]:
        statuses = room.pod("waits")["status"].get("containerStatuses") or [{"state": {}}]
        found: dict[str, Any] = statuses[0]["state"].get("waiting") or {}
        return found

    until(lambda: waiting().get("reason") == "CreateContainerConfigError")
    assert waiting()["message"] == 'secret "soon" not found'
    room.core.create_namespaced_secret(room.namespace, {"metadata": {"name": "soon"}, "stringData": {"k": "v"}})
    assert holds(room.finished("waits"), "Complete")


def test_a_pod_that_no_node_suits_says_what_is_missing(room: Room) -> None:
    main = {"resources": {"limits": {"example.com/chip": "4"}}}
    room.create(job("big", "print(1)", main=main, pod={"nodeSelector": {"no-such": "label"}}))
    until(lambda: "FailedScheduling" in room.reasons())
    pod = room.pod("big", "Pending")
    (scheduled,) = pod["status"]["conditions"]
    assert (scheduled["type"], scheduled["status"], scheduled["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert "node(s) didn't match Pod's node affinity/selector" in scheduled["message"]


def test_a_node_with_what_a_pod_asks_for_gets_it(cluster: Cluster, room: Room) -> None:
    node = {
        "metadata": {"name": "chips", "labels": {"kind": "chip"}},
        "status": {"capacity": {"example.com/chip": "4"}},
    }
    room.create(job("fits", "print(1)", main={"resources": {"limits": {"example.com/chip": "4"}}}))
    room.pod("fits", "Pending")
    room.core.create_node(node)
    assert holds(room.finished("fits"), "Complete")
    assert room.pod("fits")["spec"]["nodeName"] == "chips"
    room.core.delete_node("chips")
