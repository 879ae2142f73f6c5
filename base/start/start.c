// SPDX-License-Identifier: MIT
// This runs before anything is relocated, and before there is a C library: no calls, no globals
// that hold addresses, no stack protector.
#include "base/start/start.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void _start(void) __attribute__((visibility("hidden")));
uint64_t firesteel_find_loader(uint64_t *stack) __attribute__((visibility("hidden"), used));

#define BEGIN_START                                                                                \
    ".pushsection .text.firesteel_start,\"ax\",%progbits\n"                                        \
    ".balign 16\n"                                                                                 \
    ".ascii \"" START_MARK "\"\n"                                                                  \
    ".globl firesteel_start\n"                                                                     \
    ".hidden firesteel_start\n"                                                                    \
    ".type firesteel_start, %function\n"                                                           \
    "firesteel_start:\n"
#define END_START                                                                                  \
    ".size firesteel_start, . - firesteel_start\n"                                                 \
    ".popsection\n"

// A register holds the function that ld.so wants to be called at exit; it is 0 when Linux starts
// the program directly.
#if defined __x86_64__

__asm__(BEGIN_START "    endbr64\n"
                    "    test %rdx, %rdx\n"
                    "    jnz 1f\n"
                    "    xor %ebp, %ebp\n"
                    "    mov %rsp, %rbx\n"
                    "    mov %rsp, %rdi\n"
                    "    and $-16, %rsp\n"
                    "    call firesteel_find_loader\n"
                    "    mov %rbx, %rsp\n"
                    "    xor %edx, %edx\n"
                    "    jmp *%rax\n"
                    "1:  jmp _start\n" END_START);

enum {
    WRITE = 1,
    CLOSE = 3,
    MMAP = 9,
    PREAD = 17,
    EXIT = 60,
    OPENAT = 257,
    READLINKAT = 267,
};

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined __aarch64__

// The jump is through x16, which `bti c` at the loader's entry allows.
__asm__(BEGIN_START "    hint #34\n" // bti c
                    "    cbnz x0, 1f\n"
                    "    mov x29, xzr\n"
                    "    mov x30, xzr\n"
                    "    mov x0, sp\n"
                    "    bl firesteel_find_loader\n"
                    "    mov x16, x0\n"
                    "    mov x0, xzr\n"
                    "    mov x30, xzr\n"
                    "    br x16\n"
                    "1:  b _start\n" END_START);

enum {
    OPENAT = 56,
    CLOSE = 57,
    WRITE = 64,
    PREAD = 67,
    READLINKAT = 78,
    EXIT = 93,
    MMAP = 222,
};

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                     x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e,
                     x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

#else
#error "meson.build asks for this on x86_64 and aarch64 alone"
#endif

enum { PATH_MOST = 4096, SEGMENTS_MOST = 16, NOT_PERMITTED = 1 };
static uint64_t page; // the size that this kernel uses

static size_t length(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

static void say(const char *text)
{
    call(WRITE, 2, (long)text, (long)length(text), 0, 0, 0);
}

static _Noreturn void fail(const char *path, const char *why)
{
    say("firesteel: ");
    say(path);
    say(why);
    for (;;)
        call(EXIT, 127, 0, 0, 0, 0, 0);
}

static char *append(char *to, char *end, const char *text)
{
    while (*text && to < end)
        *to++ = *text++;
    *to = '\0';
    return to;
}

// `name`: as seen from the folder of this program.
static void beside(char path[PATH_MOST], const char *name)
{
    long n = call(READLINKAT, AT_FDCWD, (long)"/proc/self/exe", (long)path, PATH_MOST - 1, 0, 0);
    if (n <= 0)
        fail("/proc/self/exe", " cannot be read: is /proc mounted?\n");
    char *end = path + n;
    while (end > path && end[-1] != '/')
        end--;
    append(end, path + PATH_MOST - 1, name);
}

static void read_at(int fd, const char *path, uint64_t from, void *to, size_t n)
{
    if (call(PREAD, fd, (long)to, (long)n, (long)from, 0, 0) != (long)n)
        fail(path, " is damaged; unpack the archive again\n");
}

static long map(
    const char *path, uint64_t at, uint64_t n, int prot, int flags, int fd, uint64_t from)
{
    long result = call(MMAP, (long)at, (long)n, prot, flags, fd, (long)from);
    if (result == -NOT_PERMITTED)
        fail(path, " may not be run here: its file system is mounted noexec; unpack the archive "
                   "elsewhere\n");
    if (result < 0 && result > -PATH_MOST)
        fail(path, " cannot be mapped: is there memory left?\n");
    return result;
}

// Zeroes the memory after the file's bytes, to the end of the page: the loader relies on it.
static void map_rest(const char *path, uint64_t base, const ElfW(Phdr) * p, int prot)
{
    uint64_t zero = base + p->p_vaddr + p->p_filesz, end = base + p->p_vaddr + p->p_memsz;
    uint64_t next = (zero + page - 1) & ~(page - 1);
    for (volatile char *c = (volatile char *)zero; (uint64_t)c < next; c++)
        *c = 0;
    if (end > next)
        map(path, next, end - next, prot, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
}

static void map_segment(int fd, const char *path, uint64_t base, const ElfW(Phdr) * p)
{
    uint64_t within = p->p_vaddr & (page - 1);
    int prot =
        (p->p_flags & PF_R ? 1 : 0) | (p->p_flags & PF_W ? 2 : 0) | (p->p_flags & PF_X ? 4 : 0);
    map(path, base + p->p_vaddr - within, within + p->p_filesz, prot, MAP_PRIVATE | MAP_FIXED, fd,
        p->p_offset - within);
    if (p->p_memsz > p->p_filesz)
        map_rest(path, base, p, prot);
}

// Returns the address of the loader; *entry: its entry point.
static uint64_t map_loader(const char *path, uint64_t *entry)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) segments[SEGMENTS_MOST];
    int fd = (int)call(OPENAT, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        fail(path, " cannot be opened; unpack the archive again, and move the folder as a whole\n");
    read_at(fd, path, 0, &head, sizeof head);
    size_t n = head.e_phnum;
    if (n > SEGMENTS_MOST)
        fail(path, " is damaged; unpack the archive again\n");
    read_at(fd, path, head.e_phoff, segments, n * sizeof *segments);
    uint64_t size = 0;
    for (size_t i = 0; i < n; i++)
        if (segments[i].p_type == PT_LOAD)
            size = segments[i].p_vaddr + segments[i].p_memsz;
    uint64_t base = (uint64_t)map(path, 0, size, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < n; i++)
        if (segments[i].p_type == PT_LOAD)
            map_segment(fd, path, base, &segments[i]);
    call(CLOSE, fd, 0, 0, 0, 0, 0);
    *entry = base + head.e_entry;
    return base;
}

static ElfW(auxv_t) * find(ElfW(auxv_t) * list, uint64_t type)
{
    while (list->a_type != AT_NULL && list->a_type != type)
        list++;
    return list;
}

// Gives the loader a copy of the segments' list in which `mine` is a PT_INTERP, as it looks for.
// The loader computes where the program is from where its list is, by the copy's PT_PHDR.
static void become_usual(ElfW(auxv_t) * vector, const ElfW(Phdr) * list, size_t n,
    const ElfW(Phdr) * mine, uint64_t base)
{
    ElfW(Phdr) *copy = (ElfW(Phdr) *)map("this program", 0, n * sizeof *list,
        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < n; i++) {
        copy[i] = list[i];
        if (&list[i] == mine)
            copy[i].p_type = PT_INTERP;
        if (list[i].p_type == PT_PHDR)
            copy[i].p_vaddr = (uint64_t)copy - base;
    }
    find(vector, AT_PHDR)->a_un.a_val = (uint64_t)copy;
}

// The name of the loader.
static const char *take_name(ElfW(auxv_t) * vector)
{
    const ElfW(Phdr) *list = (const ElfW(Phdr) *)find(vector, AT_PHDR)->a_un.a_val, *mine = NULL;
    size_t n = find(vector, AT_PHNUM)->a_un.a_val;
    uint64_t base = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i].p_type == PT_PHDR)
            base = (uint64_t)list - list[i].p_vaddr;
        if (list[i].p_type == START_SEGMENT)
            mine = &list[i];
    }
    if (!mine)
        fail("this program", " names no loader; install it again\n");
    become_usual(vector, list, n, mine, base);
    return (const char *)(base + mine->p_vaddr);
}

static void hide_variables(char **env)
{
    for (; *env; env++)
        if ((*env)[0] == 'L' && (*env)[1] == 'D' && (*env)[2] == '_')
            (*env)[0] = START_HIDDEN;
}

// stack: as Linux left it: argc, argv, NULL, environment, NULL, vector. Returns the address to
// continue at. Tells the loader, in the vector, what Linux would have told it.
uint64_t firesteel_find_loader(uint64_t *stack)
{
    char path[PATH_MOST];
    char **env = (char **)(stack + 1 + stack[0] + 1);
    hide_variables(env);
    while (*env)
        env++;
    ElfW(auxv_t) *list = (ElfW(auxv_t) *)(env + 1);
    page = find(list, AT_PAGESZ)->a_un.a_val;
    uint64_t entry;
    beside(path, take_name(list));
    find(list, AT_BASE)->a_un.a_val = map_loader(path, &entry);
    find(list, AT_ENTRY)->a_un.a_val = (uint64_t)_start;
    return entry;
}

// Runs when the loader is done: gives the variables their names back, for this program's children.
__attribute__((constructor)) static void show_variables(void)
{
    for (char **env = environ; env && *env; env++)
        if (strncmp(*env, (const char[]){START_HIDDEN, 'D', '_', '\0'}, 3) == 0)
            (*env)[0] = 'L';
}
