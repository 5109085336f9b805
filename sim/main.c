/* shardsim - the program; everything is in cmd/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/cmd.h"

/* One jemalloc arena for the host's own memory (each device has another), pages given back at once:
 * resident memory is what lives.  Read by jemalloc where the program is linked with it. */
extern const char *malloc_conf;
const char *malloc_conf = "narenas:1,retain:false,dirty_decay_ms:0,muzzy_decay_ms:0";

int main(int argc, char **argv)
{
    return cmd_main(argc, argv);
}
