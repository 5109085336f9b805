# sim/local.mk - libshdsim and the program shardsim.  One file a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0

shdinclude_HEADERS += \
	%D%/run/shd/run.h \
	%D%/trial/shd/graph.h

# All of sim but main.c, for the program, for libshdsim and for tests that look inside.
noinst_LTLIBRARIES += libsim.la

libsim_la_SOURCES = \
	%D%/base/diag.c \
	%D%/base/diag.h \
	%D%/base/file.c \
	%D%/base/file.h \
	%D%/base/json_out.c \
	%D%/base/json_out.h \
	%D%/base/log.c \
	%D%/base/log.h \
	%D%/base/nearest.c \
	%D%/base/nearest.h \
	%D%/base/text.c \
	%D%/base/text.h \
	%D%/base/units.c \
	%D%/base/units.h \
	%D%/base/utf8.c \
	%D%/base/utf8.h \
	%D%/base/wrap.c \
	%D%/base/wrap.h \
	%D%/base/yaml.c \
	%D%/base/yaml.h \
	%D%/base/yaml_text.c \
	%D%/cmd/chosen.c \
	%D%/cmd/chosen.h \
	%D%/cmd/cmd.c \
	%D%/cmd/cmd.h \
	%D%/cmd/explain.c \
	%D%/cmd/plan.c \
	%D%/cmd/progress.c \
	%D%/cmd/progress.h \
	%D%/cmd/query.c \
	%D%/cmd/run.c \
	%D%/cmd/screen.c \
	%D%/cmd/screen.h \
	%D%/cmd/show.c \
	%D%/cmd/show.h \
	%D%/cmd/show_array.c \
	%D%/cmd/show_matrix.c \
	%D%/cmd/show_mesh.c \
	%D%/cmd/trials.c \
	%D%/cmd/trials.h \
	%D%/coll/all_gather_direct.c \
	%D%/coll/all_gather_ring.c \
	%D%/coll/all_reduce_direct.c \
	%D%/coll/all_reduce_ring.c \
	%D%/coll/all_to_all_direct.c \
	%D%/coll/barrier_direct.c \
	%D%/coll/broadcast_direct.c \
	%D%/coll/coll.c \
	%D%/coll/coll.h \
	%D%/coll/gather_direct.c \
	%D%/coll/permute_direct.c \
	%D%/coll/reduce_direct.c \
	%D%/coll/reduce_scatter_direct.c \
	%D%/coll/reduce_scatter_ring.c \
	%D%/coll/scatter_direct.c \
	%D%/coll/send_recv_direct.c \
	%D%/coll/table.c \
	%D%/coll/table.h \
	%D%/cost/plan.c \
	%D%/cost/plan.h \
	%D%/cost/replay.c \
	%D%/cost/replay.h \
	%D%/draw/colour.c \
	%D%/draw/colour.h \
	%D%/draw/figure.c \
	%D%/draw/figure.h \
	%D%/draw/figure_svg.c \
	%D%/draw/figure_text.c \
	%D%/draw/layouts.c \
	%D%/draw/layouts.h \
	%D%/explain/lesson.c \
	%D%/explain/lesson.h \
	%D%/explain/schedule.c \
	%D%/explain/schedule.h \
	%D%/explain/values.c \
	%D%/explain/values.h \
	%D%/graph/gradient.c \
	%D%/graph/gradient.h \
	%D%/graph/graph.c \
	%D%/graph/graph.h \
	%D%/graph/layers/attention.c \
	%D%/graph/layers/attention.h \
	%D%/graph/layers/block.c \
	%D%/graph/layers/block.h \
	%D%/graph/layers/mlp.c \
	%D%/graph/layers/mlp.h \
	%D%/graph/layers/norm.c \
	%D%/graph/layers/norm.h \
	%D%/graph/layers/softmax.c \
	%D%/graph/layers/softmax.h \
	%D%/graph/layers/xent.c \
	%D%/graph/layers/xent.h \
	%D%/graph/ops/attention.c \
	%D%/graph/ops/causal.c \
	%D%/graph/ops/embed.c \
	%D%/graph/ops/pick.c \
	%D%/graph/ops/repeat.c \
	%D%/graph/ops/reverse.h \
	%D%/graph/ops/rope.c \
	%D%/graph/ops/window.c \
	%D%/kern/attention.c \
	%D%/kern/attention.h \
	%D%/kern/attention_backward.inc \
	%D%/kern/attention_forward.inc \
	%D%/kern/attention_grad.c \
	%D%/kern/attention_tile.c \
	%D%/kern/attention_tile.h \
	%D%/kern/attention_type.inc \
	%D%/kern/blas.c \
	%D%/kern/causal.c \
	%D%/kern/convert.c \
	%D%/kern/convert.h \
	%D%/kern/data.c \
	%D%/kern/einsum.c \
	%D%/kern/embed.c \
	%D%/kern/gemm.c \
	%D%/kern/gemm.h \
	%D%/kern/gemm_block.inc \
	%D%/kern/gemm_micro.inc \
	%D%/kern/isa.c \
	%D%/kern/isa.h \
	%D%/kern/kern.h \
	%D%/kern/kernel.c \
	%D%/kern/kernel.h \
	%D%/kern/map.c \
	%D%/kern/map_fn.c \
	%D%/kern/map_fn.h \
	%D%/kern/math32.h \
	%D%/kern/move.c \
	%D%/kern/multiply.c \
	%D%/kern/multiply.h \
	%D%/kern/nest.c \
	%D%/kern/nest.h \
	%D%/kern/pick.c \
	%D%/kern/reduce.c \
	%D%/kern/repeat.c \
	%D%/kern/rope.c \
	%D%/kern/rope_pairs.inc \
	%D%/kern/select.h \
	%D%/kern/window.c \
	%D%/model/calls.c \
	%D%/model/elementwise.c \
	%D%/model/expr.c \
	%D%/model/expr.h \
	%D%/model/graph_text.c \
	%D%/model/graph_text.h \
	%D%/model/lines.c \
	%D%/model/lines.h \
	%D%/model/model.c \
	%D%/model/model.h \
	%D%/model/presets.c \
	%D%/model/shardings.c \
	%D%/model/weights.c \
	%D%/model/weights.h \
	%D%/partition/alternatives.c \
	%D%/partition/alternatives.h \
	%D%/partition/assign.c \
	%D%/partition/assign.h \
	%D%/partition/choose.c \
	%D%/partition/choose.h \
	%D%/partition/emit.c \
	%D%/partition/emit.h \
	%D%/partition/fuse.c \
	%D%/partition/fuse.h \
	%D%/partition/partition.c \
	%D%/partition/partition.h \
	%D%/partition/price.c \
	%D%/partition/price.h \
	%D%/partition/refine.c \
	%D%/partition/refine.h \
	%D%/partition/rule.c \
	%D%/partition/rule.h \
	%D%/partition/rules/attention.c \
	%D%/partition/rules/causal.c \
	%D%/partition/rules/einsum.c \
	%D%/partition/rules/embed.c \
	%D%/partition/rules/pick.c \
	%D%/partition/rules/reduce.c \
	%D%/partition/rules/repeat.c \
	%D%/partition/rules/rope.c \
	%D%/partition/rules/window.c \
	%D%/program/program.c \
	%D%/program/program.h \
	%D%/program/traffic.c \
	%D%/query/axes.c \
	%D%/query/axes.h \
	%D%/query/layer.c \
	%D%/query/layer.h \
	%D%/query/layout.c \
	%D%/query/layout.h \
	%D%/query/moves.c \
	%D%/query/moves.h \
	%D%/query/op_easydel.c \
	%D%/query/op_eformer_analyze.c \
	%D%/query/op_eformer_auto.c \
	%D%/query/op_eformer_axes.c \
	%D%/query/op_eformer_extract.c \
	%D%/query/op_eformer_match.c \
	%D%/query/op_eformer_mesh.c \
	%D%/query/op_eformer_partition_axis.c \
	%D%/query/op_groups.c \
	%D%/query/op_layer.c \
	%D%/query/op_rank_order.c \
	%D%/query/op_regex.c \
	%D%/query/op_reshard.c \
	%D%/query/op_scenario.c \
	%D%/query/op_sharding.c \
	%D%/query/op_split.c \
	%D%/query/op_step.c \
	%D%/query/op_t5x.c \
	%D%/query/op_t5x_chunk.c \
	%D%/query/op_t5x_mesh.c \
	%D%/query/op_tree.c \
	%D%/query/query.c \
	%D%/query/query.h \
	%D%/query/read.c \
	%D%/query/read.h \
	%D%/record/record.c \
	%D%/record/record.h \
	%D%/report/replayed.c \
	%D%/report/replayed.h \
	%D%/report/result.h \
	%D%/report/result_json.c \
	%D%/report/result_text.c \
	%D%/report/table.c \
	%D%/report/table.h \
	%D%/report/traffic.c \
	%D%/report/traffic.h \
	%D%/run/arena.c \
	%D%/run/arena.h \
	%D%/run/collective.c \
	%D%/run/collective.h \
	%D%/run/device.c \
	%D%/run/device.h \
	%D%/run/group.c \
	%D%/run/group.h \
	%D%/run/mismatch.c \
	%D%/run/mismatch.h \
	%D%/run/monitor.c \
	%D%/run/monitor.h \
	%D%/run/move.c \
	%D%/run/move.h \
	%D%/run/run.c \
	%D%/run/verdict.c \
	%D%/run/verdict.h \
	%D%/run/view.c \
	%D%/run/view.h \
	%D%/run/wait.c \
	%D%/run/wait.h \
	%D%/run/walk.c \
	%D%/run/walk.h \
	%D%/scenario/check.c \
	%D%/scenario/check.h \
	%D%/scenario/graph.c \
	%D%/scenario/layout.c \
	%D%/scenario/option.c \
	%D%/scenario/option.h \
	%D%/scenario/print.c \
	%D%/scenario/read.c \
	%D%/scenario/read.h \
	%D%/scenario/rope.c \
	%D%/scenario/rules.c \
	%D%/scenario/scenario.c \
	%D%/scenario/scenario.h \
	%D%/scenario/set.c \
	%D%/scenario/set.h \
	%D%/scenario/value.c \
	%D%/scenario/value.h \
	%D%/trial/collect.c \
	%D%/trial/collect.h \
	%D%/trial/graph.c \
	%D%/trial/shd/graph.h \
	%D%/trial/trial.c \
	%D%/trial/trial.h \
	%D%/trial/verify.c \
	%D%/trial/verify.h

libsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS) $(JEMALLOC_CFLAGS) \
	$(OPENBLAS_CFLAGS)
libsim_la_LIBADD = libshd.la $(YAML_LIBS) $(JANSSON_LIBS) $(OPENBLAS_LIBS) -lm

shdinclude_HEADERS += %D%/run/shd/run.h

# The same for other programs: only shd_* is visible.
lib_LTLIBRARIES += libshdsim.la
pkgconfig_DATA += %D%/libshdsim.pc
libshdsim_la_SOURCES =
libshdsim_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined -version-info $(LIBSHDSIM_VERSION_INFO)
libshdsim_la_LIBADD = libsim.la libshd.la

bin_PROGRAMS += shardsim
shardsim_SOURCES = %D%/main.c
shardsim_LDADD = libsim.la libshd.la $(SHD_JEMALLOC)

EXTRA_DIST += %D%/LAYERS
