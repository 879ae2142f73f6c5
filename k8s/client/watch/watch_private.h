// SPDX-License-Identifier: MIT
// What the files of a watch share: watch.c lists and watches, watch_known.c knows the objects.
// Nothing else includes it.
#pragma once
#include "base/data/hashmap.h"
#include "base/data/hashset.h"
#include "k8s/client/connect/request.h"
#include "k8s/client/text/frames.h"
#include "k8s/client/watch/listing.h"
#include "k8s/client/watch/watch.h"
#include "k8s/client/watch/watch_table.h"

// What we keep of an object: enough to notice a change, and to report its end.
struct known {
    struct known *before, *after;
    char *version;
    const char *uid, *ns, *name; // in `words`, in this order
    unsigned round;
    char words[];
};

// Objects to be looked at, of which a page has told only the metadata. When they are too many, the
// page is read again with its objects, and so are the pages after it.
enum { LOOKS_MOST = 16 };
struct looks {
    char *paths[LOOKS_MOST];
    int n; // LOOKS_MOST + 1: too many
    bool whole;
};

struct watch {
    client *client;
    struct resource resource;
    char *ns, *labels, *fields, *what;
    const struct watch_ops *ops;
    void *arg;

    char *version;    // the version to watch from; NULL: list first
    char *next_page;  // of the current list
    unsigned round;   // number of the current list: objects not seen in it are gone
    int page;         // objects per page
    listing *listing; // reads it
    size_t bytes;     // of it, so far
    int fresh;        // of its objects: new in this list
    bool headed;      // its columns are known
    bool open;        // the server has accepted the watch, and its answer goes on
    int empty;        // of the current list: how many of its last pages brought nothing new
    bool bare;        // its rows have metadata alone
    struct looks looks;
    bool again;     // objects are told of though they have not changed: now they are whole
    char *ends_at;  // version of the list that ends when all looks are done
    hashmap *uids;  // to the addresses of struct known, by uid
    hashmap *names; // the same, by namespace and name
    struct known *first, *last; // of all that are known
    size_t count, most;
    size_t whole, in_list;    // the first objects of a list are read whole; how many have come
    hashset *others, *listed; // uids beyond `most`; `listed`: those in the current list
    size_t more_reported;
    struct watch_table table;
    const cJSON *cells; // of the object that is being told of
    operation *operation;
    loop_timer *timer;  // waits for the next try; during a watch: for it to be steady
    loop_timer *refill; // waits for the next list, when rows have become free
    unsigned attempt;   // failures in a row
    unsigned turns;     // answers in a row that led nowhere
    bool is_away;
    int64_t heard, started;
    struct frames frames;
    err error;         // the error from a frame
    bool busy, closed; // busy: in a callback; closed: by a callback
};

// Below, -1: the owner closed the watch, which must not be used any more.
int watch_tell(watch *w, enum watch_change change, const cJSON *object);
// Handles an object that exists, from a list or a frame; and one that does not any more.
int watch_present(watch *w, const cJSON *object);
int watch_absent(watch *w, const cJSON *object);
// Drops objects that the list that has just ended did not contain.
int watch_drop_outdated(watch *w);
bool watch_tells(watch *w, const cJSON *object);    // is it one of those that are told of?
bool watch_is_fresh(watch *w, const cJSON *object); // is it new in the current list?
void watch_forget_versions(watch *w);               // the next list tells of all objects again
void watch_forget_all(watch *w);
