#include "Faults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// What went wrong last. An error is turned into words by whoever ran the statement, right after and
/// maybe on another thread.
static struct {
    char *path;
    struct weir_fault fault;
    time_t seconds;
} faults[16];
static size_t next_fault;
static pthread_mutex_t faults_lock = PTHREAD_MUTEX_INITIALIZER;

/// What is older belongs to an error that nobody reported.
static const time_t longest_seconds = 10;

static time_t now(void) {
    struct timespec time = {0};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

void weir_fault_note(const char *path, struct weir_fault fault) {
    if (path == NULL) return;
    char *copy = strdup(path);
    if (copy == NULL) return;
    pthread_mutex_lock(&faults_lock);
    free(faults[next_fault].path);
    faults[next_fault].path = copy;
    faults[next_fault].fault = fault;
    faults[next_fault].seconds = now();
    next_fault = (next_fault + 1) % (sizeof faults / sizeof faults[0]);
    pthread_mutex_unlock(&faults_lock);
}

/// Whether a name is that of a file or of what SQLite keeps beside it: FILE-wal, FILE-journal.
static bool belongs(const char *name, const char *path) {
    const size_t length = strlen(path);
    return strncmp(name, path, length) == 0 && (name[length] == 0 || name[length] == '-');
}

bool weir_fault_take(const char *path, struct weir_fault *fault) {
    // SQLite's own idea of the whole path, which is what was noted.
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    if (vfs == NULL) return false;
    char *full = malloc((size_t)vfs->mxPathname + 1);
    if (full == NULL) return false;
    bool is_found = false;
    const int code = vfs->xFullPathname(vfs, path, vfs->mxPathname + 1, full);
    if (code == SQLITE_OK || code == SQLITE_OK_SYMLINK) {
        const size_t count = sizeof faults / sizeof faults[0];
        pthread_mutex_lock(&faults_lock);
        for (size_t back = 1; back <= count && !is_found; back++) {
            const size_t index = (next_fault + count - back) % count;
            if (faults[index].path == NULL || !belongs(faults[index].path, full)) continue;
            if (now() - faults[index].seconds > longest_seconds) break;
            *fault = faults[index].fault;
            free(faults[index].path);
            faults[index].path = NULL;
            is_found = true;
        }
        pthread_mutex_unlock(&faults_lock);
    }
    free(full);
    return is_found;
}
