import hashlib
from pathlib import Path

from benchmarks.trees import growth, tree


def digest(root: Path) -> dict[str, tuple[str, int, int]]:
    return {
        str(path.relative_to(root)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mode,
            path.stat().st_mtime_ns,
        )
        for path in root.rglob("*")
        if path.is_file()
    }


def test_a_tree_is_the_same_each_time_it_is_made(tmp_path: Path) -> None:
    one, other = (tree(tmp_path / name, growth(200)) for name in ("one", "other"))
    assert digest(one) == digest(other)
    assert len(digest(one)) == 200


def test_a_tree_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    made = tree(tmp_path, growth(10))
    made.joinpath("mine").touch()
    assert tree(tmp_path, growth(10)).joinpath("mine").exists()


def test_a_tree_that_was_left_half_made_is_made_anew(tmp_path: Path) -> None:
    whole = digest(tree(tmp_path, growth(10)))
    tmp_path.joinpath("grow-10.complete").unlink()
    tmp_path.joinpath("grow-10", "left").touch()
    assert digest(tree(tmp_path, growth(10))) == whole
