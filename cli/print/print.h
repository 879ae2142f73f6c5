// SPDX-License-Identifier: MIT
// Prints a run as it happens, for people: each cell's title, its output indented below it, and its
// end. On a terminal the unfinished line and progress are redrawn in place; in a pipe only whole
// lines appear. Owned by its caller; it prints to stdout.
#pragma once
#include "base/json/json.h"
#include "cli/say.h"
#include "script/journal/fold/fold.h"

typedef struct printer printer;

// `fold` must have folded an event before it is printed. Both are borrowed.
printer *printer_new(struct cli *cli, const fold *f);
void printer_free(printer *p);
void printer_spools(printer *p, const char *dir); // the folder of spooled streams, once it is known
void printer_event(printer *p, const cJSON *event);
// From now on in whole sentences, for people who listen: "cell 3 Train: failed after 2.1s: …".
// Rows of live tables wait for printer_tell, which prints those that are new or changed.
void printer_speak(printer *p);
bool printer_holds(const printer *p);
void printer_tell(printer *p);
// "cell 3 Train: WORDS"; numbers count all cells, as in the workbench's :3.
void print_spoken(struct cli *cli, const fold *f, const char *id, const char *words);
// "name alpha, ready 1/1, status Running" of a row's cells.
void speak_cells(const cJSON *columns, const cJSON *cells, buf *out);
void printer_clear(printer *p); // removes an unfinished line from the terminal

// Prints one cell of a finished run, as the printer would have shown it.
void print_cell(struct cli *cli, const fold *f, size_t i, const char *spool_dir);
// "[3/12] Title" without a newline; numbers count code cells.
void print_title(struct cli *cli, const fold *f, const char *id);
// Prints how the run ended, in one line or a few: to stdout, and for a failure to stderr.
void print_summary(struct cli *cli, const fold *f);
