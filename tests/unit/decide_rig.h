/*
 * decide_rig: a host that does not exist, for tests of decisions: what its names are, and policies
 * on it. Every path lies where it says, but for a few links.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/decide.h"
#include "plan/policy.h"

#define RIG_HOME "/home/u"

/* Links of that host: the first that begins a path is followed. */
static const struct {
    const char *from, *to;
} rig_links[] = {{"/home/u/link", "/home/u/.ssh"}, {"/home/u/near", "/home/u/ws"}};

/* Its programs; two names may be one file. */
static const struct {
    const char *path, *real;
    uint64_t ino;
} rig_programs[] = {
    {"/usr/bin/git", "/usr/bin/git", 1},
    {"/usr/bin/ls", "/usr/bin/ls", 2},
    {"/usr/bin/python3", "/usr/bin/python3.11", 3},
    {"/usr/bin/rm", "/usr/bin/rm", 4},
    {"/usr/bin/cat", "/usr/bin/cat", 5},
    {"/usr/bin/sh", "/usr/bin/dash", 6},
    {"/tmp/git", "/tmp/git", 7},
    {"/opt/tool", "/opt/tool", 8},
    {"/tmp/mygit", "/usr/bin/git", 1},
};

__attribute__((unused)) static struct fact rig_path(const char *path, struct arena *arena)
{
    struct fact fact = {.is_known = path && path[0] == '/', .id = {1, 100}};

    if (!fact.is_known)
        return fact;
    fact.real = path;
    for (size_t i = 0; i < ARRAY_SIZE(rig_links); i++) {
        size_t len = strlen(rig_links[i].from);
        if (strncmp(path, rig_links[i].from, len) == 0 && (path[len] == '/' || !path[len]))
            fact.real = arena_printf(arena, "%s%s", rig_links[i].to, path + len);
    }
    /* As the kernel would say it. */
    char *real = arena_strdup(arena, fact.real);
    for (size_t len = real ? strlen(real) : 0; len > 1 && real[len - 1] == '/'; len--)
        real[len - 1] = '\0';
    fact.real = real;
    return fact;
}

__attribute__((unused)) static struct fact rig_program(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_SIZE(rig_programs); i++) {
        const char *path = rig_programs[i].path;
        const char *base = strncmp(path, "/usr/bin/", 9) == 0 ? path + 9 : "";
        if (strcmp(path, name) == 0 || strcmp(base, name) == 0)
            return (struct fact){true, rig_programs[i].real, {1, rig_programs[i].ino}};
    }
    return (struct fact){.is_known = false};
}

__attribute__((unused)) static void rig_facts(const struct request *request, struct arena *arena,
                                              struct facts *ret_facts)
{
    struct facts facts = {
        .dirs = arena_array(arena, request->n_dirs + 1, sizeof(struct fact)),
        .paths = arena_array(arena, request->n_capabilities + 1, sizeof(struct fact)),
        .commands = arena_array(arena, request->n_commands + 1, sizeof(struct fact)),
        .rootfs = rig_path(request->rootfs, arena),
        .module = rig_path(request->module, arena),
        .stdin_file = rig_path(request->stdin_path, arena),
        .has_module_sha256 = true,
    };

    if (!facts.dirs || !facts.paths || !facts.commands)
        abort();
    memset(facts.module_sha256.bytes, 0xab, DIGEST_BYTES);
    if (!request->rootfs)
        facts.program = rig_program(request->program);
    for (size_t i = 0; i < request->n_dirs; i++)
        facts.dirs[i] = rig_path(request->dirs[i].host, arena);
    for (size_t i = 0; i < request->n_capabilities; i++)
        facts.paths[i] = rig_path(request->capabilities[i].path, arena);
    for (size_t i = 0; i < request->n_commands; i++)
        facts.commands[i] = rig_program(request->commands[i].program);
    *ret_facts = facts;
}

/* What whoever loads a policy fills in: the programs of its rules, and where its paths lead. */
__attribute__((unused)) static void rig_resolve(struct policy *policy, struct arena *arena)
{
    for (int section = 0; section < SECTIONS; section++)
        for (int verdict = 0; verdict < VERDICTS; verdict++)
            for (size_t i = 0; i < policy->rules[section][verdict].count; i++) {
                struct rule *rule = &policy->rules[section][verdict].items[i];
                struct fact program = rig_program(rule->program);
                struct fact path = rig_path(rule->path, arena);
                rule->has_program_id = program.is_known;
                rule->program_id = program.id;
                if (path.is_known && strcmp(path.real, rule->path) != 0)
                    rule->real = path.real;
            }
}

/* A policy of that host; a text that is none ends the test. */
__attribute__((unused)) static void rig_policy(const char *text, enum layer layer,
                                               const char *where, struct arena *arena,
                                               struct policy *ret_policy)
{
    const struct policy_context context = {
        .layer = layer, .where = where, .home = RIG_HOME, .base_dir = RIG_HOME "/ws"};
    struct err err;

    if (policy_parse(text, strlen(text), &context, arena, ret_policy, NULL, &err) < 0) {
        printf("Bail out! %s: %s\n", where, err.message);
        exit(1);
    }
    rig_resolve(ret_policy, arena);
}

__attribute__((unused)) static void rig_tier(enum tier tier, struct arena *arena,
                                             struct policy *ret_policy)
{
    struct err err;

    if (policy_tier(tier, RIG_HOME, arena, ret_policy, &err) < 0) {
        printf("Bail out! tier %d: %s\n", (int) tier, err.message);
        exit(1);
    }
    rig_resolve(ret_policy, arena);
}
