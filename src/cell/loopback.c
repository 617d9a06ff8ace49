#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/view.h"

/* The net namespace is the cell's own: on its loopback are its own processes and nobody else. */
int view_raise_loopback(struct view *view, struct err *err)
{
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};

    if (view->cell->plan.native.network != NETWORK_LOOPBACK)
        return 0;
    _cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(request.ifr_name, "lo", sizeof("lo"));
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return err_sys(err, ERR_WALL, "cannot raise the loopback of the cell");
    return 0;
}
