#include "plan/capability.h"

#include <stddef.h>
#include <string.h>

const struct capability_row capability_rows[CAPABILITIES] = {
    [CAPABILITY_FS_READ] = {"fs_read", SECTION_FILESYSTEM, RISK_SAFE},
    [CAPABILITY_FS_WRITE] = {"fs_write", SECTION_FILESYSTEM, RISK_MONITORED},
    [CAPABILITY_NET_HTTP] = {"net_http", SECTION_NETWORK, RISK_CONTROLLED},
    [CAPABILITY_EXEC_RUN] = {"exec_run", SECTION_EXEC, RISK_CONTROLLED},
    [CAPABILITY_ENV_SET] = {"env_set", SECTION_ENV, RISK_SAFE},
    [CAPABILITY_CODE_RUN] = {"code_run", SECTION_CODE, RISK_CONTROLLED},
};

const struct risk_row risk_rows[RISKS] = {
    [RISK_SAFE] = {"safe", PER_HOUR_ANY, false},
    [RISK_MONITORED] = {"monitored", PER_HOUR_ANY, false},
    [RISK_CONTROLLED] = {"controlled", 100, false},
    [RISK_RESTRICTED] = {"restricted", 30, false},
    [RISK_PRIVILEGED] = {"privileged", 20, true},
};

const char *const section_names[] = {
    [SECTION_FILESYSTEM] = "filesystem",
    [SECTION_ENV] = "env",
    [SECTION_NETWORK] = "network",
    [SECTION_EXEC] = "exec",
    [SECTION_CODE] = "code",
    [SECTIONS] = NULL,
};

int capability_find(const char *name)
{
    for (int i = 0; i < CAPABILITIES; i++)
        if (strcmp(capability_rows[i].name, name) == 0)
            return i;
    return -1;
}
