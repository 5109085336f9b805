/* Width and colours of the terminal (base/screen.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A COLUMNS value outside this range is ignored: no text is laid out for such a width. */
#define COLUMNS_MIN 40
#define COLUMNS_MAX 4000 /* the longest line of any text is shorter */

bool screen_parse_colour(enum screen_colour *out, const char *word)
{
    static const char *const words[] = {"auto", "always", "never"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(word, words[i])) {
            *out = (enum screen_colour)i;
            return true;
        }
    return false;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && value[0];
}

static bool behind_launcher;

void screen_behind_launcher(void)
{
    behind_launcher = true;
}

static bool is_terminal(FILE *file)
{
    return !behind_launcher && isatty(fileno(file)) == 1;
}

static bool wants_colour(FILE *file, enum screen_colour colour)
{
    const char *term = getenv("TERM");

    if (colour != SCREEN_AUTO)
        return colour == SCREEN_ALWAYS;
    return is_terminal(file) && !is_set("NO_COLOR") && !(term && !strcmp(term, "dumb"));
}

static size_t find_columns(FILE *file)
{
    const char *given = getenv("COLUMNS");
    struct winsize size;
    char *end;
    long n;

    if (given) {
        n = strtol(given, &end, 10);
        if (end > given && !*end && n >= COLUMNS_MIN && n <= COLUMNS_MAX)
            return (size_t)n;
    }
    if (is_terminal(file) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0 &&
        size.ws_col >= COLUMNS_MIN)
        return size.ws_col;
    return SCREEN_COLUMNS;
}

void screen_init(struct screen *out, FILE *file, enum screen_colour colour)
{
    *out = (struct screen){find_columns(file), wants_colour(file, colour)};
}
