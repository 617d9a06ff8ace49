#include "plan/protected.h"

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"

enum kind {
    WHOLE, /* it and all beneath it */
    HELD,  /* a directory that other rows have names in; neither made, removed nor moved */
    FREE,  /* likewise, but it may be made and, when empty, removed */
};

/* A row with a slash stands for a name right in the directory before it, which has a row too. */
const struct protected_row protected_rows[] = {
    {".git", "as a file it points git to any repository; moved, it brings hooks along", HELD},
    {".git/hooks", "git runs them", WHOLE},
    {".git/config", "names commands: fsmonitor, hooksPath, pagers, filters, aliases", WHOLE},
    {".git/config.worktree", "as config", WHOLE},
    {".git/commondir", "says where config and hooks are", WHOLE},
    {".git/gitdir", "says where a worktree is", WHOLE},
    {".git/worktrees", "each has a commondir and a config of its own", WHOLE},
    {".git/modules", "repositories of submodules, with hooks and config", WHOLE},
    {".git/rebase-merge", "`git rebase --continue` runs its exec lines", WHOLE},
    {".gitmodules", "says from where git fetches submodules", WHOLE},
    {".gitconfig", "as .git/config, in a home directory", WHOLE},
    {".githooks", "the usual place of core.hooksPath", WHOLE},
    {".husky", "hooks of git", WHOLE},
    {".pre-commit-config.yaml", "commands that a hook of git runs", WHOLE},
    {"lefthook.yml", "commands that a hook of git runs", WHOLE},
    {"lefthook.yaml", "as lefthook.yml", WHOLE},
    {".lefthook.yml", "as lefthook.yml", WHOLE},
    {".lefthook.yaml", "as lefthook.yml", WHOLE},

    {".envrc", "direnv runs it on entering the directory", WHOLE},
    {"mise.toml", "mise runs its hooks on entering the directory", WHOLE},
    {".mise.toml", "as mise.toml", WHOLE},
    {".mise", "as mise.toml", WHOLE},

    {".vscode", "tasks and settings that VS Code runs on opening the folder", WHOLE},
    {".idea", "run configurations and start-up tasks of JetBrains' editors", WHOLE},
    {".zed", "tasks and language servers of Zed", WHOLE},
    {".fleet", "run configurations of Fleet", WHOLE},
    {".devcontainer", "commands run on opening the folder, one of them on the host", WHOLE},
    {".devcontainer.json", "as .devcontainer", WHOLE},
    {".exrc", "vi runs it in the directory where it is allowed to", WHOLE},
    {".nvimrc", "as .exrc", WHOLE},
    {".nvim.lua", "as .exrc", WHOLE},
    {".vimrc", "vim runs it", WHOLE},
    {".vim", "vim runs what is in it", WHOLE},
    {".emacs", "emacs runs it", WHOLE},
    {".emacs.d", "emacs runs what is in it", WHOLE},
    {".rprofile", "R runs it on starting in the directory", WHOLE},
    {".irbrc", "irb runs it on starting in the directory", WHOLE},
    {".pryrc", "as .irbrc", WHOLE},
    {".gdbinit", "gdb runs it", WHOLE},
    {".lldbinit", "lldb runs it", WHOLE},

    {".mcp.json", "servers that agents start", WHOLE},
    {".claude", "hooks, permissions and servers of Claude Code", WHOLE},
    {".claude.json", "as .claude", WHOLE},
    {".cursor", "hooks and servers of Cursor", WHOLE},
    {".codex", "settings and servers of Codex", WHOLE},
    {".gemini", "settings and servers of Gemini CLI", WHOLE},
    {".qwen", "settings and servers of Qwen Code", WHOLE},
    {".kiro", "hooks and servers of Kiro", WHOLE},
    {".amazonq", "servers of Amazon Q", WHOLE},
    {".windsurf", "hooks and workflows of Windsurf", WHOLE},
    {".continue", "servers of Continue", WHOLE},
    {".roo", "servers of Roo Code", WHOLE},
    {".kilocode", "servers of Kilo Code", WHOLE},
    {".opencode", "plugins and servers of opencode", WHOLE},
    {"opencode.json", "as .opencode", WHOLE},
    {"opencode.jsonc", "as .opencode", WHOLE},
    {".crush.json", "servers of Crush", WHOLE},
    {"crush.json", "as .crush.json", WHOLE},
    {".aider.conf.yml", "commands that aider runs", WHOLE},

    {".wasp", "the project's policy: what wasp itself allows there", WHOLE},

    {".bashrc", "bash runs it", WHOLE},
    {".bash_profile", "bash runs it", WHOLE},
    {".bash_login", "bash runs it", WHOLE},
    {".bash_logout", "bash runs it", WHOLE},
    {".bash_aliases", "bash runs it", WHOLE},
    {".profile", "shells run it", WHOLE},
    {".zshrc", "zsh runs it", WHOLE},
    {".zshenv", "zsh runs it", WHOLE},
    {".zprofile", "zsh runs it", WHOLE},
    {".zlogin", "zsh runs it", WHOLE},
    {".zlogout", "zsh runs it", WHOLE},
    {".kshrc", "ksh runs it", WHOLE},
    {".mkshrc", "mksh runs it", WHOLE},
    {".cshrc", "csh runs it", WHOLE},
    {".tcshrc", "tcsh runs it", WHOLE},
    {".login", "csh runs it", WHOLE},
    {".logout", "csh runs it", WHOLE},
    {".inputrc", "keys that type commands into shells", WHOLE},
    {".tmux.conf", "tmux runs commands from it", WHOLE},
    {".xprofile", "run when a session starts", WHOLE},
    {".xinitrc", "run when a session starts", WHOLE},
    {".xsession", "run when a session starts", WHOLE},
    {".xsessionrc", "run when a session starts", WHOLE},
    {".pam_environment", "variables of a session, LD_PRELOAD too", WHOLE},
    {".ssh", "commands in config and rc, keys that let others in", WHOLE},
    {".gnupg", "its settings name programs", WHOLE},
    {".config", "settings of a home directory; moved, it brings what is below along", FREE},
    {".config/fish", "fish runs it", WHOLE},
    {".config/git", "as .gitconfig", WHOLE},
    {".config/nvim", "nvim runs what is in it", WHOLE},
    {".config/mise", "as mise.toml", WHOLE},
    {".config/direnv", "direnv runs its direnvrc", WHOLE},
    {".config/autostart", "run when a session starts", WHOLE},
    {".config/systemd", "units that systemd starts", WHOLE},
    {".config/environment.d", "as .pam_environment", WHOLE},
    {".local", "programs and data of a home directory, as .config", FREE},
    {".local/bin", "on the PATH", WHOLE},
    {NULL, NULL, 0},
};

#define N_ROWS (ARRAY_SIZE(protected_rows) - 1)
_Static_assert(N_ROWS < UINT8_MAX, "a row's number and one more fit in a byte");

/* No component of a row is longer. */
#define MAX_COMPONENT 32

/* ---- how file systems compare names ---------------------------------------------------------- */

/*
 * Characters that a file system with case folding drops from a name (UTF-8, its last byte from a
 * range).
 */
static const struct {
    char before[3];
    unsigned char from, to;
} unseen[] = {
    {"\xc2", 0xad, 0xad},     {"\xcd", 0x8f, 0x8f},     {"\xd8", 0x9c, 0x9c},
    {"\xe1\xa0", 0x8b, 0x8f}, {"\xe2\x80", 0x8b, 0x8f}, {"\xe2\x80", 0xaa, 0xae},
    {"\xe2\x81", 0xa0, 0xaf}, {"\xef\xb8", 0x80, 0x8f}, {"\xef\xbb", 0xbf, 0xbf},
};

/* How many bytes at `name` are not seen, 0 if the first one is. */
static size_t skip_unseen(const char *name, size_t len)
{
    if ((unsigned char) name[0] < 0x80)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(unseen); i++) {
        size_t before = strnlen(unseen[i].before, sizeof(unseen[i].before));
        if (len <= before || memcmp(name, unseen[i].before, before) != 0)
            continue;
        unsigned char last = (unsigned char) name[before];
        if (last >= unseen[i].from && last <= unseen[i].to)
            return before + 1;
    }
    return 0;
}

/* Letters outside ASCII that fold to one inside: the long s and the sign of the kelvin. */
static size_t fold_letter(const char *name, size_t len, char *ret_letter)
{
    char c = name[0];

    *ret_letter = c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
    if (len >= 2 && memcmp(name, "\xc5\xbf", 2) == 0) {
        *ret_letter = 's';
        return 2;
    }
    if (len >= 3 && memcmp(name, "\xe2\x84\xaa", 3) == 0) {
        *ret_letter = 'k';
        return 3;
    }
    return 1;
}

/* The name as its file system may see it; "" if it is too long for any row. */
static void fold(const char *name, size_t len, char ret_folded[MAX_COMPONENT + 1])
{
    size_t seen = 0, kept = 0; /* letters so far, and without dots and spaces at the end */
    size_t step;

    for (size_t at = 0; at < len && name[at] != ':'; at += step) { /* behind ':' a stream of it */
        char letter;
        step = skip_unseen(name + at, len - at);
        if (step > 0)
            continue;
        step = fold_letter(name + at, len - at, &letter);
        if (seen < MAX_COMPONENT)
            ret_folded[seen] = letter;
        seen++;
        if (letter != '.' && letter != ' ')
            kept = seen;
    }
    ret_folded[kept <= MAX_COMPONENT ? kept : 0] = '\0';
}

/*
 * True for "git~1" and ".git", "mcp~1.jso" and ".mcp.json": the short form that FAT and NTFS give a
 * name is its first six letters without dots, and a number.
 */
static bool is_short_form(const char *folded, const char *name)
{
    size_t letters = strcspn(folded, "~");

    if (folded[letters] == '\0' || folded[letters + 1] < '0' || folded[letters + 1] > '9')
        return false;
    name += *name == '.';
    size_t stem = strcspn(name, ".");
    return letters > 0 && letters == (stem < 6 ? stem : 6) && memcmp(folded, name, letters) == 0;
}

/* ---- one step -------------------------------------------------------------------------------- */

/*
 * Most names end here, for this is asked on every open: no row begins like that, and nothing in it
 * needs folding.
 */
static bool is_ordinary(const char *name, size_t len)
{
    static const char begins[][3] = {"le", "mi", "op", "cr"}; /* of rows without a dot */

    for (size_t i = 0; i < len; i++)
        if (name[i] == '~' || (unsigned char) name[i] >= 0x80)
            return false;
    for (size_t i = 0; len >= 2 && i < ARRAY_SIZE(begins); i++)
        if ((name[0] | 0x20) == begins[i][0] && (name[1] | 0x20) == begins[i][1])
            return false;
    return name[0] != '.';
}

/* What the row has in the directory of row `dir`: "hooks" for ".git"; NULL: nothing. */
static const char *name_in(const struct protected_row *row, const struct protected_row *dir)
{
    size_t len = strlen(dir->name);
    bool is_in = strncmp(row->name, dir->name, len) == 0 && row->name[len] == '/';

    return is_in ? row->name + len + 1 : NULL;
}

/* A name with a slash equals none that was folded. */
static bool is_meant(const char *folded, bool may_be_short, const char *name)
{
    if (folded[0] == name[0] && folded[1] == name[1] && strcmp(folded, name) == 0)
        return true;
    return may_be_short && strchr(name, '/') == NULL && is_short_form(folded, name);
}

static bool is_named(const char *name, const char *const *unprotected)
{
    for (; unprotected != NULL && *unprotected != NULL; unprotected++) {
        size_t len = strlen(*unprotected);
        if (strncmp(name, *unprotected, len) == 0 && (name[len] == '\0' || name[len] == '/'))
            return true;
    }
    return false;
}

/* The row for a name in the directory of row `dir`, or anywhere if that is NULL. */
static uint8_t find_row(const char *folded, const struct protected_row *dir,
                        const char *const *unprotected)
{
    bool may_be_short = strchr(folded, '~') != NULL;

    if (folded[0] == '\0')
        return PROTECTED_NOWHERE;
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct protected_row *row = &protected_rows[i];
        const char *name = dir != NULL ? name_in(row, dir) : row->name;
        if (name != NULL && is_meant(folded, may_be_short, name) &&
            !is_named(row->name, unprotected))
            return (uint8_t) (i + 1);
    }
    return PROTECTED_NOWHERE;
}

static const struct protected_row *row_at(uint8_t at)
{
    return at == PROTECTED_NOWHERE || at > N_ROWS ? NULL : &protected_rows[at - 1];
}

/* Down into a name. */
static uint8_t enter(uint8_t at, const char *name, size_t len, const char *const *unprotected)
{
    const struct protected_row *dir = row_at(at);
    char folded[MAX_COMPONENT + 1];

    if (dir != NULL && dir->kind == WHOLE)
        return at;
    if (dir == NULL && is_ordinary(name, len))
        return PROTECTED_NOWHERE;
    fold(name, len, folded);
    uint8_t inside = dir != NULL ? find_row(folded, dir, unprotected) : PROTECTED_NOWHERE;
    return inside != PROTECTED_NOWHERE ? inside : find_row(folded, NULL, unprotected);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* A longer path is no path; so many components it can have. */
#define MAX_DEPTH (PATH_MAX / 2)

uint8_t protected_walk(uint8_t at, const char *path, const char *const *unprotected)
{
    uint8_t above[MAX_DEPTH];
    size_t depth = 0, len;

    for (const char *name = path; *name != '\0'; name += len) {
        len = strcspn(name, "/");
        if (len == 0) {
            len = 1;
            continue;
        }
        if (len == 1 && name[0] == '.')
            continue;
        bool up = len == 2 && name[0] == '.' && name[1] == '.';
        if (depth == (up ? 0 : MAX_DEPTH))
            return PROTECTED_NOWHERE;
        if (up) {
            at = above[--depth];
            continue;
        }
        above[depth++] = at;
        at = enter(at, name, len, unprotected);
    }
    return at;
}

static const char *rule_at(uint8_t at, enum kind most)
{
    const struct protected_row *row = row_at(at);

    return row != NULL && row->kind <= (int) most ? row->name : NULL;
}

const char *protected_at_rule(uint8_t at)
{
    return rule_at(at, WHOLE);
}

const char *protected_at_name(uint8_t at)
{
    return rule_at(at, HELD);
}

const char *protected_at_move(uint8_t at)
{
    return rule_at(at, FREE);
}

const char *protected_rule(const char *path, const char *const *unprotected)
{
    return protected_at_rule(protected_walk(PROTECTED_NOWHERE, path, unprotected));
}

const char *protected_name(const char *path, const char *const *unprotected)
{
    return protected_at_name(protected_walk(PROTECTED_NOWHERE, path, unprotected));
}

const char *protected_move(const char *path, const char *const *unprotected)
{
    return protected_at_move(protected_walk(PROTECTED_NOWHERE, path, unprotected));
}

uint8_t protected_root(const char *path, const char *const *unprotected)
{
    uint8_t at = protected_walk(PROTECTED_NOWHERE, path, unprotected);

    return protected_at_rule(at) != NULL ? PROTECTED_NOWHERE : at;
}

bool protected_is_rule(const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(name, protected_rows[i].name) == 0)
            return true;
    return false;
}
