/* Ends, labels and ticks of lanes (lanes.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/lanes.h"

#include <math.h>
#include <stdio.h>

double lanes_end(const struct lanes *lanes)
{
    double end = 0;

    for (size_t i = 0; i < lanes->nbars; i++)
        end = lanes->bars[i].end > end ? lanes->bars[i].end : end;
    return end;
}

double lanes_end_beside(const struct lanes *lanes, uint32_t lane)
{
    uint32_t first = 0, end = lanes->nlanes;
    double last = 0;

    for (size_t h = 0; h < lanes->nheads; h++) {
        if (lanes->heads[h].lane <= lane)
            first = lanes->heads[h].lane;
        else if (lanes->heads[h].lane < end)
            end = lanes->heads[h].lane;
    }
    for (size_t i = 0; i < lanes->nbars; i++)
        if (lanes->bars[i].lane >= first && lanes->bars[i].lane < end)
            last = fmax(last, lanes->bars[i].end);
    return last;
}

const char *lanes_head_of(const struct lanes *lanes, uint32_t lane)
{
    for (size_t h = 0; h < lanes->nheads; h++)
        if (lanes->heads[h].lane == lane)
            return lanes->heads[h].text;
    return NULL;
}

const char *lanes_label(char buf[LANES_LABEL_MAX], const struct lanes_bar *bar)
{
    int n = snprintf(buf, LANES_LABEL_MAX, "%c%u", bar->mark, (unsigned)bar->number);

    if (bar->stage >= 0)
        snprintf(buf + n, (size_t)(LANES_LABEL_MAX - n), ".%d", (int)bar->stage);
    return buf;
}

double lanes_tick(double end, double room)
{
    double least = end / (room > 1 ? room : 1), power;

    if (!(least > 0))
        return 1;
    power = pow(10, floor(log10(least)));
    if (least <= power)
        return power;
    return least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}
