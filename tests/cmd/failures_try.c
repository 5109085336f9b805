/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "failures_try.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "failing.h"

#define HANGS_AFTER_S 120               /* wall-clock limit, on a shared machine */
#define COMPUTES_S 30                   /* limit on CPU time, which ends an endless loop */
#define MEMORY_BYTES ((rlim_t)16 << 30) /* limit on address space */
#define WORDS_MAX 32
#define FILE_BYTES_MAX ((size_t)64 << 20)

static struct failing *orders; /* shared with the process of the try */
static char folder[] = "/tmp/failures.XXXXXX";
static const struct failure_case *current; /* for nftw() */
static bool stranger;
static char top_tests[4096]; /* the folder of the sources of tests */

/* ---- a folder for each try ---- */

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void write_file(const char *path, const char *content, size_t length)
{
    char copy[256];
    FILE *file;

    snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            die(copy);
        *slash = '/';
    }
    file = fopen(path, "w");
    if (!file || fwrite(content, 1, length, file) != length || fclose(file) != 0)
        die(path);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    return where->level == 0 ? 0 : remove(path);
}

static const char *below(const char *path)
{
    return strncmp(path, "./", 2) == 0 ? path + 2 : path;
}

static int look_at_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    bool known = kind != FTW_F;

    (void)info;
    (void)where;
    for (size_t f = 0; f < CASE_INPUTS_MAX && current->inputs[f].path; f++)
        known |= !strcmp(current->inputs[f].path, below(path));
    for (size_t f = 0; f < CASE_OUTPUTS_MAX && current->outputs[f]; f++)
        known |= !strcmp(current->outputs[f], below(path));
    stranger |= !known && strcmp(below(path), ".out") != 0 && strcmp(below(path), ".in") != 0;
    return 0;
}

static void empty_folder(void)
{
    if (nftw(".", remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0)
        die(folder);
}

static void read_whole(struct text *out, const char *path)
{
    struct shd_error err;

    text_init(out);
    if (file_read(out, path, FILE_BYTES_MAX, &err) != SHD_OK)
        out->failed = true;
}

static void fill_folder(const struct failure_case *c)
{
    struct text path = TEXT_INIT, questions = TEXT_INIT;

    text_addf(&path, "%s/%s", top_tests, c->questions ? c->questions : "");
    empty_folder();
    for (size_t f = 0; f < CASE_INPUTS_MAX && c->inputs[f].path; f++)
        write_file(c->inputs[f].path, c->inputs[f].content,
                   c->inputs[f].length ? c->inputs[f].length : strlen(c->inputs[f].content));
    if (c->questions)
        read_whole(&questions, text_get(&path));
    write_file(".in", text_get(&questions), questions.length);
    text_fini(&questions);
    text_fini(&path);
}

/* ---- one try ---- */

static void be_program(const struct failure_case *c, enum failures_way way, uint64_t at, int err)
{
    static char words[1024];
    char *argv[WORDS_MAX] = {NULL};
    struct rlimit seconds = {COMPUTES_S, COMPUTES_S};
    struct rlimit bytes = {at, at};
#ifndef __SANITIZE_ADDRESS__ /* the address sanitizer maps all of the address space */
    struct rlimit room = {MEMORY_BYTES, MEMORY_BYTES};

    setrlimit(RLIMIT_AS, &room);
#endif
    int argc = 0;
    int out = open(".out", O_RDWR | O_CREAT | O_TRUNC, 0666);

    snprintf(words, sizeof words, "shardsim %s", c->arguments);
    for (char *word = strtok_r(words, " ", &argv[WORDS_MAX - 1]); word && argc < WORDS_MAX - 1;
         word = strtok_r(NULL, " ", &argv[WORDS_MAX - 1]))
        argv[argc++] = word;
    argv[argc] = NULL;
    if (dup2(open(".in", O_RDONLY), 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(99);
    setvbuf(stdout, NULL, _IOFBF, 0);
    setrlimit(RLIMIT_CPU, &seconds);
    alarm(HANGS_AFTER_S);
    if (way == FILES_FULL) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &bytes);
    }
    *orders = (struct failing){.at = way == FILES_FULL ? 0 : at,
                               .all_after = way == FAILS_FROM_THEN_ON,
                               .clock_stands = !c->measures};
    failing_arm(orders);
    exit(cmd_main(argc, argv));
}

static void drain(int from, struct text *out)
{
    char bytes[4096];
    ssize_t n;

    text_init(out);
    while ((n = read(from, bytes, sizeof bytes)) > 0)
        text_add_bytes(out, bytes, (size_t)n);
}

/* Replace numbers, with the spaces around them, by one character: the times of a case that measures
 * differ from run to run. */
static void blur(struct text *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->length; i++) {
        char c = text->data[i];

        if (strchr("0123456789.e+-", c))
            c = '#';
        if ((c == '#' || c == ' ') && n && (text->data[n - 1] == '#' || text->data[n - 1] == ' '))
            text->data[n - 1] = '#';
        else
            text->data[n++] = c;
    }
    text->length = n;
    if (text->data)
        text->data[n] = '\0';
}

void failures_try(struct failures_outcome *o, const struct failure_case *c, enum failures_way way,
                  uint64_t at)
{
    int err[2], status;
    pid_t child = -1;

    fill_folder(c);
    fflush(stdout);
    if (pipe(err) != 0 || (child = fork()) < 0)
        die("fork");
    if (child == 0)
        be_program(c, way, at, err[1]);
    close(err[1]);
    drain(err[0], &o->err);
    close(err[0]);
    if (waitpid(child, &status, 0) != child)
        die("waitpid");
    o->exit = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    read_whole(&o->out, ".out");
    if (c->measures)
        blur(&o->out);
    for (size_t f = 0; f < CASE_OUTPUTS_MAX; f++) {
        text_init(&o->files[f]);
        if (c->outputs[f])
            read_whole(&o->files[f], c->outputs[f]);
    }
    o->nrequests = orders->nasked;
    current = c;
    stranger = false;
    nftw(".", look_at_entry, 8, FTW_PHYS);
    o->left_over = stranger;
}

void failures_outcome_fini(struct failures_outcome *o)
{
    text_fini(&o->out);
    text_fini(&o->err);
    for (size_t f = 0; f < CASE_OUTPUTS_MAX; f++)
        text_fini(&o->files[f]);
}

void failures_begin(void)
{
    const char *sources = getenv("top_srcdir");

    orders = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!realpath(sources ? sources : "..", top_tests))
        die("the sources (top_srcdir)");
    strncat(top_tests, "/tests", sizeof top_tests - strlen(top_tests) - 1);
    unsetenv("CI");
    unsetenv("GITHUB_ACTIONS");
    if (orders == MAP_FAILED || !mkdtemp(folder) || chdir(folder) != 0)
        die(folder);
}

void failures_end(void)
{
    empty_folder();
    if (chdir("/") != 0 || rmdir(folder) != 0)
        die(folder);
}
