/* Tests random programs with padded dimensions: whatever the padding contains, the results are
 * those of the unpadded graph.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/random_check.h"
#include "../support/tap.h"

#define SEED 20261126u
#define NPROGRAMS 300

int main(void)
{
    plan(0);
    random_test_padding(random_layer_program, SEED, NPROGRAMS);
    return done();
}
