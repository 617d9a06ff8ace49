#include "broker/guise.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Those by which root gets past the rights of files. */
static const int over_files[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE,    CAP_DAC_READ_SEARCH, CAP_FOWNER,
                                 CAP_FSETID, CAP_LINUX_IMMUTABLE, CAP_MKNOD,           CAP_LEASE};

static struct __user_cap_header_struct header(void)
{
    return (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
}

static int drop_capabilities(const struct guise *guise)
{
    struct __user_cap_header_struct head = header();
    struct __user_cap_data_struct less[_LINUX_CAPABILITY_U32S_3];

    for (size_t i = 0; i < ARRAY_SIZE(less); i++)
        less[i] = guise->capabilities[i];
    for (size_t i = 0; i < ARRAY_SIZE(over_files); i++)
        less[CAP_TO_INDEX(over_files[i])].effective &= ~(uint32_t) CAP_TO_MASK(over_files[i]);
    return (int) syscall(SYS_capset, &head, less);
}

/* The calls tell the id before, whatever they did; asking with -1 changes nothing. */
static bool is_fsid(uid_t uid, gid_t gid)
{
    return (uid_t) setfsuid((uid_t) -1) == uid && (gid_t) setfsgid((gid_t) -1) == gid;
}

/*
 * A user namespace that an ordinary user made forbids it even to who has the capability. There the
 * groups are that user's own, and so are the files.
 */
static int drop_groups(struct guise *guise)
{
    if (setgroups(0, NULL) == 0)
        return 0;
    if (!(guise->capabilities[CAP_TO_INDEX(CAP_SETGID)].effective & CAP_TO_MASK(CAP_SETGID)))
        return -1;
    guise->n_groups = -1;
    return 0;
}

int guise_on(struct guise *guise, int directory, struct err *err)
{
    struct __user_cap_header_struct head = header();
    struct stat st;

    if (geteuid() != 0)
        return 0;
    guise->n_groups = getgroups(GUISE_MAX_GROUPS, guise->groups);
    if (guise->n_groups < 0 || fstat(directory, &st) < 0 ||
        syscall(SYS_capget, &head, guise->capabilities) < 0)
        return err_sys(err, ERR_HOST, "cannot see whose rights to act with");
    if (drop_groups(guise) < 0)
        return err_sys(err, ERR_HOST, "cannot act without the groups that root is in");
    guise->is_on = true;
    (void) setfsgid(st.st_gid); /* what came of them is looked at below */
    (void) setfsuid(st.st_uid);
    if (drop_capabilities(guise) == 0 && is_fsid(st.st_uid, st.st_gid))
        return 0;
    guise_off(guise);
    return err_sys(err, ERR_HOST, "cannot act with the rights of the directory's owner");
}

void guise_off(struct guise *guise)
{
    struct __user_cap_header_struct head = header();
    int number = errno;

    if (!guise->is_on)
        return;
    guise->is_on = false;
    (void) setfsuid(geteuid()); /* likewise */
    (void) setfsgid(getegid());
    /* who has set them may set them back: if not, we are not who we think we are */
    int failed = (int) syscall(SYS_capset, &head, guise->capabilities) < 0 ||
                 (guise->n_groups >= 0 && setgroups((size_t) guise->n_groups, guise->groups) < 0) ||
                 !is_fsid(geteuid(), getegid());
    assert(!failed);
    (void) failed;
    errno = number;
}
