#include "cell/tell.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"

static void send_tell(const struct tell *tell, size_t body)
{
    /* write(2), not send(2): the filter of the running guest has no socket calls at all */
    ssize_t written = write(CELL_FD_TELL, tell, offsetof(struct tell, failed) + body);
    (void) written; /* nobody is left to hear about it */
}

void tell_failed(const struct err *err)
{
    struct tell tell = {.kind = TELL_FAILED, .failed = *err};
    send_tell(&tell, sizeof(tell.failed));
}

void tell_ready(uint32_t walls, uint32_t landlock_abi)
{
    struct tell tell = {.kind = TELL_READY,
                        .ready = {.walls = walls, .landlock_abi = landlock_abi}};
    send_tell(&tell, sizeof(tell.ready));
}

void tell_denial(const struct tell_denial *denial)
{
    struct tell tell = {.kind = TELL_DENIAL, .denial = *denial};
    send_tell(&tell, sizeof(tell.denial));
}

void tell_done(const struct tell_done *done)
{
    struct tell tell = {.kind = TELL_DONE, .done = *done};
    send_tell(&tell, sizeof(tell.done));
}
