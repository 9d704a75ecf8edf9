#ifndef CSIMULATEDSYSTEM_H
#define CSIMULATEDSYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The operating system of a simulation. A program that is linked with this has its own definitions of the calls that
// write, sync, truncate, rename and remove files, and of those that tell the time or sleep; they come before those of
// the C library, for SQLite and Foundation too. Outside a simulation they pass everything on.
//
// Files below the simulation's root lie on simulated disks. What is written there is in the file at once, as in the
// page cache of an operating system, and kept in mind until it is synced, so that a loss of power can take it back.
// What a failed sync had to write is as on Linux: readers see it, no later sync writes it, and a loss of power takes it
// back, unless it is written again.

/// Begins a simulation: files below `root` are on simulated disks, and the clock stands still. When the program crashes,
/// it says of which seed.
void weir_sim_begin(const char *root, int64_t now_ns, uint64_t seed);
void weir_sim_end(void);

/// Says whose calls come now. A process is a number from 0 that is not used again after its crash.
void weir_sim_enter(int process);

/// What may happen to the writing calls of a process: each number is one in a million.
struct weir_sim_chances {
    /// The write fails; a part of it may be in the file. Files cannot be made, cut or renamed either.
    uint32_t write_error;
    /// The disk is full; a part of the write may be in the file.
    uint32_t disk_full;
    uint32_t sync_error;
    uint32_t read_error;
    /// A read gives fewer bytes than are there.
    uint32_t short_read;
    /// Only a part of a write is done, as the caller is told.
    uint32_t short_write;
};

void weir_sim_set_chances(int process, struct weir_sim_chances chances, uint64_t seed);

/// Kills the process at its `calls`-th call from now on that writes, syncs, truncates, renames or removes; -1 for never.
/// What a killed process still asks for is refused with EIO and has no effect.
void weir_sim_crash_after(int process, int64_t calls);
void weir_sim_kill(int process);
bool weir_sim_is_dead(int process);

/// Takes back what was written below a directory and not synced: nothing of it, all of it, the last part, or any part of
/// it, whole or torn between sectors, as the seed says. Nobody has the files open. Files that were made, renamed or
/// removed since their directory was synced may be again as they were: the last of them, as many as the seed says.
void weir_sim_lose_power(const char *directory, uint64_t seed, bool loses_names);

/// Takes the names of files below a directory for synced: somebody outside the simulation has changed them.
void weir_sim_forget_names(const char *directory);

/// Whether work that is given to another thread is done as late as something may wait for it, or at once.
void weir_sim_work_late(bool is_late);

/// Who has a turn whenever a process sleeps, until this is called with NULL; nobody has one while they sleep themselves.
void weir_sim_while_asleep(void (*others)(void *context), void *context);
/// Gives them a turn. Afterwards calls are again of the process whose they were.
void weir_sim_let_others(void);

/// Nanoseconds since 1970.
int64_t weir_sim_now(void);
/// Nanoseconds since the simulation began, by the clock that does not jump.
int64_t weir_sim_elapsed(void);
/// Lets time pass.
void weir_sim_pass(int64_t nanoseconds);
/// Sets the clock of the day forward or back; the other one goes on.
void weir_sim_jump(int64_t nanoseconds);

/// What has happened, for the report of what a run has met.
enum weir_sim_event {
    WEIR_SIM_WRITES, WEIR_SIM_SYNCS, WEIR_SIM_CRASHES, WEIR_SIM_WRITE_ERRORS, WEIR_SIM_DISK_FULL,
    WEIR_SIM_SYNC_ERRORS, WEIR_SIM_READ_ERRORS, WEIR_SIM_SHORT_READS, WEIR_SIM_SHORT_WRITES, WEIR_SIM_LOST_WRITES,
    WEIR_SIM_UNWRITTEN, WEIR_SIM_NAME_ERRORS, WEIR_SIM_LOST_NAMES, WEIR_SIM_KEPT_WRITES, WEIR_SIM_TORN_WRITES, WEIR_SIM_POWER_LOSSES, WEIR_SIM_SLEEPS, WEIR_SIM_EVENTS
};

uint64_t weir_sim_count(enum weir_sim_event event);
/// What it is called in reports.
const char *weir_sim_event_name(enum weir_sim_event event);

#endif
