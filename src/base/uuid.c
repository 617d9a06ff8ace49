#include "base/uuid.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"

void uuid_make(uint64_t realtime_ns, char ret_id[UUID_SIZE])
{
    uint64_t ms = realtime_ns / NS_PER_MS;
    unsigned fraction = (unsigned) ((realtime_ns % NS_PER_MS) * 4096 / NS_PER_MS);
    uint64_t chance;

    random_bytes(&chance, sizeof(chance));
    (void) snprintf(ret_id, UUID_SIZE, "%08x-%04x-7%03x-%04x-%012llx", /* exactly fits */
                    (unsigned) (ms >> 16) & 0xffffffff, (unsigned) ms & 0xffff, fraction,
                    (unsigned) (0x8000 | (chance >> 48 & 0x3fff)),
                    (unsigned long long) (chance & 0xffffffffffff));
}
