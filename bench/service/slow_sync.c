/* An LD_PRELOAD library that simulates a slow disk: every fsync and fdatasync takes SYNC_DELAY_MS
 * longer. The number of syncs is written to SYNC_COUNT_FILE at the end of the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static atomic_long syncs;

static int delayed(const char *name, int file)
{
    const char *text = getenv("SYNC_DELAY_MS");
    double delay = text ? atof(text) : 0.0;
    struct timespec wait = {(time_t)(delay / 1e3), (long)(delay * 1e6) % 1000000000L};
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    atomic_fetch_add(&syncs, 1);
    if (delay > 0.0)
        nanosleep(&wait, NULL);
    return real(file);
}

int fsync(int file) { return delayed("fsync", file); }

int fdatasync(int file) { return delayed("fdatasync", file); }

__attribute__((destructor)) static void write_count(void)
{
    const char *place = getenv("SYNC_COUNT_FILE");
    FILE *out = place ? fopen(place, "w") : NULL;
    if (out) {
        fprintf(out, "%ld\n", atomic_load(&syncs));
        fclose(out);
    }
}
