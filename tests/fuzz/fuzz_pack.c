/* Any bytes as a packed plan: refused, or a plan that packs to exactly the same bytes. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf again = BUF_INIT(PACK_MAX_BYTES);
    struct plan plan;
    struct err err;

    if (plan_unpack(data, size, &plan, &err) < 0)
        return 0;
    assert(plan_pack(&plan, &again, &err) == 0);
    assert(again.len == size && memcmp(again.data, data, size) == 0);
    buf_release(&again);
    free(plan.args);
    return 0;
}
