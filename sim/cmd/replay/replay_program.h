/* replay_program.h - the collectives of another system's program: counted, mapped to mesh axes, drawn,
 * timed, and compared with our own program of the same model.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_REPLAY_REPLAY_PROGRAM_H
#define CMD_REPLAY_REPLAY_PROGRAM_H

#include "capture/reader.h"
#include "command/canvas.h"

struct replay {
    struct canvas canvas;
    const char **files; /* of argv */
    size_t nfiles;
    const char *mesh, *hardware, *beside, *strategy;
    struct reader_request request;
    double above; /* fail if the program moves this many percent more than --beside; negative: never */
    bool json, matrix;
};

/* Read the program and print the requested results; returns the exit status. */
int replay_program_tell(struct replay *replay);

#endif /* CMD_REPLAY_REPLAY_PROGRAM_H */
