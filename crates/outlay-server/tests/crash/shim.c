/* Power loss for one program: a shadow of its files holds only what was synced.
 *
 * Loaded before the C library. Files under OUTLAY_DISK have a copy of the same name under OUTLAY_SHADOW: made anew at every sync,
 * removed and renamed with the original. Whoever then kills the program finds in the shadow what a power cut would have left at the
 * very least. With OUTLAY_NO_SYNC nothing is ever copied, as if the program did not sync.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The shadow of a path, or 0 if it has none. */
static int shadow_of(const char *path, char *shadow, size_t size) {
    const char *disk = getenv("OUTLAY_DISK"), *dark = getenv("OUTLAY_SHADOW");
    if (!disk || !dark || strncmp(path, disk, strlen(disk)) != 0) return 0;
    const char *rest = path + strlen(disk);
    /* The index of the log is memory shared between processes, not data. */
    size_t length = strlen(rest);
    if (length >= 4 && strcmp(rest + length - 4, "-shm") == 0) return 0;
    return snprintf(shadow, size, "%s%s", dark, rest) < (int)size;
}

/* A copy that is there as a whole or not at all: the program may be killed in the middle. Read through the file that is open: to open it
 * again and close it would let go of the locks that this process has on it. */
static void copy(int from, const char *to) {
    char partial[4200], buffer[1 << 16];
    snprintf(partial, sizeof partial, "%s.partial", to);
    int out = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    off_t place = 0;
    ssize_t count = -1;
    if (out >= 0)
        while ((count = pread(from, buffer, sizeof buffer, place)) > 0) {
            if (write(out, buffer, (size_t)count) != count) abort();
            place += count;
        }
    if (count != 0) abort();
    close(out);
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    if (real(partial, to) != 0) abort();
}

static void synced(int file) {
    char link[64], path[4096], shadow[4096];
    struct stat status;
    if (getenv("OUTLAY_NO_SYNC") || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (shadow_of(path, shadow, sizeof shadow)) {
        pthread_mutex_lock(&one_at_a_time);
        copy(file, shadow);
        pthread_mutex_unlock(&one_at_a_time);
    }
}

int fsync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    int done = real(file);
    if (done == 0) synced(file);
    return done;
}

int fdatasync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    int done = real(file);
    if (done == 0) synced(file);
    return done;
}

int unlink(const char *path) {
    char shadow[4096];
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    int done = real(path);
    if (done == 0 && shadow_of(path, shadow, sizeof shadow)) real(shadow);
    return done;
}

int rename(const char *from, const char *to) {
    char shadow_from[4096], shadow_to[4096];
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    int done = real(from, to);
    if (done == 0 && shadow_of(from, shadow_from, sizeof shadow_from) && shadow_of(to, shadow_to, sizeof shadow_to))
        real(shadow_from, shadow_to);
    return done;
}
