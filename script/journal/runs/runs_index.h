// SPDX-License-Identifier: MIT
// What lists show of runs, kept beside the journals so that a list need not read them:
// .firesteel/runs.index. It is derived data: without it lists are slower and show the same. An
// entry is valid for a journal that still has the size, inode and times that it names. Each part
// has a checksum; after the first damaged entry the rest is ignored.
//   firesteel runs 6 VERSION\n
//   HASH SIZE 4×SIZE 4×HASH\n         of what follows: the brief (its hash is first and covers this
//   brief \n found \n origin \n       line, too), what cells recorded, where the run came from,
//   rest \n lineage \n …              what it used and made; a later entry replaces an earlier one
//                                     of the same run
// Writers append under a lock, or replace the file. A writer that does not get the lock writes
// nothing. A run that has ended appends its own entry; lists add those that are missing.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Distinguishes the states of a file; times in ns.
struct runs_key {
    int64_t size, inode, mtime, ctime;
};
bool runs_key_same(const struct runs_key *a, const struct runs_key *b);

// The facts about a run that need no JSON. Its texts are in one block.
struct runs_brief {
    struct runs_key key;
    int64_t started, took; // wall ns, ns
    int64_t cells, ok, failed, left;
    bool ran, open;                            // something was executed; the journal has no end
    char *block;                               // owns the texts
    const char *state, *wall, *run, *notebook; // wall: of the first record, as it is written there
};
void runs_brief_texts(struct runs_brief *b, const char *const texts[4]); // in this order, copied
void runs_brief_done(struct runs_brief *b);

// FOUND: {params, metrics, tags}. ORIGIN: {origin}. REST: {artifacts, inputs, images, environment,
// versions, children, and the sums of cost.h}.
// LINEAGE: as lineage_of has it.
enum runs_part { RUNS_FOUND, RUNS_ORIGIN, RUNS_REST, RUNS_LINEAGE, RUNS_PARTS };

typedef struct runs_index runs_index;

// Opens the index in an open .firesteel, which must stay open. A missing or unreadable index counts
// as empty.
runs_index *runs_index_open(int dir);
// Writes the added entries, if possible, and closes.
void runs_index_close(runs_index *x); // NULL is fine
// The entry of a run if its journal is still in that state; NULL: unknown. Borrowed.
const struct runs_brief *runs_index_find(
    const runs_index *x, const char *run, const struct runs_key *key);
// The entry that runs_index_find has found before; NULL: none. Borrowed.
const struct runs_brief *runs_index_believed(const runs_index *x, const char *run);
// A part's JSON text, new; NULL: it is damaged.
char *runs_index_part(const runs_index *x, const struct runs_brief *b, enum runs_part part);
// Adds an entry for the next reader. Copies.
void runs_index_add(runs_index *x, const struct runs_brief *b, const char *const parts[RUNS_PARTS]);
// Appends an entry without reading the others. If that is not possible, or other writers never
// stop, the next list reads the journal.
void runs_index_append(int dir, const struct runs_brief *b, const char *const parts[RUNS_PARTS]);
// Call it for each run in the folder: closing drops the entries of all other runs.
void runs_index_keep(runs_index *x, const char *run);
