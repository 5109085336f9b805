# sim/local.mk - libshdsim and the program shardsim.  One file a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0

shdinclude_HEADERS += \
	%D%/run/shd/run.h

# All of sim but main.c, for the program, for libshdsim and for tests that look inside.
noinst_LTLIBRARIES += libsim.la

libsim_la_SOURCES = \
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
	%D%/kern/blas.c \
	%D%/kern/convert.c \
	%D%/kern/convert.h \
	%D%/kern/data.c \
	%D%/kern/einsum.c \
	%D%/kern/gemm.c \
	%D%/kern/gemm.h \
	%D%/kern/gemm_block.inc \
	%D%/kern/gemm_micro.inc \
	%D%/kern/isa.c \
	%D%/kern/isa.h \
	%D%/kern/kern.h \
	%D%/kern/map.c \
	%D%/kern/map_fn.c \
	%D%/kern/map_fn.h \
	%D%/kern/math32.h \
	%D%/kern/move.c \
	%D%/kern/nest.c \
	%D%/kern/nest.h \
	%D%/kern/reduce.c \
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
	%D%/run/wait.h

libsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS) $(JEMALLOC_CFLAGS) \
	$(OPENBLAS_CFLAGS)
libsim_la_LIBADD = libshd.la $(YAML_LIBS) $(JANSSON_LIBS) $(OPENBLAS_LIBS) -lm

# The same for other programs: only shd_* is visible.
lib_LTLIBRARIES += libshdsim.la
pkgconfig_DATA += %D%/libshdsim.pc
libshdsim_la_SOURCES =
libshdsim_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined -version-info $(LIBSHDSIM_VERSION_INFO)
libshdsim_la_LIBADD = libsim.la libshd.la

EXTRA_DIST += %D%/LAYERS
