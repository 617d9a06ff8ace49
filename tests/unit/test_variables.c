/* What names and values of variables tell (plan/environment.h). */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/redact.h"
#include "plan/environment.h"
#include "plan/plan.h"
#include "tap.h"

static const char *const hooks[] = {
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "LD_",
    "GCONV_PATH",
    "GETCONF_DIR",
    "LOCPATH",
    "NLSPATH",
    "GLIBC_TUNABLES",
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_ls%%",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "ZDOTDIR",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONUSERBASE",
    "PYTHONEXECUTABLE",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "PIP_INDEX_URL",
    "NODE_OPTIONS",
    "NODE_PATH",
    "npm_config_script_shell",
    "NPM_CONFIG_PREFIX",
    "PERL5LIB",
    "PERL5OPT",
    "PERL5DB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT",
    "LUA_INIT_5_4",
    "R_PROFILE_USER",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_COUNT",
    "GIT_EDITOR",
    "SSH_ASKPASS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "LESSOPEN",
    "OPENSSL_CONF",
    "MAKEFLAGS",
    "RUSTC_WRAPPER",
    "CARGO_HOME",
    "GOFLAGS",
    "TAR_OPTIONS",
};

/* They tune, name a place, or are only read. */
static const char *const harmless[] = {
    "PATH",
    "HOME",
    "LANG",
    "TERM",
    "TZ",
    "TMPDIR",
    "USER",
    "SHELL",
    "CC",
    "JAVA_HOME",
    "L",
    "LD",
    "LDFLAGS",
    "XLD_PRELOAD",
    "ld_preload",
    "ENVIRONMENT",
    "MY_ENV",
    "PYTHONUNBUFFERED",
    "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "NODE_ENV",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSLKEYLOGFILE",
    "MALLOC_ARENA_MAX",
    "GITHUB_ACTIONS",
    "PS",
    "CI",
    "DEBUG",
    "OMP_NUM_THREADS",
    "PAGERS",
    "",
};

static void test_hooks(struct arena *arena)
{
    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
        char *assignment = arena_printf(arena, "%s=hunter2", hooks[i]);
        struct request native, wasm;
        struct err err = {0};
        request_init(&native, BACKEND_NATIVE);
        request_init(&wasm, BACKEND_WASM);
        ok(request_add_env(&native, arena, assignment, false, &err) == -1 &&
               err.code == ERR_DENIED && strstr(err.message, hooks[i]) &&
               !strstr(err.message, "hunter2") && strstr(err.hint, "--env-force") &&
               native.n_env == 0 && request_add_env(&native, arena, assignment, true, &err) == 0 &&
               request_add_env(&wasm, arena, assignment, false, &err) == 0,
           "%s is refused for a native guest unless forced; a wasm one may have it", hooks[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
        ok(!environment_is_hook(harmless[i], strlen(harmless[i])), "'%s' is no hook", harmless[i]);
    ok(!environment_is_hook("LD_PRELOAD", 2), "the name ends where its length says");
}

static const struct {
    const char *assignment;
    bool is;
} credentials[] = {
    {"TOKEN=x", true},
    {"GITHUB_TOKEN=x", true},
    {"githubToken=x", true},
    {"X_TOKEN_2=x", true},
    {"AWS_SECRET_ACCESS_KEY=x", true},
    {"AWS_ACCESS_KEY_ID=x", true},
    {"DB_PASSWORD=x", true},
    {"MYSQL_PWD=x", true},
    {"SMTP_PASS=x", true},
    {"PASSWD=x", true},
    {"OPENAI_API_KEY=x", true},
    {"apiKey=x", true},
    {"APIKEY=x", true},
    {"SSH_PRIVATE_KEY=x", true},
    {"GOOGLE_APPLICATION_CREDENTIALS=x", true},
    {"TOKEN=", false}, /* nothing is given away */
    {"TOKEN", false},
    {"PWD=/ws", false},
    {"OLDPWD=/ws", false},
    {"MAX_TOKENS=4096", false},
    {"TOKENIZERS_PARALLELISM=1", false},
    {"SECRETARY=ann", false},
    {"COMPASS=n", false},
    {"PUBLIC_KEY=x", false},
    {"KEY=x", false},
    {"KEYBOARD=de", false},
    {"MONKEY=x", false},
    {"API=x", false},
    {"SSH_AUTH_SOCK=/run/x", false},
    {"AVERYLONGWORDTHATENDSINTOKEN=x", false},
    {"A=sk-abcdefghijklmnop", true},
    {"A=sk-learn", false},
    {"A=task-abcdefghijklmnopqrstuvwxyz", false},
    {"A=ghp_abcdefghijklmnopqrst", true},
    {"A=x ghp_abcdefghijklmnopqrst", true},
    {"A=--header=ghp_abcdefghijklmnopqrst", true},
    {"A=ghp_short", false},
    {"A=github_pat_11AAAAAAA0abcdefghijkl", true},
    {"A=xoxb-1234567890-abc", true},
    {"A=AKIAIOSFODNN7EXAMPLE", true},
    {"A=AKIA", false},
    {"A=AIzaSyA1234567890abcdefghijklmnopqrstuv", true},
    {"A=-----BEGIN OPENSSH PRIVATE KEY-----\nx", true},
    {"A=-----BEGIN CERTIFICATE-----\nx", false},
    {"A=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", true},
    {"A=eyJhbGciOiJIUzI1NiJ9", false},
    {"A=postgres://user:hunter2@db/x", true},
    {"A=see https://u:p@h", true},
    {"A=https://user@host/", false},
    {"A=https://user:@host/", false},
    {"A=https://host:8080/a@b", false},
    {"A=hello world", false},
    {"A=://", false},
};

static void test_credentials(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(credentials); i++) {
        const char *assignment = credentials[i].assignment;
        ok(environment_is_credential(assignment) == credentials[i].is,
           "'%.*s' looks %s a credential", (int) strcspn(assignment, "\n"), assignment,
           credentials[i].is ? "like" : "unlike");
    }
}

/* The value of the last message's subject is never in it. */
static bool is_refused(int rc, const struct err *err, const char *words)
{
    return rc == -1 && err->code == ERR_REQUEST && strstr(err->message, words) &&
           !strstr(err->message, "hunter2");
}

static void test_secrets(struct arena *arena)
{
    struct secrets secrets = {0};
    struct request request;
    struct err err = {0};

    request_init(&request, BACKEND_NATIVE);
    ok(request_add_secret_env(&request, arena, "KEY", &err) == 0 && request.n_secret_env == 1 &&
           request.n_env == 0 && !request.secrets && request_is_secret(&request, "KEY=x") &&
           !request_is_secret(&request, "KEYS=x") && !request_is_secret(&request, "KE=x"),
       "a secret variable is a name until its value is known");
    ok(is_refused(request_add_secret_env(&request, arena, "A=hunter2", &err), &err, "name alone"),
       "one with a value is refused, and the value is not shown");
    ok(is_refused(request_add_secret_env(&request, arena, "", &err), &err, "without a name"),
       "one without a name is refused");
    ok(is_refused(request_add_secret_env(&request, arena, "KEY", &err), &err, "twice") &&
           is_refused(request_add_env(&request, arena, "KEY=hunter2", false, &err), &err, "twice"),
       "the same name twice is refused, also as an ordinary one");
    ok(request_add_secret_env(&request, arena, "LD_PRELOAD", &err) == -1 && err.code == ERR_DENIED,
       "a hook is refused as a secret, too");
    ok(is_refused(request_put_secret(&request, arena, "KEY", NULL, &secrets, &err), &err,
                  "'KEY' is not set"),
       "one that is not set is refused");
    ok(is_refused(request_put_secret(&request, arena, "KEY", "abc", &secrets, &err), &err,
                  "between 4 and 65536 bytes") &&
           request.n_env == 0,
       "one that is too short is refused");
    ok(request_put_secret(&request, arena, "KEY", "hunter2", &secrets, &err) == 0 &&
           request.n_env == 1 && strcmp(request.env[0], "KEY=hunter2") == 0 &&
           request.secrets == &secrets && secrets.count == 1,
       "otherwise the guest gets it, and it is registered");
    request_wipe_secrets(&request);
    ok(strcmp(request.env[0], "KEY=") == 0 && !request.secrets, "in the end it is wiped");
    secrets_release(&secrets);
}

static void test_native_env(struct arena *arena)
{
    struct request request;
    struct err err;
    const char **env;
    size_t n;

    request_init(&request, BACKEND_NATIVE);
    ok(request_native_env(&request, arena, &env, &n, &err) == 0 && n == 6 && !env[6] &&
           strcmp(env[0], "PATH=" CELL_PATH) == 0 && strcmp(env[1], "HOME=" CELL_HOME) == 0 &&
           strcmp(env[2], "LANG=C.UTF-8") == 0 && strcmp(env[3], "TERM=dumb") == 0 &&
           strcmp(env[4], "TZ=UTC") == 0 && strcmp(env[5], "TMPDIR=/tmp") == 0,
       "a native guest has six constants");
    ok(request_add_env(&request, arena, "PATH=/x", false, &err) == 0 &&
           request_add_env(&request, arena, "TZ_=1", false, &err) == 0 &&
           request_native_env(&request, arena, &env, &n, &err) == 0 && n == 7 && !env[7] &&
           strcmp(env[0], "HOME=" CELL_HOME) == 0 && strcmp(env[5], "PATH=/x") == 0 &&
           strcmp(env[6], "TZ_=1") == 0,
       "the request's own takes the place of one, and of no other");
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    test_hooks(arena);
    test_credentials();
    test_secrets(arena);
    test_native_env(arena);
    arena_free(arena);
    return done();
}
