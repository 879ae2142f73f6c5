// SPDX-License-Identifier: MIT
// Prints the program's tables of keys, for the test that presses each of them.
#include "tui/bench/bench.h"

#include <stdio.h>

int main(void)
{
    AUTO_BUF keys = {0};
    bench_document_keys(&keys);
    fputs(buf_cstr(&keys), stdout);
    return 0;
}
