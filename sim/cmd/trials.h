/* trials.h - the common part of `run` and `plan`: scenarios in, a record each, out as text or JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_TRIALS_H
#define CMD_TRIALS_H

#include "program/record.h"

/* Parse a subcommand's arguments and go through all strategies of all files; returns the exit
 * status.  `doc` is the --help text. */
int trials_main(int argc, char **argv, enum record_mode mode, const char *doc);

#endif /* CMD_TRIALS_H */
