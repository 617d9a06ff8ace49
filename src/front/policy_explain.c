/*
 * policy explain: how a request would be judged. The request is written as it would be run.
 */
#include "front/policy_explain.h"

#include <unistd.h>

#include "wasp.h"

static int refuse(const struct err *err)
{
    const struct wasp_report report = {.out = STDOUT_FILENO, .log = STDERR_FILENO};

    return wasp_refuse(err, &report);
}

static int explain(const struct call *call)
{
    struct call asked = *call;
    struct err err;

    if (!asked.words[0]) {
        (void) err_set(&err, ERR_USAGE, "no request is given"); /* -1, as below */
        (void) err_hint(&err, "write it as it would be run: wasp policy explain exec --allow-dir . "
                              "-- ls");
        return refuse(&err);
    }
    const struct verb *verb = verb_find(call->verbs, *asked.words++, &err);
    if (verb)
        verb = verb_follow(verb, &asked.words, &err);
    if (!verb)
        return refuse(&err);
    if (!verb->launches) {
        (void) err_set(&err, ERR_USAGE, "'%s' runs nothing that a policy could judge",
                       verb->syntax->verb); /* always -1 */
        return refuse(&err);
    }
    asked.only_judges = true;
    return verb->main(&asked);
}

/* For the usage alone: the words are read as those of the verb that they name. */
static const struct operand request_operand = {"REQUEST..."};
static const struct syntax syntax = {
    .verb = "policy explain", .operands = &request_operand, .n_operands = 1};

const struct verb verb_policy_explain = {
    .syntax = &syntax,
    .summary = "tell how a request would be judged, and run nothing",
    .about = "REQUEST is a command as it would be run, without 'wasp': 'exec --principal agent:bot "
             "--allow-dir . -- ls'. Answers with one JSON object ('wasp schema judgement'): the "
             "verdict, for each thing that the request needs the rule that decided, and the grant "
             "that is missing. Nothing is run, counted or recorded.",
    .answers_with_envelope = true,
    .main = explain,
};
