#!/bin/sh
# Tests that what one system or one C library has alone, and macOS or musl has not, is behind base/system.h.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(dirname "$0")/../..}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

headers='(linux|mach|asm)/.*|sys/(auxv|epoll|eventfd|inotify|prctl|random|syscall|sysctl|sysinfo)\.h'
headers="$headers|(argz|bits/.*|error|execinfo|malloc|semaphore|stdio_ext)\\.h"
# of Linux
names='syscall|prctl|sched_getcpu|sched_[gs]etaffinity|cpu_set_t|CPU_[A-Z]+|pipe2|accept4|mremap|gettid'
names="$names|O_TMPFILE|MAP_NORESERVE|MAP_POPULATE|MADV_[A-Z]+|pthread_[a-z_]+_np"
# of glibc
names="$names|memrchr|rawmemchr|strchrnul|mempcpy|qsort_r|secure_getenv|reallocarray|get_current_dir_name"
names="$names|canonicalize_file_name|program_invocation_[a-z_]*name|sincosf?|exp10f?|str(error|sig)[a-z]*_np|__fpending"
# of POSIX, and not of macOS
names="$names|timer_create|sem_init|sem_timedwait|pthread_condattr_setclock|clock_nanosleep"
names="$names|pthread_barrier_[a-z]+|pthread_spin_[a-z]+|pthread_mutex_timedlock|SIGRTMIN|sigtimedwait|sigwaitinfo"

# faults FOLDER: the lines below FOLDER/lib, FOLDER/sim and FOLDER/interop that use any of them, but for comments
faults() {
    (cd "$1" && grep -rnE --include='*.[ch]' -e "^ *# *include *<($headers)>" -e "(^|[^A-Za-z0-9_])($names)([^A-Za-z0-9_]|\$)" lib sim interop |
        grep -v -e '^sim/base/system_[a-z]*\.c:' -e '^[^:]*:[0-9]*: *\(/\*\|\*\)')
}

faults "$top_srcdir" >"$dir/faults"
[ ! -s "$dir/faults" ]
ok $? "what not every system has is behind base/system.h"
diag <"$dir/faults"

mkdir -p "$dir/lib" "$dir/sim/base" "$dir/interop"
echo '    core = sched_getcpu();' >"$dir/sim/base/system_linux.c"
printf '/* A futex by syscall(). */\n#include <unistd.h>\nint my_syscall(void);\n' >"$dir/lib/good.c"
[ -z "$(faults "$dir")" ]
ok $? "is content with the file that is behind it, comments and other names"
for line in '#include <linux/futex.h>' '# include <sys/prctl.h>' '    core = sched_getcpu();' 'cpu_set_t cores;' \
    'return memrchr(text, 0, 3);'; do
    echo "$line" >"$dir/sim/bad.c"
    [ "$(faults "$dir" | wc -l)" -eq 1 ]
    ok $? "finds $line"
done
done_testing
