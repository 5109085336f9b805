/* Writing pictures: SVG, and PNG by an installed program (picture.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "command/command.h"
#include "command/write.h"

#define FOLDER_MAX 512
#define ARGUMENT_MAX (2 * FOLDER_MAX)
#define ARGUMENTS_MAX 10
#define BYTES_MAX (256 << 20) /* of a PNG */
#define SECONDS_MAX 60        /* for a program to draw in; the largest picture takes about ten */
#define LOOK_NS 10000000      /* between checks whether the program has ended */

extern char **environ;

/* Programs that draw, the best first.  IN and OUT in an argument stand for the files. */
static const char *const programs[][ARGUMENTS_MAX] = {
    {"rsvg-convert", "--zoom=2", "--output=OUT", "IN"},
    {"inkscape", "--export-type=png", "--export-dpi=192", "--export-filename=OUT", "IN"},
    {"magick", "-density", "192", "IN", "OUT"},
    {"convert", "-density", "192", "IN", "OUT"},
    {"chromium", "--headless", "--disable-gpu", "--no-sandbox", "--hide-scrollbars",
     "--force-device-scale-factor=2", "--window-size=WIDTH,HEIGHT", "--screenshot=OUT",
     "file://IN"},
    {"google-chrome", "--headless", "--disable-gpu", "--no-sandbox", "--hide-scrollbars",
     "--force-device-scale-factor=2", "--window-size=WIDTH,HEIGHT", "--screenshot=OUT",
     "file://IN"},
};
#define NPROGRAMS (sizeof programs / sizeof programs[0])

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

bool picture_is_name(const char *path)
{
    return ends_with(path, ".svg") || ends_with(path, ".png");
}

/* ---- one program ---- */

/* Paths of the drawing and of the picture made from it, and its size in pixels. */
struct job {
    char folder[FOLDER_MAX], in[FOLDER_MAX + 8], out[FOLDER_MAX + 8];
    int width, height;
};

/* An argument with what stands for something replaced. */
static void fill_argument(char buf[ARGUMENT_MAX], const struct job *job, const char *pattern)
{
    const struct {
        const char *word;
        const char *is;
    } words[] = {{"IN", job->in}, {"OUT", job->out}};

    if (strstr(pattern, "WIDTH")) {
        snprintf(buf, ARGUMENT_MAX, "--window-size=%d,%d", job->width, job->height);
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t before = strlen(pattern) - strlen(words[i].word);

        if (strlen(pattern) >= strlen(words[i].word) && ends_with(pattern, words[i].word)) {
            snprintf(buf, ARGUMENT_MAX, "%.*s%s", (int)before, pattern, words[i].is);
            return;
        }
    }
    snprintf(buf, ARGUMENT_MAX, "%s", pattern);
}

/* Wait for a child's end, but not for ever; whether it ended well. */
static bool end_well(pid_t child)
{
    const struct timespec pause = {0, LOOK_NS};
    struct timespec now, begin;
    int status;
    pid_t ended;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (cmd_stop_request || now.tv_sec - begin.tv_sec > SECONDS_MAX) {
            kill(child, SIGKILL);
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
            }
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Run a program with its output discarded; false if it is missing (*found is not set) or fails. */
static bool run_program(const struct job *job, const char *const *program, bool *found)
{
    char arguments[ARGUMENTS_MAX][ARGUMENT_MAX], *argv[ARGUMENTS_MAX + 1] = {NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int error;

    for (int i = 0; i < ARGUMENTS_MAX && program[i]; i++) {
        fill_argument(arguments[i], job, program[i]);
        argv[i] = arguments[i];
    }
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!error)
        error = posix_spawnp(&child, program[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    *found |= !error;
    return !error && end_well(child) && access(job->out, R_OK) == 0;
}

/* ---- the file ---- */

/* The first of the programs that can. */
static int draw(const struct job *job, struct shd_error *err)
{
    bool found = false;

    for (size_t p = 0; p < NPROGRAMS && !cmd_stop_request; p++)
        if (run_program(job, programs[p], &found))
            return SHD_OK;
    if (cmd_stop_request)
        return shd_error_set(err, SHD_ESYSTEM, "interrupted before the PNG was drawn");
    return shd_error_set(
        err, SHD_ESYSTEM,
        found ? "no PNG: the converter failed; write FILE.svg, or install rsvg-convert"
              : "no converter for PNG is installed; expected rsvg-convert (librsvg2-bin), "
                "inkscape, ImageMagick or chromium; or write FILE.svg");
}

/* Convert in a temporary folder, where drawing programs may leave any files. */
static int write_png(const char *path, const struct text *svg, struct shd_error *err)
{
    const char *temporary = getenv("TMPDIR");
    struct text png = TEXT_INIT;
    struct job job;
    int status, n;

    n = snprintf(job.folder, sizeof job.folder, "%s/shardsim-XXXXXX",
                 temporary && *temporary == '/' ? temporary : "/tmp");
    if (n >= (int)sizeof job.folder || !mkdtemp(job.folder))
        return shd_error_set(err, SHD_ESYSTEM, "cannot make a temporary folder in %.80s: %s",
                             temporary ? temporary : "/tmp", strerror(errno));
    snprintf(job.in, sizeof job.in, "%s/a.svg", job.folder);
    snprintf(job.out, sizeof job.out, "%s/a.png", job.folder);
    if (sscanf(strstr(text_get(svg), " width=\""), " width=\"%d\" height=\"%d\"", &job.width,
               &job.height) != 2)
        job.width = job.height = 0;
    status = store_write(job.in, svg, err);
    if (status == SHD_OK)
        status = draw(&job, err);
    if (status == SHD_OK)
        status = file_read(&png, job.out, BYTES_MAX, err);
    if (status == SHD_OK)
        status = store_write(path, &png, err);
    unlink(job.in);
    unlink(job.out);
    rmdir(job.folder);
    text_fini(&png);
    return status;
}

int picture_write(const char *path, const struct text *svg, struct shd_error *err)
{
    if (svg->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the picture");
    return ends_with(path, ".png") ? write_png(path, svg, err) : store_write(path, svg, err);
}

int picture_put(const char *path, struct text *svg)
{
    struct shd_error err;
    int status = picture_write(path, svg, &err), exit = CMD_OK;

    if (status != SHD_OK)
        exit = cmd_worse(cmd_cannot(&err), cmd_stop_request ? CMD_INTERRUPTED : CMD_OK);
    text_fini(svg);
    return exit;
}
