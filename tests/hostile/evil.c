/*
 * The evil engine: a job for a cell that is hostile native code from its first instruction. It
 * stands in the runner's place, behind the same walls, as if the guest had taken the engine over.
 * Its arguments are those of the guest: PORT PID, and a word for what it should do.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempts.h"
#include "cell/cell.h"
#include "cell/tell.h"

static int first_grant(const struct cell *cell, enum access access)
{
    for (size_t i = 0; i < cell->plan.n_grants; i++)
        if (cell->plan.grants[i].access == access)
            return cell->grants[i];
    return -1;
}

/* A lie for every number the parent could believe. */
static void lie(void)
{
    struct tell_done done = {.kind = 77, .exit_code = 0, .limits_hit = ~0U};
    struct err err = {.code = ERR_CODES + 5};
    memset(done.trap_code, 'A', sizeof(done.trap_code));
    memset(done.trap_message, 'B', sizeof(done.trap_message));
    memset(err.message, 'C', sizeof(err.message));
    tell_failed(&err);
    tell_ready(~0U, ~0U);
    for (int i = 0; i < 1000; i++) {
        struct tell_denial denial;
        memset(&denial, 0xff, sizeof(denial));
        tell_denial(&denial);
    }
    (void) !write(CELL_FD_TELL, "?", 1);
    tell_done(&done);
}

/* What only a cell that is not yet running may say. */
static void claim(enum err_code code)
{
    struct err err = {.code = code, .message = "believe me"};
    (void) !write(1, "started\n", 8);
    tell_failed(&err);
    _exit(1);
}

static void call_foreign_architecture(void)
{
#if defined(__x86_64__)
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20 /* getpid on i386 */) : "memory");
    (void) answer;
#endif
}

const bool cell_is_native = false;

int cell_job(struct cell *cell, struct err *err)
{
    const struct plan *plan = &cell->plan;
    if (plan->n_args < 4)
        return err_set(err, ERR_BACKEND, "evil wants PORT PID WHAT");
    struct stage stage = {
        .writable = first_grant(cell, ACCESS_RW),
        .readable = first_grant(cell, ACCESS_RO),
        .code = CELL_FD_CODE,
        .port = atoi(plan->args[1]),
        .pid = atoi(plan->args[2]),
    };
    const char *what = plan->args[3];
    if (cell_shed_loading(cell, err) < 0)
        return -1;
    tell_ready(cell->walls, cell->landlock_abi);
    if (strcmp(what, "lie") == 0)
        lie();
    else if (strcmp(what, "stale") == 0)
        claim(ERR_STALE_CODE);
    else if (strcmp(what, "denied") == 0)
        claim(ERR_DENIED);
    else if (strcmp(what, "close") == 0) {
        (void) close(CELL_FD_TELL);
        for (;;)
            ;
    } else if (strcmp(what, "foreign") == 0)
        call_foreign_architecture();
    else
        attempts_run(&stage);
    struct tell_done done = {.kind = DONE_RETURNED};
    tell_done(&done);
    return 0;
}
