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
	%D%/analyze.c \
	%D%/attention_specs.c \
	%D%/auto_shard.c \
	%D%/chunk.c \
	%D%/context.c \
	%D%/create_mesh.c \
	%D%/create_mesh_parse.c \
	%D%/dtype.c \
	%D%/error.c \
	%D%/extract.c \
	%D%/group.c \
	%D%/host_mesh.c \
	%D%/logical.c \
	%D%/match.c \
	%D%/mesh.c \
	%D%/mesh_axes.c \
	%D%/mesh_parts.h \
	%D%/parallel_groups.c \
	%D%/partition_axis.c \
	%D%/partitioner.c \
	%D%/pattern.c \
	%D%/prefix.c \
	%D%/print.c \
	%D%/print.h \
	%D%/rank_order.c \
	%D%/regex.c \
	%D%/regex_find.h \
	%D%/regex_group.c \
	%D%/regex_literal.c \
	%D%/regex_literal.h \
	%D%/regex_parse.c \
	%D%/regex_parse.h \
	%D%/regex_python.c \
	%D%/regex_python.h \
	%D%/regex_texts.c \
	%D%/regex_texts.h \
	%D%/regex_tokens.c \
	%D%/reshard.c \
	%D%/reshard_bound.c \
	%D%/reshard_bytes.c \
	%D%/reshard_fetch.c \
	%D%/reshard_measure.c \
	%D%/reshard_move.c \
	%D%/reshard_moved.c \
	%D%/reshard_pair.c \
	%D%/reshard_pair.h \
	%D%/reshard_source.c \
	%D%/reshard_source.h \
	%D%/reshard_step.c \
	%D%/reshard_step.h \
	%D%/reshard_tangle.c \
	%D%/reshard_tangle.h \
	%D%/reshard_text.c \
	%D%/reshard_ways.c \
	%D%/rules.c \
	%D%/rules_match.h \
	%D%/shape.c \
	%D%/sharding.c \
	%D%/spec.c \
	%D%/spec_parse.c \
	%D%/spec_parse.h \
	%D%/split.c \
	%D%/topology.c \
	%D%/tpu_mesh.c \
	%D%/tree.c

libshd_la_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS)
libshd_la_LDFLAGS = $(SHD_LDFLAGS) -no-undefined -version-info $(LIBSHD_VERSION_INFO)
libshd_la_LIBADD = $(PCRE2_LIBS) -lm
