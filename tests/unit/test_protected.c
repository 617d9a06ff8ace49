/*
 * The rules about names, as tables.
 */
#include "tap.h"

#include <string.h>

#include "base/cleanup.h"
#include "plan/protected.h"

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* ---- what is a rule -------------------------------------------------------------------------- */

static void test_rows(void)
{
    bool all_match = true, all_reasons = true, all_named = true, all_whole = true;

    for (const struct protected_row *row = protected_rows; row->name != NULL; row++) {
        const char *one[] = {row->name, NULL};
        bool is_dir = protected_rule(row->name, NULL) == NULL;
        all_match = same(protected_move(row->name, NULL), row->name) && all_match;
        all_reasons = row->why != NULL && row->why[0] != '\0' && all_reasons;
        all_named = protected_is_rule(row->name) && !protected_move(row->name, one) && all_named;
        char beneath[128];
        (void) snprintf(beneath, sizeof(beneath), "a/%s/b", row->name); /* fits */
        all_whole = (is_dir || same(protected_rule(beneath, NULL), row->name)) && all_whole;
    }
    ok(all_match, "each row protects its own name");
    ok(all_reasons, "each row says what the host does with it");
    ok(all_named, "each row can be named, and then does not hold");
    ok(all_whole, "each row that is no directory of others protects what lies beneath, anywhere");
    ok(!protected_is_rule(".github") && !protected_is_rule("") && !protected_is_rule(".GIT"),
       "other names are no rules, nor is a rule in another case");
}

static const struct {
    const char *path;
    const char *rule; /* what changing it meets, */
    const char *name; /* making or removing it, */
    const char *move; /* and moving it */
} paths[] = {
    /* git: what it runs, and what a commit needs */
    {".git", NULL, ".git", ".git"},
    {".git/", NULL, ".git", ".git"},
    {"./.git", NULL, ".git", ".git"},
    {"a/b/c/d/e/f/.git", NULL, ".git", ".git"},
    {".git/hooks", ".git/hooks", ".git/hooks", ".git/hooks"},
    {".git/hooks/", ".git/hooks", ".git/hooks", ".git/hooks"},
    {".git//hooks//pre-commit", ".git/hooks", ".git/hooks", ".git/hooks"},
    {".git/./hooks/./pre-commit", ".git/hooks", ".git/hooks", ".git/hooks"},
    {"sub/.git/hooks/x/y/z", ".git/hooks", ".git/hooks", ".git/hooks"},
    {".git/config", ".git/config", ".git/config", ".git/config"},
    {".git/config.worktree", ".git/config.worktree", ".git/config.worktree",
     ".git/config.worktree"},
    {".git/commondir", ".git/commondir", ".git/commondir", ".git/commondir"},
    {".git/modules/a/config", ".git/modules", ".git/modules", ".git/modules"},
    {".git/worktrees/a/HEAD", ".git/worktrees", ".git/worktrees", ".git/worktrees"},
    {".git/rebase-merge/git-rebase-todo", ".git/rebase-merge", ".git/rebase-merge",
     ".git/rebase-merge"},
    {".git/hooks2", NULL, NULL, NULL},
    {".git/hook", NULL, NULL, NULL},
    {".git/config.lock", NULL, NULL, NULL},
    {".git/configs", NULL, NULL, NULL},
    {".git/index", NULL, NULL, NULL},
    {".git/index.lock", NULL, NULL, NULL},
    {".git/HEAD", NULL, NULL, NULL},
    {".git/COMMIT_EDITMSG", NULL, NULL, NULL},
    {".git/objects/ab/cdef", NULL, NULL, NULL},
    {".git/refs/heads/main", NULL, NULL, NULL},
    {".git/refs/heads/hooks", NULL, NULL, NULL},
    {".git/refs/heads/config", NULL, NULL, NULL},
    {".git/logs/HEAD", NULL, NULL, NULL},
    {".git/info/attributes", NULL, NULL, NULL},
    {".git/a/hooks", NULL, NULL, NULL},
    {".git/objects/../hooks/x", ".git/hooks", ".git/hooks", ".git/hooks"},
    {".git/hooks/../objects/x", NULL, NULL, NULL},
    {"a/../.git/config", ".git/config", ".git/config", ".git/config"},
    {".git/..", NULL, NULL, NULL},
    {".git/.git/config", ".git/config", ".git/config", ".git/config"},
    {".git/objects/.envrc", ".envrc", ".envrc", ".envrc"},
    {".gitmodules", ".gitmodules", ".gitmodules", ".gitmodules"},
    {".gitconfig", ".gitconfig", ".gitconfig", ".gitconfig"},
    {".github", NULL, NULL, NULL},
    {".github/workflows/ci.yml", NULL, NULL, NULL},
    {".gitignore", NULL, NULL, NULL},
    {".gitattributes", NULL, NULL, NULL},
    {".gitlab-ci.yml", NULL, NULL, NULL},
    {"x.git", NULL, NULL, NULL},
    {"x.git/hooks/update", NULL, NULL, NULL},
    {"git", NULL, NULL, NULL},
    {"git/hooks", NULL, NULL, NULL},
    {"hooks", NULL, NULL, NULL},
    {"config", NULL, NULL, NULL},
    {"..git/config", NULL, NULL, NULL},
    {".git2/config", NULL, NULL, NULL},
    {" .git/config", NULL, NULL, NULL},

    /* editors, agents, shells */
    {".envrc", ".envrc", ".envrc", ".envrc"},
    {"deep/down/.envrc", ".envrc", ".envrc", ".envrc"},
    {".envrc.example", NULL, NULL, NULL},
    {".env", NULL, NULL, NULL},
    {"envrc", NULL, NULL, NULL},
    {".vscode", ".vscode", ".vscode", ".vscode"},
    {".vscode/tasks.json", ".vscode", ".vscode", ".vscode"},
    {".vscode-test/x", NULL, NULL, NULL},
    {"a/.idea/workspace.xml", ".idea", ".idea", ".idea"},
    {".mcp.json", ".mcp.json", ".mcp.json", ".mcp.json"},
    {".mcp.json.bak", NULL, NULL, NULL},
    {"mcp.json", NULL, NULL, NULL},
    {".claude/settings.json", ".claude", ".claude", ".claude"},
    {"CLAUDE.md", NULL, NULL, NULL},
    {"AGENTS.md", NULL, NULL, NULL},
    {".cursorrules", NULL, NULL, NULL},
    {".cursor/mcp.json", ".cursor", ".cursor", ".cursor"},
    {".devcontainer/devcontainer.json", ".devcontainer", ".devcontainer", ".devcontainer"},
    {".devcontainer.json", ".devcontainer.json", ".devcontainer.json", ".devcontainer.json"},
    {"lefthook.yml", "lefthook.yml", "lefthook.yml", "lefthook.yml"},
    {".wasp", ".wasp", ".wasp", ".wasp"},
    {"a/.wasp/policy.yaml", ".wasp", ".wasp", ".wasp"},
    {".WASP/policy.json", ".wasp", ".wasp", ".wasp"},
    {".wasp-notes", NULL, NULL, NULL},
    {"left", NULL, NULL, NULL},
    {"mise.toml", "mise.toml", "mise.toml", "mise.toml"},
    {".Rprofile", ".rprofile", ".rprofile", ".rprofile"},
    {".bashrc", ".bashrc", ".bashrc", ".bashrc"},
    {"home/.profile", ".profile", ".profile", ".profile"},
    {".ssh/authorized_keys", ".ssh", ".ssh", ".ssh"},
    {".sshd", NULL, NULL, NULL},

    /* what a person runs knowingly */
    {"Makefile", NULL, NULL, NULL},
    {"package.json", NULL, NULL, NULL},
    {"conftest.py", NULL, NULL, NULL},
    {".npmrc", NULL, NULL, NULL},
    {".cargo/config.toml", NULL, NULL, NULL},

    /* a directory that may be made, but not be moved */
    {".config", NULL, NULL, ".config"},
    {"a/.config/", NULL, NULL, ".config"},
    {".config/nextest.toml", NULL, NULL, NULL},
    {".config/fish/config.fish", ".config/fish", ".config/fish", ".config/fish"},
    {".config/git", ".config/git", ".config/git", ".config/git"},
    {"x/.config/systemd/user/a.service", ".config/systemd", ".config/systemd", ".config/systemd"},
    {".local/share/x", NULL, NULL, NULL},
    {".local/bin/ls", ".local/bin", ".local/bin", ".local/bin"},
    {"fish", NULL, NULL, NULL},
    {"config/fish", NULL, NULL, NULL},

    /* as file systems that ignore case see them */
    {".GIT", NULL, ".git", ".git"},
    {".Git/HOOKS/pre-commit", ".git/hooks", ".git/hooks", ".git/hooks"},
    {".EnvRC", ".envrc", ".envrc", ".envrc"},
    {".VSCODE/tasks.json", ".vscode", ".vscode", ".vscode"},
    {".MCP.JSON", ".mcp.json", ".mcp.json", ".mcp.json"},
    {"LeftHook.YML", "lefthook.yml", "lefthook.yml", "lefthook.yml"},
    {".git.", NULL, ".git", ".git"},
    {".git /config", ".git/config", ".git/config", ".git/config"},
    {".git . . ./config..", ".git/config", ".git/config", ".git/config"},
    {".git..............................................", NULL, ".git", ".git"},
    {".git::$INDEX_ALLOCATION/config", ".git/config", ".git/config", ".git/config"},
    {".envrc:stream", ".envrc", ".envrc", ".envrc"},
    {".g\xe2\x80\x8cit/config", ".git/config", ".git/config", ".git/config"},
    {"\xef\xbb\xbf.git/config", ".git/config", ".git/config", ".git/config"},
    {".git\xc2\xad", NULL, ".git", ".git"},
    {".ba\xc5\xbfhrc", ".bashrc", ".bashrc", ".bashrc"},
    {".hus\xe2\x84\xaay", ".husky", ".husky", ".husky"},
    {"git~1/config", ".git/config", ".git/config", ".git/config"},
    {"GIT~2", NULL, ".git", ".git"},
    {"VSCODE~1/tasks.json", ".vscode", ".vscode", ".vscode"},
    {"MCP~1.JSO", ".mcp.json", ".mcp.json", ".mcp.json"},
    {"BASH_P~1", ".bash_profile", ".bash_profile", ".bash_profile"},
    {".git/WORKTR~1", ".git/worktrees", ".git/worktrees", ".git/worktrees"},
    {"git~", NULL, NULL, NULL},
    {"~1", NULL, NULL, NULL},
    {"gi~1", NULL, NULL, NULL},
    {".git\xc3\xa9", NULL, NULL, NULL},

    /* odd ones */
    {"", NULL, NULL, NULL},
    {".", NULL, NULL, NULL},
    {"..", NULL, NULL, NULL},
    {"../.envrc", NULL, NULL, NULL}, /* leads out, and others refuse that */
    {"...", NULL, NULL, NULL},
    {"/", NULL, NULL, NULL},
};

static void test_paths(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        const char *path = paths[i].path;
        const char *rule = protected_rule(path, NULL), *name = protected_name(path, NULL),
                   *move = protected_move(path, NULL);
        if (!ok(same(rule, paths[i].rule) && same(name, paths[i].name) && same(move, paths[i].move),
                "'%s' is %s", path,
                paths[i].rule   ? "protected"
                : paths[i].name ? "neither made nor moved, but changed"
                : paths[i].move ? "made, but not moved"
                                : "free"))
            printf("# answered %s, %s, %s\n", rule ? rule : "-", name ? name : "-",
                   move ? move : "-");
    }
}

/* ---- rules that the owner ended -------------------------------------------------------------- */

static void test_unprotected(void)
{
    const char *git[] = {".git", NULL}, *hooks[] = {".git/hooks", ".envrc", NULL},
               *vscode[] = {".vscode", NULL}, *config[] = {".config", NULL}, *none[] = {NULL},
               *part[] = {".gi", ".g", NULL};

    ok(!protected_rule(".git/hooks/x", git) && !protected_move(".git", git) &&
           !protected_rule("a/.GIT/config", git),
       "naming .git ends all rules in it");
    ok(same(protected_rule(".gitmodules", git), ".gitmodules"), "but not that of .gitmodules");
    ok(!protected_rule(".git/hooks/x", hooks) && !protected_rule("a/.envrc", hooks),
       "a named rule does not hold, anywhere");
    ok(same(protected_rule(".git/config", hooks), ".git/config") &&
           same(protected_name(".git", hooks), ".git"),
       "while the rules beside it do");
    ok(!protected_rule(".vscode/tasks.json", vscode) &&
           same(protected_rule(".vscode/.git/config", vscode), ".git/config"),
       "beneath a named directory other rules still hold");
    ok(!protected_move(".config/fish/x", config), "naming .config ends the rules in it");
    ok(same(protected_rule(".envrc", none), ".envrc"), "an empty list ends nothing");
    ok(same(protected_name(".git", part), ".git"), "the beginning of a name ends nothing");
}

/* ---- in steps -------------------------------------------------------------------------------- */

static void test_steps(void)
{
    uint8_t git = protected_walk(PROTECTED_NOWHERE, "a/.git", NULL);
    uint8_t hooks = protected_walk(git, "hooks", NULL);
    uint8_t objects = protected_walk(git, "objects", NULL);

    ok(same(protected_at_rule(hooks), ".git/hooks") &&
           same(protected_at_rule(protected_walk(hooks, "x", NULL)), ".git/hooks"),
       "a path that begins in .git is judged from there");
    ok(objects == PROTECTED_NOWHERE, "what git writes to lies nowhere");
    ok(protected_walk(hooks, ".", NULL) == hooks && protected_walk(hooks, "", NULL) == hooks,
       "'.' stays where it is");
    ok(protected_walk(git, "objects/..", NULL) == git &&
           protected_walk(git, "objects/../hooks", NULL) == hooks,
       "'..' goes back up");
    ok(protected_walk(hooks, "..", NULL) == PROTECTED_NOWHERE,
       "a path that climbs past its beginning leads nowhere");
    ok(!protected_at_move(UINT8_MAX) && protected_walk(UINT8_MAX, "a", NULL) == PROTECTED_NOWHERE,
       "a number that is no row's means nothing");
}

static void test_roots(void)
{
    uint8_t git = protected_walk(PROTECTED_NOWHERE, ".git", NULL);
    const char *unprotected[] = {".git", NULL};

    ok(protected_root("/home/u/project/.git", NULL) == git &&
           protected_root("/home/u/project/.git/", NULL) == git,
       "a grant that is a .git is no way to its hooks");
    ok(protected_root("/home/u/project/.git", unprotected) == PROTECTED_NOWHERE,
       "unless .git is named");
    ok(protected_root("/home/u/project", NULL) == PROTECTED_NOWHERE &&
           protected_root("/home/u/project/.git/objects", NULL) == PROTECTED_NOWHERE,
       "other grants lie nowhere");
    ok(protected_root("/home/u/project/.vscode", NULL) == PROTECTED_NOWHERE &&
           protected_root("/home/u/.claude/worktrees/project", NULL) == PROTECTED_NOWHERE,
       "a grant that is a protected name, or lies in one, was named by its owner");
}

int main(void)
{
    test_rows();
    test_paths();
    test_unprotected();
    test_steps();
    test_roots();
    return done();
}
