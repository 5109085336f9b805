/* Asking a question on a terminal until the answer is good (ask.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/init/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"

bool ask_can(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* Cut off the spaces around a line. */
static const char *trim(char *line)
{
    size_t n = strlen(line);

    while (n > 0 && strchr(" \t\r\n", line[n - 1]))
        n--;
    line[n] = '\0';
    return line + strspn(line, " \t");
}

/* Why there is no line: the end, a request to stop, or no memory. */
static int ended(int reason)
{
    fputc('\n', stderr);
    if (cmd_stop_request)
        return CMD_INTERRUPTED;
    if (reason == ENOMEM) {
        cmd_error("no memory for the answer");
        return CMD_CANNOT;
    }
    cmd_error("stopped; nothing was written");
    return CMD_USAGE;
}

int ask(const char *question, const char *fallback, ask_take *take, void *arg)
{
    char *line = NULL;
    size_t room = 0;
    int status = CMD_OK;

    for (bool taken = false; status == CMD_OK && !taken;) {
        fprintf(stderr, "%s [%s]: ", question, fallback);
        errno = 0;
        if (getline(&line, &room, stdin) < 0 || cmd_stop_request) {
            status = ended(errno);
        } else {
            const char *answer = trim(line);

            taken = take(arg, *answer ? answer : fallback);
        }
    }
    free(line);
    return status;
}
