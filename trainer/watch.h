// SPDX-License-Identifier: MIT
// What a training is watched by besides the model's own metrics: it is handed the targets and
// outputs of each batch, and says one number about all that it has seen since it was reset.
#pragma once
#include "trainer/logs.h"
#include "trainer/tensor/tensor.h"

typedef struct watch {
    char name[LOG_NAME_SIZE]; // the log has this name, behind that of an output among several
    size_t output;            // which output of the model it watches
    void *ctx;
    const struct watch_ops *ops;
} watch;

struct watch_ops {
    void (*reset)(void *ctx);
    // y: (rows, …) the targets as they were given; p: (rows, outputs). -1 with e ends the training.
    int (*add)(void *ctx, const tensor *y, const tensor *p, err *e);
    double (*value)(const void *ctx);
    void (*free)(void *ctx); // NULL: ctx is somebody else's
};

// The area under a curve as Keras's AUC computes it (keras/src/metrics/confusion_metrics.py): from
// the counts at evenly spread thresholds.
//
// Metrics:
//   AUC, auc  the area under the curve of true over false positives (`curve` "ROC", by the
//             trapezoidal rule), or of precision over recall ("PR", interpolated), from counts at
//             200 thresholds (`num_thresholds`)  [Davis & Goadrich 2006]
typedef struct auc_spec {
    int thresholds; // 0: 200
    bool pr;        // the precision-recall curve instead of ROC
    bool logits;    // outputs are turned by sigmoid first
} auc_spec;

// Free it with watch_done.
int auc_watch(watch *w, const char *name, const auc_spec *spec, err *e);
// The share of rows whose class is among the k greatest outputs (keras/src/metrics/
// accuracy_metrics.py); sparse: y has class numbers. Free it with watch_done.
int topk_watch(watch *w, const char *name, int64_t k, bool sparse, err *e);
void watch_done(watch *w);
