// SPDX-License-Identifier: MIT
// Both strings are put into unused space: the padding between the end of a segment and the end of
// its page.
//
//   file   … .rodata|······0······|.data …          ·: interpreter, library path
//                   ^ p_filesz grows ^ page
//
//   PT_INTERP ──> interpreter            the kernel starts it in place of /lib64/ld-linux…
//   DT_RPATH  ──> library path           ld.so looks there first, also for the libraries of
//   libraries
//
// An interpreter that is looked for beside the program has a segment of its own type
// (base/start/start.h). It is DT_RPATH and not DT_RUNPATH, since only DT_RPATH applies to libraries
// of libraries and to dlopen. Its value is an offset from .dynstr, but may point outside of it.
#include "k8s/image/programs/relocate.h"

#include "base/start/start.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

// The largest page that a kernel of this machine may use.
#ifdef __x86_64__
enum { PAGE = 4096 };
#else
enum { PAGE = 65536 };
#endif

struct image {
    unsigned char *bytes;
    size_t n;
    ElfW(Phdr) * segments;
    size_t segment_n;
    ElfW(Dyn) * dynamic;
    size_t dynamic_n;
};

static void *at(const struct image *x, uint64_t offset, uint64_t n)
{
    return offset <= x->n && n <= x->n - offset ? x->bytes + offset : NULL;
}

static ElfW(Phdr) * segment(const struct image *x, uint32_t type)
{
    for (size_t i = 0; i < x->segment_n; i++)
        if (x->segments[i].p_type == type)
            return &x->segments[i];
    return NULL;
}

static int map(struct image *x, err *e)
{
    const ElfW(Ehdr) *h = at(x, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_phentsize != sizeof(ElfW(Phdr)) ||
        h->e_phoff % _Alignof(ElfW(Phdr)))
        return err_set(e, ERR_INVALID, "it is not an ELF program of this machine");
    x->segment_n = h->e_phnum;
    x->segments = at(x, h->e_phoff, h->e_phnum * sizeof(ElfW(Phdr)));
    ElfW(Phdr) *d = x->segments ? segment(x, PT_DYNAMIC) : NULL;
    if (d && d->p_offset % _Alignof(ElfW(Dyn)) == 0)
        x->dynamic = at(x, d->p_offset, d->p_filesz);
    if (!x->dynamic)
        return err_set(e, ERR_INVALID, "its dynamic section is damaged");
    x->dynamic_n = d->p_filesz / sizeof *x->dynamic;
    return 0;
}

// How far a segment may grow, in the file and in memory, before it reaches another one.
static uint64_t room(const struct image *x, const ElfW(Phdr) * s)
{
    uint64_t end = s->p_offset + s->p_filesz, file = x->n, memory = UINT64_MAX;
    for (size_t i = 0; i < x->segment_n; i++) {
        const ElfW(Phdr) *other = &x->segments[i];
        if (other->p_type != PT_LOAD || other == s)
            continue;
        if (other->p_offset >= end && other->p_offset < file)
            file = other->p_offset;
        if (other->p_vaddr > s->p_vaddr && other->p_vaddr < memory)
            memory = other->p_vaddr & ~(uint64_t)(PAGE - 1);
    }
    uint64_t in_memory = s->p_vaddr + s->p_memsz;
    if (s->p_filesz != s->p_memsz || memory == UINT64_MAX || memory <= in_memory || file <= end)
        return 0;
    return file - end < memory - in_memory ? file - end : memory - in_memory;
}

static bool is_zero(const unsigned char *p, size_t n)
{
    for (; n > 0 && !*p; n--)
        p++;
    return n == 0;
}

// Finds a segment with n unused bytes behind it.
static ElfW(Phdr) * find_room(const struct image *x, size_t n)
{
    for (size_t i = 0; i < x->segment_n; i++) {
        ElfW(Phdr) *s = &x->segments[i];
        const unsigned char *end = at(x, s->p_offset + s->p_filesz, n);
        if (s->p_type == PT_LOAD && room(x, s) >= n && end && is_zero(end, n))
            return s;
    }
    return NULL;
}

// The entry for the library path: the existing one, or a spare one (linkers leave some).
static ElfW(Dyn) * path_entry(const struct image *x)
{
    for (size_t i = 0; i < x->dynamic_n; i++)
        if (x->dynamic[i].d_tag == DT_RPATH || x->dynamic[i].d_tag == DT_RUNPATH)
            return &x->dynamic[i];
    for (size_t i = 0; i + 1 < x->dynamic_n; i++)
        if (x->dynamic[i].d_tag == DT_NULL)
            return &x->dynamic[i];
    return NULL;
}

static const ElfW(Dyn) * strings(const struct image *x)
{
    for (size_t i = 0; i < x->dynamic_n; i++)
        if (x->dynamic[i].d_tag == DT_STRTAB)
            return &x->dynamic[i];
    return NULL;
}

// Of a program, wherever its loader is looked for.
static ElfW(Phdr) * interpreter_segment(const struct image *x)
{
    ElfW(Phdr) *usual = segment(x, PT_INTERP);
    return usual ? usual : segment(x, START_SEGMENT);
}

// Where a virtual address is in the file; NULL: nowhere, or less than n bytes are there.
static const void *at_address(const struct image *x, uint64_t address, uint64_t n)
{
    for (size_t i = 0; i < x->segment_n; i++) {
        const ElfW(Phdr) *s = &x->segments[i];
        if (s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr < s->p_filesz)
            return at(x, address - s->p_vaddr + s->p_offset, n);
    }
    return NULL;
}

static bool finds_loader(const struct image *x)
{
    const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)x->bytes;
    const char *mark = at_address(x, h->e_entry - START_MARK_N, START_MARK_N);
    return mark && memcmp(mark, START_MARK, START_MARK_N) == 0;
}

// What a program or library is to have.
struct wish {
    const char *interpreter, *library_path;
    size_t first, second; // their sizes, with the NULs
    uint32_t type;        // of the interpreter's segment
};

static struct wish wish_for(const char *interpreter, const char *library_path)
{
    return (struct wish){.interpreter = interpreter,
        .library_path = library_path,
        .first = interpreter ? strlen(interpreter) + 1 : 0,
        .second = strlen(library_path) + 1,
        .type = interpreter && *interpreter != '/' ? START_SEGMENT : PT_INTERP};
}

// Was it relocated to the same places before, as what is in an image was?
static bool is_done(const struct image *x, const ElfW(Phdr) * interp, const struct wish *w)
{
    const ElfW(Dyn) *path = path_entry(x), *table = strings(x);
    if (!path || !table || path->d_tag != DT_RPATH || (interp && interp->p_type != w->type))
        return false;
    const char *library_path = at_address(x, table->d_un.d_ptr + path->d_un.d_val, w->second);
    const char *interpreter = interp ? at(x, interp->p_offset, w->first) : "";
    return library_path && interpreter && memcmp(library_path, w->library_path, w->second) == 0 &&
           memcmp(interpreter, w->interpreter ? w->interpreter : "", w->first) == 0;
}

static int change(struct image *x, ElfW(Phdr) * interp, const struct wish *w, err *e)
{
    ElfW(Phdr) *host = find_room(x, w->first + w->second);
    ElfW(Dyn) *path = path_entry(x);
    if (!host || !path || !strings(x) || strings(x) == path)
        return err_set(e, ERR_INVALID, "it has no room for %s",
            host || !interp ? "a library path" : "another interpreter");
    uint64_t strings_at = strings(x)->d_un.d_ptr;
    uint64_t offset = host->p_offset + host->p_filesz, address = host->p_vaddr + host->p_filesz;
    if (interp)
        memcpy(x->bytes + offset, w->interpreter, w->first);
    memcpy(x->bytes + offset + w->first, w->library_path, w->second);
    host->p_filesz += w->first + w->second;
    host->p_memsz = host->p_filesz;
    if (interp) {
        interp->p_type = w->type;
        interp->p_offset = offset;
        interp->p_vaddr = interp->p_paddr = address;
        interp->p_filesz = interp->p_memsz = w->first;
    }
    path->d_un.d_val = address + w->first - strings_at;
    path->d_tag = DT_RPATH;
    return 0;
}

int relocate(buf *program, const char *interpreter, const char *library_path, err *e)
{
    struct image x = {.bytes = (unsigned char *)program->data, .n = program->len};
    struct wish wish = wish_for(interpreter, library_path);
    if (map(&x, e))
        return -1;
    ElfW(Phdr) *interp = interpreter ? interpreter_segment(&x) : NULL;
    if ((interpreter && !interp) || is_done(&x, interp, &wish))
        return 0;
    if (wish.type == START_SEGMENT && !finds_loader(&x))
        return err_set(e, ERR_INVALID, "it cannot look for %s beside it", interpreter);
    return change(&x, interp, &wish, e);
}
