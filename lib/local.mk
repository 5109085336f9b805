# lib/local.mk - libshd: partitioning as pure values.  One file a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += libshd.la
pkgconfig_DATA += %D%/libshd.pc

shdinclude_HEADERS += \
	%D%/shd/dtype.h \
	%D%/shd/error.h \
	%D%/shd/export.h \
	%D%/shd/group.h \
	%D%/shd/mesh.h \
	%D%/shd/regex.h \
	%D%/shd/reshard.h \
	%D%/shd/rules.h \
	%D%/shd/shape.h \
	%D%/shd/sharding.h \
	%D%/shd/spec.h \
	%D%/shd/tree.h

libshd_la_SOURCES = \
	%D%/dtype.c \
	%D%/error.c \
	%D%/group.c \
	%D%/mesh.c \
	%D%/print.c \
	%D%/print.h \
	%D%/regex.c \
	%D%/regex_group.c \
	%D%/regex_parse.c \
	%D%/regex_parse.h \
	%D%/regex_python.c \
	%D%/regex_python.h \
	%D%/regex_tokens.c \
	%D%/reshard.c \
	%D%/reshard_fetch.c \
	%D%/reshard_move.c \
	%D%/reshard_moved.c \
	%D%/reshard_step.c \
	%D%/reshard_step.h \
	%D%/rules.c \
	%D%/shape.c \
	%D%/sharding.c \
	%D%/spec.c \
	%D%/spec_parse.c \
	%D%/spec_parse.h \
	%D%/tree.c

libshd_la_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS)
libshd_la_LDFLAGS = $(SHD_LDFLAGS) -no-undefined -version-info $(LIBSHD_VERSION_INFO)
libshd_la_LIBADD = $(PCRE2_LIBS) -lm
