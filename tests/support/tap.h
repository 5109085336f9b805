/* tap.h - the calls that every test program is made of.
 *
 * Output is the Test Anything Protocol on stdout.  A test program returns done(), which is 0 even
 * after a failure, because the protocol reports failures.
 *
 * Thread class: one thread only; device threads hand their findings to that thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

/* Announce `ntests` tests; 0: they are counted, and the number is printed at the end. */
void plan(int ntests);

/* One test: passed if `pass` is not 0.  The text says what holds.  Returns `pass`. */
int ok(int pass, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The number in an environment variable; `otherwise` if the variable is not set. */
unsigned long from_env(const char *name, unsigned long otherwise);

/* Whether SHD_TEST_SIZE is small, as under sanitizers, which make everything slow. */
bool small_size(void);

/* Whether case `index` is in this run's sample of one in `every`.  SHD_TEST_TURN, a number that the
 * commit determines, selects the sample, so that successive commits cover all cases.  Always true
 * unless SHD_TEST_TIER is `change`: in the nightly tier, and in a test that is started by hand. */
bool sampled(unsigned every, unsigned long index);

/* Print a remark of any number of lines. */
void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* End the program: prints the number of tests if plan() did not.  Returns 0. */
int done(void);

#endif /* TAP_H */
