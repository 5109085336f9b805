# shellcheck shell=sh
# mpirun.sh - start the program, or a test program, on several ranks; sourced.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # program.sh sets the folders

# Builds without MPI have no ranks.
needs_mpi() {
    grep -q '^#define WITH_MPI 1' "$top_builddir/config.h" && return
    skip "all" "this build has no MPI"
    done_testing
    exit 0
}

# Open MPI's plugins never free some of their memory and are unloaded before leaks are checked, so
# that their leaks cannot be told from the program's.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
TSAN_OPTIONS=${TSAN_OPTIONS-}:suppressions=$top_srcdir/tests/support/mpi.supp
export ASAN_OPTIONS TSAN_OPTIONS

# ranks N COMMAND...: run N ranks as any user, on any number of cores, with a time limit.  Each of
# the two launchers ignores the settings of the other.
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_hwloc_base_binding_policy=none
OMPI_MCA_btl_base_warn_component_unused=0
OMPI_MCA_orte_abort_print_stack=0
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
export OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_btl_base_warn_component_unused
export OMPI_MCA_orte_abort_print_stack
ranks() {
    ranks_n=$1
    shift
    timeout 300 "$launcher" -n "$ranks_n" "$@"
}

# The launcher of the MPI library with which the program is linked.
if ldd "$top_builddir/shardsim" 2>/dev/null | grep -q libmpich; then
    launcher=mpiexec.mpich
else
    launcher=mpirun.openmpi
fi
command -v "$launcher" >/dev/null || launcher=mpirun
