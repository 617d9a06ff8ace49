#include "plan/environment.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"
#include "plan/plan.h"

/*
 * A '*' at the end stands for any rest. Of a tool that takes every option from a variable too, all
 * of them count: which of its options run something changes with each version.
 */
static const char *const hooks[] = {
    /* the loader and libc: libraries, converters, catalogues with format strings */
    "LD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "GETCONF_DIR",
    "LOCPATH",
    "NLSPATH",
    /* shells */
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_*",
    "BASH_LOADABLES_PATH",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "FPATH",
    "ZDOTDIR",
    /* Python; not those that only tune it, such as PYTHONUNBUFFERED and PYTHONHASHSEED */
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONUSERBASE",
    "PYTHONEXECUTABLE",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "PYTHONPYCACHEPREFIX",
    "PYTHON_PRESITE",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PIP_*",
    "UV_*",
    /* JavaScript */
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_*",
    "NODE_COMPILE_CACHE",
    "npm_config_*",
    "NPM_CONFIG_*",
    "YARN_*",
    "BUN_OPTIONS",
    /* Perl, Ruby, PHP, Lua, Tcl, R, Julia */
    "PERL5*",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "RUBYPATH",
    "RUBYSHELL",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT*",
    "LUA_PATH*",
    "LUA_CPATH*",
    "TCLLIBPATH",
    "R_PROFILE*",
    "R_ENVIRON*",
    "R_LIBS*",
    "R_HOME",
    "R_DEFAULT_PACKAGES",
    "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH",
    "JULIA_PROJECT",
    /* the JVM, .NET, Erlang, OCaml, Guile, Go, Rust */
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JDK_JAVAC_OPTIONS",
    "JAVA_OPTS",
    "CLASSPATH",
    "MAVEN_OPTS",
    "MAVEN_ARGS",
    "GRADLE_OPTS",
    "GRADLE_USER_HOME",
    "ANT_OPTS",
    "DOTNET_STARTUP_HOOKS",
    "DOTNET_ADDITIONAL_DEPS",
    "CORECLR_*",
    "ERL_FLAGS",
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "ERL_LIBS",
    "CAML_LD_LIBRARY_PATH",
    "GUILE_LOAD_PATH",
    "GUILE_LOAD_COMPILED_PATH",
    "GUILE_EXTENSIONS_PATH",
    "GOFLAGS",
    "GOENV",
    "GOTOOLCHAIN",
    "CARGO_*",
    "RUSTC",
    "RUSTC_*",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTUP_TOOLCHAIN",
    /* libraries that load modules */
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "KRB5_CONFIG",
    "GTK_MODULES",
    "GTK_PATH",
    "GIO_EXTRA_MODULES",
    "GIO_MODULE_DIR",
    "GST_PLUGIN_*",
    "QT_PLUGIN_PATH",
    /* tools that start others */
    "GIT_*",
    "HGRCPATH",
    "HGEDITOR",
    "SVN_SSH",
    "SVN_EDITOR",
    "CVS_RSH",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESS*",
    "VIMINIT",
    "EXINIT",
    "VIMRUNTIME",
    "EMACSLOADPATH",
    "PSQLRC",
    "PSQL_PAGER",
    "PSQL_EDITOR",
    /* builds and archives */
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "CMAKE_TOOLCHAIN_FILE",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "CCACHE_PREFIX",
    "CCACHE_COMPILER",
    "CCACHE_CONFIGPATH",
    "TAR_OPTIONS",
    "ZIPOPT",
};

static bool matches(const char *pattern, const char *name, size_t len)
{
    size_t n = strlen(pattern);

    if (pattern[n - 1] == '*')
        return len >= n - 1 && strncmp(pattern, name, n - 1) == 0;
    return len == n && strncmp(pattern, name, n) == 0;
}

bool environment_is_hook(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
        if (matches(hooks[i], name, len))
            return true;
    return false;
}

bool environment_is_credential(const char *assignment)
{
    size_t len = strcspn(assignment, "=");

    if (assignment[len] == '\0' || assignment[len + 1] == '\0')
        return false; /* nothing is given away */
    return redact_name_tells(assignment, len) || redact_has_shape(assignment + len + 1);
}

static const char *const constants[] = {
    "PATH=" CELL_PATH, "HOME=" CELL_HOME, "LANG=C.UTF-8", "TERM=dumb", "TZ=UTC", "TMPDIR=/tmp",
};

static bool has_name_of(const struct request *request, const char *assignment)
{
    size_t len = strcspn(assignment, "=") + 1;

    for (size_t i = 0; i < request->n_env; i++)
        if (strncmp(request->env[i], assignment, len) == 0)
            return true;
    return false;
}

int request_native_env(const struct request *request, struct arena *arena, const char ***ret_env,
                       size_t *ret_n_env, struct err *err)
{
    size_t n = 0;
    const char **env = arena_array(arena, ARRAY_SIZE(constants) + request->n_env + 1, sizeof(*env));

    if (!env)
        return err_no_memory(err);
    for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
        if (!has_name_of(request, constants[i]))
            env[n++] = constants[i];
    for (size_t i = 0; i < request->n_env; i++)
        env[n++] = request->env[i];
    *ret_env = env;
    *ret_n_env = n;
    return 0;
}
