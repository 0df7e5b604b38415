# Two commands for a fresh clone. Each prepares its own virtual environment under .venv/ from the
# committed lock files, and nothing outside the checkout is changed. Needs Python 3.11+, pip, make.

PYTHON ?=
NOXFLAGS ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test clean

help:
	@echo 'make demo   run the example in examples/digits on this machine'
	@echo 'make test   lint, import rules, types, docs, wheel, every test, and those of the core and the runner on each Python found'
	@echo 'make clean  remove what the two made: .venv/, .nox/, build/demo-store/, docs/_build/'

demo: .venv/demo/.installed
	@set -e; \
	store=$$(.venv/demo/bin/python -c 'import pathlib; print(pathlib.Path("build/demo-store").absolute().as_uri())'); \
	export KINETIC_STORAGE="$${KINETIC_STORAGE:-$$store}"; \
	echo "== running examples/digits, with its store at $$KINETIC_STORAGE"; \
	.venv/demo/bin/python examples/digits/run_demo.py

test: .venv/tools/.installed
	@echo '== running nox: lint, imports, types, docs, wheel, tests'
	@.venv/tools/bin/nox --noxfile noxfile.py $(NOXFLAGS)

# The venv is made without pip, which some systems package apart; the found Python's own pip fills it.
.venv/%/.installed: requirements/%.txt pyproject.toml tools/find-python
	@set -e; \
	python=$$(PYTHON='$(PYTHON)' tools/find-python $(firstword $(MAKECMDGOALS))); \
	echo "== preparing .venv/$* with $$python from requirements/$*.txt"; \
	"$$python" -m pip --version >/dev/null 2>&1 || { echo "$$python has no pip: install it first" >&2; exit 1; }; \
	"$$python" -m venv --clear --without-pip .venv/$*; \
	"$$python" -m pip --python .venv/$*/bin/python install --quiet --require-hashes -r requirements/$*.txt; \
	if grep -q '^hatchling==' requirements/$*.txt; then \
		"$$python" -m pip --python .venv/$*/bin/python install --quiet --no-deps --no-build-isolation -e .; \
	fi; \
	touch $@

clean:
	rm -rf .venv .nox build/demo-store docs/_build
