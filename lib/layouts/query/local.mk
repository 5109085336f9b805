# lib/layouts/query/local.mk - the ops of the layout systems.  They need JSON, and so are compiled into
# the program and not into libshd.  One file a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0
libsim_la_SOURCES += \
	%D%/layout_ops.c \
	%D%/layout_ops.h \
	%D%/leaves.c \
	%D%/leaves.h \
	%D%/op_easydel.c \
	%D%/op_eformer_analyze.c \
	%D%/op_eformer_auto.c \
	%D%/op_eformer_axes.c \
	%D%/op_eformer_extract.c \
	%D%/op_eformer_match.c \
	%D%/op_eformer_mesh.c \
	%D%/op_eformer_partition_axis.c \
	%D%/op_groups.c \
	%D%/op_rank_order.c \
	%D%/op_regex.c \
	%D%/op_sharding.c \
	%D%/op_split.c \
	%D%/op_t5x.c \
	%D%/op_t5x_chunk.c \
	%D%/op_t5x_mesh.c \
	%D%/read_layout.c \
	%D%/read_layout.h \
	%D%/write_layout.c \
	%D%/write_layout.h
