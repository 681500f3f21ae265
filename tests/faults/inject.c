/* Injects faults into a process. It is loaded with LD_PRELOAD and controlled through a shared page.
 *
 * read, pread, preadv2: an error for files whose name contains `path`; an overflow instead of inotify events.
 * clock_gettime: an offset of the wall clock. inotify_add_watch: an error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct faults {
    int32_t read_errno;
    int32_t watch_errno;
    int32_t overflow;
    int32_t count; /* number of injected faults */
    int64_t clock_nanoseconds;
    char path[1024];
};

static volatile struct faults *faults;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("SLPSTREAM_FAULTS");
    int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *page = mmap(NULL, sizeof(struct faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) faults = page;
}

static int name_of(int fd, char *name, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, size - 1);
    name[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static int inject(int error) {
    __atomic_add_fetch(&faults->count, 1, __ATOMIC_SEQ_CST);
    errno = error;
    return -1;
}

static int read_fails(int fd) {
    char name[PATH_MAX];
    return faults && faults->read_errno && name_of(fd, name, sizeof name) && strstr(name, (const char *)faults->path);
}

ssize_t read(int fd, void *to, size_t count) {
    static ssize_t (*next)(int, void *, size_t);
    if (!next) next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    if (read_fails(fd)) return inject(faults->read_errno);
    ssize_t size = next(fd, to, count);
    char name[PATH_MAX];
    if (size >= (ssize_t)sizeof(struct inotify_event) && faults && faults->overflow && name_of(fd, name, sizeof name) &&
        strstr(name, "inotify")) {
        struct inotify_event lost = {.wd = -1, .mask = IN_Q_OVERFLOW, .cookie = 0, .len = 0};
        memcpy(to, &lost, sizeof lost);
        inject(0);
        return sizeof lost;
    }
    return size;
}

ssize_t pread64(int fd, void *to, size_t count, off64_t at) {
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (!next) next = (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    return read_fails(fd) ? inject(faults->read_errno) : next(fd, to, count, at);
}

ssize_t pread(int fd, void *to, size_t count, off_t at) { return pread64(fd, to, count, at); }

ssize_t preadv64v2(int fd, const struct iovec *to, int count, off64_t at, int flags) {
    static ssize_t (*next)(int, const struct iovec *, int, off64_t, int);
    if (!next) next = (ssize_t(*)(int, const struct iovec *, int, off64_t, int))dlsym(RTLD_NEXT, "preadv64v2");
    return read_fails(fd) ? inject(faults->read_errno) : next(fd, to, count, at, flags);
}

ssize_t preadv2(int fd, const struct iovec *to, int count, off_t at, int flags) {
    return preadv64v2(fd, to, count, at, flags);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask) {
    static int (*next)(int, const char *, uint32_t);
    if (!next) next = (int (*)(int, const char *, uint32_t))dlsym(RTLD_NEXT, "inotify_add_watch");
    return faults && faults->watch_errno ? inject(faults->watch_errno) : next(fd, path, mask);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, now);
    if (!result && faults && faults->clock_nanoseconds && clock == CLOCK_REALTIME) {
        int64_t at = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + faults->clock_nanoseconds;
        now->tv_sec = at / 1000000000;
        now->tv_nsec = at % 1000000000;
        __atomic_add_fetch(&faults->count, 1, __ATOMIC_SEQ_CST);
    }
    return result;
}
