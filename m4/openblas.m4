# SHD_OPENBLAS_PTHREAD([ACTION-IF-FOUND], [ACTION-IF-NOT-FOUND])
#
# Finds the OpenBLAS that is threaded by pthreads.  The serial build gives wrong numbers when
# several threads call it, and the OpenMP build starts a team in every device thread, so both are
# refused.  Debian installs the variants beside each other, each with its own openblas.pc in
# <libdir>/openblas-<variant>/pkgconfig; the plain name is whichever was chosen last.  The same goes
# for the library at run time, so OPENBLAS_RPATH holds the program to the right one.
#
# SPDX-License-Identifier: Apache-2.0
AC_DEFUN([SHD_OPENBLAS_PTHREAD], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  shd_saved_path=$PKG_CONFIG_PATH
  shd_dir=
  AS_IF([test -n "$PKG_CONFIG"],
    [for shd_dir in `$PKG_CONFIG --variable=pc_path pkg-config | tr : ' '`; do
       shd_dir=${shd_dir%/pkgconfig}/openblas-pthread/pkgconfig
       AS_IF([test -f "$shd_dir/openblas.pc"],
         [PKG_CONFIG_PATH=$shd_dir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}])
     done
     export PKG_CONFIG_PATH])
  PKG_CHECK_MODULES([OPENBLAS], [openblas >= 0.3], [shd_openblas=yes], [shd_openblas=no])
  AS_IF([test $shd_openblas = yes],
    [shd_dir=`$PKG_CONFIG --variable=libdir openblas`])
  PKG_CONFIG_PATH=$shd_saved_path
  AC_SUBST([OPENBLAS_RPATH], [])
  AS_CASE([$shd_dir],
    [*/openblas-pthread*],
      [OPENBLAS_RPATH=-Wl,-rpath,${shd_dir%/}])

  AS_IF([test $shd_openblas = yes],
    [shd_saved_cflags=$CFLAGS
     shd_saved_libs=$LIBS
     CFLAGS="$CFLAGS $OPENBLAS_CFLAGS"
     LIBS="$OPENBLAS_RPATH $OPENBLAS_LIBS $LIBS"
     AC_MSG_CHECKING([whether OpenBLAS is the pthread variant])
     AC_RUN_IFELSE(
       [AC_LANG_PROGRAM([[#include <cblas.h>]], [[return openblas_get_parallel() != 1;]])],
       [AC_MSG_RESULT([yes])],
       [AC_MSG_RESULT([no])
        shd_openblas=no],
       [AC_MSG_RESULT([taken for granted when cross-compiling])])
     CFLAGS=$shd_saved_cflags
     LIBS=$shd_saved_libs])
  AS_IF([test $shd_openblas = yes], [$1], [$2])
])
