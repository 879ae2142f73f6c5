// SPDX-License-Identifier: MIT
#include "trainer/nn/rule/metric.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    metric formula;
} metrics[] = {
#define X(name, text, of) {text, METRIC_##of},
    METRICS(X)
#undef X
};

const char *metric_name(metric m)
{
    return metrics[m].name;
}

metric metric_formula(metric m)
{
    return metrics[m].formula;
}

int metric_parse(const char *name, metric *m, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            *m = (metric)i;
            return 0;
        }
        buf_fmt(&known, "%s%s", i ? ", " : "", metrics[i].name);
    }
    return err_set(e, ERR_USAGE, "unknown metric '%s'; known are: %s", name, buf_cstr(&known));
}

double metric_value(metric m, metric_sum s)
{
    double mean = s.sum / s.n;
    bool root = metrics[m].formula == METRIC_RMSE || metrics[m].formula == METRIC_RMSPE;
    return root ? sqrt(mean) : mean;
}

void metric_add(metric m, metric_sum *s, const double *y, const float *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double off = (double)p[i] - y[i];
        switch (metrics[m].formula) {
        case METRIC_MEAN_ABSOLUTE_ERROR:
            s->sum += fabs(off);
            break;
        case METRIC_MEAN_ABSOLUTE_PERCENTAGE_ERROR:
            s->sum += 100 * fabs(off) / fmax(fabs(y[i]), 1e-7);
            break;
        case METRIC_BINARY_ACCURACY:
            s->sum += y[i] == (p[i] > 0.5f);
            break;
        case METRIC_RMSPE:
            if (y[i] == 0)
                continue;
            s->sum += off * off / (y[i] * y[i]);
            break;
        default:
            s->sum += off * off;
            break;
        }
        s->n++;
    }
}
