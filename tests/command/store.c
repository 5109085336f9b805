/* Tests command/write.h, check/folder_files.h and check/baseline.h: complete files, listed folders, and
 * baselines with their differences and verdicts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "base/file.h"
#include "check/baseline.h"
#include "check/folder_files.h"
#include "command/write.h"
#include "../support/tap.h"

static const char *const any[] = {"", NULL}, *const yaml[] = {".yaml", NULL};
static char dir[] = "/tmp/store-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool write_words(const char *path, const char *words)
{
    struct text text = TEXT_INIT;
    bool good;

    text_add(&text, words);
    good = store_write(path, &text, NULL) == SHD_OK;
    text_fini(&text);
    return good;
}

static bool holds(const char *path, const char *words)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    bool good = file_read(&text, path, 1000, &err) == SHD_OK && !strcmp(text_get(&text), words);

    text_fini(&text);
    return good;
}

static void test_write(void)
{
    struct text lost = {.failed = true}, twice = TEXT_INIT;
    struct shd_error err;
    struct folder all;
    struct stat info;

    ok(write_words(path_of("a.yaml"), "one") && holds(path_of("a.yaml"), "one"),
       "write: a new file");
    chmod(path_of("a.yaml"), 0640);
    ok(write_words(path_of("a.yaml"), "two") && holds(path_of("a.yaml"), "two"),
       "write: in place of another");
    ok(stat(path_of("a.yaml"), &info) == 0 && (info.st_mode & 0777) == 0640,
       "write: keeps its mode");
    ok(store_write(path_of("a.yaml"), &lost, &err) == SHD_ENOMEM && holds(path_of("a.yaml"), "two"),
       "write: a text that failed leaves the file");
    ok(file_read(&twice, path_of("a.yaml"), 3, &err) == SHD_OK &&
           file_read(&twice, path_of("a.yaml"), 3, &err) == SHD_OK &&
           file_read(&twice, path_of("a.yaml"), 2, &err) == SHD_ERANGE &&
           !strcmp(text_get(&twice), "twotwo"),
       "file_read: behind what is there; a longer file adds nothing");
    text_fini(&twice);
    ok(!write_words(path_of("none/a.yaml"), "x"), "write: no such folder");
    mkdir(path_of("folder"), 0777);
    ok(!write_words(path_of("folder"), "x"), "write: a folder is not overwritten");
    ok(write_words("/dev/null", "x"), "write: to a device file");
    ok(store_make_folder(path_of("x/y/b.yaml"), &err) == SHD_OK &&
           store_make_folder(path_of("x/y/b.yaml"), &err) == SHD_OK &&
           write_words(path_of("x/y/b.yaml"), "b"),
       "make_folder: those above it, twice");
    ok(store_make_folder(path_of("a.yaml/b/c"), &err) == SHD_ESYSTEM, "make_folder: below a file");
    ok(folder_init(&all, dir, any, NULL, &err) == SHD_OK && all.npaths == 2,
       "write: nothing is left beside");
    folder_fini(&all);
}

/* The number of entries of a folder, with hidden ones; -1: the folder cannot be read. */
static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;

    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return folder ? n - 2 : -1;
}

/* A limit on the size of files kills the process in the middle of writing. */
static void test_killed(void)
{
    static char words[100000];
    struct rlimit limit = {4096, 4096};
    int status = 0, nameless = system_open_nameless(dir);
    pid_t child;

    memset(words, 'x', sizeof words - 1);
    mkdir(path_of("kill"), 0777);
    if (!write_words(path_of("kill/a.yaml"), "one"))
        diag("cannot be written");
    child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(write_words(path_of("kill/a.yaml"), words));
    }
    ok(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status),
       "killed: in the middle of it");
    if (nameless < 0) { /* what was begun has a hidden name, another one each time */
        ok(holds(path_of("kill/a.yaml"), "one") &&
               write_words(path_of("kill/.a.yaml.XXXXXX"), "stale") &&
               write_words(path_of("kill/a.yaml"), "two") && holds(path_of("kill/a.yaml"), "two"),
           "killed: the old file, and the next one");
        unlink(path_of("kill/a.yaml"));
        return;
    }
    close(nameless);
    ok(holds(path_of("kill/a.yaml"), "one") && count_entries(path_of("kill")) == 1,
       "killed: the old file, and nothing beside it");
    ok(write_words(path_of("kill/.a.yaml.XXXXXX"), "stale") &&
           write_words(path_of("kill/a.yaml"), "two") && holds(path_of("kill/a.yaml"), "two") &&
           count_entries(path_of("kill")) == 1,
       "killed: what was left is taken by the next to write");
    unlink(path_of("kill/a.yaml"));
    rmdir(path_of("kill"));
}

static void test_folder(void)
{
    static const char *const without[] = {"x", NULL}, *const both[] = {".yaml", ".txt", NULL};
    struct shd_error err;
    struct folder f;

    write_words(path_of(".hidden.yaml"), "");
    write_words(path_of("b.txt"), "");
    write_words(path_of("x.yaml"), "");
    write_words(path_of("up.YAML"), "");
    if (symlink(".", path_of("loop")) != 0)
        diag("no link");
    ok(folder_init(&f, dir, yaml, NULL, &err) == SHD_OK && f.npaths == 3 &&
           !strcmp(f.paths[0], "a.yaml") && !strcmp(f.paths[1], "x.yaml") &&
           !strcmp(f.paths[2], "x/y/b.yaml"),
       "folder: by ending, with folders below, sorted, none hidden");
    ok(f.nleft_out == 3 && !strcmp(f.left_out[0], ".hidden.yaml") &&
           !strcmp(f.left_out[1], "loop") && !strcmp(f.left_out[2], "up.YAML"),
       "folder: what is left out, a link to a folder too");
    ok(folder_has(&f, "x.yaml") && !folder_has(&f, "y.yaml"), "folder: has");
    folder_fini(&f);
    ok(folder_init(&f, dir, yaml, without, &err) == SHD_OK && f.npaths == 2 && f.nleft_out == 4 &&
           !strcmp(f.left_out[3], "x/y/b.yaml"),
       "folder: without");
    folder_fini(&f);
    ok(folder_init(&f, dir, both, without, &err) == SHD_OK && f.npaths == 3,
       "folder: with either ending");
    folder_fini(&f);
    ok(folder_init(&f, path_of("none"), yaml, NULL, &err) == SHD_ESYSTEM && f.npaths == 0,
       "folder: there is none");
    folder_fini(&f);
}

/* ---- baselines ---- */

static void add(struct baseline *b, const char *name, const char *sharding, uint64_t bytes)
{
    if (baseline_add_array(b, "parameter", name, sharding, bytes, (struct place){"f", 7, 1}) !=
        SHD_OK)
        diag("no memory");
}

static struct baseline make(const char *sharding, uint64_t received)
{
    struct baseline b = {.name = strdup("a: 'b' #"), .mesh = strdup("tp=2")};

    add(&b, "layers/1/up", sharding, 64);
    add(&b, "layers/0/up", sharding, 64);
    add(&b, "layers/0/down", "[{tp}, {}]", 64);
    b.collectives = calloc(1, sizeof *b.collectives);
    b.ncollectives = 1;
    b.collectives[0] = (struct baseline_collective){strdup("forward"),
                                                    strdup("all-reduce"),
                                                    strdup("tp"),
                                                    strdup("layers/*/down"),
                                                    1,
                                                    2,
                                                    2,
                                                    16,
                                                    16,
                                                    received};
    figures_set_whole(&b.figures, FIGURE_RECEIVED, received);
    figures_set_whole(&b.figures, FIGURE_RECEIVED_MOST, received / 2);
    figures_set_whole(&b.figures, FIGURE_PEAK_TOTAL, 1000);
    figures_set_whole(&b.figures, FIGURE_PEAK_MOST, 500);
    figures_set_whole(&b.figures, FIGURE_FLOPS, UINT64_C(1) << 40);
    figures_set_whole(&b.figures, FIGURE_FLOPS_MOST, 3);
    if (baseline_add_finding(&b, "rule 'x' is odd") != SHD_OK)
        diag("no memory");
    baseline_sort(&b);
    return b;
}

static struct baseline given(const char *layers, const char *hardware, uint64_t step_ns)
{
    struct baseline b = make("[{}, {tp}]", 64);
    struct place place = {"f", 5, 1};

    figures_set_number(&b.figures, FIGURE_MODELLED_STEP, (double)step_ns * 1e-9);
    figures_set_whole(&b.figures, FIGURE_MODELLED_MEMORY, 7);
    if (baseline_add_given(&b, "model.layers", layers, place) != SHD_OK ||
        baseline_add_given(&b, "hardware", hardware, place) != SHD_OK)
        diag("no memory");
    return b;
}

static void test_sort(void)
{
    struct baseline b = make("[{}, {tp}]", 64);
    struct baseline_collective *more =
        realloc(b.collectives, (b.ncollectives + 1) * sizeof *b.collectives);

    if (more) {
        b.collectives = more;
        b.collectives[b.ncollectives++] = (struct baseline_collective){
            .phase = strdup("backward"),
            .op = strdup("send"),
            .axes = strdup("pp"),
            .where = strdup("x")};
    }
    if (!more || baseline_add_finding(&b, "axis 'y' is odd") != SHD_OK)
        diag("no memory");
    baseline_sort(&b);
    ok(!strcmp(b.arrays[0].name, "layers/*/down") && !strcmp(b.collectives[0].phase, "backward") &&
           !strcmp(b.findings[0], "axis 'y' is odd") && !strcmp(b.findings[1], "rule 'x' is odd"),
       "sort: arrays, collectives and findings");
    baseline_fini(&b);
}

static bool parses(const char *words, struct baseline_file *file)
{
    struct diag faults = DIAG_INIT;
    struct text text = TEXT_INIT;
    bool good;

    text_add(&text, words);
    good = baseline_parse(file, "b.yaml", &text, &faults) == SHD_OK;
    ok(good == (faults.nerrors == 0), "parse: an error is reported, and only then");
    text_fini(&text);
    diag_fini(&faults);
    return good;
}

static double step_ns(const struct baseline *b)
{
    return round(b->figures.values[FIGURE_MODELLED_STEP].number * 1e9);
}

#define STRATEGY "strategies: [{name: a, mesh: b, arrays: [], collectives: [], accepted: [], "

/* Format 1 has keys of its own, one of which stands for another figure today; figures of format 2
 * are those that baselines keep. */
static void test_figures(void)
{
    const struct figure_value *v;
    struct baseline_file file;
    int nkept = 0, nranks = 0;

    for (int id = 0; id < NFIGURES; id++)
        nkept += figure_table[id].kept > 0;
    while (figure_kept(nranks + 1) < NFIGURES)
        nranks++;
    ok(nkept > 0 && nranks == nkept, "figures: the ranks of those kept have no gaps");
    if (ok(parses("version: 1\n" STRATEGY
                  "received_bytes: 1, received_bytes_most: 2, peak_memory_bytes: 3, "
                  "peak_memory_bytes_most: 4, flops: 5, flops_most: 6, modelled: {step_ns: 7000, "
                  "memory_bytes: 8}}]\n",
                  &file),
           "parse: format 1")) {
        v = file.list[0].figures.values;
        ok(file.version == 1 && v[FIGURE_RECEIVED].whole == 1 &&
               v[FIGURE_RECEIVED_MOST].whole == 2 && v[FIGURE_PEAK_TOTAL].whole == 3 &&
               v[FIGURE_PEAK_MOST].whole == 4 && v[FIGURE_FLOPS].whole == 5 &&
               v[FIGURE_FLOPS_MOST].whole == 6 && step_ns(&file.list[0]) == 7000 &&
               v[FIGURE_MODELLED_MEMORY].whole == 8,
           "parse: each key of format 1 is the figure that it was");
        baseline_file_fini(&file);
    }
    if (ok(parses("version: 2\n" STRATEGY "figures: {peak_memory_bytes_total: 3}}]\n", &file),
           "parse: format 2 with one figure")) {
        v = file.list[0].figures.values;
        ok(v[FIGURE_PEAK_TOTAL].whole == 3 && !v[FIGURE_PEAK_MOST].known,
           "parse: the others are not known");
        baseline_file_fini(&file);
    }
    ok(!parses("version: 2\n" STRATEGY "figures: {peak_memory_bytes: 3}}]\n", &file),
       "parse: a key of format 1 in format 2");
    ok(!parses("version: 2\n" STRATEGY "figures: {collectives: 3}}]\n", &file),
       "parse: a figure that baselines do not keep");
    for (const char *const *s = (const char *const[]){"-1", "nan", "inf", "1x", "''", "[]", NULL};
         *s; s++) {
        char text[256];

        snprintf(text, sizeof text,
                 "version: 2\n" STRATEGY "figures: {modelled_step_seconds: %s}}]\n", *s);
        ok(!parses(text, &file), "parse: %s is no number of seconds", *s);
    }
}

static void test_text(void)
{
    struct baseline b = given("2", "a 'cluster'", 12345);
    struct baseline_file file;
    struct text first = TEXT_INIT, again = TEXT_INIT;

    ok(b.narrays == 2 && !strcmp(b.arrays[0].name, "layers/*/down") && b.arrays[1].count == 2,
       "arrays: equal arrays of all layers are one entry, sorted");
    baseline_print(&b, 1, &(struct baseline_head){"f.yaml", "1.0", NULL, 0}, &first);
    if (parses(text_get(&first), &file)) {
        ok(file.count == 1 && baseline_find(&file, "a: 'b' #") && !baseline_find(&file, "a"),
           "parse: found by name");
        ok(file.list[0].has_given && file.list[0].ngiven == 2 && step_ns(&file.list[0]) == 12345,
           "parse: what was given, and the step");
        baseline_print(file.list, file.count, &(struct baseline_head){"f.yaml", "1.0", NULL, 0},
                       &again);
        ok(!strcmp(text_get(&first), text_get(&again)), "print, parse, print: the same text");
        baseline_file_fini(&file);
    } else {
        ok(0, "print, parse");
    }
    ok(!parses("version: 3\nstrategies: []\n", &file), "parse: another version");
    ok(!parses("[]", &file), "parse: no map");
    ok(!parses("version: 1\nstrategies: [3]\n", &file), "parse: no strategy");
    ok(!parses("version: 1\nstrategies: [{name: a, mesh: b}]\n", &file), "parse: keys are missing");
    ok(parses("version: 1\nstrategies: []\n", &file) && file.count == 0, "parse: none");
    baseline_file_fini(&file);
    test_figures();
    text_fini(&first);
    text_fini(&again);
    baseline_fini(&b);
}

static bool says(const struct diag *d, const char *words, int line)
{
    for (size_t i = 0; i < d->nmessages; i++)
        if (strstr(d->messages[i].text, words) && d->messages[i].line == line)
            return true;
    return false;
}

static void test_diff(void)
{
    struct baseline was = make("[{}, {tp}]", 64), same = make("[{}, {tp}]", 64);
    struct baseline is = make("[{}, {}]", 96);
    struct diag d = DIAG_INIT;
    struct place place = {"f", 3, 1};

    baseline_diff(&d, &was, &same, place, true);
    ok(d.nerrors == 0, "diff: none");
    baseline_diff(&d, &was, &is, place, true);
    ok(says(&d,
            "parameter 'layers/*/up' is sharded as [{}, {}], was [{}, {tp}], no longer sharded "
            "over tp",
            7),
       "diff: the parameter and the axis, at its rule");
    ok(says(&d, "all-reduce over tp at layers/*/down receives 96 bytes, 32 more over tp", 0),
       "diff: the op and its bytes");
    ok(says(&d, "total received: 96 bytes, 32 more (+50.0 %)", 0), "diff: the total, which has no line");
    ok(!says(&d, "layers/*/down'", 7), "diff: not what is the same");
    diag_fini(&d);
    baseline_diff(&d, &is, &was, place, true);
    ok(says(&d, "now sharded over tp", 7) && says(&d, "32 fewer", 0), "diff: the other way round");
    diag_fini(&d);
    free(is.findings[0]);
    is.nfindings = 0;
    baseline_diff(&d, &was, &is, place, true);
    ok(says(&d, "an accepted finding is gone: rule 'x' is odd", 0), "diff: a finding that is gone");
    diag_fini(&d);
    baseline_fini(&was);
    baseline_fini(&same);
    baseline_fini(&is);
}

static bool judges(const struct baseline *was, const struct baseline *is, const char *words)
{
    struct text text = TEXT_INIT;
    bool found;

    baseline_verdict(&text, was, is);
    found = strstr(text_get(&text), words) == text_get(&text);
    if (!found)
        diag("%s", text_get(&text));
    text_fini(&text);
    return found;
}

static void test_verdict(void)
{
    struct baseline was = given("2", "x", 1000000), close = given("2", "x", 1000900);
    struct baseline slow = given("2", "x", 1002000), other = given("1", "y", 900000);
    struct baseline older = make("[{}, {tp}]", 64);
    struct diag d = DIAG_INIT;
    struct place place = {"f", 3, 1};

    figures_set_whole(&slow.figures, FIGURE_RECEIVED, 62);
    ok(judges(&was, &slow,
              "worse: modelled step +0.2 % (1002000 ns, was 1000000 ns), total received -"),
       "verdict: a longer step is worse, whatever is less");
    ok(judges(&slow, &was, "better and worse: modelled step -0.2 %"), "verdict: and back");
    ok(judges(&was, &close, "neither worse nor better: equal step time"), "verdict: rounding");
    ok(judges(&was, &other,
              "the model and the hardware changed: model.layers is 1, was 2, hardware is y, was x; "
              "neither worse nor better: modelled step -10.0 %"),
       "verdict: another model");
    baseline_diff(&d, &was, &close, place, true);
    baseline_diff(&d, &older, &was, place, true);
    ok(d.nerrors == 0, "diff: none by rounding, nor of what an older baseline does not have");
    baseline_diff(&d, &was, &other, place, true);
    ok(says(&d, "model.layers is 1, was 2", 5) && says(&d, "modelled step: ", 0),
       "diff: a changed option at its place, and the step");
    baseline_keep_close(&close, &was);
    baseline_keep_close(&slow, &was);
    ok(step_ns(&close) == 1000000 && step_ns(&slow) == 1002000,
       "keep_close: of those that are close");
    diag_fini(&d);
    baseline_fini(&was);
    baseline_fini(&close);
    baseline_fini(&slow);
    baseline_fini(&other);
    baseline_fini(&older);
}

int main(void)
{
    char command[64];

    plan(0);
    if (!mkdtemp(dir))
        return 1;
    test_write();
    test_killed();
    test_folder();
    test_sort();
    test_text();
    test_diff();
    test_verdict();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ok(system(command) == 0, "cleared away");
    return done();
}
