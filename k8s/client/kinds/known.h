// SPDX-License-Identifier: MIT
// What is known of each kind of objects, in one table by group and kind: where its state is and
// what the words mean, which pods are its own, what it makes, its columns. Waits, k8s.why, tables,
// trees, logs and preflights read it. Rows are constant; a person's file adds more, once in a
// process, before its first object is read.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>

// Lists are written with ", " between their parts.
//
// A word of `good`, `bad`, `again` and `open` is one of
//   WORD              a word that one of the `words` has, or the type of a condition that is True
//   TYPE/REASON       the same condition, only with this reason
//   !TYPE[/REASON]    a condition that is False
//   PATH>0            a number that is positive, or one of them ("[]": any element of a list)
//   A&B               both of these hold
//   NAME=one of these the state is shown as NAME
struct known {
    const char *group, *kind; // group "": the core's
    const char *words;      // paths of fields with words; the first that is not empty is the state
    const char *good, *bad; // final words
    const char *again;      // words that say that a bad one is not final: it is tried again
    const char *open;       // further words that are no end; the first that holds is the state
    const char *way;        // words up to success, in order: who is further has passed the earlier
    const char *also;       // further words that a person may wait for
    const char *message;    // paths of the cause; a condition's own message comes first
    const char *history;    // a map of former states, by number; `ended` words ask the last of them
    const char *ended;
    const char *restarts; // path: unless it is empty or "Never", a bad word is an end only of a try
    const char *suspend;  // path of the field that keeps it from starting
    const char *pods;     // selector of its pods; "{PATH}" stands for a field. "selector": its own
    const char *role;     // the label of its pods that tells what each is: driver, worker
    const char *main;     // the labels of the pod whose log says most
    const char *main_pod; // the path of that pod's name
    const char *makes;    // resources that it makes and that make its pods: "jobs.batch"
    const char *columns;  // "NAME=PATH": what tables show beside what the server has
    const char *asks;     // templates of its pods, "ROLE=PATH*PATH OF A COUNT"; "[]" as above
    const char *operators; // labels of the Deployments that act on it
    bool endless;          // it makes pods for as long as it is there
    bool same_names;       // it makes a pod of the same name again
};

// The row of an object's kind; without an apiVersion the first of that kind. NULL: it is not known.
const struct known *known_of(const cJSON *object);
const struct known *known_find(const char *group, const char *kind);
// Is the object of this kind of this group? Also when it does not tell its group.
bool known_is(const cJSON *object, const char *group, const char *kind);
// Is it the object's own field (suspend) that keeps it from starting?
bool known_is_suspended(const cJSON *object);
// metadata.name, "?" if it has none.
const char *known_name(const cJSON *object);
// The length of the group in an apiVersion: 0 for "v1".
size_t known_group(const char *api_version);
// All rows, the person's first.
const struct known *known_at(size_t i); // NULL: there are no more

// The parts of a list, one after the other: *at moves on. The length of the part; 0: it was the
// last.
size_t known_part(const char **at, const char **part);
bool known_has(const char *list, const char *word);

// Selector `text` of a row with the object's fields in it; new, NULL: a field is missing.
char *known_fill(const char *text, const cJSON *object);
// The selector of an object's spec.selector; new, NULL: it has none.
char *known_selector(const cJSON *object);
// The selector of all pods of the object; new, NULL: it is not known, or of this kind there is
// none.
char *known_pods(const cJSON *object);

// "driver", "worker", by the labels of any kind; NULL: the pod has none of them.
const char *known_role(const cJSON *pod);
// Is it the pod whose log says most?
bool known_is_main(const cJSON *pod);

// ---- a person's file

// Adds the kinds of a file: a mapping "kinds", of which each key is "KIND.GROUP" and each value has
// fields of the row (doc/engines.md). Before other threads start. A row for a kind that is known
// changes only the fields that it names. Errors: ERR_INVALID with file, line, and what to write.
int known_add(const char *text, size_t n, const char *file, err *e);
void known_forget(void); // for tests: the person's rows
