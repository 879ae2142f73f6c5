// SPDX-License-Identifier: MIT
// A server of MPICH's PMI-1, with which the ranks of a job find each other: keys and values that
// all of them see, and a barrier. It owns no descriptor: pmi_hear takes the ranks' bytes, and
// answers leave through the maker's callback.
//
// libmpich speaks this protocol over PMI_FD (MPICH 4.0.2, src/pmi/simple/simple_pmi.c; its words
// are in src/pmi/include/pmi_wire.h): lines of "name=value", separated by spaces, "cmd" first.
//
//   rank                                         answer
//   cmd=init pmi_version=1 pmi_subversion=1      cmd=response_to_init pmi_version=1
//                                                    pmi_subversion=1 rc=0
//   cmd=get_maxes                                cmd=maxes kvsname_max=256 keylen_max=64
//                                                    vallen_max=1024
//   cmd=get_appnum                               cmd=appnum appnum=0
//   cmd=get_universe_size                        cmd=universe_size size=N
//   cmd=get_my_kvsname                           cmd=my_kvsname kvsname=job
//   cmd=put kvsname=job key=K value=V            cmd=put_result rc=0 msg=success
//   cmd=get kvsname=job key=K                    cmd=get_result rc=0 msg=success value=V
//                                                (rc=-1 msg=not_found value=unknown)
//   cmd=barrier_in                               cmd=barrier_out, when every rank is in
//   cmd=finalize                                 cmd=finalize_ack
//   cmd=abort exitcode=N                         none: the job ends
//
// The key PMI_process_mapping exists from the start; it tells which ranks share a host.
#pragma once
#include "base/err.h"

#include <stddef.h>

// The limits that libmpich gets, and those of a job: exceeding one ends the job.
enum {
    PMI_KVSNAME_MAX = 256,
    PMI_KEY_MAX = 64,
    PMI_VALUE_MAX = 1024,
    PMI_LINE_MAX = 2048,
    PMI_KEYS_PER_RANK = 256
};

typedef struct pmi pmi;

struct pmi_answers {
    void *ctx;
    // Sends a whole line to a rank. If it returns -1 with e, pmi_hear does, too.
    int (*say)(void *ctx, int rank, const char *line, size_t n, err *e);
};

// For ranks 0 … size-1 that fill one host after another, `slots` on each (0: one host for all).
pmi *pmi_new(int size, int slots, struct pmi_answers answers);
void pmi_free(pmi *p);
// Takes bytes from a rank, cut anywhere. ERR_INVALID: they are not the protocol; ERR_LIMIT: they
// are too many; ERR_FAILED: the rank has aborted the job. After an error pass nothing more from
// that job.
int pmi_hear(pmi *p, int rank, const char *bytes, size_t n, err *e);

// "(vector,(0,2,2),(2,1,1))": (first host, hosts, ranks on each). The caller frees it.
char *pmi_mapping(int size, int slots);
