// SPDX-License-Identifier: MIT
// registries.conf: which registries it calls insecure. A text without that word calls none so.
#include "base/mem.h"
#include "k8s/image/registry/conf.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const hosts[] = {"example.org", "localhost:5000", "10.0.0.1:80", "a"};
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    CLEANUP(registries_done) struct registries conf = {0};
    registries_read(&conf, text);
    for (size_t i = 0; i < conf.n; i++)
        free(registries_name(&conf.list[i], conf.list[i].own.location, "example.org/a"));
    registries_entry(&conf, "localhost:5000/a/b");
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (registries_insecure(&conf, hosts[i]) && !strstr(text, "insecure"))
            abort();
    return 0;
}
