/* Messages, output, exit status and signals of subcommands (command.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/command.h"

#include <shd/error.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "run/ranks/farm.h"
#include "run/ranks/ranks.h"
#include "command/write.h"

int cmd_stop_request;
int cmd_halt;

/* Time for work that watches cmd_stop_request to end by itself; all other work is then ended
 * anywhere, be it in a search, in the lint or in an allocation.  Nothing needs to be undone: files
 * are made in one step (command/write.h), and a result is printed when it is whole. */
#define STOP_US 500000

static struct itimerval patience = {.it_value = {.tv_usec = STOP_US}};
static const char *interrupted = "shardsim: interrupted\n";
static const char *report_ending; /* NULL: none is due, or already written */

/* Take words to print: the signal handler or the program, whichever comes first, gets them. */
static const char *take(const char **words)
{
    return __atomic_exchange_n(words, NULL, __ATOMIC_RELAXED);
}

/* Write in a signal handler; a pipe without a reader must not block the program. */
static void put_words(int file, const char *words)
{
    struct pollfd ready = {.fd = file, .events = POLLOUT};

    if (words && poll(&ready, 1, 0) == 1 && write(file, words, strlen(words)) < 0)
        return; /* no reader is left */
}

void cmd_say_interrupted(void)
{
    put_words(STDERR_FILENO, take(&interrupted));
}

static void on_late(int number)
{
    (void)number;
    put_words(STDOUT_FILENO, take(&report_ending));
    cmd_say_interrupted();
    _Exit(CMD_INTERRUPTED);
}

static void on_signal(int number)
{
    __atomic_store_n(&cmd_halt, 1, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&cmd_stop_request, 1, __ATOMIC_RELAXED))
        on_late(number); /* asked twice: at once */
    if (setitimer(ITIMER_REAL, &patience, NULL) != 0) /* then a SIGALRM */
        on_late(number);
}

void cmd_watch_signals(const char *ending)
{
    const struct sigaction action = {.sa_handler = on_signal}, late = {.sa_handler = on_late};

    report_ending = ending;
    if (isatty(STDERR_FILENO))
        interrupted = "\r\033[Kshardsim: interrupted\n"; /* over a line of progress */
    sigaction(SIGALRM, &late, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen when writing */
}

void cmd_stop_within(int seconds)
{
    patience.it_value = (struct timeval){.tv_sec = seconds};
}

static void *halt_later(void *seconds)
{
    struct timespec left = {.tv_sec = (time_t)(intptr_t)seconds};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    __atomic_store_n(&cmd_halt, 1, __ATOMIC_RELAXED);
    return NULL;
}

int cmd_start_thread(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = thread_start(out, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

int cmd_halt_after(int seconds)
{
    pthread_t thread;
    int failed = cmd_start_thread(&thread, halt_later, (void *)(intptr_t)seconds);

    if (!failed) {
        pthread_detach(thread);
        return CMD_OK;
    }
    cmd_error("cannot start the thread of the time limit: %s", strerror(failed));
    return CMD_CANNOT;
}

void cmd_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    log_put(stderr, "error: ", fmt, args);
    va_end(args);
}

void cmd_note(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    log_put(stderr, "", fmt, args);
    va_end(args);
}

int cmd_cannot(const struct shd_error *err)
{
    cmd_error("%s", err->text);
    return CMD_CANNOT;
}

int cmd_refused(const struct shd_error *err)
{
    int exit = cmd_cannot(err);

    return err->status == SHD_ENOMEM || err->status == SHD_ESYSTEM ? exit : CMD_USAGE;
}

static bool write_failed; /* of standard output, of which was told */

int cmd_put_last(const struct text *text)
{
    if (text->failed) {
        cmd_error("no memory for the output");
        return CMD_CANNOT;
    }
    if (cmd_stop_request)
        (void)take(&report_ending);
    if (fwrite(text_get(text), 1, text->length, stdout) == text->length && fflush(stdout) == 0)
        return CMD_OK;
    write_failed = true;
    if (errno == EINTR && cmd_stop_request)
        return CMD_INTERRUPTED;
    if (errno != EPIPE)
        cmd_error("standard output: %s", strerror(errno));
    return CMD_CANNOT;
}

int cmd_put(const struct text *text)
{
    return cmd_stop_request ? CMD_INTERRUPTED : cmd_put_last(text);
}

int cmd_write(const char *path, const struct text *text)
{
    struct shd_error err;

    if (!path || !strcmp(path, "-"))
        return cmd_put(text);
    if (cmd_stop_request)
        return CMD_INTERRUPTED;
    if (store_write(path, text, &err) == SHD_OK)
        return CMD_OK;
    return cmd_cannot(&err);
}

int cmd_check_output(const char *path)
{
    struct shd_error err;

    if (!path || !strcmp(path, "-") || store_check(path, &err) == SHD_OK)
        return CMD_OK;
    return cmd_cannot(&err);
}

bool cmd_is_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

int cmd_check_new(const char *path, bool force)
{
    if (path && !force && strcmp(path, "-") != 0 && cmd_is_file(path)) {
        cmd_error("'%s' exists; expected the name of a new file, or --force", path);
        return CMD_USAGE;
    }
    return cmd_check_output(path);
}

int cmd_check_ending(const char *path, const char *ending, const char *instead)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *dot = path ? strrchr(slash ? slash : path, '.') : NULL;

    if (!dot || !dot[1] || !strcmp(dot, ending))
        return CMD_OK;
    cmd_error("--output is '%s'; expected a name that ends in %s%s", path, ending, instead);
    return CMD_USAGE;
}

void cmd_close_output(void)
{
    bool failed = ferror(stdout) || fflush(stdout) != 0;

    /* A standard output that is closed is no fault if nothing was written. */
    failed |= fclose(stdout) != 0 && errno != EBADF;
    if (!failed)
        return;
    if (!write_failed && errno != EPIPE)
        cmd_error("standard output: %s", strerror(errno));
    _Exit(cmd_stop_request ? CMD_INTERRUPTED : CMD_CANNOT);
}

void cmd_tell_ranks(const struct farm *farm, bool quiet)
{
    struct text text = TEXT_INIT;

    if (quiet || ranks_count() == 1)
        return;
    farm_tell(farm, &text);
    cmd_note("%s", text_get(&text));
    text_fini(&text);
}

int cmd_wrong(const char *what, const char *message)
{
    cmd_error("%s: %s", what, message);
    return CMD_USAGE;
}

int cmd_failure(const char *what, const struct shd_error *err)
{
    (void)cmd_wrong(what, err->text);
    return err->status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
}

bool cmd_is_stopped(int status)
{
    return status == SHD_ESTOPPED && cmd_stop_request;
}

int cmd_worse(int exit, int other)
{
    return other > exit ? other : exit;
}

int cmd_exit_of(int status)
{
    if (cmd_stop_request)
        return CMD_INTERRUPTED;
    if (status == SHD_OK)
        return CMD_OK;
    if (status == SHD_ENOMEM || status == SHD_ESYSTEM || status == SHD_EINTERNAL)
        return CMD_CANNOT;
    return CMD_FAILED;
}

int cmd_exit_of_refused(int status)
{
    switch (status) {
    case SHD_EINVAL:
    case SHD_ERANGE:
    case SHD_EINDIVISIBLE:
    case SHD_EUNSUPPORTED:
        return CMD_USAGE;
    default:
        return cmd_exit_of(status);
    }
}

int cmd_exit_of_input(const struct diag *diag)
{
    if (diag->no_memory || diag->internal)
        return CMD_CANNOT;
    return diag->nerrors ? CMD_USAGE : CMD_OK;
}
