"""Only type-checked: `kinetic.run` keeps the decorated signature."""

from typing import assert_type

import kinetic


@kinetic.run(accelerator="cpu", backend="local")
def area(width: float, *, height: float = 1.0) -> float:
    return width * height


@kinetic.run
def names(count: int) -> list[str]:
    return ["x"] * count


class Trainer:
    @kinetic.run(accelerator="cpu")
    def fit(self, epochs: int) -> dict[str, float]:
        return {"loss": 1 / epochs}


assert_type(area(3.0, height=4.0), float)
assert_type(area.local(3.0), float)
assert_type(area.run_async(3.0).result(), float)
assert_type(area.options(accelerator="cpu")(3.0), float)
assert_type(names(2), list[str])
assert_type(names.run_async(2).result(timeout=5), list[str])
assert_type(Trainer().fit(3), dict[str, float])

area("wide")  # type: ignore[arg-type]  # the decorated signature says float
area(1.0, 2.0)  # type: ignore[call-arg]  # height is keyword-only
names.run_async(count="two")  # type: ignore[arg-type]  # the same holds without waiting
kinetic.run(acelerator="cpu")  # type: ignore[call-overload]  # a misspelt option
