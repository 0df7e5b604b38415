"""A data set of Hugging Face on the pod, from a local one: no hub is reached."""

from pathlib import Path

import pytest

from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.inprocess import reference


def test_a_data_set_arrives_as_a_directory_that_its_library_opens(bench: Bench, tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="the package datasets is not installed here")
    bench.files["local_set/train.csv"] = "text,label\ngood,1\nbad,0\n"
    bench.define(
        "def f(path):\n    import datasets\n    return [row['text'] for row in datasets.load_from_disk(path)]\n",
        "f",
        reference("hf://local_set?split=train", is_dir=True),
    )
    bench.payload["data_ref_ids"] = ["r"]
    ran = bench.run(env={"HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"})
    assert ran.value == ["good", "bad"], ran.err
