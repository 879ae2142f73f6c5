// SPDX-License-Identifier: MIT
// registries.conf: which registries it calls insecure. A text without that word calls none so.
#include "k8s/image/trust.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const hosts[] = {"example.org", "localhost:5000", "10.0.0.1:80", "a"};
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (trust_conf_insecure(text, hosts[i]) && !strstr(text, "insecure"))
            abort();
    return 0;
}
