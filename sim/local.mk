# sim/local.mk - libshdsim and the program shardsim.  One file a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0

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
	%D%/base/yaml.c \
	%D%/base/yaml.h \
	%D%/base/yaml_text.c \
	%D%/coll/coll.h \
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
	%D%/scenario/check.c \
	%D%/scenario/check.h \
	%D%/scenario/layout.c \
	%D%/scenario/option.c \
	%D%/scenario/option.h \
	%D%/scenario/print.c \
	%D%/scenario/read.c \
	%D%/scenario/read.h \
	%D%/scenario/rules.c \
	%D%/scenario/scenario.c \
	%D%/scenario/scenario.h \
	%D%/scenario/set.c \
	%D%/scenario/set.h \
	%D%/scenario/value.c \
	%D%/scenario/value.h

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
