// SPDX-License-Identifier: MIT
// A spool: raw bytes of a big or fast stream in a file beside the journal, with an index of lines
// and times. One process writes; any number read, also while it is written, and after a crash.
//   .firesteel/RUN/NAME        the bytes
//   .firesteel/RUN/NAME.idx    every 64 KiB: {offset, lines before it, wall ns}, 3 × 8 bytes each
// Events refer to it: {"spool": NAME, "from": offset, "to": offset}.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/file/syncer.h"

#include <stddef.h>
#include <stdint.h>

typedef struct spool spool;

// Creates or continues a spool. dir is .firesteel/RUN (journal_spool_dir); the first spool makes
// it. name: [a-z0-9-]+.
spool *spool_create(const char *dir, const char *name, err *e);
// Errors: ERR_NO_SPACE, ERR_IO; the spool then ends after its last whole append.
int spool_append(spool *s, const void *bytes, size_t n, int64_t wall_ns, err *e);
spool *spool_open(const char *dir, const char *name, err *e); // for reading
void spool_close(spool *s);                                   // NULL is fine
// Ends the spool: closes it, and has it synced together with the journal that refers to it. NULL is
// fine.
void spool_end(spool *s, syncer *by);
// For the writer: closes the spool and removes its files, if nothing refers to them. NULL is fine.
void spool_discard(spool *s);

const char *spool_name(const spool *s);
// Its bytes and whole lines so far (a reader checks the file again).
uint64_t spool_size(spool *s);
uint64_t spool_lines(spool *s);
// Appends bytes [from, to) to out, cut at the end of the file.
int spool_read(spool *s, uint64_t from, uint64_t to, buf *out, err *e);
// Offset of the start of a line (counted from 0).
int spool_find_line(spool *s, uint64_t line, uint64_t *offset, err *e);
// The number of whole lines before an offset: the number of the line that contains it.
uint64_t spool_line_at(spool *s, uint64_t offset);
