// SPDX-License-Identifier: MIT
// How much memory there is, by files as the system has them.
#include "base/mem.h"
#include "base/os/available.h"
#include "base/os/path.h"
#include "tests/support/tap.h"

#include <stdint.h>
#include <string.h>

// A file below the case's folder, with its folders.
static void kernel_file(const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(tap_dir(), name), *folder = path_dirname(path);
    err e;
    CHECK_OK(path_make_dirs(folder, 0755, &e) == 0, e);
    CHECK_OK(path_write(path, text, strlen(text), 0644, &e) == 0, e);
}

TEST(available_memory_is_the_least_of_machine_and_cgroups)
{
    CHECK(memory_available(tap_dir()) == SIZE_MAX); // the system does not say
    kernel_file("proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable:    1000000 kB\n");
    CHECK_INT(memory_available(tap_dir()), 1024000000);
    kernel_file("proc/self/cgroup", "4:memory:/old/job\n0::/a/b\n");
    CHECK_INT(memory_available(tap_dir()), 1024000000);
    kernel_file("sys/fs/cgroup/a/memory.max", "max\n");
    kernel_file("sys/fs/cgroup/a/memory.current", "500000000\n");
    CHECK_INT(memory_available(tap_dir()), 1024000000);
    kernel_file("sys/fs/cgroup/a/memory.max", "500000000\n");
    kernel_file("sys/fs/cgroup/a/memory.current", "100000000\n");
    CHECK_INT(memory_available(tap_dir()), 400000000);
    kernel_file("sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_file 30000000\n");
    CHECK_INT(memory_available(tap_dir()), 430000000);
    kernel_file("sys/fs/cgroup/a/b/memory.max", "300000000\n");
    kernel_file("sys/fs/cgroup/a/b/memory.current", "90000000\n");
    CHECK_INT(memory_available(tap_dir()), 210000000);
    kernel_file("sys/fs/cgroup/memory/old/job/memory.limit_in_bytes", "9223372036854771712\n");
    kernel_file("sys/fs/cgroup/memory/old/job/memory.usage_in_bytes", "60000000\n");
    CHECK_INT(memory_available(tap_dir()), 210000000);
    kernel_file("sys/fs/cgroup/memory/memory.limit_in_bytes", "70000000\n");
    kernel_file("sys/fs/cgroup/memory/memory.usage_in_bytes", "60000000\n");
    CHECK_INT(memory_available(tap_dir()), 10000000);
    kernel_file("sys/fs/cgroup/memory/memory.usage_in_bytes", "80000000\n");
    CHECK_INT(memory_available(tap_dir()), 0);
}

TEST(the_most_memory_is_the_least_of_machine_and_cgroups)
{
    CHECK(memory_most(tap_dir()) == SIZE_MAX); // the system does not say
    kernel_file("proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable:    1000000 kB\n");
    CHECK_INT(memory_most(tap_dir()), 2048000000);
    kernel_file("proc/self/cgroup", "4:memory:/old/job\n0::/a/b\n");
    kernel_file("sys/fs/cgroup/a/memory.max", "max\n");
    CHECK_INT(memory_most(tap_dir()), 2048000000);
    kernel_file("sys/fs/cgroup/a/memory.max", "500000000\n"); // whatever is used of it
    CHECK_INT(memory_most(tap_dir()), 500000000);
    kernel_file("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "70000000\n");
    CHECK_INT(memory_most(tap_dir()), 70000000);
}

int main(void)
{
    return tap_run();
}
