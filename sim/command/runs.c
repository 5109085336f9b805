/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/runs.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_out.h"
#include "report/figures.h"
#include "command/write.h"

#define APPLICATION_ID 1936221298 /* "shdr" in the file's header, as `file` shows */
#define FORMAT 1
#define BUSY_MS 2000
#define TABLE                                                                                    \
    "CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, version TEXT " \
    "NOT "                                                                                       \
    "NULL, result TEXT NOT NULL)"

struct runs {
    sqlite3 *db;
    char *path;
};

/* The figures of a listed run, and where results of schema 1, which had no "figures", hold them.  A
 * list rounds them, so it reads numbers of any size as doubles. */
static const struct listed {
    enum figure_id id;
    const char *before; /* an expression of SQL */
    size_t offset;      /* in struct runs_row */
} listed[] = {
    {FIGURE_RECEIVED, "result ->> '$.received_bytes.total'", offsetof(struct runs_row, received)},
    {FIGURE_PEAK_MOST,
     "(SELECT max(CASE type WHEN 'object' THEN value ->> '$.value' ELSE value END)"
     " FROM json_each(result, '$.memory.peak_bytes'))",
     offsetof(struct runs_row, peak)},
    {FIGURE_REPLAYED_STEP, "result ->> '$.time.replayed.step_seconds'",
     offsetof(struct runs_row, replayed)},
    {FIGURE_MODELLED_STEP, "result ->> '$.time.modelled.step_seconds'",
     offsetof(struct runs_row, modelled)},
    {FIGURE_MODEL_FLOPS, "result ->> '$.work.model_flops'",
     offsetof(struct runs_row, model_flops)}};
#define NLISTED (sizeof listed / sizeof *listed)
#define FIRST_LISTED 7 /* column of the first figure */

/* Add the statement that reads the columns of listed runs; unknown figures are -1. */
static void add_select(struct text *out, const char *which)
{
    text_add(out, "SELECT id, time, result ->> '$.scenario', result ->> '$.strategy', result ->> "
                  "'$.mode', version, result ->> '$.devices'");
    for (size_t k = 0; k < NLISTED; k++)
        text_addf(out, ", coalesce(result ->> '$.figures.%s', %s, -1)",
                  figure_table[listed[k].id].key, listed[k].before);
    text_addf(out, " FROM runs %s", which);
}

int runs_default_path(struct text *out, struct shd_error *err)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

    if (data && *data)
        text_addf(out, "%s/shardsim/runs.db", data);
    else if (home && *home)
        text_addf(out, "%s/.local/share/shardsim/runs.db", home);
    else
        return shd_error_set(err, SHD_ESYSTEM,
                             "neither XDG_DATA_HOME nor HOME is set; name the database of runs "
                             "with --file or --save=FILE");
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for a path") : SHD_OK;
}

/* End of an error message: what to do about a failure. */
static const char *remedy(int code)
{
    switch (code) {
    case SQLITE_ERROR: /* any other failure of our statements */
        return "it has an invalid result; move it away, or restore a copy";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program is writing to it; try again later";
    case SQLITE_NOTADB:
        return "it is not a database; expected a file written by --save=FILE";
    case SQLITE_CORRUPT:
        return "it is damaged; move it away, or restore a copy";
    case SQLITE_FULL:
    case SQLITE_IOERR:
        return "it could not be read or written; is the disk full?";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return "it cannot be opened or written";
    default:
        return sqlite3_errstr(code);
    }
}

static int refuse(const struct runs *runs, int code, struct shd_error *err)
{
    if ((code & 0xff) == SQLITE_NOMEM)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the database of runs");
    return shd_error_set(err, SHD_ESYSTEM, "%s: %s", runs->path, remedy(code & 0xff));
}

static int execute(struct runs *runs, const char *sql, struct shd_error *err)
{
    int code = sqlite3_exec(runs->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? SHD_OK : refuse(runs, code, err);
}

/* Read the number that a pragma or count returns. */
static int read_number(struct runs *runs, const char *sql, int64_t *out, struct shd_error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(runs->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? SHD_OK : refuse(runs, code, err);
}

/* Whether the table is the one that this program creates.  A view or another table of its name is
 * refused: reading from a view may never end. */
static int check_table(struct runs *runs, struct shd_error *err)
{
    int64_t ours = 0;
    int status = read_number(runs,
                             "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = "
                             "'runs' AND sql = '" TABLE "'",
                             &ours, err);

    if (status != SHD_OK || ours == 1)
        return status;
    return shd_error_set(err, SHD_ESYSTEM,
                         "%s: unknown layout of its table of runs; name another file", runs->path);
}

/* Create the table.  Another program may do so at the same time: the second finds it created. */
static int make_table(struct runs *runs, struct shd_error *err)
{
    int64_t tables = 0;
    int status = execute(runs, "BEGIN IMMEDIATE", err);

    if (status == SHD_OK)
        status = read_number(runs, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (status == SHD_OK && tables == 0)
        status = execute(runs, TABLE, err);
    return status == SHD_OK ? execute(runs,
                                      "PRAGMA application_id = 1936221298;"
                                      "PRAGMA user_version = 1; COMMIT;",
                                      err)
                            : status;
}

/* Create the table in an empty file; refuse a database of another program. */
static int prepare(struct runs *runs, bool create, struct shd_error *err)
{
    int64_t application = 0, format = 0, tables = 0;
    int status = read_number(runs, "PRAGMA application_id", &application, err);

    if (status == SHD_OK)
        status = read_number(runs, "PRAGMA user_version", &format, err);
    if (status == SHD_OK)
        status = read_number(runs, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (status != SHD_OK)
        return status;
    if (application == APPLICATION_ID && format == FORMAT)
        return check_table(runs, err);
    if (application == APPLICATION_ID)
        return shd_error_set(err, SHD_ESYSTEM,
                             "%s: runs of format %lld; this program reads and writes format %d",
                             runs->path, (long long)format, FORMAT);
    if (tables > 0 || application != 0 || !create)
        return shd_error_set(err, SHD_ESYSTEM, "%s: a database, but not of runs; name another file",
                             runs->path);
    return make_table(runs, err);
}

/* The path is free or a regular file: opening a pipe would block. */
static int check_file(const char *path, struct shd_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return SHD_OK;
    return shd_error_set(err, SHD_ESYSTEM, "%s: %s; name a file", path,
                         S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
}

/* Open the file of a path.  SQLite takes ":memory:" and "file:...", for other things than files;
 * from the working folder on they are names like others. */
static int open_file(struct runs *runs, bool create)
{
    struct text path = TEXT_INIT;
    int code = SQLITE_NOMEM;

    text_addf(&path, "%s%s", runs->path[0] == '/' ? "" : "./", runs->path);
    if (!path.failed)
        code = sqlite3_open_v2(text_get(&path), &runs->db,
                               SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), NULL);
    text_fini(&path);
    return code;
}

/* Open the database.  Readers too need write access, to roll back after a writer that was killed.
 * Triggers and views of the file are disabled. */
static int connect(struct runs *runs, bool create)
{
    int code = open_file(runs, create);

    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(runs->db, BUSY_MS);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(runs->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(runs->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(runs->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return code;
}

int runs_open(struct runs **out, const char *path, bool create, struct shd_error *err)
{
    struct runs *runs = calloc(1, sizeof *runs);
    int status = check_file(path, err), code;

    if (!runs || !(runs->path = strdup(path))) {
        free(runs);
        return shd_error_set(err, SHD_ENOMEM, "no memory for the database of runs");
    }
    if (status == SHD_OK && create)
        status = store_make_folder(path, err);
    else if (status == SHD_OK && access(path, F_OK) != 0)
        status =
            shd_error_set(err, SHD_ESYSTEM,
                          "%s: no runs stored; run, plan and compare store them with --save", path);
    if (status == SHD_OK) {
        code = connect(runs, create);
        status = code == SQLITE_OK ? prepare(runs, create, err) : refuse(runs, code, err);
    }
    if (status != SHD_OK) {
        runs_close(runs);
        return status;
    }
    *out = runs;
    return SHD_OK;
}

void runs_close(struct runs *runs)
{
    if (!runs)
        return;
    sqlite3_close(runs->db); /* rolls back what was not committed */
    free(runs->path);
    free(runs);
}

int runs_add(struct runs *runs, int64_t *id, const struct text *json, const char *version,
             struct shd_error *err)
{
    sqlite3_stmt *statement = NULL;
    int code, status;

    if (json->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a result");
    if (sqlite3_get_autocommit(runs->db)) {
        status = execute(runs, "BEGIN IMMEDIATE", err);
        if (status != SHD_OK)
            return status;
    }
    code = sqlite3_prepare_v2(
        runs->db, "INSERT INTO runs (time, version, result) VALUES (datetime('now'), ?, ?)", -1,
        &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, version, -1, SQLITE_TRANSIENT);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text64(statement, 2, text_get(json), json->length, SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        return refuse(runs, code, err);
    *id = sqlite3_last_insert_rowid(runs->db);
    return SHD_OK;
}

int runs_commit(struct runs *runs, struct shd_error *err)
{
    return sqlite3_get_autocommit(runs->db) ? SHD_OK : execute(runs, "COMMIT", err);
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);

    return text ? (const char *)text : "";
}

static int tell(sqlite3_stmt *statement, runs_fn fn, void *context)
{
    const struct runs_row row = {.id = sqlite3_column_int64(statement, 0),
                                 .time = text_of(statement, 1),
                                 .scenario = text_of(statement, 2),
                                 .strategy = text_of(statement, 3),
                                 .mode = text_of(statement, 4),
                                 .version = text_of(statement, 5),
                                 .devices = sqlite3_column_int64(statement, 6)};

    for (size_t k = 0; k < NLISTED; k++) {
        double value = sqlite3_column_double(statement, FIRST_LISTED + (int)k);

        memcpy((char *)&row + listed[k].offset, &value, sizeof value);
    }
    return fn(context, &row);
}

int runs_each(struct runs *runs, runs_fn fn, void *context, struct shd_error *err)
{
    struct text select = TEXT_INIT;
    sqlite3_stmt *statement = NULL;
    int code, status = SHD_OK;
    sqlite3_int64 last = 0;

    add_select(&select, "ORDER BY id");
    code = select.failed ? SQLITE_NOMEM
                         : sqlite3_prepare_v2(runs->db, text_get(&select), -1, &statement, NULL);
    text_fini(&select);

    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW && sqlite3_column_int64(statement, 0) <= last)
            code = SQLITE_CORRUPT; /* damaged pages may form an endless cycle */
        else if (code == SQLITE_ROW && (status = tell(statement, fn, context)) != SHD_OK)
            break;
        else if (code == SQLITE_ROW)
            last = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    if (status != SHD_OK)
        return shd_error_set(err, status, "no memory for the list of runs");
    return code == SQLITE_DONE ? SHD_OK : refuse(runs, code, err);
}

/* Step to the row of a statement that selects run `id`. */
static int step_to(struct runs *runs, sqlite3_stmt **statement, const char *sql, int64_t id,
                   struct shd_error *err)
{
    int code = sqlite3_prepare_v2(runs->db, sql, -1, statement, NULL);
    int64_t last = 0;
    int status;

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(*statement, 1, id);
    if (code == SQLITE_OK)
        code = sqlite3_step(*statement);
    if (code == SQLITE_ROW)
        return SHD_OK;
    if (code != SQLITE_DONE)
        return refuse(runs, code, err);
    status = read_number(runs, "SELECT coalesce(max(id), 0) FROM runs", &last, err);
    if (status != SHD_OK)
        return status;
    return shd_error_set(err, SHD_ENOTFOUND, "%s: no run %lld; the last run is %lld", runs->path,
                         (long long)id, (long long)last);
}

int runs_find(struct runs *runs, int64_t id, runs_fn fn, void *context, struct shd_error *err)
{
    struct text select = TEXT_INIT;
    sqlite3_stmt *statement = NULL;
    int status;

    add_select(&select, "WHERE id = ?");
    status = select.failed ? refuse(runs, SQLITE_NOMEM, err)
                           : step_to(runs, &statement, text_get(&select), id, err);
    text_fini(&select);
    if (status == SHD_OK && (status = tell(statement, fn, context)) != SHD_OK)
        (void)shd_error_set(err, status, "no memory for the list of runs");
    sqlite3_finalize(statement);
    return status;
}

/* Add a stored result.  The file may come from anybody, so control characters, on which a terminal
 * would act, are escaped as in JSON. */
static void add_json(struct text *out, const char *result)
{
    struct json_out json;

    json_out_init_text(&json, out, JSON_OUT_COMPACT);
    json_out_raw(&json, result, strlen(result));
    (void)json_out_fini(&json); /* `out` records a lack of memory */
}

int runs_json(struct runs *runs, int64_t id, struct text *out, struct shd_error *err)
{
    sqlite3_stmt *statement = NULL;
    int status = step_to(runs, &statement,
                         "SELECT result, json_valid(result) FROM runs WHERE id = ?", id, err);

    if (status == SHD_OK && !sqlite3_column_int(statement, 1))
        status = refuse(runs, SQLITE_ERROR, err);
    if (status == SHD_OK)
        add_json(out, text_of(statement, 0));
    sqlite3_finalize(statement);
    if (status == SHD_OK && out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a result");
    return status;
}
