/* Forks for ever, also when it is refused: what only a limit ends. */
#include <unistd.h>

int main(void)
{
    for (;;)
        if (fork() == 0)
            (void) pause();
}
