#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "cell/cell.h"

/*
 * Stops: a grant that was swapped between the parent's look and ours (CVE-2021-30465), and a
 * directory descriptor that still lies in the host's mount, from which `..` leads to the host's
 * /etc. The parent recorded device and inode; what the path means now, in our own mount namespace,
 * must be the same directory.
 */
static int clone_grant(enum plan_job job, const struct plan_grant *grant, int *ret_fd,
                       struct err *err)
{
    _cleanup_fd_ int dir = open(grant->host, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, ERR_HOST, "cannot open the granted directory '%s'", grant->host);
    struct stat st;
    if (fstat(dir, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot stat the granted directory '%s'", grant->host);
    if (st.st_dev != grant->dev || st.st_ino != grant->ino)
        return err_set(err, ERR_DENIED,
                       "the granted directory '%s' was replaced while the run started",
                       grant->host);
    /* an overlay writes to its upper layer: what lies below it is only read */
    uint64_t attributes = mount_attributes(grant->access != ACCESS_RW, job == JOB_NATIVE);
    return mount_detach(dir, grant->host, attributes, -1, ret_fd, err);
}

int cell_clone_grants(struct cell *cell, struct err *err)
{
    for (size_t i = 0; i < cell->plan.n_grants; i++)
        if (clone_grant(cell->plan.job, &cell->plan.grants[i], &cell->grants[i], err) < 0)
            return -1;
    return 0;
}
