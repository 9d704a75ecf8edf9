#ifndef WEIR_FAULTS_H
#define WEIR_FAULTS_H

#include "CPageChecksums.h"

/// Notes the fault of a file, for the code that explains SQLite's result code.
void weir_fault_note(const char *path, struct weir_fault fault);

#endif
