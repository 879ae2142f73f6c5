// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/closure.h"
#include "k8s/image/relocate.h"
#include "tests/support/tap.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

static void copy(const char *from, const char *to, mode_t mode)
{
    err e = {0};
    AUTO_BUF bytes = {0};
    CHECK_OK(path_read(from, &bytes, 0, &e) == 0, e);
    CHECK_OK(path_write(to, bytes.data, bytes.len, mode, &e) == 0, e);
}

// This program, in a folder with everything that it needs: run there, it must use nothing else.
TEST(a_relocated_program_uses_its_own_folder)
{
    err e = {0};
    struct closure needs = {0};
    CHECK_OK(closure_add(&needs, "/proc/self/exe", &e) == 0, e);
    for (size_t i = 0; i < needs.n; i++) {
        AUTO_FREE char *to = path_join(tap_dir(), needs.libraries[i].soname);
        copy(needs.libraries[i].path, to, 0755);
    }
    AUTO_FREE char *name = path_basename(needs.interpreter), *ld = path_join(tap_dir(), name),
                   *to = path_join(tap_dir(), "program"), *out = path_join(tap_dir(), "maps");
    AUTO_BUF program = {0}, maps = {0};
    CHECK_OK(path_read("/proc/self/exe", &program, 0, &e) == 0, e);
    CHECK_OK(relocate(&program, ld, tap_dir(), &e) == 0, e);
    CHECK_OK(path_write(to, program.data, program.len, 0755, &e) == 0, e);
    AUTO_FREE char *command = str_fmt("env -i %s --maps > %s", to, out);
    CHECK_INT(system(command), 0);
    CHECK_OK(path_read(out, &maps, 0, &e) == 0, e);
    for (size_t i = 0; i < needs.n; i++) {
        AUTO_FREE char *own = path_join(tap_dir(), needs.libraries[i].soname);
        CHECK_HAS(buf_cstr(&maps), own);
    }
    CHECK(!strstr(buf_cstr(&maps), "/lib/"));
    closure_done(&needs);

    // In an image it is taken into another one: as it is, with the libraries of its folder.
    AUTO_FREE char *same = mem_dup(program.data, program.len);
    CHECK_OK(relocate(&program, ld, tap_dir(), &e) == 0, e);
    CHECK(memcmp(same, program.data, program.len) == 0);
    CHECK_OK(closure_add(&needs, to, &e) == 0, e);
    CHECK(needs.n > 1);
    for (size_t i = 0; i < needs.n; i++)
        CHECK(str_starts(needs.libraries[i].path, tap_dir()));
    closure_done(&needs);

    // A relocated program can be relocated again.
    CHECK_OK(relocate(&program, "/x/ld.so", "/x", &e) == 0, e);
}

TEST(what_cannot_be_relocated)
{
    err e = {0};
    AUTO_BUF text = {0}, program = {0};
    buf_str(&text, "#!/bin/sh\n");
    CHECK_INT(relocate(&text, "/x", "/x", &e), -1);
    CHECK_HAS(e.text, "not an ELF program");
    CHECK_OK(path_read("/proc/self/exe", &program, 0, &e) == 0, e);
    char *longest = mem_alloc(1 << 20);
    memset(longest, 'x', (1 << 20) - 1);
    CHECK_INT(relocate(&program, longest, "/x", &e), -1);
    CHECK_HAS(e.text, "no room for another interpreter");
    free(longest);
}

// Its dynamic section claims to lie over the program headers, which are changed.
TEST(a_dynamic_section_that_is_written_over)
{
    err e = {0};
    AUTO_BUF b = {0};
    ElfW(Ehdr) head = {.e_phentsize = sizeof(ElfW(Phdr)), .e_phoff = sizeof head, .e_phnum = 4};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    ElfW(Phdr) segments[] = {{.p_type = PT_INTERP, .p_vaddr = DT_STRTAB},
        {.p_type = PT_LOAD, .p_filesz = 1024, .p_memsz = 1024},
        {.p_type = PT_LOAD, .p_offset = 1 << 16, .p_vaddr = 1 << 20},
        {.p_type = PT_DYNAMIC, .p_offset = sizeof head, .p_filesz = 4 * sizeof(ElfW(Phdr))}};
    buf_add(&b, &head, sizeof head);
    buf_add(&b, segments, sizeof segments);
    while (b.len <= 1 << 16)
        buf_char(&b, '\0');
    CHECK_OK(relocate(&b, "/lib/ld.so", "/lib", &e) == 0, e);
}

TEST(damaged_programs)
{
    err e = {0};
    AUTO_BUF whole = {0};
    CHECK_OK(path_read("/proc/self/exe", &whole, 0, &e) == 0, e);
    for (size_t i = 0; i < 2048; i++) {
        AUTO_BUF cut = {0};
        buf_add(&cut, whole.data, whole.len - i * 8);
        cut.data[i % 1024] = (char)~cut.data[i % 1024];
        relocate(&cut, "/lib/ld.so", "/lib", NULL);
    }
}

int main(int argc, char **argv)
{
    AUTO_BUF maps = {0};
    if (argc == 2 && strcmp(argv[1], "--maps") == 0)
        return path_read("/proc/self/maps", &maps, 0, NULL) ? 1 : puts(buf_cstr(&maps)) < 0;
    return tap_run();
}
