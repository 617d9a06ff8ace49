/*
 * door: the parent's end of a guest's door (plan/door.h). It never waits for the cell: a frame is
 * put together from what has come, an answer is sent as far as it goes.
 *
 * What comes may be hostile. A header that makes no sense cannot be the runner's own, so the run is
 * over: nothing that the process says or does from there on is worth anything. A door that the cell
 * closes, in the middle of a frame too, is just closed: that is how a cell looks that died.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/door.h"
#include "plan/tell.h"

struct door_request {
    enum door_call call;
    const char *json;
    size_t len;
    uint64_t deadline_ns; /* the run's, CLOCK_MONOTONIC; UINT64_MAX: none */
};

/* Who answers: whoever starts the run says so (run/observer.h). */
struct door_service {
    void *data;
    /*
     * Puts the answer, JSON, into the empty *answer, which names its maximum. The guest waits, and
     * nothing else of the run is looked after meanwhile, so it is back by the deadline, and soon
     * after a signal to us. A refusal fills in *ret_denial, which is all zero. -1: no answer could
     * be made.
     */
    int (*serve)(void *data, const struct door_request *request, struct buf *answer,
                 struct tell_denial *ret_denial);
};

struct door {
    int fd; /* our end, non-blocking; -1: none, or closed */
    const struct door_service *service;
    uint32_t calls;

    /* the door's own: the frame that is coming in, the one that is going out */
    struct door_header header;
    size_t header_len;
    struct buf request;
    bool is_answering;
    struct door_header answer_header;
    struct buf answer;
    size_t sent;
};

#define DOOR_NONE                                                                            \
    {                                                                                        \
        .fd = -1, .request = BUF_INIT(DOOR_MAX_REQUEST), .answer = BUF_INIT(DOOR_MAX_ANSWER) \
    }

/* Makes the pair; *ret_cell is the cell's end. 0, or -1 and *err. */
int door_open(struct door *door, const struct door_service *service, int *ret_cell,
              struct err *err);
void door_release(struct door *door);
/* What to poll for. */
short door_wants(const struct door *door);
/*
 * Goes on as far as it can without waiting for the cell; a call that is complete is served.
 * *ret_denial.action is empty unless it was refused. False if what came makes no sense.
 */
bool door_turn(struct door *door, uint64_t deadline_ns, struct tell_denial *ret_denial);
