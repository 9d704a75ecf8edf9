#ifndef WEIR_FAULTS_H
#define WEIR_FAULTS_H

#include "CPageChecksums.h"

/// Notes what went wrong with a file, for whoever turns SQLite's result code into words.
void weir_fault_note(const char *path, struct weir_fault fault);

#endif
