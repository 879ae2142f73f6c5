// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/programs/closure.h"
#include "k8s/image/programs/relocate.h"
#include "tests/support/tap.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

// A sanitizer has a runtime that wants to be loaded in its own way.
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
// This program as bin/program, and all that it needs in lib, below `folder`.
static void make_bundle(const char *folder, buf *program)
{
    err e = {0};
    struct closure needs = {0};
    AUTO_FREE char *bin = path_join(folder, "bin"), *lib = path_join(folder, "lib"),
                   *to = path_join(bin, "program");
    CHECK_OK(path_make_dirs(bin, 0755, &e) == 0 && path_make_dirs(lib, 0755, &e) == 0, e);
    CHECK_OK(closure_add(&needs, "/proc/self/exe", &e) == 0, e);
    for (size_t i = 0; i < needs.n; i++) {
        AUTO_FREE char *library = path_join(lib, needs.libraries[i].soname);
        copy(needs.libraries[i].path, library, 0755);
    }
    AUTO_FREE char *name = path_basename(needs.interpreter), *beside = str_fmt("../lib/%s", name);
    CHECK_OK(path_read("/proc/self/exe", program, 0, &e) == 0, e);
    CHECK_OK(relocate(program, beside, "$ORIGIN/../lib", &e) == 0, e);
    CHECK_OK(path_write(to, program->data, program->len, 0755, &e) == 0, e);
    closure_done(&needs);
}

static void check_maps(const char *program, const char *library)
{
    err e = {0};
    AUTO_FREE char *out = path_join(tap_dir(), "maps");
    AUTO_FREE char *command = str_fmt(
        "env LD_PRELOAD=/nowhere/x.so LD_LIBRARY_PATH=/nowhere %s --maps > %s 2>&1", program, out);
    AUTO_BUF maps = {0};
    CHECK_INT(system(command), 0);
    CHECK_OK(path_read(out, &maps, 0, &e) == 0, e);
    CHECK_HAS(buf_cstr(&maps), library);
    CHECK_HAS(buf_cstr(&maps), "LD_PRELOAD=/nowhere/x.so\n");
    CHECK(!strstr(buf_cstr(&maps), "cannot be preloaded"));
    CHECK(!strstr(buf_cstr(&maps), " /lib/") && !strstr(buf_cstr(&maps), " /usr/lib/"));
}

// It finds its loader and libraries beside it: where the folder was made, where it was moved to, by
// a link, and when a host's variables name libraries that do not fit.
TEST(a_program_finds_its_loader_beside_it)
{
    err e = {0};
    AUTO_FREE char *made = path_join(tap_dir(), "made"), *moved = path_join(tap_dir(), "moved"),
                   *program = path_join(made, "bin/program"), *lib = path_join(made, "lib/"),
                   *there = path_join(moved, "bin/program"), *its = path_join(moved, "lib/"),
                   *link = path_join(tap_dir(), "link");
    AUTO_BUF bytes = {0};
    make_bundle(made, &bytes);
    check_maps(program, lib);
    CHECK(rename(made, moved) == 0 && symlink(there, link) == 0);
    check_maps(there, its);
    check_maps(link, its);

    // What it needs is found there, and not on this machine.
    struct closure needs = {0};
    CHECK_OK(closure_add(&needs, there, &e) == 0, e);
    CHECK(needs.n > 1);
    for (size_t i = 0; i < needs.n; i++)
        CHECK(strstr(needs.libraries[i].path, "/../lib/"));
    closure_done(&needs);

    // An image gets it with an interpreter as usual.
    AUTO_FREE char *ld = path_join(its, "ld-linux-x86-64.so.2"),
                   *usual = path_join(tap_dir(), "usual");
    CHECK_OK(relocate(&bytes, ld, its, &e) == 0, e);
    CHECK_OK(path_write(usual, bytes.data, bytes.len, 0755, &e) == 0, e);
    AUTO_FREE char *command = str_fmt("env -i %s --maps > /dev/null", usual);
    CHECK_INT(system(command), 0);
}

TEST(a_bundle_that_is_not_whole)
{
    err e = {0};
    AUTO_FREE char *folder = path_join(tap_dir(), "torn"),
                   *ld = path_join(folder, "lib/ld-linux-x86-64.so.2"),
                   *out = path_join(tap_dir(), "said"),
                   *command = str_fmt("%s/bin/program --maps > %s 2>&1", folder, out),
                   *wanted = str_fmt("%s/bin/../lib/ld-linux-x86-64.so.2", folder);
    AUTO_BUF bytes = {0}, said = {0};
    make_bundle(folder, &bytes);
    CHECK_OK(path_write(ld, "\177ELF", 4, 0755, &e) == 0, e);
    CHECK_INT(WEXITSTATUS(system(command)), 127);
    CHECK_OK(path_read(out, &said, 0, &e) == 0, e);
    CHECK_HAS(buf_cstr(&said), wanted);
    CHECK_HAS(buf_cstr(&said), " is damaged; unpack the archive again");
    CHECK(unlink(ld) == 0);
    CHECK_INT(WEXITSTATUS(system(command)), 127);
    said.len = 0;
    CHECK_OK(path_read(out, &said, 0, &e) == 0, e);
    CHECK_HAS(buf_cstr(&said), " cannot be opened; unpack the archive again");
}

// Another program has not what it takes; a library has no interpreter, and gets a path all the
// same.
TEST(what_else_is_put_beside_a_loader)
{
    err e = {0};
    AUTO_BUF program = {0}, library = {0};
    struct closure needs = {0};
    CHECK_OK(path_read("/bin/sh", &program, 0, &e) == 0, e);
    CHECK_INT(relocate(&program, "../lib/ld.so", "$ORIGIN", &e), -1);
    CHECK_HAS(e.text, "it cannot look for ../lib/ld.so beside it");
    e = (err){0};
    CHECK_OK(closure_add(&needs, "/proc/self/exe", &e) == 0, e);
    for (size_t i = 0; i < needs.n && !library.len; i++)
        if (str_starts(needs.libraries[i].soname, "libcjson"))
            CHECK_OK(path_read(needs.libraries[i].path, &library, 0, &e) == 0, e);
    CHECK_OK(relocate(&library, NULL, "$ORIGIN/../x", &e) == 0, e);
    CHECK(memmem(library.data, library.len, "$ORIGIN/../x", sizeof "$ORIGIN/../x"));
    closure_done(&needs);
}
#endif

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

static int show(const buf *maps)
{
    for (char **env = environ; *env; env++)
        puts(*env);
    return puts(buf_cstr(maps)) < 0;
}

int main(int argc, char **argv)
{
    AUTO_BUF maps = {0};
    if (argc == 2 && strcmp(argv[1], "--maps") == 0)
        return path_read("/proc/self/maps", &maps, 0, NULL) ? 1 : show(&maps);
    return tap_run();
}
