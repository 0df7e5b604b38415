"""The job: read the configuration, train, score, save the model."""

import os
import tomllib
from pathlib import Path
from typing import TypedDict

import fsspec
import numpy as np

import kinetic
from digits import dataset
from digits.network import Network


class Outcome(TypedDict):
    """What comes home: plain values, so that the caller needs nothing of the job's."""

    accuracy: float
    model: str
    process_id: int
    working_directory: str


@kinetic.run(accelerator="cpu", backend="local")
def train(config_path: str) -> Outcome:
    """Train on the digits and return the accuracy on those held back."""
    config = tomllib.loads(Path(config_path).read_text(encoding="utf-8"))
    rng = np.random.default_rng(config["seed"])
    data = dataset.load(test_share=config["test_share"], seed=config["seed"])
    network = Network.fresh(hidden_units=config["hidden_units"], rng=rng)

    for epoch in range(1, config["epochs"] + 1):
        order = rng.permutation(len(data.train_labels))
        batches = np.array_split(order, len(order) // config["batch_size"])
        losses = [
            network.learn(data.train_images[batch], data.train_labels[batch], learning_rate=config["learning_rate"])
            for batch in batches
        ]
        if epoch % 20 == 0:
            print(f"epoch {epoch}: loss {np.mean(losses):.3f}")

    from digits.evaluation import accuracy

    return Outcome(
        accuracy=accuracy(network, data.test_images, data.test_labels),
        model=save(network),
        process_id=os.getpid(),
        working_directory=str(Path.cwd()),
    )


def save(network: Network) -> str:
    """Write the weights where the job's outputs belong, whatever kind of store that is."""
    target = os.environ["KINETIC_OUTPUT_DIR"].rstrip("/") + "/model.npz"
    with fsspec.open(target, "wb", auto_mkdir=True) as file:
        np.savez(file, **vars(network))
    return target
