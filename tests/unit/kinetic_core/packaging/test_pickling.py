import hashlib
import io
import pickle
import pickletools
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import attrs
import cloudpickle
import numpy as np
import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.packaging.meeting import ReferenceMet
from kinetic_core.packaging.pickling import write_payload
from kinetic_core.references.data import Data
from kinetic_core.wire.reference import Reference
from tests.unit.kinetic_core.packaging.projects import Project


def test_a_call_runs_where_neither_project_nor_kinetic_can_be_imported(project: Project, trainer: Any) -> None:
    project.package(trainer.train, 3, trainer.Model(5), rate=7)
    assert project.run_elsewhere() == (21, 7, True, 5)


def test_the_artifact_tells_the_size_and_hash_of_the_file(project: Project, trainer: Any) -> None:
    written = project.package(trainer.train, 1, 2)
    content = project.payload.read_bytes()
    assert written.artifact.path == project.payload
    assert (written.artifact.size_bytes, written.artifact.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_the_payload_has_protocol_five_and_names_no_module_of_ours(project: Project, trainer: Any) -> None:
    project.package(trainer.train, 1, 2)
    content = project.payload.read_bytes()
    assert content[:2] == b"\x80\x05"
    text = [argument for _, argument, _ in pickletools.genops(content) if isinstance(argument, str)]
    assert not [name for name in text if name.startswith(("kinetic_", "kinetic."))]


def test_only_modules_that_are_named_travel_by_value(project: Project, trainer: Any) -> None:
    call = project.call(trainer.train, 1, trainer.Model(2))
    only_trainer = {"trainer": trainer}
    written = write_payload(call, project.payload, first_party=only_trainer)
    assert written.modules_by_value == ("trainer",)
    assert "No module named 'helpers'" in project.try_elsewhere().stderr


def test_the_modules_by_value_are_those_whose_code_was_written(project: Project, trainer: Any) -> None:
    project.write({"unused.py": "def f(): pass"})
    project.load("unused")
    assert project.package(trainer.train, 1, 2).modules_by_value == ("helpers", "trainer")
    assert project.loaded()["modules_by_value"] == ["helpers", "trainer"]


def test_nothing_is_registered_with_cloudpickle(project: Project, trainer: Any) -> None:
    before = cloudpickle.list_registry_pickle_by_value()
    seen: list[set[str]] = []

    class Looking:
        def __reduce__(self) -> Any:
            seen.append(cloudpickle.list_registry_pickle_by_value())
            return int, ()

    project.package(trainer.train, Looking(), 2)
    assert seen == [before]
    assert cloudpickle.list_registry_pickle_by_value() == before


def test_a_module_that_the_user_registered_still_travels_by_value(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lent.py").write_text("def double(x): return 2 * x")
    sys.path.append(str(elsewhere))
    try:
        lent = project.load("lent")
        cloudpickle.register_pickle_by_value(lent)
        project.package(lent.double, 4)
        assert project.run_elsewhere() == 8
        assert "lent" in cloudpickle.list_registry_pickle_by_value()
    finally:
        cloudpickle.unregister_pickle_by_value(lent)
        sys.path.remove(str(elsewhere))


def test_threads_with_different_projects_do_not_disturb_one_another(project: Project, trainer: Any) -> None:
    helpers = sys.modules["helpers"]
    whole = {"trainer": trainer, "helpers": helpers}
    part = {"trainer": trainer}
    by_value: dict[int, tuple[str, ...]] = {}

    def package(index: int) -> None:
        target = project.payload.with_name(f"{index}.pkl")
        call = project.call(trainer.train, 1, trainer.Model(2))
        written = write_payload(call, target, first_party=whole if index % 2 else part)
        by_value[index] = written.modules_by_value

    threads = [threading.Thread(target=package, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert by_value == {index: ("helpers", "trainer") if index % 2 else ("trainer",) for index in range(16)}


def test_code_keeps_the_name_of_its_file(project: Project, trainer: Any) -> None:
    project.package(trainer.train, 1, trainer.Model(2))
    loaded = project.loaded()
    assert loaded["func"].__code__.co_filename == str(project.root / "trainer.py")
    assert type(loaded["args"][1]).scaled.__code__.co_filename == str(project.root / "helpers.py")
    assert loaded["func"].__globals__["__file__"] == str(project.root / "trainer.py")


def test_the_same_call_gives_the_same_bytes(project: Project, trainer: Any) -> None:
    call = project.call(trainer.train, 1, {"a": trainer.Model(2)}, rate=3)
    assert project.package_call(call).artifact.sha256 == project.package_call(call).artifact.sha256


def test_arguments_keep_types_aliases_and_cycles(project: Project) -> None:
    shared = [1]
    cycle: list[Any] = [shared]
    cycle.append(cycle)
    project.package(lambda *args, **kwargs: None, shared, (shared, cycle), (), key={"s": shared})
    loaded = project.loaded()
    first, (second, looped), empty = loaded["args"]
    assert first is second is looped[0] is loaded["kwargs"]["key"]["s"]
    assert looped[1] is looped
    assert empty == ()


def test_a_call_without_arguments_has_empty_ones(project: Project) -> None:
    project.package(lambda: 1)
    assert (project.loaded()["args"], project.loaded()["kwargs"]) == ((), {})


def test_the_payload_has_every_key_of_the_contract(project: Project) -> None:
    call = project.call(lambda: 1)
    project.package_call(call)
    loaded = project.loaded()
    assert loaded["client_fingerprint"]["cloudpickle"] == cloudpickle.__version__
    assert loaded["client_fingerprint"]["kinetic"] == "0.1.0"
    assert (loaded["env_vars"], loaded["has_data_refs"], loaded["data_ref_ids"]) == ({}, False, [])
    assert (loaded["working_dir"], loaded["package_root"]) == (str(project.root), str(project.root))
    assert (loaded["entry_rel"], loaded["client_cwd_rel"], loaded["sys_path_rel"]) == ("", "", [""])
    assert "volumes" not in loaded


def test_what_the_client_knows_of_data_volumes_and_variables_travels(project: Project) -> None:
    volume = Reference(uri="gs://b/d/", is_dir=True, mount_path="/mnt/d").to_dict()
    call = attrs.evolve(
        project.call(lambda: 1), volumes=(volume,), data_ref_ids=("a1",), env_vars={"KINETIC_OUTPUT_DIR": "gs://b/o"}
    )
    project.package_call(call)
    loaded = project.loaded()
    assert loaded["volumes"] == [volume]
    assert (loaded["has_data_refs"], loaded["data_ref_ids"]) == (True, ["a1"])
    assert loaded["env_vars"] == {"KINETIC_OUTPUT_DIR": "gs://b/o"}


def test_the_fingerprint_holds_the_distributions_that_the_arguments_come_from(project: Project) -> None:
    written = project.package(lambda x: x, np.zeros(3))
    assert written.distributions == {"numpy": np.__version__}
    assert project.loaded()["client_fingerprint"]["distributions"] == {"numpy": np.__version__}


def test_the_fingerprint_stands_before_the_function_too(project: Project) -> None:
    project.package(lambda x: x, np.zeros(3))
    strings = [argument for _, argument, _ in pickletools.genops(project.payload.read_bytes())]
    assert strings.index("client_fingerprint") < strings.index("func")
    assert strings.count("client_fingerprint") == 2


# --- writing


def test_large_buffers_are_not_copied(project: Project) -> None:
    array = np.ones(8_000_000)
    call = project.call(lambda *args: None, array, bytes(array.nbytes), bytearray(array.nbytes))
    tracemalloc.start()
    try:
        project.package_call(call)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert project.payload.stat().st_size > 3 * array.nbytes
    assert peak < 8_000_000


def test_a_data_anywhere_stops_the_writing_before_anything_is_left(project: Project, tmp_path: Path) -> None:
    data = Data(tmp_path)
    with pytest.raises(ReferenceMet):
        project.package_call(project.call(lambda x: x, {"deep": [data]}), references=(Data,))
    assert list(project.payload.parent.iterdir()) == []
    project.package_call(project.call(lambda x: x, {"deep": [tmp_path]}), references=(Data,))
    assert project.payload.exists()


def test_a_failure_leaves_the_older_payload_and_nothing_else(project: Project) -> None:
    project.payload.write_bytes(b"older")
    with pytest.raises(ValueError, match="could not serialize"):
        project.package(lambda x: x, threading.Lock())
    assert project.payload.read_bytes() == b"older"
    assert [path.name for path in project.payload.parent.iterdir()] == ["payload.pkl"]


def test_an_interrupt_leaves_nothing(project: Project) -> None:
    class Interrupting:
        def __reduce__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        project.package(lambda x: x, Interrupting())
    assert list(project.payload.parent.iterdir()) == []


def test_a_disk_that_is_full_is_no_fault_of_an_argument(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_core.packaging.sink.FileIO", FullDisk)
    with pytest.raises(PackagingError, match=r"cannot be written to .*No space left"):
        project.package(lambda x: x, bytes(1_000_000))
    assert list(project.payload.parent.iterdir()) == []


class FullDisk(io.FileIO):
    """A file on a device without space."""

    def write(self, data: Any) -> int:
        raise OSError(28, "No space left on device")


def test_the_payload_is_private_to_the_user(project: Project) -> None:
    project.package(lambda: 1)
    assert project.payload.stat().st_mode & 0o777 == 0o600


# --- weights


def test_arguments_and_captured_globals_are_weighed(project: Project) -> None:
    project.write(
        {
            "heavy.py": "DF = bytes(3_000_000)\nSMALL = b'x'\ndef rows(): return len(DF)",
            "job.py": "import heavy\nfrom heavy import rows\ndef f(a, b, *, c): return rows(), len(heavy.SMALL)",
        }
    )
    written = project.package(project.load("job").f, bytes(1_000_000), 1, c=bytes(2_000_000))
    weights = {part.name: part.size_bytes for part in written.components}
    heavy = {name: round(size / 1_000_000) for name, size in weights.items() if size > 500_000}
    assert heavy == {"global 'DF' of module heavy": 3, "keyword argument 'c'": 2, "argument 0": 1}
    assert written.components[0].name == "global 'DF' of module heavy"


def test_what_is_shared_weighs_once(project: Project) -> None:
    blob = bytes(1_000_000)
    written = project.package(lambda *args: None, blob, blob)
    assert [part.name for part in written.components if part.size_bytes > 500_000] == ["argument 0"]


# --- cloudpickle's internals


def test_what_is_used_of_cloudpickles_internals_is_as_expected(project: Project, trainer: Any) -> None:
    """Fails loudly when a new cloudpickle moves what this project has to rely on."""
    internals = cloudpickle.cloudpickle
    pickler = cloudpickle.Pickler(io.BytesIO())
    make, newargs, state, _, _, set_state = pickler._dynamic_function_reduce(trainer.train)
    assert (make, set_state) == (internals._make_function, internals._function_setstate)
    assert newargs[0] is trainer.train.__code__
    assert type(newargs[1]) is dict
    assert {"__globals__", "__annotations__"} <= set(state[1])
    make_class, _, class_state, *_ = internals._dynamic_class_reduce(trainer.Model)
    assert make_class is internals._make_skeleton_class
    assert "scaled" in class_state[0]
    assert pickle.loads(cloudpickle.dumps(cloudpickle.dynamic_subimport)) is cloudpickle.dynamic_subimport
