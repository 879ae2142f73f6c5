// SPDX-License-Identifier: MIT
// A metric that watches a training besides the model's own metrics: it gets the targets and outputs
// of each batch, and returns one number about everything since it was reset.
#pragma once
#include "trainer/logs.h"
#include "trainer/nn/rule/metric.h"
#include "trainer/tensor/tensor.h"

typedef struct watch {
    char name[LOG_NAME_SIZE]; // its name in the log, after that of an output among several
    size_t output;            // the output of the model that it watches
    void *ctx;
    const struct watch_ops *ops;
} watch;

struct watch_ops {
    void (*reset)(void *ctx);
    // y: (rows, …) the targets as they were given; p: (rows, outputs). -1 with e ends the training.
    int (*add)(void *ctx, const tensor *y, const tensor *p, err *e);
    double (*value)(const void *ctx);
    void (*free)(void *ctx); // NULL: ctx is not freed
};

// The area under a curve as Keras's AUC computes it (keras/src/metrics/confusion_metrics.py): from
// the counts at evenly spread thresholds. script/api/trainer/workerclasses.lua has the formulas.
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

// Metrics made of counts of positive and negative outputs (keras/src/metrics/confusion_metrics.py,
// f_score_metrics.py).
#define CONFUSIONS(X)                                                                              \
    X(PRECISION, "Precision")                                                                      \
    X(RECALL, "Recall")                                                                            \
    X(TRUE_POSITIVES, "TruePositives")                                                             \
    X(FALSE_POSITIVES, "FalsePositives")                                                           \
    X(TRUE_NEGATIVES, "TrueNegatives")                                                             \
    X(FALSE_NEGATIVES, "FalseNegatives")                                                           \
    X(F1_SCORE, "F1Score")                                                                         \
    X(F_BETA_SCORE, "FBetaScore")

typedef enum confusion_kind {
#define X(name, text) CONFUSION_##name,
    CONFUSIONS(X)
#undef X
} confusion_kind;

typedef enum score_average {
    AVERAGE_NONE,
    AVERAGE_MICRO,
    AVERAGE_MACRO,
    AVERAGE_WEIGHTED
} score_average;

typedef struct confusion_spec {
    confusion_kind kind;
    double threshold; // an output above it is positive; nan: any output, for F scores the greatest
                      // of a row
    int64_t top_k;    // 0: all; otherwise only the k greatest outputs of a row
    int64_t class_id; // -1: all; otherwise only this output
    double beta;
    score_average average; // of F scores
} confusion_spec;

int confusion_watch(watch *w, const char *name, const confusion_spec *spec, err *e);
// -1 with e: no such kind; the error lists all.
int confusion_parse(const char *text, confusion_kind *kind, err *e);

// A metric of metric.h as a watch, under its own name, and with its own threshold if it is
// BINARY_ACCURACY.
int metric_watch(watch *w, const char *name, metric m, double threshold, err *e);
void watch_done(watch *w);
