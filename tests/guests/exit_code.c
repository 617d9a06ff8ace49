/* Exits with the code it is told, straight through WASI so that codes above 255 stay whole. */
#include <stdlib.h>
#include <wasi/api.h>

int main(int argc, char **argv)
{
    __wasi_proc_exit(argc > 1 ? (__wasi_exitcode_t) strtoul(argv[1], NULL, 10) : 0);
}
