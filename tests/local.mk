# tests/local.mk - the tests that `make check` runs, one file per line, sorted.
#
# SPDX-License-Identifier: Apache-2.0
check_LTLIBRARIES += libtap.la
libtap_la_SOURCES = \
	%D%/tap.c \
	%D%/tap.h

# Tests of lib link the shared library, with its public names only, like other programs.  Tests of sim
# link sim's archive with all its names, and the program's allocator for device memory.
check_PROGRAMS += \
	%D%/alternatives \
	%D%/analyze \
	%D%/arena \
	%D%/array \
	%D%/arguments \
	%D%/attention_specs \
	%D%/auto_shard \
	%D%/block \
	%D%/bucket \
	%D%/capture \
	%D%/chunk \
	%D%/channel \
	%D%/classes \
	%D%/coded \
	%D%/coll \
	%D%/collective_time \
	%D%/comparison \
	%D%/contexts \
	%D%/create_mesh \
	%D%/decisions \
	%D%/diag \
	%D%/dtype \
	%D%/error \
	%D%/escape \
	%D%/events \
	%D%/experts_read \
	%D%/failure \
	%D%/failures \
	%D%/farm \
	%D%/faults \
	%D%/figure \
	%D%/gradient \
	%D%/gradient_layers \
	%D%/graph \
	%D%/graph_attention \
	%D%/graph_builder \
	%D%/graph_text \
	%D%/group \
	%D%/hardware \
	%D%/heap \
	%D%/import \
	%D%/json_out \
	%D%/json_text \
	%D%/literals \
	%D%/kern_attention \
	%D%/kern_cut \
	%D%/kern_einsum \
	%D%/kern_experts \
	%D%/kern_map \
	%D%/kern_move \
	%D%/kern_reduce \
	%D%/kern_ring \
	%D%/kern_select \
	%D%/kern_sight \
	%D%/layouts \
	%D%/log \
	%D%/logical \
	%D%/loss_scale \
	%D%/machine \
	%D%/map \
	%D%/match \
	%D%/mesh \
	%D%/mesh_axes \
	%D%/microbatches \
	%D%/models \
	%D%/model \
	%D%/op_seconds \
	%D%/optimizer \
	%D%/optimum \
	%D%/overlap \
	%D%/outcome \
	%D%/pack \
	%D%/palette \
	%D%/parallel_groups \
	%D%/params \
	%D%/parity \
	%D%/partition \
	%D%/partition_axis \
	%D%/partitioner \
	%D%/pattern \
	%D%/pipelines \
	%D%/program \
	%D%/random_blocks \
	%D%/quant \
	%D%/random_layers \
	%D%/random_padding \
	%D%/random_programs \
	%D%/random_training \
	%D%/rank_order \
	%D%/reach \
	%D%/record \
	%D%/regex \
	%D%/repeat \
	%D%/replay \
	%D%/requests \
	%D%/reshard \
	%D%/ranks_calls \
	%D%/ranks_programs \
	%D%/reshard_random \
	%D%/result \
	%D%/rules \
	%D%/rotation \
	%D%/rows \
	%D%/run \
	%D%/scenario \
	%D%/schedule \
	%D%/serving_trace \
	%D%/shape \
	%D%/sharding \
	%D%/shell \
	%D%/shift \
	%D%/spec \
	%D%/split \
	%D%/steady \
	%D%/store \
	%D%/sums \
	%D%/tally \
	%D%/text \
	%D%/timetable \
	%D%/topology \
	%D%/tpu_mesh \
	%D%/tree \
	%D%/turns \
	%D%/uint128 \
	%D%/units \
	%D%/valid \
	%D%/variant \
	%D%/wait \
	%D%/walk \
	%D%/yaml

libtap_la_LINK = $(INSTALLED_LINK)

LDADD = .libs/libtap.a .libs/libsim.a -L.libs -lshd $(SIM_LIBS) $(PCRE2_LIBS) $(SHD_JEMALLOC)
# Libtool makes the archives; with the command `touch` make sees that they are new, and links the tests again.
.libs/libtap.a: libtap.la
	@touch $@
.libs/libsim.a: libsim.la
	@touch $@

%C%_analyze_SOURCES = \
	%D%/analyze.c \
	%D%/layout.h
%C%_auto_shard_SOURCES = \
	%D%/auto_shard.c \
	%D%/layout.h
%C%_failures_SOURCES = \
	%D%/failing.c \
	%D%/failing.h \
	%D%/failures.c \
	%D%/failures_cases.c \
	%D%/failures_cases.h \
	%D%/failures_try.c \
	%D%/failures_try.h
%C%_match_SOURCES = \
	%D%/match.c \
	%D%/layout.h
%C%_mesh_axes_SOURCES = \
	%D%/mesh_axes.c \
	%D%/layout.h
%C%_reshard_SOURCES = \
	%D%/reshard.c \
	%D%/reshard_case.h
%C%_reshard_random_SOURCES = \
	%D%/reshard_case.h \
	%D%/reshard_random.c
%C%_params_SOURCES = \
	%D%/layout.h \
	%D%/params.c
%C%_partition_axis_SOURCES = \
	%D%/partition_axis.c \
	%D%/layout.h
%C%_pattern_SOURCES = \
	%D%/pattern.c \
	%D%/layout.h
%C%_contexts_SOURCES = \
	%D%/contexts.c \
	%D%/step.c \
	%D%/step.h \
	%D%/tried.c \
	%D%/tried.h
%C%_create_mesh_SOURCES = \
	%D%/create_mesh.c \
	%D%/layout.h
%C%_kern_attention_SOURCES = \
	%D%/kern_attention.c \
	%D%/kern_data.h
%C%_gradient_SOURCES = \
	%D%/gradient.c \
	%D%/gradient_check.c \
	%D%/gradient_check.h \
	%D%/step.c \
	%D%/step.h
%C%_gradient_layers_SOURCES = \
	%D%/gradient_check.c \
	%D%/gradient_check.h \
	%D%/gradient_layers.c \
	%D%/step.c \
	%D%/step.h
%C%_kern_einsum_SOURCES = \
	%D%/kern_einsum.c \
	%D%/kern_data.h
%C%_kern_experts_SOURCES = \
	%D%/kern_experts.c \
	%D%/kern_data.h
%C%_kern_map_SOURCES = \
	%D%/kern_map.c \
	%D%/kern_data.h
%C%_kern_move_SOURCES = \
	%D%/kern_move.c \
	%D%/kern_data.h
%C%_kern_reduce_SOURCES = \
	%D%/kern_reduce.c \
	%D%/kern_data.h
%C%_kern_ring_SOURCES = \
	%D%/kern_ring.c \
	%D%/kern_data.h
%C%_kern_select_SOURCES = \
	%D%/kern_select.c \
	%D%/kern_data.h

%C%_block_SOURCES = \
	%D%/block.c \
	%D%/step.c \
	%D%/step.h
%C%_faults_SOURCES = \
	%D%/faults.c \
	%D%/random_layer_ops.c \
	%D%/random_ops.c \
	%D%/random_preset.c \
	%D%/random_preset.h \
	%D%/random_program.c \
	%D%/random_program.h
%C%_microbatches_SOURCES = \
	%D%/microbatches.c \
	%D%/step.c \
	%D%/step.h
%C%_pipelines_SOURCES = \
	%D%/pipelines.c \
	%D%/step.c \
	%D%/step.h \
	%D%/tried.c \
	%D%/tried.h
%C%_random_blocks_SOURCES = \
	%D%/random_blocks.c \
	%D%/step.c \
	%D%/step.h \
	%D%/tried.c \
	%D%/tried.h
%C%_random_training_SOURCES = \
	%D%/random_training.c \
	%D%/step.c \
	%D%/step.h \
	%D%/tried.c \
	%D%/tried.h
%C%_models_SOURCES = \
	%D%/models.c \
	%D%/step.c \
	%D%/step.h
%C%_parity_SOURCES = \
	%D%/parity.c \
	%D%/step.c \
	%D%/step.h
%C%_overlap_SOURCES = \
	%D%/overlap.c \
	%D%/step.c \
	%D%/step.h
%C%_partition_SOURCES = \
	%D%/partition.c \
	%D%/step.c \
	%D%/step.h
%C%_optimum_SOURCES = \
	%D%/optimum.c \
	%D%/random_layer_ops.c \
	%D%/random_ops.c \
	%D%/random_program.c \
	%D%/random_program.h
%C%_random_layers_SOURCES = \
	%D%/random_check.c \
	%D%/random_check.h \
	%D%/random_layer_ops.c \
	%D%/random_layers.c \
	%D%/random_ops.c \
	%D%/random_program.c \
	%D%/random_program.h \
	%D%/step.c \
	%D%/step.h
%C%_random_padding_SOURCES = \
	%D%/random_check.c \
	%D%/random_check.h \
	%D%/random_layer_ops.c \
	%D%/random_padding.c \
	%D%/random_ops.c \
	%D%/random_program.c \
	%D%/random_program.h \
	%D%/step.c \
	%D%/step.h
%C%_random_programs_SOURCES = \
	%D%/random_check.c \
	%D%/random_check.h \
	%D%/random_ops.c \
	%D%/random_program.c \
	%D%/random_program.h \
	%D%/random_programs.c \
	%D%/step.c \
	%D%/step.h
%C%_kern_cut_SOURCES = \
	%D%/kern_cut.c \
	%D%/random_layer_ops.c \
	%D%/random_ops.c \
	%D%/random_program.c \
	%D%/random_program.h
%C%_ranks_programs_SOURCES = \
	%D%/random_layer_ops.c \
	%D%/random_ops.c \
	%D%/random_program.c \
	%D%/random_program.h \
	%D%/ranks_programs.c
%C%_rows_SOURCES = \
	%D%/random_program.c \
	%D%/random_program.h \
	%D%/rows.c \
	%D%/step.c \
	%D%/step.h

%C%_chunk_SOURCES = \
	%D%/chunk.c \
	%D%/layout_text.h
%C%_logical_SOURCES = \
	%D%/logical.c \
	%D%/layout_text.h
%C%_parallel_groups_SOURCES = \
	%D%/parallel_groups.c \
	%D%/layout_text.h
%C%_partitioner_SOURCES = \
	%D%/partitioner.c \
	%D%/layout_text.h
%C%_rank_order_SOURCES = \
	%D%/rank_order.c \
	%D%/layout_text.h
%C%_tpu_mesh_SOURCES = \
	%D%/tpu_mesh.c \
	%D%/layout_text.h

# No script has the name of a program above: the two would share a log, and only the program would run.
test_scripts = \
	%D%/activations.sh \
	%D%/adapters.sh \
	%D%/banned.sh \
	%D%/bench_hardware.sh \
	%D%/book.sh \
	%D%/breakdown.sh \
	%D%/calibrate.sh \
	%D%/check.sh \
	%D%/check_lines.sh \
	%D%/cli_bench.sh \
	%D%/circles.sh \
	%D%/cli_errors.sh \
	%D%/cli_query.sh \
	%D%/cli_replay.sh \
	%D%/cli_run.sh \
	%D%/clusters.sh \
	%D%/columns.sh \
	%D%/compare.sh \
	%D%/completion.sh \
	%D%/context.sh \
	%D%/course.sh \
	%D%/dearest.sh \
	%D%/dimensions.sh \
	%D%/examples.sh \
	%D%/experts.sh \
	%D%/experts_grid.sh \
	%D%/experts_nodes.sh \
	%D%/explain.sh \
	%D%/estimators.sh \
	%D%/export.sh \
	%D%/exports.sh \
	%D%/fit.sh \
	%D%/fsdp.sh \
	%D%/fused.sh \
	%D%/golden.sh \
	%D%/headers.sh \
	%D%/hostile.sh \
	%D%/killed.sh \
	%D%/kernels.sh \
	%D%/layers.sh \
	%D%/links.sh \
	%D%/foreign_names.sh \
	%D%/import_options.sh \
	%D%/import_rules.sh \
	%D%/import_serving.sh \
	%D%/init.sh \
	%D%/lint.sh \
	%D%/lora.sh \
	%D%/manual.sh \
	%D%/memory_formulas.sh \
	%D%/memory_kinds.sh \
	%D%/mistakes.sh \
	%D%/misuse.sh \
	%D%/modelled.sh \
	%D%/monotone.sh \
	%D%/neighbours.sh \
	%D%/notebooks.sh \
	%D%/offload.sh \
	%D%/pipeline.sh \
	%D%/pipeline_splits.sh \
	%D%/products.sh \
	%D%/placement.sh \
	%D%/price.sh \
	%D%/program.sh \
	%D%/query_kernels.sh \
	%D%/query_manual.sh \
	%D%/query_moe.sh \
	%D%/query_mutated.sh \
	%D%/query_ring.sh \
	%D%/published.sh \
	%D%/python.sh \
	%D%/random_graphs.sh \
	%D%/query_train.sh \
	%D%/random_scenarios.sh \
	%D%/random_serving.sh \
	%D%/ranks.sh \
	%D%/ranks_ends.sh \
	%D%/ranks_farm.sh \
	%D%/readme.sh \
	%D%/replay_torch.sh \
	%D%/recompute.sh \
	%D%/release.sh \
	%D%/recompute_policies.sh \
	%D%/report.sh \
	%D%/runs.sh \
	%D%/scenarios.sh \
	%D%/result_schema.sh \
	%D%/schema.sh \
	%D%/serving_plan.sh \
	%D%/screenful.sh \
	%D%/search.sh \
	%D%/search_for.sh \
	%D%/search_outcome.sh \
	%D%/search_resume.sh \
	%D%/search_saving.sh \
	%D%/search_tensors.sh \
	%D%/serving.sh \
	%D%/serve.sh \
	%D%/serving_times.sh \
	%D%/show.sh \
	%D%/show_memory.sh \
	%D%/show_timetable.sh \
	%D%/padding.sh \
	%D%/pictures.sh \
	%D%/portable.sh \
	%D%/show_names.sh \
	%D%/show_tree.sh \
	%D%/stop.sh \
	%D%/supposed.sh \
	%D%/told.sh \
	%D%/trace.sh \
	%D%/train_step.sh \
	%D%/twenty_steps.sh \
	%D%/types.sh \
	%D%/uneven.sh \
	%D%/values.sh \
	%D%/volumes.sh \
	%D%/whole_models.sh \
	%D%/zero.sh

# The checks that .ci/run has no time for, see nightly.sh.
EXTRA_PROGRAMS += %D%/stress
stress: %D%/stress %D%/failures %D%/faults shardsim
	$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/%D%/nightly.sh
CLEANFILES += failures.md faults.md
.PHONY: stress

# Changes lib and sim at SHD_MUTANTS random places and looks for a test that fails, see mutants.py, for which
# the program is linked like the tests.
EXTRA_PROGRAMS += %D%/shardsim
%C%_shardsim_SOURCES = sim/main.c
mutants:
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/mutants.py coverage
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/mutants.py draw $${SHD_MUTANTS:-300} $${SHD_TEST_TURN:-1}
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/mutants.py run
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/mutants.py table
.PHONY: mutants

TESTS = $(check_PROGRAMS) $(test_scripts)
EXTRA_DIST += \
	$(test_scripts) \
	%D%/fuzz/array_file_fuzz.c \
	%D%/fuzz/graph_text_fuzz.c \
	%D%/fuzz/hardware_fuzz.c \
	%D%/fuzz/hlo_fuzz.c \
	%D%/fuzz/import_rules_fuzz.c \
	%D%/fuzz/launch_fuzz.c \
	%D%/fuzz/nccl_fuzz.c \
	%D%/fuzz/pattern_fuzz.c \
	%D%/fuzz/query_fuzz.c \
	%D%/fuzz/rules_fuzz.c \
	%D%/fuzz/run.sh \
	%D%/fuzz/safetensors_fuzz.c \
	%D%/fuzz/scenario_fuzz.c \
	%D%/failures.jsonl \
	%D%/fuzz/spec_fuzz.c \
	%D%/fuzz/torch_fuzz.c \
	%D%/fuzz/trace_fuzz.c \
	%D%/golden.list \
	%D%/junit.xsd \
	%D%/adapters.py \
	%D%/book.py \
	%D%/console_page.py \
	%D%/experts_grid.py \
	%D%/experts_nodes.py \
	%D%/import_rules.py \
	%D%/page.py \
	%D%/page_links.py \
	%D%/picture.py \
	%D%/pipeline.py \
	%D%/products.py \
	%D%/misuse.h \
	%D%/misuse.py \
	%D%/told.py \
	%D%/placement.py \
	%D%/mpi.supp \
	%D%/installed.sh \
	%D%/mutants.py \
	%D%/nightly.sh \
	%D%/notebook.py \
	%D%/mpirun.sh \
	%D%/program.sh \
	%D%/query_manual.py \
	%D%/query_mutate.py \
	%D%/one.sh \
	%D%/random_draw.py \
	%D%/random_drawn.py \
	%D%/random_graphs.py \
	%D%/random_kernels.py \
	%D%/random_monotone.py \
	%D%/random_options.py \
	%D%/random_scenarios.py \
	%D%/random_serving.py \
	%D%/serving.py \
	%D%/tap.sh \
	%D%/tiers \
	%D%/tiers.sh

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
# one.sh ends a hanging test as an error with the test's name.
LOG_COMPILER = $(SHELL) $(srcdir)/%D%/one.sh
SH_LOG_COMPILER = $(LOG_COMPILER)
AM_TESTS_ENVIRONMENT = \
	CC='$(CC)' CXX='$(CXX)' NM='$(NM)' AWK='$(AWK)' SHD_SANITIZER='$(SHD_SANITIZER)' \
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' SHD_TERMINAL=9; \
	export CC CXX NM AWK SHD_SANITIZER top_srcdir top_builddir SHD_TERMINAL;
AM_TESTS_FD_REDIRECT = 9>&2
# dearest.sh adds up the seconds of all other tests.
%D%/dearest.log: $(filter-out %D%/dearest.log,$(TEST_LOGS))
CLEANFILES += %D%/*.cpu

# `make check TESTS=...` builds the test programs that it runs, and no other.
tests_asked := $(if $(findstring command,$(origin TESTS)),$(eval check_PROGRAMS := $(filter $(TESTS),$(check_PROGRAMS))))

# Builds and runs only the tests that tests/tiers gives to this build.
check-tier:
	@$(AM_TESTS_ENVIRONMENT) \
	SHD_TEST_TURN=`$(SHELL) $(srcdir)/%D%/tiers.sh --turn`; export SHD_TEST_TURN; \
	tests=`$(SHELL) $(srcdir)/%D%/tiers.sh | sed 's,^,%D%/,'`; \
	programs=`printf '%s\n' $$tests | sed '/\.sh$$/d'`; \
	$(MAKE) check TESTS="`echo $$tests`" check_PROGRAMS="`echo $$programs`"
.PHONY: check-tier
