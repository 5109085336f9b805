# lib/local.mk - libshd: partitioning as pure values.  One file a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += libshd.la
pkgconfig_DATA += %D%/libshd.pc

shdinclude_HEADERS += \
	%D%/shd/analyze.h \
	%D%/shd/attention_specs.h \
	%D%/shd/auto_shard.h \
	%D%/shd/chunk.h \
	%D%/shd/context.h \
	%D%/shd/create_mesh.h \
	%D%/shd/dtype.h \
	%D%/shd/error.h \
	%D%/shd/export.h \
	%D%/shd/extract.h \
	%D%/shd/group.h \
	%D%/shd/logical.h \
	%D%/shd/match.h \
	%D%/shd/mesh.h \
	%D%/shd/mesh_axes.h \
	%D%/shd/parallel_groups.h \
	%D%/shd/partition_axis.h \
	%D%/shd/partitioner.h \
	%D%/shd/pattern.h \
	%D%/shd/prefix.h \
	%D%/shd/rank_order.h \
	%D%/shd/regex.h \
	%D%/shd/reshard.h \
	%D%/shd/reshard_figures.h \
	%D%/shd/rules.h \
	%D%/shd/shape.h \
	%D%/shd/sharding.h \
	%D%/shd/spec.h \
	%D%/shd/split.h \
	%D%/shd/topology.h \
	%D%/shd/tpu_mesh.h \
	%D%/shd/tree.h

libshd_la_SOURCES = \
	%D%/bound.h \
	%D%/dtype.c \
	%D%/error.c \
	%D%/group.c \
	%D%/layouts/easydel/analyze.c \
	%D%/layouts/easydel/attention_specs.c \
	%D%/layouts/easydel/auto_shard.c \
	%D%/layouts/easydel/create_mesh.c \
	%D%/layouts/easydel/create_mesh_parse.c \
	%D%/layouts/easydel/extract.c \
	%D%/layouts/easydel/match.c \
	%D%/layouts/easydel/mesh_axes.c \
	%D%/layouts/easydel/partition_axis.c \
	%D%/layouts/easydel/pattern.c \
	%D%/layouts/megatron/parallel_groups.c \
	%D%/layouts/megatron/rank_order.c \
	%D%/layouts/megatron/split.c \
	%D%/layouts/t5x/chunk.c \
	%D%/layouts/t5x/context.c \
	%D%/layouts/t5x/host_mesh.c \
	%D%/layouts/t5x/logical.c \
	%D%/layouts/t5x/partitioner.c \
	%D%/layouts/t5x/topology.c \
	%D%/layouts/t5x/tpu_mesh.c \
	%D%/mesh.c \
	%D%/mesh_parts.h \
	%D%/prefix.c \
	%D%/print.c \
	%D%/print.h \
	%D%/regex/characters.c \
	%D%/regex/find.h \
	%D%/regex/literal.c \
	%D%/regex/literal.h \
	%D%/regex/python.c \
	%D%/regex/python.h \
	%D%/regex/regex.c \
	%D%/regex/rewrite.h \
	%D%/regex/texts.c \
	%D%/regex/texts.h \
	%D%/reshard/axes.c \
	%D%/reshard/bound.c \
	%D%/reshard/bytes.c \
	%D%/reshard/fetch.c \
	%D%/reshard/flat.c \
	%D%/reshard/measure.c \
	%D%/reshard/move.c \
	%D%/reshard/moved.c \
	%D%/reshard/pair.c \
	%D%/reshard/pair.h \
	%D%/reshard/reshard.c \
	%D%/reshard/reach.c \
	%D%/reshard/shift.c \
	%D%/reshard/source.c \
	%D%/reshard/source.h \
	%D%/reshard/step.c \
	%D%/reshard/step.h \
	%D%/reshard/tangle.c \
	%D%/reshard/tangle.h \
	%D%/reshard/text.c \
	%D%/reshard/ways.c \
	%D%/rules.c \
	%D%/rules_match.h \
	%D%/shape.c \
	%D%/sharding.c \
	%D%/spec.c \
	%D%/spec_parse.c \
	%D%/spec_parse.h \
	%D%/tree.c

libshd_la_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS)
libshd_la_LDFLAGS = $(SHD_LDFLAGS) -no-undefined -version-info $(LIBSHD_VERSION_INFO)
libshd_la_LIBADD = $(PCRE2_LIBS) -lm
