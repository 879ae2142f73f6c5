// SPDX-License-Identifier: MIT
#include "trainer/dist/place.h"

#include "base/mem.h"
#include "trainer/dist/message.h"

#include <stdbool.h>
#include <stdint.h>

struct place place_of(int rank, int np, int slots, int cores)
{
    slots = slots > 0 ? slots : np;
    int host = rank / slots, hosts = (np + slots - 1) / slots;
    int here = host == hosts - 1 ? np - host * slots : slots;
    int local = rank % slots, threads = cores / here;
    // The last host may have fewer ranks, and so no rank with a high local rank.
    int last = np - (hosts - 1) * slots;
    return (struct place){
        .rank = rank,
        .size = np,
        .local_rank = local,
        .local_size = here,
        .cross_rank = host,
        .cross_size = local < last ? hosts : hosts - 1,
        .threads = threads > 1 ? threads : 1,
    };
}

static const size_t place_fields[] = {offsetof(struct place, rank), offsetof(struct place, size),
    offsetof(struct place, local_rank), offsetof(struct place, local_size),
    offsetof(struct place, cross_rank), offsetof(struct place, cross_size),
    offsetof(struct place, threads), offsetof(struct place, generation),
    offsetof(struct place, shares), offsetof(struct place, bucket)};

void place_put(const struct place *p, char out[PLACE_SIZE])
{
    for (size_t i = 0; i < ARRAY_LEN(place_fields); i++)
        put_u32(out + 4 * i, (uint32_t) * (const int *)((const char *)p + place_fields[i]));
}

int place_get(struct place *p, const void *bytes, size_t n, err *e)
{
    if (n < PLACE_SIZE)
        return err_set(e, ERR_INVALID, "the job's start is cut off");
    for (size_t i = 0; i < ARRAY_LEN(place_fields); i++)
        *(int *)((char *)p + place_fields[i]) = (int)get_u32((const char *)bytes + 4 * i);
    bool fits =
        p->size > 0 && p->rank >= 0 && p->rank < p->size && p->threads >= 0 && p->bucket >= 0;
    return fits ? 0 : err_set(e, ERR_INVALID, "rank %d of %d makes no sense", p->rank, p->size);
}
