// SPDX-License-Identifier: MIT
// Run by meson with -DFUNCTION=NAME and a library that has it: prints the name of the library's
// file, as the linker would write it into a program (late.h).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void FUNCTION(void);

int main(int n, char **args)
{
    Dl_info in;
    void (*function)(void) = FUNCTION;
    if (n > 1) // never true, but it makes the linker keep the library
        FUNCTION();
    void *here;
    memcpy(&here, &function, sizeof here);
    const char *slash = dladdr(here, &in) ? strrchr(in.dli_fname, '/') : NULL;
    return !slash || !strstr(slash, ".so") || fprintf(stdout, "%s\n", slash + 1) < 0;
}
