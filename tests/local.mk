# tests/local.mk - the tests that `make check` runs, one file per line, sorted: a folder for each room;
# `steps` for tests over several rooms, `support` for what tests share.
#
# SPDX-License-Identifier: Apache-2.0
check_LTLIBRARIES += libtap.la
libtap_la_SOURCES = \
	%D%/support/tap.c \
	%D%/support/tap.h

# Tests of lib link the shared library, with its public names only, like other programs.  Tests of sim
# link sim's archive with all its names, and the program's allocator for device memory.
check_PROGRAMS += \
	%D%/base/array \
	%D%/base/diag \
	%D%/base/escape \
	%D%/base/json_out \
	%D%/base/json_text \
	%D%/base/literals \
	%D%/base/log \
	%D%/base/map \
	%D%/base/pack \
	%D%/base/pool \
	%D%/base/text \
	%D%/base/turns \
	%D%/base/uint128 \
	%D%/base/units \
	%D%/base/wait \
	%D%/base/yaml \
	%D%/calibrate/machine \
	%D%/capture/capture \
	%D%/cmd/failures \
	%D%/cmd/schedule \
	%D%/coll/coll \
	%D%/command/store \
	%D%/cost/events \
	%D%/cost/experts_read \
	%D%/cost/op_seconds \
	%D%/cost/replay \
	%D%/cost/steady \
	%D%/draw/figure \
	%D%/draw/palette \
	%D%/graph/gradient \
	%D%/graph/gradient_layers \
	%D%/graph/graph \
	%D%/graph/graph_attention \
	%D%/graph/graph_builder \
	%D%/graph/loss_scale \
	%D%/graph/microbatches \
	%D%/graph/optimizer \
	%D%/graph/state_layers \
	%D%/hardware/collective_time \
	%D%/hardware/hardware \
	%D%/kern/coded \
	%D%/kern/kern_attention \
	%D%/kern/kern_cut \
	%D%/kern/kern_einsum \
	%D%/kern/kern_experts \
	%D%/kern/kern_linear \
	%D%/kern/kern_map \
	%D%/kern/kern_move \
	%D%/kern/kern_reduce \
	%D%/kern/kern_ring \
	%D%/kern/kern_select \
	%D%/kern/kern_sight \
	%D%/kern/quant \
	%D%/layouts/analyze \
	%D%/layouts/attention_specs \
	%D%/layouts/auto_shard \
	%D%/layouts/chunk \
	%D%/layouts/create_mesh \
	%D%/layouts/logical \
	%D%/layouts/match \
	%D%/layouts/mesh_axes \
	%D%/layouts/parallel_groups \
	%D%/layouts/partition_axis \
	%D%/layouts/partitioner \
	%D%/layouts/pattern \
	%D%/layouts/rank_order \
	%D%/layouts/split \
	%D%/layouts/topology \
	%D%/layouts/tpu_mesh \
	%D%/lib/arguments \
	%D%/lib/dtype \
	%D%/lib/error \
	%D%/lib/group \
	%D%/lib/mesh \
	%D%/lib/regex \
	%D%/lib/rules \
	%D%/lib/shape \
	%D%/lib/sharding \
	%D%/lib/spec \
	%D%/lib/tree \
	%D%/model/graph_text \
	%D%/model/model \
	%D%/model/models \
	%D%/model/rotation \
	%D%/partition/alternatives \
	%D%/partition/block \
	%D%/partition/bucket \
	%D%/partition/optimum \
	%D%/partition/overlap \
	%D%/partition/partition \
	%D%/partition/tally \
	%D%/program/classes \
	%D%/program/program \
	%D%/program/record \
	%D%/program/valid \
	%D%/report/comparison \
	%D%/report/outcome \
	%D%/report/result \
	%D%/report/sums \
	%D%/reshard/reach \
	%D%/reshard/reshard \
	%D%/reshard/reshard_random \
	%D%/reshard/shift \
	%D%/run/arena \
	%D%/run/channel \
	%D%/run/failure \
	%D%/run/farm \
	%D%/run/heap \
	%D%/run/params \
	%D%/run/ranks_calls \
	%D%/run/ranks_programs \
	%D%/run/run \
	%D%/run/walk \
	%D%/scenario/scenario \
	%D%/scenario/tensor_rules \
	%D%/search/layouts \
	%D%/serving/requests \
	%D%/serving/serving_trace \
	%D%/shell/shell \
	%D%/steps/contexts \
	%D%/steps/parity \
	%D%/steps/pipelines \
	%D%/steps/random_blocks \
	%D%/steps/random_layers \
	%D%/steps/random_padding \
	%D%/steps/random_programs \
	%D%/steps/random_training \
	%D%/steps/rows \
	%D%/timetable/timetable \
	%D%/trees/import \
	%D%/trial/decisions \
	%D%/trial/faults \
	%D%/trial/repeat \
	%D%/trial/variant

libtap_la_LINK = $(INSTALLED_LINK)

LDADD = .libs/libtap.a .libs/libsim.a -L.libs -lshd $(SIM_LIBS) $(PCRE2_LIBS) $(SHD_JEMALLOC)
# Libtool makes the archives; with the command `touch` make sees that they are new, and links the tests again.
.libs/libtap.a: libtap.la
	@touch $@
.libs/libsim.a: libsim.la
	@touch $@

%C%_cmd_failures_SOURCES = \
	%D%/cmd/failing.c \
	%D%/cmd/failing.h \
	%D%/cmd/failures.c \
	%D%/cmd/failures_cases.c \
	%D%/cmd/failures_cases.h \
	%D%/cmd/failures_try.c \
	%D%/cmd/failures_try.h
%C%_graph_gradient_SOURCES = \
	%D%/graph/gradient.c \
	%D%/graph/gradient_check.c \
	%D%/graph/gradient_check.h \
	%D%/support/step.c \
	%D%/support/step.h
%C%_graph_gradient_layers_SOURCES = \
	%D%/graph/gradient_check.c \
	%D%/graph/gradient_check.h \
	%D%/graph/gradient_layers.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_graph_microbatches_SOURCES = \
	%D%/graph/microbatches.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_graph_state_layers_SOURCES = \
	%D%/graph/gradient_check.c \
	%D%/graph/gradient_check.h \
	%D%/graph/state_layers.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_kern_kern_attention_SOURCES = \
	%D%/kern/kern_attention.c \
	%D%/kern/kern_data.h
%C%_kern_kern_cut_SOURCES = \
	%D%/kern/kern_cut.c \
	%D%/support/random_layer_ops.c \
	%D%/support/random_ops.c \
	%D%/support/random_program.c \
	%D%/support/random_program.h
%C%_kern_kern_einsum_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_einsum.c
%C%_kern_kern_experts_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_experts.c
%C%_kern_kern_linear_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_linear.c
%C%_kern_kern_map_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_map.c
%C%_kern_kern_move_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_move.c
%C%_kern_kern_reduce_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_reduce.c
%C%_kern_kern_ring_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_ring.c
%C%_kern_kern_select_SOURCES = \
	%D%/kern/kern_data.h \
	%D%/kern/kern_select.c
%C%_layouts_analyze_SOURCES = \
	%D%/layouts/analyze.c \
	%D%/support/layout.h
%C%_layouts_auto_shard_SOURCES = \
	%D%/layouts/auto_shard.c \
	%D%/support/layout.h
%C%_layouts_chunk_SOURCES = \
	%D%/layouts/chunk.c \
	%D%/support/layout_text.h
%C%_layouts_create_mesh_SOURCES = \
	%D%/layouts/create_mesh.c \
	%D%/support/layout.h
%C%_layouts_logical_SOURCES = \
	%D%/layouts/logical.c \
	%D%/support/layout_text.h
%C%_layouts_match_SOURCES = \
	%D%/layouts/match.c \
	%D%/support/layout.h
%C%_layouts_mesh_axes_SOURCES = \
	%D%/layouts/mesh_axes.c \
	%D%/support/layout.h
%C%_layouts_parallel_groups_SOURCES = \
	%D%/layouts/parallel_groups.c \
	%D%/support/layout_text.h
%C%_layouts_partition_axis_SOURCES = \
	%D%/layouts/partition_axis.c \
	%D%/support/layout.h
%C%_layouts_partitioner_SOURCES = \
	%D%/layouts/partitioner.c \
	%D%/support/layout_text.h
%C%_layouts_pattern_SOURCES = \
	%D%/layouts/pattern.c \
	%D%/support/layout.h
%C%_layouts_rank_order_SOURCES = \
	%D%/layouts/rank_order.c \
	%D%/support/layout_text.h
%C%_layouts_tpu_mesh_SOURCES = \
	%D%/layouts/tpu_mesh.c \
	%D%/support/layout_text.h
%C%_model_models_SOURCES = \
	%D%/model/models.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_partition_block_SOURCES = \
	%D%/partition/block.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_partition_optimum_SOURCES = \
	%D%/partition/optimum.c \
	%D%/support/random_layer_ops.c \
	%D%/support/random_ops.c \
	%D%/support/random_program.c \
	%D%/support/random_program.h
%C%_partition_overlap_SOURCES = \
	%D%/partition/overlap.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_partition_partition_SOURCES = \
	%D%/partition/partition.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_run_ranks_programs_SOURCES = \
	%D%/run/ranks_programs.c \
	%D%/support/random_layer_ops.c \
	%D%/support/random_ops.c \
	%D%/support/random_program.c \
	%D%/support/random_program.h
%C%_reshard_reshard_SOURCES = \
	%D%/reshard/reshard.c \
	%D%/support/reshard_case.h
%C%_reshard_reshard_random_SOURCES = \
	%D%/reshard/reshard_random.c \
	%D%/support/reshard_case.h
%C%_run_params_SOURCES = \
	%D%/run/params.c \
	%D%/support/layout.h
%C%_steps_contexts_SOURCES = \
	%D%/steps/contexts.c \
	%D%/support/step.c \
	%D%/support/step.h \
	%D%/support/tried.c \
	%D%/support/tried.h
%C%_steps_parity_SOURCES = \
	%D%/steps/parity.c \
	%D%/support/step.c \
	%D%/support/step.h
%C%_steps_pipelines_SOURCES = \
	%D%/steps/pipelines.c \
	%D%/support/step.c \
	%D%/support/step.h \
	%D%/support/tried.c \
	%D%/support/tried.h
%C%_steps_random_blocks_SOURCES = \
	%D%/steps/random_blocks.c \
	%D%/support/step.c \
	%D%/support/step.h \
	%D%/support/tried.c \
	%D%/support/tried.h
%C%_steps_random_layers_SOURCES = \
	%D%/steps/random_layers.c \
	%D%/support/random_check.c \
	%D%/support/random_check.h \
	%D%/support/random_layer_ops.c \
	%D%/support/random_ops.c \
	%D%/support/random_program.c \
	%D%/support/random_program.h \
	%D%/support/step.c \
	%D%/support/step.h
%C%_steps_random_padding_SOURCES = \
	%D%/steps/random_padding.c \
	%D%/support/random_check.c \
	%D%/support/random_check.h \
	%D%/support/random_layer_ops.c \
	%D%/support/random_ops.c \
	%D%/support/random_program.c \
	%D%/support/random_program.h \
	%D%/support/step.c \
	%D%/support/step.h
%C%_steps_random_programs_SOURCES = \
	%D%/steps/random_programs.c \
	%D%/support/random_check.c \
	%D%/support/random_check.h \
	%D%/support/random_ops.c \
	%D%/support/random_program.c \
	%D%/support/random_program.h \
	%D%/support/step.c \
	%D%/support/step.h
%C%_steps_random_training_SOURCES = \
	%D%/steps/random_training.c \
	%D%/support/step.c \
	%D%/support/step.h \
	%D%/support/tried.c \
	%D%/support/tried.h
%C%_steps_rows_SOURCES = \
	%D%/steps/rows.c \
	%D%/support/random_program.c \
	%D%/support/random_program.h \
	%D%/support/step.c \
	%D%/support/step.h
%C%_trial_faults_SOURCES = \
	%D%/support/random_layer_ops.c \
	%D%/support/random_ops.c \
	%D%/support/random_preset.c \
	%D%/support/random_preset.h \
	%D%/support/random_program.c \
	%D%/support/random_program.h \
	%D%/trial/faults.c

# No script has the name of a program above: the two would share a log, and only the program would run.
test_scripts = \
	%D%/calibrate/bench_hardware.sh \
	%D%/calibrate/calibrate.sh \
	%D%/calibrate/kernels.sh \
	%D%/capture/cli_replay.sh \
	%D%/capture/replay_torch.sh \
	%D%/check/check.sh \
	%D%/check/check_lines.sh \
	%D%/check/lint.sh \
	%D%/cmd/cli_bench.sh \
	%D%/cmd/cli_errors.sh \
	%D%/cmd/cli_run.sh \
	%D%/cmd/completion.sh \
	%D%/cmd/explain.sh \
	%D%/cmd/foreign_names.sh \
	%D%/cmd/hostile.sh \
	%D%/cmd/init.sh \
	%D%/cmd/killed.sh \
	%D%/cmd/links.sh \
	%D%/cmd/manual.sh \
	%D%/cmd/mistakes.sh \
	%D%/cmd/show.sh \
	%D%/cmd/show_memory.sh \
	%D%/cmd/show_names.sh \
	%D%/cmd/show_timetable.sh \
	%D%/cmd/stop.sh \
	%D%/cmd/trace.sh \
	%D%/cmd/uneven.sh \
	%D%/command/runs.sh \
	%D%/cost/estimators.sh \
	%D%/cost/modelled.sh \
	%D%/cost/published.sh \
	%D%/draw/pictures.sh \
	%D%/export/export.sh \
	%D%/hardware/clusters.sh \
	%D%/hardware/supposed.sh \
	%D%/house/banned.sh \
	%D%/house/circles.sh \
	%D%/house/dearest.sh \
	%D%/house/examples.sh \
	%D%/house/headers.sh \
	%D%/house/layers.sh \
	%D%/house/portable.sh \
	%D%/house/release.sh \
	%D%/house/words.sh \
	%D%/lib/exports.sh \
	%D%/lib/misuse.sh \
	%D%/model/activations.sh \
	%D%/model/breakdown.sh \
	%D%/model/fused.sh \
	%D%/model/lora.sh \
	%D%/model/memory_formulas.sh \
	%D%/model/memory_kinds.sh \
	%D%/model/offload.sh \
	%D%/model/pipeline_splits.sh \
	%D%/model/recompute.sh \
	%D%/model/recompute_policies.sh \
	%D%/model/types.sh \
	%D%/model/whole_models.sh \
	%D%/pages/book.sh \
	%D%/pages/course.sh \
	%D%/pages/notebooks.sh \
	%D%/pages/readme.sh \
	%D%/partition/neighbours.sh \
	%D%/partition/placement.sh \
	%D%/partition/price.sh \
	%D%/partition/search_saving.sh \
	%D%/partition/volumes.sh \
	%D%/python/python.sh \
	%D%/query/cli_query.sh \
	%D%/query/golden.sh \
	%D%/query/query_kernels.sh \
	%D%/query/query_manual.sh \
	%D%/query/query_moe.sh \
	%D%/query/query_mutated.sh \
	%D%/query/query_ring.sh \
	%D%/query/query_train.sh \
	%D%/query/train_step.sh \
	%D%/report/columns.sh \
	%D%/report/compare.sh \
	%D%/report/report.sh \
	%D%/report/result_schema.sh \
	%D%/report/screenful.sh \
	%D%/report/told.sh \
	%D%/rules/import_rules.sh \
	%D%/run/ranks.sh \
	%D%/run/ranks_ends.sh \
	%D%/run/ranks_farm.sh \
	%D%/scenario/schema.sh \
	%D%/search/search.sh \
	%D%/search/search_for.sh \
	%D%/search/search_outcome.sh \
	%D%/search/search_resume.sh \
	%D%/search/search_tensors.sh \
	%D%/servers/import_serving.sh \
	%D%/serving/serve.sh \
	%D%/serving/serving_plan.sh \
	%D%/serving/serving_times.sh \
	%D%/steps/adapters.sh \
	%D%/steps/context.sh \
	%D%/steps/dimensions.sh \
	%D%/steps/experts.sh \
	%D%/steps/experts_grid.sh \
	%D%/steps/experts_nodes.sh \
	%D%/steps/fsdp.sh \
	%D%/steps/monotone.sh \
	%D%/steps/muon.sh \
	%D%/steps/padding.sh \
	%D%/steps/pipeline.sh \
	%D%/steps/products.sh \
	%D%/steps/random_graphs.sh \
	%D%/steps/random_scenarios.sh \
	%D%/steps/random_serving.sh \
	%D%/steps/scenarios.sh \
	%D%/steps/serving.sh \
	%D%/steps/twenty_steps.sh \
	%D%/steps/values.sh \
	%D%/steps/zero.sh \
	%D%/training/import_options.sh \
	%D%/trees/show_tree.sh \
	%D%/trial/fit.sh

# The checks that .ci/run has no time for, see nightly.sh.
EXTRA_PROGRAMS += %D%/coll/stress
stress: %D%/coll/stress %D%/cmd/failures %D%/trial/faults shardsim
	$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/%D%/house/nightly.sh
CLEANFILES += failures.md faults.md
.PHONY: stress

# Changes lib and sim at SHD_MUTANTS random places and looks for a test that fails, see mutants.py, for which
# the program is linked like the tests.
EXTRA_PROGRAMS += %D%/shardsim
%C%_shardsim_SOURCES = sim/main.c
mutants:
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/house/mutants.py coverage
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/house/mutants.py draw $${SHD_MUTANTS:-300} $${SHD_TEST_TURN:-1}
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/house/mutants.py run
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/%D%/house/mutants.py table
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
	%D%/query/failures.jsonl \
	%D%/fuzz/spec_fuzz.c \
	%D%/fuzz/torch_fuzz.c \
	%D%/fuzz/trace_fuzz.c \
	%D%/query/golden.list \
	%D%/check/junit.xsd \
	%D%/steps/adapters.py \
	%D%/pages/book.py \
	%D%/support/console_page.py \
	%D%/steps/experts_grid.py \
	%D%/steps/experts_nodes.py \
	%D%/rules/import_rules.py \
	%D%/support/page.py \
	%D%/pages/page_links.py \
	%D%/support/picture.py \
	%D%/steps/pipeline.py \
	%D%/steps/products.py \
	%D%/lib/misuse.h \
	%D%/lib/misuse.py \
	%D%/report/told.py \
	%D%/partition/placement.py \
	%D%/support/mpi.supp \
	%D%/house/installed.sh \
	%D%/house/mutants.py \
	%D%/house/nightly.sh \
	%D%/house/words.py \
	%D%/pages/notebook.py \
	%D%/support/mpirun.sh \
	%D%/support/program.sh \
	%D%/query/query_manual.py \
	%D%/query/query_mutate.py \
	%D%/one.sh \
	%D%/steps/random_draw.py \
	%D%/steps/random_drawn.py \
	%D%/steps/random_graphs.py \
	%D%/steps/random_kernels.py \
	%D%/steps/random_monotone.py \
	%D%/steps/random_options.py \
	%D%/steps/random_scenarios.py \
	%D%/steps/random_serving.py \
	%D%/steps/serving.py \
	%D%/support/tap.sh \
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
# Scripts that run other tests' programs.
%D%/cmd/foreign_names.log: %D%/base/literals$(EXEEXT)
%D%/run/ranks.log: %D%/run/ranks_calls$(EXEEXT) %D%/run/ranks_programs$(EXEEXT)
%D%/run/ranks_farm.log: %D%/run/farm$(EXEEXT)
# dearest.sh adds up the seconds of all other tests.
%D%/house/dearest.log: $(filter-out %D%/house/dearest.log,$(TEST_LOGS))
CLEANFILES += %D%/*/*.cpu

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
