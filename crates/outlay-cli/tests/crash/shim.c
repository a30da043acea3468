/* An LD_PRELOAD library between a program and its disk and clock.
 *
 * Files below OUTLAY_SHIM_FOLDER are written as usual. A second folder, OUTLAY_SHIM_SHADOW, holds
 * what would survive a power cut: bytes are copied to it when the file is synced. To simulate a
 * power cut, a test kills the program and replaces the folder by the shadow. Unlinks and renames
 * apply to both at once.
 *
 * OUTLAY_SHIM_LIE=1       syncs report success but do nothing, like a program that never syncs
 * OUTLAY_SHIM_FAIL=N      the N-th call that writes, syncs, truncates or opens for writing fails,
 *                         and so does every later sync
 * OUTLAY_SHIM_ERROR=E     the error number; 0: a short write, then EIO
 * OUTLAY_SHIM_FULL=FILE   while this file exists, writes fail with ENOSPC
 * OUTLAY_SHIM_CLOCK=FILE  shifts the time of day by the seconds in this file (eight bytes in native
 *                         byte order, mapped into memory); the monotonic clock is unchanged
 * OUTLAY_SHIM_COUNT=FILE  gets the number of calls that could fail, written on exit
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 1024, RANGES = 1 << 16 };
struct range { off_t from, to; };
/* Dirty ranges are kept per file name, so that any descriptor of the file can sync them. */
struct file { char name[PATH_MAX]; struct range *dirty; int count; off_t size; int resized; };
static struct file *of_descriptor[FILES];
static struct file files[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder, *shadow, *full;
static long calls, fail_at;
static int lies, error_number = EIO, has_failed;

static int (*real_open)(const char *, int, ...);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);
static int (*real_close)(int);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static volatile long long *clock_off;

__attribute__((constructor)) static void begin(void) {
    real_open = dlsym(RTLD_NEXT, "open");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_close = dlsym(RTLD_NEXT, "close");
    real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    const char *clock_file = getenv("OUTLAY_SHIM_CLOCK");
    if (clock_file) {
        int descriptor = real_open(clock_file, O_RDONLY | O_CLOEXEC);
        void *place = mmap(NULL, sizeof *clock_off, PROT_READ, MAP_SHARED, descriptor, 0);
        if (place == MAP_FAILED) abort();
        clock_off = place;
        real_close(descriptor);
    }
    folder = getenv("OUTLAY_SHIM_FOLDER");
    shadow = getenv("OUTLAY_SHIM_SHADOW");
    full = getenv("OUTLAY_SHIM_FULL");
    lies = getenv("OUTLAY_SHIM_LIE") != NULL;
    fail_at = getenv("OUTLAY_SHIM_FAIL") ? atol(getenv("OUTLAY_SHIM_FAIL")) : 0;
    if (getenv("OUTLAY_SHIM_ERROR")) error_number = atoi(getenv("OUTLAY_SHIM_ERROR"));
}

__attribute__((destructor)) static void end(void) {
    const char *name = getenv("OUTLAY_SHIM_COUNT");
    FILE *out = name ? fopen(name, "w") : NULL;
    if (out) { fprintf(out, "%ld\n", calls); fclose(out); }
}

/* SQLite's shared-memory index and the lock file need not survive. */
static int is_watched(const char *name) {
    size_t length = strlen(name);
    return folder && strncmp(name, folder, strlen(folder)) == 0
        && !(length > 4 && strcmp(name + length - 4, "-shm") == 0) && !(length > 5 && strcmp(name + length - 5, ".lock") == 0);
}

static void shadow_name(const char *name, char *out) { snprintf(out, PATH_MAX, "%s%s", shadow ? shadow : "", name + strlen(folder)); }

/* True if this call must fail. */
static int fails(int is_sync) {
    if (full && access(full, F_OK) == 0 && !is_sync) { errno = ENOSPC; return 1; }
    calls++;
    if (fail_at && (calls == fail_at || (has_failed && is_sync))) {
        has_failed = 1;
        errno = error_number ? error_number : EIO;
        return 1;
    }
    return 0;
}

static struct file *entry(const char *name) {
    struct file *free = NULL;
    for (int i = 0; i < 64; i++) {
        if (strcmp(files[i].name, name) == 0) return &files[i];
        if (!free && !files[i].name[0]) free = &files[i];
    }
    if (!free) abort();
    snprintf(free->name, PATH_MAX, "%s", name);
    if (!free->dirty) free->dirty = calloc(RANGES, sizeof(struct range));
    free->count = free->resized = 0;
    return free;
}

static void written(struct file *file, off_t from, off_t to) {
    /* Too many ranges: mark the whole file. */
    if (file->count == RANGES) { file->dirty[0] = (struct range){0, (off_t)1 << 50}; file->count = 1; return; }
    file->dirty[file->count++] = (struct range){from, to};
}

/* Copies the changes since the last sync to the shadow. */
static void keep(struct file *file, int descriptor) {
    char name[PATH_MAX];
    static char buffer[1 << 16];
    if (!shadow || lies) { if (!lies) file->count = file->resized = 0; return; }
    shadow_name(file->name, name);
    int out = real_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644), in = real_open(file->name, O_RDONLY | O_CLOEXEC);
    if (out < 0 || in < 0) { if (out >= 0) real_close(out); if (in >= 0) real_close(in); return; }
    if (file->resized) real_ftruncate(out, file->size);
    for (int i = 0; i < file->count; i++)
        for (off_t at = file->dirty[i].from; at < file->dirty[i].to;) {
            off_t left = file->dirty[i].to - at;
            ssize_t got = pread(in, buffer, left < (off_t)sizeof buffer ? (size_t)left : sizeof buffer, at);
            if (got <= 0) break;
            if (real_pwrite(out, buffer, (size_t)got, at) != got) abort();
            at += got;
        }
    real_close(in);
    real_close(out);
    file->count = file->resized = 0;
    (void)descriptor;
}

static int opened(const char *name, int flags, mode_t mode) {
    char whole[PATH_MAX];
    if (!realpath(name, whole) && name[0] == '/') snprintf(whole, PATH_MAX, "%s", name);
    int watched = is_watched(whole) && (flags & O_ACCMODE) != O_RDONLY;
    pthread_mutex_lock(&lock);
    if (watched && fails(0)) { pthread_mutex_unlock(&lock); return -1; }
    int descriptor = real_open(name, flags, mode);
    if (descriptor >= 0 && descriptor < FILES) {
        of_descriptor[descriptor] = watched ? entry(whole) : NULL;
        if (watched && (flags & O_TRUNC)) { of_descriptor[descriptor]->size = 0; of_descriptor[descriptor]->resized = 1; }
    }
    pthread_mutex_unlock(&lock);
    return descriptor;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; va_end(rest); \
        return opened(path, flags, mode); }
OPEN(open)
OPEN(open64)

static struct file *file_of(int descriptor) { return descriptor >= 0 && descriptor < FILES ? of_descriptor[descriptor] : NULL; }

int close(int descriptor) {
    pthread_mutex_lock(&lock);
    if (descriptor >= 0 && descriptor < FILES) of_descriptor[descriptor] = NULL;
    int done = real_close(descriptor);
    pthread_mutex_unlock(&lock);
    return done;
}

static ssize_t put(int descriptor, const void *bytes, size_t length, off_t at, int is_placed) {
    struct file *file = file_of(descriptor);
    if (!file) return is_placed ? real_pwrite(descriptor, bytes, length, at) : real_write(descriptor, bytes, length);
    pthread_mutex_lock(&lock);
    ssize_t done = -1;
    int is_bad = fails(0), reason = errno;
    /* A short write writes a part of its bytes. */
    int is_short = is_bad && error_number == 0;
    size_t part = is_bad ? (is_short ? length / 2 : 0) : length;
    if (is_short) { error_number = EIO; fail_at = calls + 1; has_failed = 0; }
    if (part > 0) {
        off_t start = is_placed ? at : lseek(descriptor, 0, SEEK_CUR);
        done = is_placed ? real_pwrite(descriptor, bytes, part, at) : real_write(descriptor, bytes, part);
        if (done > 0) written(file, start, start + done);
    }
    if (is_bad && part == 0) { done = -1; errno = reason; }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t at) { return put(descriptor, bytes, length, at, 1); }
ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off_t at) { return put(descriptor, bytes, length, at, 1); }
ssize_t write(int descriptor, const void *bytes, size_t length) { return put(descriptor, bytes, length, 0, 0); }

static int cut(int descriptor, off_t size) {
    struct file *file = file_of(descriptor);
    if (!file) return real_ftruncate(descriptor, size);
    pthread_mutex_lock(&lock);
    int done = fails(0) ? -1 : real_ftruncate(descriptor, size);
    if (done == 0) { file->size = size; file->resized = 1; }
    pthread_mutex_unlock(&lock);
    return done;
}
int ftruncate(int descriptor, off_t size) { return cut(descriptor, size); }
int ftruncate64(int descriptor, off_t size) { return cut(descriptor, size); }

static int sync_it(int descriptor) {
    struct file *file = file_of(descriptor);
    if (!file) return real_fsync(descriptor);
    pthread_mutex_lock(&lock);
    int done = fails(1) ? -1 : 0;
    /* No real sync: only the shadow has to survive, and this keeps a cycle fast. */
    if (done == 0) keep(file, descriptor);
    pthread_mutex_unlock(&lock);
    return done;
}
int fsync(int descriptor) { return sync_it(descriptor); }
int fdatasync(int descriptor) { return sync_it(descriptor); }

int unlink(const char *name) {
    char whole[PATH_MAX], other[PATH_MAX];
    if (!realpath(name, whole)) whole[0] = 0;
    pthread_mutex_lock(&lock);
    int done = real_unlink(name);
    if (done == 0 && whole[0] && is_watched(whole)) {
        for (int i = 0; i < 64; i++) if (strcmp(files[i].name, whole) == 0) files[i].count = files[i].resized = 0;
        if (shadow) { shadow_name(whole, other); real_unlink(other); }
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int rename(const char *from, const char *to) {
    char one[PATH_MAX], other[PATH_MAX], whole[PATH_MAX];
    if (!realpath(from, whole)) whole[0] = 0;
    pthread_mutex_lock(&lock);
    int done = real_rename(from, to);
    if (done == 0 && whole[0] && is_watched(whole) && is_watched(to) && shadow) {
        shadow_name(whole, one);
        shadow_name(to, other);
        real_rename(one, other);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    /* Another library's constructor may call this before `begin` has run. */
    if (!real_clock_gettime) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real_clock_gettime(clock, now);
    if (done == 0 && clock_off && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *clock_off;
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
