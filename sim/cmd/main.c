/* The program: the table of subcommands, the help that lists them, and running the subcommand asked
 * for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <argp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/installed.h"
#include "base/screen.h"
#include "base/system.h"
#include "base/thread.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "command/command.h"
#include "run/ranks/ranks.h"

static const struct cmd *const cmds[] = {
    /* in the order of --help */
    &cmd_init,      &cmd_run,    &cmd_plan,  &cmd_compare, &cmd_check,  &cmd_bench,
    &cmd_calibrate, &cmd_search, &cmd_serve, &cmd_show,    &cmd_explain, &cmd_replay,
    &cmd_export,    &cmd_import, &cmd_report, &cmd_trace,  &cmd_runs,   &cmd_query,
    NULL,
};

/* Commands that all ranks run together; rank 0 runs the others alone. */
static const struct cmd *const over_ranks[] = {&cmd_run,  &cmd_compare, &cmd_check, &cmd_search,
                                               &cmd_plan, NULL};

/* Ends an interrupted report of `check`, so that readers do not take it for complete. */
#define TAP_ENDING "Bail out! interrupted\n"

static bool is_over_ranks(const char *name)
{
    for (const struct cmd *const *row = over_ranks; *row; row++)
        if (!strcmp(name, (*row)->name))
            return true;
    return false;
}

#define FAILED "  1    wrong results, does not fit, or differs from its baseline\n"

#define ENVIRONMENT                                                               \
    "Environment:\n"                                                              \
    "  COLUMNS   width of tables and drawings (default: the terminal's, or 80)\n" \
    "  NO_COLOR  if set and not empty: no colours\n"

static void print_help(FILE *file)
{
    fprintf(file,
            "Usage: shardsim COMMAND [ARGUMENT...]\n\n"
            "Simulate sharded training and serving on one machine: execute a step on virtual\n"
            "devices and verify it, or plan its traffic, memory and time on a cluster.\n\n"
            "Commands:\n");
    cmd_list(file, cmds);
    fprintf(file,
            "\n"
            "'shardsim COMMAND --help' describes a command, 'shardsim show options' lists the\n"
            "keys of a scenario, and 'shardsim --version' prints the version.\n\n"
            "Examples:\n"
            "  Which collectives does a layout need, and are its results right?\n"
            "    shardsim run scenarios/tensor_parallel.yaml\n"
            "  Which layout is best?\n"
            "    shardsim compare scenarios/strategies.yaml\n"
            "  Has a layout become worse?\n"
            "    shardsim check\n\n" ARGS_EXIT_STATUS(FAILED) "\n\n" ENVIRONMENT);
    if (installed_folder())
        fprintf(file, "\nFiles:\n  %s has scenarios/ and docs/; the examples run there\n",
                installed_folder());
}

/* "shardsim help run" is "shardsim run --help". */
static void turn_help(int argc, char **argv)
{
    static char help[] = "--help";

    if (argc < 3 || strcmp(argv[1], "help") != 0)
        return;
    for (int i = 1; i + 1 < argc; i++)
        argv[i] = argv[i + 1];
    argv[argc - 1] = help;
}

static int run(int argc, char **argv)
{
    atexit(cmd_close_output);
    installed_find(argv[0]);
    if (argc < 2) {
        print_help(stderr);
        return CMD_USAGE;
    }
    turn_help(argc, argv);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return CMD_OK;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        printf("%s\n", PACKAGE_STRING);
        return CMD_OK;
    }
    if (ranks_me() > 0 && !is_over_ranks(argv[1]))
        return CMD_OK;
    argp_err_exit_status = CMD_USAGE;
    cmd_watch_signals(strcmp(argv[1], cmd_check.name) == 0 ? TAP_ENDING : NULL);
    return cmd_run_row(cmds, "shardsim", "unknown command", argc, argv);
}

/* Called when argp ends the program: for a wrong option, which every rank sees, or --help. */
static void leave(void)
{
    ranks_end();
}

/* Rank 0 speaks for all. */
static void be_silent(void)
{
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _Exit(CMD_CANNOT);
}

static int join_ranks(void)
{
    struct shd_error err;
    int status = ranks_begin(&err);

    if (status != SHD_OK)
        return cmd_cannot(&err);
    atexit(leave);
    if (ranks_launched())
        screen_behind_launcher();
    if (ranks_me() > 0)
        be_silent();
    return CMD_OK;
}

static int run_joined(int argc, char **argv)
{
    int exit;

    system_limit_memory();
    exit = join_ranks();

    if (exit == CMD_OK) {
        exit = run(argc, argv);
        if (exit == CMD_INTERRUPTED)
            cmd_say_interrupted();
        ranks_end();
    }
    return exit;
}

/* Arguments and result of cmd_main(). */
struct called {
    int argc;
    char **argv;
    int exit;
};

static void *run_called(void *arg)
{
    struct called *called = arg;

    called->exit = run_joined(called->argc, called->argv);
    return NULL;
}

/* Run on a thread with a stack of THREAD_STACK_BYTES.  The first thread then blocks all signals, so
 * that signals interrupt the new thread. */
static int run_on_thread(int argc, char **argv)
{
    struct called called = {argc, argv, CMD_CANNOT};
    sigset_t all;
    pthread_t thread;
    int failed;

    system_set_stacks(THREAD_STACK_BYTES);
    failed = thread_start(&thread, run_called, &called);
    if (failed) {
        cmd_error("cannot allocate a stack of %zu MiB: %s", THREAD_STACK_BYTES >> 20,
                  strerror(failed));
        return CMD_CANNOT;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_join(thread, NULL);
    return called.exit;
}

int cmd_main(int argc, char **argv)
{
    return thread_first_is_small() ? run_on_thread(argc, argv) : run_joined(argc, argv);
}
